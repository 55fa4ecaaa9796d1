"""The result of ordering stages: when they start and end, the gain, and what bounds it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sluice.planning.flow_shops.problem import FlowProblem
from sluice.planning.flow_shops.solver import FlowOrder
from sluice.planning.stages.problem import StageProblem
from sluice.planning.stages.solver import StageSchedule, starts_as_given
from sluice.reporting.charts.chart import Chart
from sluice.reporting.columns import Column, column_document, column_frame, named
from sluice.reporting.formatting import duration_tight
from sluice.reporting.order.chart import order_chart
from sluice.reporting.order.result import FoundOrder
from sluice.reporting.run.outcomes import replay_document
from sluice.reporting.table_style import short_name

if TYPE_CHECKING:
    from pandas import DataFrame

Times = Mapping[str, tuple[float, float]]
"""First start and last end of each stage, seconds."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StageTimesResult(FoundOrder):
    """When the stages of a workload's jobs start and end, and how that was found."""

    rows_are: ClassVar[str] = "jobs"
    problem: StageProblem | FlowProblem
    answer: StageSchedule | FlowOrder

    @property
    @abstractmethod
    def times(self) -> Times:
        """When each stage starts and ends."""

    @property
    @abstractmethod
    def times_before(self) -> Times:
        """When each stage starts and ends in the order of the file."""

    @property
    def makespan_s(self) -> float:
        """When the last stage ends."""
        return _last(self.times)

    @property
    def lower_s(self) -> float:
        """No schedule ends before it."""
        return self.answer.lower / self.problem.unit

    @cached_property
    def completions_s(self) -> Mapping[str, float]:
        """When each job ends."""
        return self._completions(self.times)

    def document(self) -> dict[str, object]:
        """The one JSON document of `order` for stages."""
        known = {
            "bounds": {"makespan_lower_s": self.lower_s},
            "stages": {
                name: {"started_at_s": start_s, "finished_at_s": end_s}
                for name, (start_s, end_s) in self.times.items()
            },
            "gain": self.gain(),
            "input": self._before(),
            "schedule": {
                "input": _lanes(self.times_before, self.problem.stages),
                "order": _lanes(self.times, self._by_start()),
            },
        }
        jobs = {
            str(job.job_id): replay_document(self.replays, job.job_id)
            for job in self.workload.jobs
            if self.replays is not None
        }
        return self._document("makespan", known, jobs=jobs)

    def _before(self) -> dict[str, float]:
        ends_s = self._completions(self.times_before).values()
        return {"makespan_s": _last(self.times_before), "total_completion_s": sum(ends_s)}

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

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self.order)} {self.rows_are} by"
            f" {self.answer.method.value}, makespan_s={self.makespan_s},"
            f" proved_optimal={self.is_proved}>"
        )

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

    rows_are: ClassVar[str] = "stages"
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
