"""What no order can beat, and what an order cannot exceed: bounds that hold, and bounds as printed.

The thesis prints upper bounds that are false: an order can take longer than they say. They are
told beside the safe ones, in a type of their own, and nothing relies on them. What "safe"
means: proved in the spec, sections 5 and 7 (errata E2 to E4), for tasks of any lengths.

All formulas are worked out in whole numbers and rounded once, at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from sluice.planning.ordering.loads import Loads
from sluice.planning.ordering.rules import mk_jr, reverse


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeBounds:
    """Bounds that hold. Seconds.

    makespan_lower_s, tct_lower_s: of every order.  makespan_upper_s: of this order.
    makespan_upper_all_s: of every order.  mk_jr_excess: MK_JR takes at most 1 + this, times the
    least makespan; infinite where nothing is known.
    """

    makespan_lower_s: float
    makespan_upper_s: float
    tct_lower_s: float
    makespan_upper_all_s: float
    mk_jr_excess: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedBounds:
    """The thesis's own: (3.5), (3.6) and the delta of theorem 3.1. False in general. Seconds."""

    makespan_upper_s: float
    makespan_upper_all_s: float
    mk_jr_excess: float


def fluid(loads: Loads, order: Sequence[int]) -> int:
    """F(order), (3.3), times the slots of both kinds: the makespan if work flowed like water.

    With one slot of each kind it is the makespan itself. In general it is no bound of that
    order, neither lower nor upper.
    """
    mapped = done = 0
    for job in order:
        mapped += loads.map_share(job)
        done = max(mapped, done) + loads.reduce_share(job)
    return done


def fluid_s(loads: Loads, order: Sequence[int]) -> float:
    """F(order) in seconds."""
    return loads.shared_s(fluid(loads, order))


def safe_bounds(loads: Loads, order: Sequence[int]) -> SafeBounds:
    """The bounds that hold, of all orders and of this one."""
    lower = fluid(loads, mk_jr(loads))
    slots = loads.map_slots * loads.reduce_slots
    span = max(loads.map_span[job] + loads.reduce_span[job] for job in loads.jobs)
    excess = _map_tail(loads, max(loads.longest_map)) + _reduce_tail(loads)
    return SafeBounds(
        makespan_lower_s=loads.shared_s(max(lower, span * slots)),
        makespan_upper_s=loads.shared_s(_upper(loads, order, is_safe=True)),
        tct_lower_s=loads.shared_s(_tct_lower(loads)),
        makespan_upper_all_s=loads.shared_s(fluid(loads, reverse(loads)) + excess),
        mk_jr_excess=excess / lower,
    )


def printed_bounds(loads: Loads, order: Sequence[int]) -> PrintedBounds:
    """The bounds as printed, to be shown beside what really happens."""
    slots = loads.map_slots * loads.reduce_slots
    longest = (max(loads.longest_map) + max(loads.longest_reduce)) * slots
    return PrintedBounds(
        makespan_upper_s=loads.shared_s(_upper(loads, order, is_safe=False)),
        makespan_upper_all_s=loads.shared_s(fluid(loads, reverse(loads)) + longest),
        mk_jr_excess=longest / fluid(loads, mk_jr(loads)),
    )


def _map_tail(loads: Loads, longest: int) -> int:
    """(1 - 1/S^M) times a map's length: how far list scheduling may lag behind an even share."""
    return (loads.map_slots - 1) * loads.reduce_slots * longest


def _reduce_tail(loads: Loads) -> int:
    """2 (1 - 1/S^R) times the longest reduce: one that straddles, and the last one's own tail."""
    return 2 * (loads.reduce_slots - 1) * loads.map_slots * max(loads.longest_reduce)


def _upper(loads: Loads, order: Sequence[int], *, is_safe: bool) -> int:
    """(3.5), or its repair (E2), times the slots of both kinds."""
    slots = loads.map_slots * loads.reduce_slots
    behind = sum(loads.reduce_share(job) for job in order)
    mapped = longest = best = 0
    for job in order:
        mapped += loads.map_share(job)
        longest = max(longest, loads.longest_map[job])
        tail = _map_tail(loads, longest) if is_safe else longest * slots
        best = max(best, mapped + tail + behind)
        behind -= loads.reduce_share(job)
    return best + (_reduce_tail(loads) if is_safe else max(loads.longest_reduce) * slots)


def _tct_lower(loads: Loads) -> int:
    """The least sum of completions, times the slots of both kinds.

    Either all maps end as early as shortest-first lets them, and each job's reduces take their
    own time after that; or reduces are all that matters, and none starts before some map phase.
    """
    slots = loads.map_slots * loads.reduce_slots
    map_sums = sum(accumulate(sorted(map(loads.map_share, loads.jobs))))
    reduce_sums = sum(accumulate(sorted(map(loads.reduce_share, loads.jobs))))
    by_maps = max(map_sums, sum(loads.map_span) * slots) + sum(loads.reduce_span) * slots
    by_reduces = reduce_sums + len(loads.maps) * min(loads.map_span) * slots
    return max(by_maps, by_reduces)
