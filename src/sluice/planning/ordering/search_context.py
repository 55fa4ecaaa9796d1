"""Shared state of a search: the problem as arrays, the kernels, and the budget.

A search starts with the plain kernels, which need no loading. A longer search requests compiled
ones from its loader, and adopts them between two chunks of its work once they are there. Time spent
on loading counts, so a limit in seconds holds with and without a compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Protocol

from sluice.planning.ordering.bounds import SafeBounds
from sluice.planning.ordering.compilation import Kernels, plain_kernels
from sluice.planning.ordering.flow_arrays import expected_s, flow_arrays_of
from sluice.planning.ordering.kernels.fifo_model import FlowArrays
from sluice.planning.ordering.loads import Loads, loads_of
from sluice.planning.ordering.problem import OrderingProblem
from sluice.planning.ordering.rules import JobOrdering
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.ordering.waiting_jobs import WaitingJobs, bounds_of

LOADING_S = 2.0  # loading cached machine code takes less, also on a slow machine


class KernelUse(Enum):
    """The uses of compiled kernels. A proof includes annealing."""

    ANNEALING = auto()
    PROOF = auto()
    ENUMERATION = auto()


class KernelLoader(Protocol):
    """Provides compiled kernels."""

    def request(self, use: KernelUse, on_progress: Callable[[str], None]) -> None:
        """Start to load the kernels of a use."""

    def loaded(self, wait_s: float = 0.0) -> Kernels | None:
        """The requested kernels; None while they load, or if there are none.

        wait_s: wait at most this long for them.
        """


class SearchContext:
    """A problem with the state to search it.

    kernels: kernels to start with.  loader: provides compiled ones; None to do without.
    on_progress: called with a short text about the present step.
    """

    def __init__(
        self,
        problem: OrderingProblem,
        budget: SearchBudget,
        *,
        kernels: Kernels | None = None,
        loader: KernelLoader | None = None,
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        self.problem = problem
        self.loads: Loads = loads_of(problem)
        self.budget = budget
        self.on_progress = on_progress or (lambda _: None)
        if problem.has_waiting:
            kernels = WaitingJobs(problem).kernels()
        self.kernels = kernels or plain_kernels()
        self.flow: FlowArrays = flow_arrays_of(problem, self.kernels)
        self._loader = loader
        self._is_requested = False

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.problem.jobs)

    @property
    def step_s(self) -> float:
        """Every instant is an integer multiple of this length."""
        return self.loads.s(self.loads.step)

    def values(self, order: Sequence[int]) -> tuple[float, float]:
        """Makespan and total completion of an order, in seconds. Counts as an evaluation."""
        self.budget.evaluations += 1
        makespan_s, total_s = self.kernels.evaluate(self.flow, self.kernels.integers(order))
        return float(makespan_s), float(total_s)

    def bounds(self, order: Sequence[int]) -> SafeBounds:
        """The safe bounds for all orders and for this one."""
        return bounds_of(self.problem, self.loads, order)

    def request_compiled(self, use: KernelUse) -> None:
        """Ask once for compiled kernels, unless too little time is left to load them."""
        left_s = self.budget.left_s(1.0)
        is_late = left_s is not None and left_s < LOADING_S
        if self._loader is None or self._is_requested or self.kernels.is_compiled or is_late:
            return
        self._is_requested = True
        self._loader.request(use, self.on_progress)

    def adopt_compiled(self, wait_s: float = 0.0) -> bool:
        """Switch to compiled kernels if they are loaded. Returns whether they are in use."""
        if self._is_requested and self._loader is not None and not self.kernels.is_compiled:
            fast = self._loader.loaded(wait_s)
            if fast is not None:
                self.use(fast)
        return self.kernels.is_compiled

    def use(self, kernels: Kernels) -> None:
        """Switch to these kernels."""
        self.kernels = kernels
        self.flow = flow_arrays_of(self.problem, kernels)

    def expects_s(self, evaluations: int) -> float:
        """Rough estimate of the seconds that these evaluations take with plain kernels."""
        return evaluations * expected_s(self.flow)

    def order(self, found: Sequence[int]) -> JobOrdering:
        """Convert a sequence of a kernel to an order."""
        return tuple(int(job) for job in found)
