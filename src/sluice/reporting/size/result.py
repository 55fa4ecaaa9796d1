"""The size of a cluster that meets the deadlines: the document, the frame and the chart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property

from sluice.reporting.charts.chart import Chart
from sluice.reporting.document_html import NotebookView
from sluice.reporting.documents import document_of
from sluice.reporting.extras import DataFrame, data_frame
from sluice.reporting.size.chart import size_chart


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePoint:
    """A size that was simulated. probability: share of the drawn nights that met all deadlines.

    low, high: 95 % interval of the probability, for the number of draws.
    cost_usd, span_s: mean rent and mean length of a night; no cost without prices.
    reserved_vms, on_demand_vms: nodes on either terms; None without prices, and for spot VMs.
    """

    nodes: int
    slots: int
    probability: float
    low: float
    high: float
    cost_usd: float | None
    span_s: float
    draws: int
    reserved_vms: int | None = None
    on_demand_vms: int | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class ClusterSize(NotebookView):
    """The result of `size`. points: the sizes that were tried, the smallest first.

    one_night: how the night was made from history; None if a file gives its jobs.
    others: with other types of nodes, if types were compared; this one is the cheapest.
    cause: why no size does; None if one does.
    """

    probability_wanted: float
    points: tuple[SizePoint, ...]
    vm_type: str | None = None
    one_night: str | None = None
    notes: tuple[str, ...] = ()
    others: tuple[ClusterSize, ...] = ()
    cause: str | None = None

    @cached_property
    def answer(self) -> SizePoint | None:
        """The smallest size from which on all sizes do; None if none does."""
        found = None
        for point in reversed(self.points):
            if point.probability < self.probability_wanted:
                break
            found = point
        return found

    @property
    def is_no(self) -> bool:
        """Whether no size that was allowed does."""
        return self.answer is None

    @property
    def next_node_usd(self) -> float | None:
        """Return what one more node costs a night.

        None without prices, or if it was not simulated.
        """
        answer = self.answer
        if answer is None or answer.cost_usd is None:
            return None
        larger = (point for point in self.points if point.nodes == answer.nodes + 1)
        following = next(larger, None)
        if following is None or following.cost_usd is None:
            return None
        return following.cost_usd - answer.cost_usd

    def document(self) -> dict[str, object]:
        """The one JSON document of `size`; absent values are None."""
        answer = self.answer
        names = (one.name for one in fields(SizePoint))
        found = dict.fromkeys(names) if answer is None else asdict(answer)
        return {
            **found,
            **document_of(self, "probability_wanted cause vm_type one_night next_node_usd"),
            **document_of(self, "curve=points notes"),
            "vm_types": {
                str(one.vm_type): None if one.answer is None else asdict(one.answer)
                for one in (self, *self.others)
                if self.others
            },
        }

    def to_frame(self) -> DataFrame:
        """One row for each size. Raises MissingExtra without pandas."""
        return data_frame([asdict(point) for point in self.points])

    def plot(self) -> Chart:
        """Probability by size, with its interval and the wanted probability."""
        answer = None if self.answer is None else self.answer.nodes
        return size_chart(
            [asdict(point) for point in self.points], self.probability_wanted, answer=answer
        )

    def __repr__(self) -> str:
        if self.answer is None:
            return f"<ClusterSize: none of {len(self.points)} sizes does>"
        return f"<ClusterSize: {self.answer.nodes} nodes, {self.answer.slots} slots>"


def cheapest(sizes: Sequence[ClusterSize]) -> ClusterSize:
    """The size that does for the least money; the others, too, the cheapest first.

    sizes: one or more.  Without prices the fewest slots count. If none does, the first is returned.
    """

    def by_cost(one: ClusterSize) -> tuple[float, float]:
        answer = one.answer
        if answer is None:
            return math.inf, math.inf
        return (math.inf if answer.cost_usd is None else answer.cost_usd), answer.slots

    best, *others = sorted(sizes, key=by_cost)
    return replace(best, others=tuple(others))
