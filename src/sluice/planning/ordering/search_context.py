"""Shared state of a search: the problem as arrays, the kernels, and the budget.

A search starts with the plain kernels, which need no loading. A longer search asks for the compiled
ones. Loading them takes half a second, and about ten seconds once after an installation. This time
is not part of the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sluice.planning.ordering.compilation import Kernels, compiled_kernels, is_kept, plain_kernels
from sluice.planning.ordering.flow_arrays import expected_s, flow_arrays_of
from sluice.planning.ordering.kernels.fifo_model import FlowArrays
from sluice.planning.ordering.loads import Loads, loads_of
from sluice.planning.ordering.problem import OrderingProblem
from sluice.planning.ordering.rules import JobOrdering
from sluice.planning.ordering.search_budget import SearchBudget


class SearchContext:
    """A problem with the state to search it.

    kernels: kernels to start with.  may_compile: whether compiled kernels may replace them.
    on_progress: called with a short text about the present step.
    """

    def __init__(
        self,
        problem: OrderingProblem,
        budget: SearchBudget,
        *,
        kernels: Kernels | None = None,
        may_compile: bool = True,
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        self.problem = problem
        self.loads: Loads = loads_of(problem)
        self.budget = budget
        self.on_progress = on_progress or (lambda _: None)
        self.kernels = kernels or plain_kernels()
        self.flow: FlowArrays = flow_arrays_of(problem, self.kernels)
        self._may_compile = may_compile

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

    def use_compiled(self, *, only_kept: tuple[str, ...] = ()) -> bool:
        """Switch to compiled kernels if there are any. Returns whether they are in use.

        only_kept: switch only if the machine code of these kernels is already cached.
        """
        if self.kernels.is_compiled or not self._may_compile:
            return self.kernels.is_compiled
        with self.budget.outside():
            fast = self._compiled(only_kept)
            if fast is not None:
                self.use(fast)
        return self.kernels.is_compiled

    def use(self, kernels: Kernels) -> None:
        """Switch to these kernels."""
        self.kernels = kernels
        self.flow = flow_arrays_of(self.problem, kernels)

    def _compiled(self, only_kept: tuple[str, ...]) -> Kernels | None:
        """Return compiled kernels after a test run; None if there are none.

        If the cache is broken, the second try compiles without it.
        """
        for keeps in (True, False):
            fast = compiled_kernels(keeps=keeps)
            if fast is None or not all(is_kept(getattr(fast, name)) for name in only_kept):
                return None
            if not is_kept(fast.evaluate):
                self.on_progress("compiling the search, once")
            try:
                fast.evaluate(flow_arrays_of(self.problem, fast), fast.integers(range(self.jobs)))
            except Exception:  # noqa: BLE001, S112  # a compiler or a broken cache can raise anything; plain works
                continue
            return fast
        self._may_compile = False
        return None

    def expects_s(self, evaluations: int) -> float:
        """Rough estimate of the seconds that these evaluations take with plain kernels."""
        return evaluations * expected_s(self.flow)

    def order(self, found: Sequence[int]) -> JobOrdering:
        """Convert a sequence of a kernel to an order."""
        return tuple(int(job) for job in found)
