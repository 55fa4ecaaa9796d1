"""The cut sweep: orders between the least total completion and the least makespan.

For every q the first q jobs in TCT order come first, then the rest by MK_JR; what no other of these
beats in both measures is shown to the user, who may choose. Source: ordering spec, section 10.3.
"""

from __future__ import annotations

from sluice.planning.ordering import rules
from sluice.planning.ordering.annealing import Found, found
from sluice.planning.ordering.arena import Arena

CUTS_MAX = 400
_PLACES_MAX = 10**7  # jobs times cuts


def sweep(arena: Arena) -> tuple[Found, ...]:
    """The frontier, least makespan first.

    Of more than CUTS_MAX jobs cuts are picked evenly, and more sparsely the more jobs there are.
    """
    shortest = rules.tct(arena.loads)
    cuts = min(arena.jobs + 1, CUTS_MAX, max(2, _PLACES_MAX // arena.jobs))
    if arena.expects_s(cuts) > 1:
        arena.hurry()
    tried = []
    for number in range(cuts):
        cut = number * arena.jobs // (cuts - 1)
        rest = rules.mk_jr(arena.loads, sorted(shortest[cut:]))
        tried.append(found(arena, (*shortest[:cut], *rest)))
    return frontier(tried)


def frontier(tried: list[Found]) -> tuple[Found, ...]:
    """Those that no other one beats, least makespan first; of equals the first."""
    kept: list[Found] = []
    for each in sorted(tried, key=lambda one: (one.makespan_s, one.total_s)):
        if not kept or each.total_s < kept[-1].total_s:
            kept.append(each)
    return tuple(kept)
