"""One branch-and-bound search: the arrays of its tree, and the loop that runs the kernel."""

from __future__ import annotations

from sluice.planning.ordering import rules
from sluice.planning.ordering.annealing import EvaluatedOrder
from sluice.planning.ordering.compilation import converted
from sluice.planning.ordering.flow_arrays import flow_arrays_of, pool_for
from sluice.planning.ordering.kernels.branch_kernel import SearchTree
from sluice.planning.ordering.kernels.prefix_bounds import SearchNode
from sluice.planning.ordering.kernels.prefix_state import PrefixStates
from sluice.planning.ordering.objectives import WeightedObjective, tolerance
from sluice.planning.ordering.search_context import SearchContext

_CHUNK_S = 0.02
_CHUNK = 16  # nodes per kernel call under a budget of evaluations


class BranchAndBound:
    """A search tree, with its root opened. Values are those of the weighted objective."""

    def __init__(
        self, context: SearchContext, best: EvaluatedOrder, goal: WeightedObjective
    ) -> None:
        self._context = context
        self._aim = goal
        self._best = best
        self._node = _node(context, goal)
        self._prefix_state = _prefix_state(context)
        self._tree = _tree(context, best, goal)
        self._size = 1 if context.budget.evaluations_max is None else _CHUNK
        self._kernels = context.kernels
        self._depth = self._open(0)

    @property
    def is_done(self) -> bool:
        """Whether the tree is exhausted, so that no better order exists."""
        return self._depth < 0

    @property
    def lower(self) -> float:
        """Lower bound on all orders: the least bound of the open nodes, or the best value."""
        if self.is_done:
            return float(self._tree.best[0])
        value = float(self._kernels.lowest_open(self._tree, self._context.jobs))
        return min(value, float(self._tree.best[0]))

    @property
    def best(self) -> EvaluatedOrder:
        """The best order found so far."""
        order = self._context.order(self._tree.best_order)
        if order == self._best.order:
            return self._best
        makespan_s, total_s = self._context.values(order)
        return EvaluatedOrder(order=order, makespan_s=makespan_s, total_s=total_s)

    def learn(self, best: EvaluatedOrder) -> None:
        """Use the value of an order that was found elsewhere for pruning, if it is better."""
        value = best.value(self._aim)
        if value < self._tree.best[0]:
            self._best = best
            self._tree.best[0] = value
            self._tree.best[1] = tolerance(self._aim, value, self._context.step_s)
            for place, job in enumerate(best.order):
                self._tree.best_order[place] = job

    def search(self, until: float, patience_s: float | None = None) -> bool:
        """Search until done, or until a share of the budget or `patience_s` is spent."""
        budget = self._context.budget
        began_s = budget.elapsed_s
        while not self.is_done and budget.share < until:
            before_s = budget.elapsed_s
            if patience_s is not None and before_s - began_s > patience_s:
                break
            self._adopt_compiled()
            self._depth = self._open(min(self._size, budget.left_evaluations(until) or self._size))
            took_s = budget.elapsed_s - before_s
            if budget.evaluations_max is None:
                self._size = max(1, self._size // 2) if took_s > 2 * _CHUNK_S else self._size
                self._size = 2 * self._size if took_s < _CHUNK_S else self._size
        return self.is_done

    def _adopt_compiled(self) -> None:
        """Continue on compiled kernels once they are loaded; the tree stays as it is."""
        self._context.adopt_compiled()
        if self._context.kernels is not self._kernels:
            self._kernels = self._context.kernels
            self._node = converted(self._node, self._kernels)
            self._prefix_state = converted(self._prefix_state, self._kernels)
            self._tree = converted(self._tree, self._kernels)

    def _open(self, nodes: int) -> int:
        counts = self._tree.counts
        before = counts[1]
        depth = int(self._kernels.branch(self._node, self._prefix_state, self._tree, nodes))
        self._context.budget.evaluations += int(counts[1] - before)
        return depth


def _equal_before(context: SearchContext) -> list[int]:
    """By job, the last earlier job with the same tasks; -1 for none."""
    last: dict[object, int] = {}
    positions = []
    for number, job in enumerate(context.problem.jobs):
        tasks = (job.maps, job.reduces)
        positions.append(last.get(tasks, -1))
        last[tasks] = number
    return positions


def _node(context: SearchContext, goal: WeightedObjective) -> SearchNode:
    floats, integers, loads = context.kernels.floats, context.kernels.integers, context.loads
    jobs = context.jobs
    return SearchNode(
        # Its own arrays: the ready instants of the prefix stay in them from node to node, and
        # an order evaluated between two nodes, by annealing for example, would overwrite them.
        flow=flow_arrays_of(context.problem, context.kernels),
        scratch=pool_for(context.problem.map_slots, len(context.flow.work.tasks), context.kernels),
        order=integers([0] * jobs),
        is_placed=integers([0] * jobs),
        goal=floats([goal.makespan, goal.total]),
        johnson=integers(rules.mk_jr(loads)),
        by_maps=integers(sorted(loads.jobs, key=lambda job: loads.maps[job])),
        by_work=integers(rules.tct(loads)),
        equal_before=integers(_equal_before(context)),
        map_work_s=floats([loads.s(work) for work in loads.maps]),
        reduce_work_s=floats([loads.s(work) for work in loads.reduces]),
        span_s=floats([loads.s(span) for span in loads.reduce_span]),
        mapped_s=floats([0.0] * jobs),
        left_s=floats([0.0] * jobs),
        ends_s=floats([0.0] * (jobs + 1)),
        works_s=floats([0.0] * (jobs + 1)),
    )


def _prefix_state(context: SearchContext) -> PrefixStates:
    floats, integers = context.kernels.floats, context.kernels.integers
    jobs, rows = context.jobs, context.jobs + 1
    groups = max(len(pool.moved_at_s) for pool in (context.flow.maps, context.flow.reduces))
    return PrefixStates(
        at_s=floats([0.0] * (2 * rows * groups)),
        slots=integers([0] * (2 * rows * groups)),
        groups=integers([0] * (2 * rows)),
        queue=integers([0] * (rows * (4 * jobs + 3))),
        ended_s=floats([0.0] * (rows * jobs)),
    )


def _tree(context: SearchContext, best: EvaluatedOrder, goal: WeightedObjective) -> SearchTree:
    floats, integers = context.kernels.floats, context.kernels.integers
    rows = context.jobs + 1
    value = best.value(goal)
    return SearchTree(
        child=integers([0] * (rows * context.jobs)),
        value=floats([0.0] * (rows * context.jobs)),
        horizon_s=floats([0.0] * (rows * context.jobs)),
        width=integers([0] * rows),
        place=integers([0] * rows),
        best=floats([value, tolerance(goal, value, context.step_s)]),
        best_order=integers(best.order),
        counts=integers([0, 0]),
    )
