"""The result of ordering stages: when they start and end, the gain, and what bounds it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sluice.model.ids import JobId
from sluice.model.workload import Workload
from sluice.planning.flow_shops.problem import FlowProblem
from sluice.planning.flow_shops.solver import FlowOrder
from sluice.planning.stages.problem import StageProblem
from sluice.planning.stages.solver import StageSchedule, starts_as_given
from sluice.reporting.charts.chart import Chart
from sluice.reporting.columns import Column, column_document, column_frame, named
from sluice.reporting.document_html import NotebookView
from sluice.reporting.exports.workload_document import workload_document
from sluice.reporting.formatting import duration_tight
from sluice.reporting.order.chart import order_chart
from sluice.reporting.order.result import percent
from sluice.reporting.run.outcomes import JobReplay, replay_document
from sluice.reporting.table_style import short_name

if TYPE_CHECKING:
    from pandas import DataFrame

Times = Mapping[str, tuple[float, float]]
"""First start and last end of each stage, seconds."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StageTimesResult(NotebookView):
    """When the stages of a workload's jobs start and end, and how that was found.

    search_s: wall time of the search alone.  evaluations: schedules and nodes that were looked at.
    raw: the plain value of the workload's file; None if there is no file.
    notes: parts of this workload that the model ignores.
    replays: by job, for a workload made from logs, recorded and replayed times; else None.
    """

    workload: Workload
    problem: StageProblem | FlowProblem
    answer: StageSchedule | FlowOrder
    seed: int
    search_s: float
    evaluations: int
    raw: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    replays: Mapping[JobId, JobReplay] | None = None

    @property
    @abstractmethod
    def times(self) -> Times:
        """When each stage starts and ends."""

    @property
    @abstractmethod
    def times_before(self) -> Times:
        """When each stage starts and ends in the order of the file."""

    @property
    @abstractmethod
    def order(self) -> tuple[str, ...]:
        """Names in the order that was found."""

    @property
    def makespan_s(self) -> float:
        """When the last stage ends."""
        return _last(self.times)

    @property
    def is_proved(self) -> bool:
        """Whether no schedule ends earlier."""
        return self.answer.is_proved

    @property
    def lower_s(self) -> float:
        """No schedule ends before it."""
        return self.answer.lower / self.problem.unit

    @cached_property
    def completions_s(self) -> Mapping[str, float]:
        """When each job ends."""
        return self._completions(self.times)

    @property
    def total_completion_s(self) -> float:
        """The sum of the instants at which jobs end."""
        return sum(self.completions_s.values())

    def reordered(self) -> Workload:
        """The workload with its jobs in the order in which they start."""
        return replace(
            self.workload, jobs=tuple(self.workload.jobs[job] for job in self._job_order())
        )

    def reordered_document(self) -> dict[str, Any]:
        """The plain value of the workload's file with the jobs in that order."""
        raw = workload_document(self.workload) if self.raw is None else self.raw
        jobs = raw["jobs"]
        return {**raw, "jobs": [jobs[job] for job in self._job_order()]}

    def document(self) -> dict[str, object]:
        """The one JSON document of `order` for stages."""
        before = self._completions(self.times_before)
        total_before_s, makespan_before_s = sum(before.values()), _last(self.times_before)
        document: dict[str, object] = {
            "order": list(self.order),
            "makespan_s": self.makespan_s,
            "total_completion_s": self.total_completion_s,
            "completions_s": dict(self.completions_s),
            "method": self.answer.method.value,
            "picked": self.answer.picked.value,
            "objective": "makespan",
            "proved_optimal": self.is_proved,
            "bounds": {"makespan_lower_s": self.lower_s},
            "stages": {
                name: {"started_at_s": start_s, "finished_at_s": end_s}
                for name, (start_s, end_s) in self.times.items()
            },
            "gain": {
                "makespan_percent": percent(makespan_before_s, self.makespan_s),
                "total_completion_percent": percent(total_before_s, self.total_completion_s),
            },
            "input": {"makespan_s": makespan_before_s, "total_completion_s": total_before_s},
            "schedule": {
                "input": _lanes(self.times_before, self.problem.stages),
                "order": _lanes(self.times, self._by_start()),
            },
            "evaluations": self.evaluations,
            "seed": self.seed,
            "search_s": self.search_s,
        }
        if self.replays is not None:
            document["jobs"] = {
                str(job.job_id): replay_document(self.replays, job.job_id)
                for job in self.workload.jobs
            }
        return document | ({"notes": list(self.notes)} if self.notes else {})

    def to_frame(self) -> DataFrame:
        """One row for each name, in this order. Raises MissingExtra without pandas."""
        return column_frame(self.columns(), self.order)

    def rows(self) -> list[dict[str, object]]:
        """One row for each name, in this order."""
        return [column_document(self.columns(), stage) for stage in self.order]

    @abstractmethod
    def columns(self) -> Sequence[Column[str]]:
        """The columns of a row, whose rows are the names in `order`."""

    def plot(self) -> Chart:
        """A chart of the stages before and after."""
        return order_chart(self.document(), "stages")

    def _by_start(self) -> tuple[str, ...]:
        """The stages: the one that starts first comes first."""
        return tuple(sorted(self.times, key=lambda name: self.times[name][0]))

    def _completions(self, times: Times) -> dict[str, float]:
        names = iter(self.problem.stages)
        return {
            str(job.job_id): max(times[next(names)][1] for _ in job.phases)
            for job in self.workload.jobs
        }

    def _job_order(self) -> list[int]:
        """The positions of the jobs: the one that starts first comes first."""
        names = iter(self.problem.stages)
        began_s = [
            min(self.times[next(names)][0] for _ in job.phases) for job in self.workload.jobs
        ]
        return sorted(range(len(began_s)), key=lambda job: (began_s[job], job))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StageOrderResult(StageTimesResult):
    """A schedule of the stages of a workload's jobs on equal slots."""

    problem: StageProblem
    answer: StageSchedule

    @cached_property
    def times(self) -> Times:
        """When each stage starts and ends."""
        return self._times(self.answer.starts)

    @cached_property
    def times_before(self) -> Times:
        """When each stage starts and ends in the order of the file."""
        return self._times(starts_as_given(self.problem))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The stages, `job/stage`: the one that starts first is first in line."""
        return self._by_start()

    def columns(self) -> Sequence[Column[str]]:
        """The columns of a stage, whose rows are the names."""
        places = {name: place for place, name in enumerate(self.order, start=1)}
        return (
            Column("", "", of=places.get, style=lambda _: "dim", is_left=True),
            named("stage", str, name="stage", text=short_name),
            Column("started_at_s", "starts", duration_tight, lambda one: self.times[one][0]),
            Column("finished_at_s", "ends", duration_tight, lambda one: self.times[one][1]),
            Column(
                "finished_before_s", "was", duration_tight,
                lambda one: self.times_before[one][1], lambda _: "dim",
            ),
        )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"<StageOrderResult: {len(self.order)} stages by {self.answer.method.value},"
            f" makespan_s={self.makespan_s}, proved_optimal={self.is_proved}>"
        )

    def _times(self, starts: Sequence[float]) -> Times:
        spans: dict[str, tuple[float, float]] = {}
        problem = self.problem
        for task, stage in enumerate(problem.stage_of):
            if stage is None:
                continue
            start_s = starts[task] / problem.unit
            end_s = (starts[task] + problem.graph.lengths[task]) / problem.unit
            name = problem.stages[stage]
            first_s, last_s = spans.get(name, (start_s, end_s))
            spans[name] = (min(first_s, start_s), max(last_s, end_s))
        return {name: spans[name] for name in problem.stages}


def _last(times: Times) -> float:
    return max(end_s for _, end_s in times.values())


def _lanes(times: Times, order: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """Return the stages as the chart draws them."""
    return {
        name: {
            "began_s": times[name][0],
            "mapped_s": None,
            "reducing_s": None,
            "ended_s": times[name][1],
        }
        for name in order
    }
