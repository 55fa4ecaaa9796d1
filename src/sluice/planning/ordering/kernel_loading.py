"""Loads compiled kernels: runs each that a search needs once, so that it is compiled or cached.

A search starts with the plain kernels, which need no loading, and asks a *loader* for compiled ones
if it will take long. Loading cached machine code takes half a second; compiling takes ten. A loader
may do both while the search runs: the search asks between two chunks of its work, converts its
arrays, and continues where it was. Both kinds of kernels give the same results to the last bit, so
the moment of the change does not change the answer of a search that counts evaluations.

`BlockingLoader` loads at once, while the caller waits. A loader that works in the background needs
a thread and a process, so a floor above passes it in.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from sluice.planning.ordering.annealing import anneal, evaluated
from sluice.planning.ordering.branch_and_bound import BranchAndBound
from sluice.planning.ordering.compilation import Kernels, compiled_kernels, is_kept
from sluice.planning.ordering.enumeration import enumerate_orders
from sluice.planning.ordering.objectives import Objective, weighted_objective
from sluice.planning.ordering.problem import OrderedJob, OrderingProblem
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.ordering.search_context import KernelUse, SearchContext

# Two different jobs give every search something to do.
_TINY = OrderingProblem(
    map_slots=1,
    reduce_slots=1,
    jobs=(
        OrderedJob(name="a", maps=((1, 5.0),), reduces=((1, 2.0),)),
        OrderedJob(name="b", maps=((1, 1.0),), reduces=((1, 6.0),)),
    ),
)
_KERNELS: Mapping[KernelUse, tuple[str, ...]] = {
    KernelUse.ANNEALING: ("evaluate", "anneal_steps"),
    KernelUse.PROOF: ("evaluate", "anneal_steps", "branch", "lowest_open"),
    KernelUse.ENUMERATION: ("evaluate", "evaluate_orders"),
}


def are_kept(kernels: Kernels, use: KernelUse) -> bool:
    """Whether the machine code of these kernels is cached by an earlier process."""
    return all(is_kept(getattr(kernels, name)) for name in _KERNELS[use])


def warm_up(kernels: Kernels, use: KernelUse) -> None:
    """Run the kernels of a use once on a tiny problem. Raises what the compiler raises."""
    context = SearchContext(_TINY, SearchBudget(lambda: 0.0, evaluations=4), kernels=kernels)
    goal = weighted_objective(Objective.MAKESPAN, 1.0, 1.0)
    start = evaluated(context, (0, 1))
    if use is KernelUse.ENUMERATION:
        enumerate_orders(context, Objective.MAKESPAN)
        return
    anneal(context, start, goal, random.Random(0), steps=1)
    if use is KernelUse.PROOF:
        tree = BranchAndBound(context, start, goal)
        assert tree.lower > 0


def compiled_for(use: KernelUse, on_progress: Callable[[str], None]) -> Kernels | None:
    """Compiled kernels that have run once; None without numba or if compiling fails.

    If the cache is broken, the second try compiles without it.
    """
    for keeps in (True, False):
        fast = compiled_kernels(keeps=keeps)
        if fast is None:
            return None
        if not are_kept(fast, use):
            on_progress("compiling the search, once")
        try:
            warm_up(fast, use)
        except Exception:  # noqa: BLE001, S112  # a compiler or a broken cache can raise anything; plain works
            continue
        return fast
    return None


class BlockingLoader:
    """Loads at the request, however long that takes: for tests and published evaluations."""

    def __init__(self) -> None:
        self._kernels: Kernels | None = None

    def request(self, use: KernelUse, on_progress: Callable[[str], None]) -> None:
        self._kernels = compiled_for(use, on_progress)

    def loaded(self, wait_s: float = 0.0) -> Kernels | None:
        return self._kernels
