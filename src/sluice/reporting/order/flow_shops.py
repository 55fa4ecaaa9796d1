"""The result of ordering jobs that pass a chain of stages, each with slots of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sluice.planning.flow_shops.flow_shop import times_of
from sluice.planning.flow_shops.problem import FlowProblem
from sluice.planning.flow_shops.solver import FlowOrder
from sluice.reporting.columns import Column, named
from sluice.reporting.formatting import duration_tight
from sluice.reporting.order.stages import StageTimesResult, Times
from sluice.reporting.table_style import short_name


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FlowShopResult(StageTimesResult):
    """An order of jobs that pass the same stages, each with slots of its own."""

    problem: FlowProblem
    answer: FlowOrder

    @cached_property
    def times(self) -> Times:
        """When each stage of each job starts and ends."""
        return self._times(self.answer.order)

    @cached_property
    def times_before(self) -> Times:
        """When each stage of each job starts and ends in the order of the file."""
        return self._times(range(len(self.problem.jobs)))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The jobs in the order in which each stage takes them."""
        return tuple(self.problem.jobs[job] for job in self.answer.order)

    def document(self) -> dict[str, object]:
        """The one JSON document of `order` for jobs that pass a chain of stages."""
        shop = self.problem.shop
        slots = dict(zip(self.problem.columns, shop.slots, strict=True))
        return {**super().document(), "stage_slots": slots}

    def columns(self) -> Sequence[Column[str]]:
        """The columns of a job, whose rows are the names."""
        places = {name: place for place, name in enumerate(self.order, start=1)}
        starts_s = self._first_starts_s()
        before_s = self._completions(self.times_before)
        return (
            Column("", "", of=places.get, style=lambda _: "dim", is_left=True),
            named("job", str, name="job", text=short_name),
            Column("started_at_s", "starts", duration_tight, starts_s.get),
            Column("finished_at_s", "ends", duration_tight, self.completions_s.get),
            Column("finished_before_s", "was", duration_tight, before_s.get, lambda _: "dim"),
        )

    def _job_order(self) -> list[int]:
        return list(self.answer.order)

    def _first_starts_s(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, (job, _) in zip(self.problem.stages, self.problem.places, strict=True):
            found.setdefault(self.problem.jobs[job], self.times[name][0])
        return found

    def _times(self, order: Iterable[int]) -> Times:
        problem = self.problem
        times = times_of(problem.shop, tuple(order))
        found = {}
        for name, (job, stage) in zip(problem.stages, problem.places, strict=True):
            span = times[job][stage]
            assert span is not None, "a phase has tasks"
            found[name] = span[0] / problem.unit, span[1] / problem.unit
        return found
