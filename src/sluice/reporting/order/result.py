"""The result of ordering jobs: the order, its gain, and bounds on better orders.

`FoundOrder` is what all three models of an order have in common: names in an order, when each job
ends, and the workload in that order. `OrderResult` adds what only the flow shop of maps and reduces
has: bounds by formula, those that the thesis prints, and forecasts of jobs with a profile. The
tables and the chart read this result; the chart reads its document alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sluice.estimate.job_forecasts import JobForecast
from sluice.model.ids import JobId
from sluice.model.workload import Workload
from sluice.planning.ordering import rules
from sluice.planning.ordering.annealing import EvaluatedOrder
from sluice.planning.ordering.bounds import PrintedBounds, SafeBounds, fluid_s, printed_bounds
from sluice.planning.ordering.flow_arrays import outcome_of
from sluice.planning.ordering.flow_outcome import OrderOutcome
from sluice.planning.ordering.loads import Loads
from sluice.planning.ordering.problem import OrderingProblem
from sluice.planning.ordering.solver import OrderingResult
from sluice.planning.ordering.waiting_jobs import bounds_of
from sluice.reporting.charts.chart import Chart
from sluice.reporting.document_html import NotebookView
from sluice.reporting.documents import document_of
from sluice.reporting.exports.workload_document import workload_document
from sluice.reporting.extras import DataFrame, data_frame
from sluice.reporting.formatting import NOTHING
from sluice.reporting.order.chart import order_chart
from sluice.reporting.run.outcomes import JobReplay, ResponseForecast, replay_document

if TYPE_CHECKING:
    from sluice.planning.flow_shops.solver import FlowOrder
    from sluice.planning.stages.solver import StageSchedule


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FoundOrder(NotebookView):
    """An order of a workload's jobs or stages, and how it was found.

    answer: what the method found.
    search_s: wall time of the search alone.  evaluations: orders and nodes that were evaluated.
    raw: the plain value of the workload's file; None if there is no file.
    notes: parts of this workload that the model ignores.
    replays: by job, for a workload made from logs, recorded and replayed times; else None.
    """

    workload: Workload
    answer: OrderingResult | StageSchedule | FlowOrder
    seed: int
    search_s: float
    evaluations: int
    raw: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    replays: Mapping[JobId, JobReplay] | None = None

    @property
    @abstractmethod
    def order(self) -> tuple[str, ...]:
        """The names of jobs or stages, in the order that was found."""

    @property
    @abstractmethod
    def makespan_s(self) -> float:
        """When the last job or stage ends."""

    @property
    @abstractmethod
    def completions_s(self) -> Mapping[str, float]:
        """When each job ends."""

    @property
    def total_completion_s(self) -> float:
        """The sum of the instants at which jobs end."""
        return sum(self.completions_s.values())

    @property
    def is_proved(self) -> bool:
        """Whether the order is proved optimal for the objective."""
        return self.answer.is_proved

    @abstractmethod
    def _job_order(self) -> Sequence[int]:
        """The positions of the jobs, in the order that was found."""

    def reordered(self) -> Workload:
        """The workload with its jobs in this order."""
        jobs = tuple(self.workload.jobs[job] for job in self._job_order())
        return replace(self.workload, jobs=jobs)

    def reordered_document(self) -> dict[str, Any]:
        """The plain value of the workload's file with the jobs in this order.

        Raises InvalidInput if it was not read from a file and a file cannot express it.
        """
        raw = workload_document(self.workload) if self.raw is None else self.raw
        return {**raw, "jobs": [raw["jobs"][job] for job in self._job_order()]}

    def _document(
        self,
        objective: str,
        known: Mapping[str, object],
        jobs: Mapping[str, object],
        **more: object,
    ) -> dict[str, object]:
        """The one JSON document of `order`. known, more: of this kind.  jobs: {} for none."""
        return {
            **document_of(self, "order makespan_s total_completion_s completions_s"),
            **document_of(self.answer, "method picked"),
            "objective": objective,
            "proved_optimal": self.is_proved,
            **known,
            **document_of(self, "evaluations seed search_s"),
            **{name: value for name, value in {"jobs": jobs, **more}.items() if value},
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    @abstractmethod
    def _before(self) -> dict[str, float]:
        """The makespan and the sum of the instants at which jobs end, in the order of the file."""

    def gain(self) -> dict[str, float]:
        """By how many percent the order of the file takes longer than this one."""
        before = self._before()
        return {
            "makespan_percent": percent(before["makespan_s"], self.makespan_s),
            "total_completion_percent": percent(
                before["total_completion_s"], self.total_completion_s
            ),
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OrderResult(FoundOrder):
    """An order of a workload's jobs.

    loads: the exact work of the jobs.
    answer: what the method found; its positions are those of `workload.jobs`.
    forecasts: by job, of those that name a profile.
    """

    problem: OrderingProblem
    loads: Loads
    answer: OrderingResult
    forecasts: Mapping[str, JobForecast] = field(default_factory=dict)

    @property
    def order(self) -> tuple[str, ...]:
        """The ids of the jobs, in order of submission."""
        return self._names(self.answer.best.order)

    @cached_property
    def outcome(self) -> OrderOutcome:
        """Start and end times of the jobs in this order."""
        return outcome_of(self.problem, self.answer.best.order)

    @cached_property
    def before(self) -> OrderOutcome:
        """Start and end times in the order of the file."""
        return outcome_of(self.problem, range(len(self.problem.jobs)))

    @cached_property
    def bounds(self) -> SafeBounds:
        """Valid bounds."""
        return bounds_of(self.problem, self.loads, self.answer.best.order)

    @cached_property
    def printed_bounds(self) -> PrintedBounds | None:
        """Bounds as the thesis prints them, not always valid; it has none for jobs that wait."""
        if self.problem.has_waiting:
            return None
        return printed_bounds(self.loads, self.answer.best.order)

    @property
    def makespan_s(self) -> float:
        """When the last job ends."""
        return self.outcome.makespan_s

    @property
    def total_completion_s(self) -> float:
        """The sum of the instants at which jobs end."""
        return self.outcome.total_completion_s

    @property
    def completions_s(self) -> Mapping[str, float]:
        """When each job ends."""
        names = self._names(range(len(self.problem.jobs)))
        return dict(zip(names, self.outcome.ended_s, strict=True))

    def _job_order(self) -> Sequence[int]:
        return self.answer.best.order

    def reordered_document(self) -> dict[str, Any]:
        document = super().reordered_document()
        if "cluster" not in document:
            document["cluster"] = {
                "map_slots": self.problem.map_slots, "reduce_slots": self.problem.reduce_slots,
            }  # fmt: skip
        return document

    def document(self) -> dict[str, object]:
        """The one JSON document of `order`; absent values are None."""
        answer, names = self.answer, self._names(range(len(self.problem.jobs)))
        known = {
            "bounds": document_of(self.bounds, "makespan_lower_s makespan_upper_s tct_lower_s"),
            "printed_bounds": {"makespan_upper_s": self._printed()["makespan_upper_s"]},
            "every_order": self._every_order(),
            "fluid_makespan_s": fluid_s(self.loads, answer.best.order),
            "proved_lower": answer.lower,
            "gain": self.gain(),
            "input": self._before(),
            "reverse": _values(outcome_of(self.problem, rules.reverse(self.loads))),
            "schedule": {
                "input": self._times(self.before, range(len(names))),
                "order": self._times(self.outcome, answer.best.order),
            },
        }
        jobs = {
            name: self._forecast_document(place, name) | replay_document(self.replays, name)
            for place, name in enumerate(names)
            if name in self.forecasts or self.replays is not None
        }
        points = [self._point(point) for point in answer.frontier or ()]
        return self._document(answer.objective.value, known, jobs=jobs, frontier=points)

    def _before(self) -> dict[str, float]:
        return _values(self.before)

    def _times(self, outcome: OrderOutcome, order: Sequence[int]) -> dict[str, object]:
        """When the jobs start, end their maps, start their reduces and end, in their order."""
        return {
            self.problem.jobs[job].name: {
                name: getattr(outcome, name)[job]
                for name in ("began_s", "mapped_s", "reducing_s", "ended_s")
            }
            for job in order
        }

    def _forecast_document(self, place: int, name: str) -> dict[str, object]:
        return asdict(self._forecast(place, name)) if name in self.forecasts else {}

    def may_end(self, place: int) -> str:
        """When a job may end, and the probability to meet its deadline, for tables."""
        if self.problem.jobs[place].name not in self.forecasts:
            return NOTHING
        job = self.workload.jobs[place]
        return self._forecast(place, str(job.job_id)).text(job.submitted_at_s)

    def _forecast(self, place: int, name: str) -> ResponseForecast:
        """When a job may end. The model of an order has no overhead, so it is added here."""
        job, found = self.workload.jobs[place], self.forecasts[name]
        deadline_at_s = job.deadline_at_s
        return ResponseForecast.of(
            found,
            self.outcome.ended_s[place] + (found.overhead_s or 0.0),
            None if deadline_at_s is None else deadline_at_s - job.submitted_at_s,
        )

    def to_frame(self) -> DataFrame:
        """One row for each job, in this order. Raises MissingExtra without pandas."""
        return data_frame(self.rows())

    def rows(self) -> list[dict[str, object]]:
        """One row for each job, in this order: its old position, and its times in both orders."""
        return [
            {
                "job": self.problem.jobs[job].name,
                "position_before": job + 1,
                "began_s": self.outcome.began_s[job],
                "mapped_s": self.outcome.mapped_s[job],
                "reducing_s": self.outcome.reducing_s[job],
                "ended_s": self.outcome.ended_s[job],
                "ended_before_s": self.before.ended_s[job],
            }
            for job in self.answer.best.order
        ]

    def plot(self) -> Chart:
        """A chart of the jobs before and after, and of the frontier of a sweep."""
        return order_chart(self.document())

    def __repr__(self) -> str:
        return (
            f"<OrderResult: {len(self.order)} jobs by {self.answer.method.value},"
            f" makespan_s={self.makespan_s}, total_completion_s={self.total_completion_s}>"
        )

    def _names(self, order: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.problem.jobs[job].name for job in order)

    def _every_order(self) -> dict[str, object]:
        """Bounds for all orders, and those that the thesis prints."""
        return {
            "makespan_upper_s": self.bounds.makespan_upper_all_s,
            "mk_jr_excess": self.bounds.mk_jr_excess,
            "printed": {
                name: value for name, value in self._printed().items() if name != "makespan_upper_s"
            },
        }

    def _printed(self) -> dict[str, float | None]:
        known = self.printed_bounds
        names = [one.name for one in fields(PrintedBounds)]
        return {name: None if known is None else getattr(known, name) for name in names}

    def _point(self, point: EvaluatedOrder) -> dict[str, object]:
        return {
            "order": list(self._names(point.order)),
            "makespan_s": point.makespan_s,
            "total_completion_s": point.total_s,
        }


def _values(outcome: OrderOutcome) -> dict[str, float]:
    return {"makespan_s": outcome.makespan_s, "total_completion_s": outcome.total_completion_s}


def percent(before_s: float, after_s: float) -> float:
    """How much longer `before_s` is, in percent of `after_s`. Source: ordering spec, section 6.

    >>> percent(150, 100)
    50.0
    """
    return (before_s / after_s - 1) * 100
