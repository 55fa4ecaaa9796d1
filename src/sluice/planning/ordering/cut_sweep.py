"""The cut sweep: orders between the least total completion time and the least makespan.

For every cut q, the first q jobs in TCT order come first, then the rest by MK_JR. The orders that
are undominated in both measures are the frontier. Source: ordering spec, section 10.3.
"""

from __future__ import annotations

from sluice.planning.ordering import rules
from sluice.planning.ordering.annealing import EvaluatedOrder, evaluated
from sluice.planning.ordering.search_context import KernelUse, SearchContext

CUTS_MAX = 400
_PLACES_MAX = 10**7  # jobs times cuts


def cut_sweep(context: SearchContext, *, cuts_max: int = CUTS_MAX) -> tuple[EvaluatedOrder, ...]:
    """Return the frontier, least makespan first.

    cuts_max: with more jobs, this many cuts are picked evenly, and fewer for very many jobs.
    """
    shortest = rules.tct(context.loads)
    cuts = max(2, min(context.jobs + 1, cuts_max, _PLACES_MAX // context.jobs))
    if context.expects_s(cuts) > 1:
        context.request_compiled(KernelUse.ANNEALING)
    tried = []
    for number in range(cuts):
        context.adopt_compiled()
        cut = number * context.jobs // (cuts - 1)
        rest = rules.mk_jr(context.loads, sorted(shortest[cut:]))
        tried.append(evaluated(context, (*shortest[:cut], *rest)))
    return frontier(tried)


def frontier(tried: list[EvaluatedOrder]) -> tuple[EvaluatedOrder, ...]:
    """The undominated orders, least makespan first; of equals the first."""
    kept: list[EvaluatedOrder] = []
    for each in sorted(tried, key=lambda one: (one.makespan_s, one.total_s)):
        if not kept or each.total_s < kept[-1].total_s:
            kept.append(each)
    return tuple(kept)
