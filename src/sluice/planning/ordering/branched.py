"""One branch and bound: its tree laid out for the kernels, walked on, and asked what it knows."""

from __future__ import annotations

from functools import cache

from sluice.planning.ordering import rules
from sluice.planning.ordering.aims import Aim, Objective, aim_at, tolerance
from sluice.planning.ordering.annealing import Found
from sluice.planning.ordering.compilation import Kernels
from sluice.planning.ordering.flow_arrays import pool_for
from sluice.planning.ordering.kernels.branching import Tree
from sluice.planning.ordering.kernels.prefix_state import PrefixState
from sluice.planning.ordering.kernels.prefixes import Node
from sluice.planning.ordering.meter import Meter
from sluice.planning.ordering.problem import OrderedJob, Problem
from sluice.planning.ordering.search_context import SearchContext

_CHUNK_S = 0.02
_CHUNK = 16  # nodes at once, where evaluations are counted


class Branching:
    """A tree whose root is open. Values are those of the aim."""

    def __init__(self, context: SearchContext, best: Found, aim: Aim) -> None:
        self._context = context
        self._aim = aim
        self._best = best
        self._node = _node(context, aim)
        self._prefix_state = _prefix_state(context)
        self._tree = _tree(context, best, aim)
        self._size = 1 if context.meter.evaluations_max is None else _CHUNK
        with context.meter.outside():
            _make_ready(context.kernels)
        self._depth = self._open(0)

    @property
    def is_done(self) -> bool:
        """Whether no better order can be left."""
        return self._depth < 0

    @property
    def lower(self) -> float:
        """What no order can beat, as far as the tree is walked."""
        if self.is_done:
            return float(self._tree.best[0])
        value = float(self._context.kernels.lowest_open(self._tree, self._context.jobs))
        return min(value, float(self._tree.best[0]))

    @property
    def best(self) -> Found:
        """The best order that it knows."""
        order = self._context.order(self._tree.best_order)
        if order == self._best.order:
            return self._best
        makespan_s, total_s = self._context.values(order)
        return Found(order=order, makespan_s=makespan_s, total_s=total_s)

    def learn(self, best: Found) -> None:
        """Cut by the value of an order that was found elsewhere, if it is better."""
        value = best.value(self._aim)
        if value < self._tree.best[0]:
            self._best = best
            self._tree.best[0] = value
            self._tree.best[1] = tolerance(self._aim, value, self._context.step_s)
            for place, job in enumerate(best.order):
                self._tree.best_order[place] = job

    def walk(self, until: float, patience_s: float | None = None) -> bool:
        """Walk on until all is done or that share of the limit, or the patience, is spent."""
        meter = self._context.meter
        began_s = meter.elapsed_s
        while not self.is_done and meter.share < until:
            before_s = meter.elapsed_s
            if patience_s is not None and before_s - began_s > patience_s:
                break
            self._depth = self._open(min(self._size, meter.left_evaluations(until) or self._size))
            took_s = meter.elapsed_s - before_s
            if meter.evaluations_max is None:
                self._size = max(1, self._size // 2) if took_s > 2 * _CHUNK_S else self._size
                self._size = 2 * self._size if took_s < _CHUNK_S else self._size
        return self.is_done

    def _open(self, nodes: int) -> int:
        counts = self._tree.counts
        before = counts[1]
        depth = int(self._context.kernels.branch(self._node, self._prefix_state, self._tree, nodes))
        self._context.meter.evaluations += int(counts[1] - before)
        return depth


@cache
def _make_ready(kernels: Kernels) -> None:
    """Have the kernels compiled, if they are to be, before they are timed."""
    alone = Problem(map_slots=1, reduce_slots=0, jobs=(OrderedJob(name="alone", maps=((1, 1.0),)),))
    context = SearchContext(alone, Meter(lambda: 0.0), kernels=kernels)
    aim = aim_at(Objective.MAKESPAN, 1.0, 1.0)
    tree = _tree(context, Found(order=(0,), makespan_s=1.0, total_s=1.0), aim)
    kernels.branch(_node(context, aim), _prefix_state(context), tree, 1)
    kernels.lowest_open(tree, 1)


def _twins(context: SearchContext) -> list[int]:
    """By job, the last one before it that is the same but for its name; -1 for none."""
    last: dict[object, int] = {}
    twins = []
    for number, job in enumerate(context.problem.jobs):
        look = (job.maps, job.reduces)
        twins.append(last.get(look, -1))
        last[look] = number
    return twins


def _node(context: SearchContext, aim: Aim) -> Node:
    floats, whole, loads = context.kernels.floats, context.kernels.whole, context.loads
    jobs = context.jobs
    return Node(
        flow=context.flow,
        aside=pool_for(context.problem.map_slots, len(context.flow.work.tasks), context.kernels),
        order=whole([0] * jobs),
        is_placed=whole([0] * jobs),
        goal=floats([aim.makespan, aim.total]),
        johnson=whole(rules.mk_jr(loads)),
        by_maps=whole(sorted(loads.jobs, key=lambda job: loads.maps[job])),
        by_work=whole(rules.tct(loads)),
        twin=whole(_twins(context)),
        map_work_s=floats([loads.s(work) for work in loads.maps]),
        reduce_work_s=floats([loads.s(work) for work in loads.reduces]),
        span_s=floats([loads.s(span) for span in loads.reduce_span]),
        mapped_s=floats([0.0] * jobs),
        left_s=floats([0.0] * jobs),
        ends_s=floats([0.0] * (jobs + 1)),
        works_s=floats([0.0] * (jobs + 1)),
    )


def _prefix_state(context: SearchContext) -> PrefixState:
    floats, whole = context.kernels.floats, context.kernels.whole
    jobs, rows = context.jobs, context.jobs + 1
    groups = max(len(pool.moved_at_s) for pool in (context.flow.maps, context.flow.reduces))
    return PrefixState(
        at_s=floats([0.0] * (2 * rows * groups)),
        slots=whole([0] * (2 * rows * groups)),
        groups=whole([0] * (2 * rows)),
        line=whole([0] * (rows * (4 * jobs + 3))),
        ended_s=floats([0.0] * (rows * jobs)),
    )


def _tree(context: SearchContext, best: Found, aim: Aim) -> Tree:
    floats, whole = context.kernels.floats, context.kernels.whole
    rows = context.jobs + 1
    value = best.value(aim)
    return Tree(
        child=whole([0] * (rows * context.jobs)),
        value=floats([0.0] * (rows * context.jobs)),
        horizon_s=floats([0.0] * (rows * context.jobs)),
        width=whole([0] * rows),
        place=whole([0] * rows),
        best=floats([value, tolerance(aim, value, context.step_s)]),
        best_order=whole(best.order),
        counts=whole([0, 0]),
    )
