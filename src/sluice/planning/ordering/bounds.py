"""Lower and upper bounds on makespan and total completion time, safe ones and printed ones.

The thesis prints upper bounds that are false: an order can take longer. They are reported together
with the safe bounds, in a separate type, and nothing depends on them. A safe bound is proved in the
spec, sections 5 and 7 (errata E2 to E4), for tasks of any lengths.

All formulas use integers and are rounded once at the end, so rounding cannot break a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from sluice.planning.ordering.loads import Loads
from sluice.planning.ordering.rules import mk_jr, reverse


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeBounds:
    """Proved bounds, in seconds.

    makespan_lower_s, tct_lower_s: for every order.  makespan_upper_s: for the given order.
    makespan_upper_all_s: for every order.  mk_jr_excess: MK_JR takes at most 1 + mk_jr_excess
    times the least makespan.
    """

    makespan_lower_s: float
    makespan_upper_s: float
    tct_lower_s: float
    makespan_upper_all_s: float
    mk_jr_excess: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedBounds:
    """Bounds of the thesis, false in general: (3.5), (3.6), delta of theorem 3.1. Seconds."""

    makespan_upper_s: float
    makespan_upper_all_s: float
    mk_jr_excess: float


def fluid(loads: Loads, order: Sequence[int]) -> int:
    """F(order), (3.3), times the slots of both kinds: the makespan if work were divisible.

    With one slot of each kind it is the makespan itself. In general it is neither a lower nor an
    upper bound for this order.
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
    """Return the safe bounds for all orders and for this one."""
    lower = fluid(loads, mk_jr(loads))
    slots = loads.map_slots * loads.reduce_slots
    # A job alone takes its spans on any number of slots, which the fluid model does not see.
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
    """Return the bounds as printed, for comparison."""
    slots = loads.map_slots * loads.reduce_slots
    longest = (max(loads.longest_map) + max(loads.longest_reduce)) * slots
    return PrintedBounds(
        makespan_upper_s=loads.shared_s(_upper(loads, order, is_safe=False)),
        makespan_upper_all_s=loads.shared_s(fluid(loads, reverse(loads)) + longest),
        mk_jr_excess=longest / fluid(loads, mk_jr(loads)),
    )


def _map_tail(loads: Loads, longest: int) -> int:
    """(1 - 1/S^M) times a map length: most delay of list scheduling over an even share."""
    return (loads.map_slots - 1) * loads.reduce_slots * longest


def _reduce_tail(loads: Loads) -> int:
    """2 (1 - 1/S^R) times the longest reduce: one that blocks slots, and the tail of the last."""
    return 2 * (loads.reduce_slots - 1) * loads.map_slots * max(loads.longest_reduce)


def _upper(loads: Loads, order: Sequence[int], *, is_safe: bool) -> int:
    """(3.5), or its corrected form (E2), times the slots of both kinds."""
    slots = loads.map_slots * loads.reduce_slots
    behind = sum(loads.reduce_share(job) for job in order)
    mapped = longest = best = 0
    for job in order:
        mapped += loads.map_share(job)
        longest = max(longest, loads.longest_map[job])
        tail = _map_tail(loads, longest) if is_safe else longest * slots
        # The maps up to this job, then the reduces of it and of all behind it: (3.5) is the largest
        # of these sums over the jobs.
        best = max(best, mapped + tail + behind)
        behind -= loads.reduce_share(job)
    return best + (_reduce_tail(loads) if is_safe else max(loads.longest_reduce) * slots)


def _tct_lower(loads: Loads) -> int:
    """Lower bound on the sum of completions, times the slots of both kinds.

    It is the larger of two relaxations. In the first, maps end as early as shortest-first allows,
    and each job's reduces then take only their own time. In the second, only reduces matter, and
    none starts before the shortest map phase has ended.
    """
    slots = loads.map_slots * loads.reduce_slots
    map_sums = sum(accumulate(sorted(map(loads.map_share, loads.jobs))))
    reduce_sums = sum(accumulate(sorted(map(loads.reduce_share, loads.jobs))))
    # The k-th job is mapped after the k smallest map works, and no earlier than its own map span.
    by_maps = max(map_sums, sum(loads.map_span) * slots) + sum(loads.reduce_span) * slots
    by_reduces = reduce_sums + len(loads.maps) * min(loads.map_span) * slots
    return max(by_maps, by_reduces)
