"""Branch and bound over orders of jobs.

With one slot at each stage, jobs are placed from both ends: each node puts one job more behind the
first ones, or one more before the last ones, whichever leaves fewer nodes (Ladhari and Haouari
2005). With more slots the end of a schedule depends on all before it, and only the first jobs grow.
A node is left out where a bound is not below the best makespan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sluice.planning.flow_shops.bounds import ROUNDING, Flags, Floats, PairBounds, fluid_work
from sluice.planning.flow_shops.flow_shop import FlowShop, SlotTimes, makespan

IsOver = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Found:
    """The best order, and whether every shorter one was ruled out."""

    order: tuple[int, ...]
    is_proved: bool


class _Over(Exception):
    """The budget is spent."""


def proved(shop: FlowShop, first: Sequence[int], least: float, is_over: IsOver) -> Found:
    """Look for orders with a shorter makespan than the first one, until there are none.

    least: a bound of all orders.  is_over: asked at each node; the answer is then unproved.
    """
    kind: type[_BothEnds | _FirstJobs] = _BothEnds if shop.is_classic else _FirstJobs
    walk = kind(shop, first, least, is_over)
    try:
        walk.start()
    except _Over:
        return Found(walk.best, walk.span <= least)
    return Found(walk.best, is_proved=True)


class _Walk:
    """The best order so far, and how a node is cut off."""

    def __init__(self, shop: FlowShop, best: Sequence[int], least: float, is_over: IsOver) -> None:
        self.shop = shop
        self.best = tuple(best)
        self.span = makespan(shop, best)
        self._least = least
        self._is_over = is_over
        self._pairs = PairBounds(shop)
        self._works = fluid_work(shop)
        rounding = ROUNDING * max(1.0, self.span)
        self._step = 1 - rounding if shop.is_whole else rounding

    @property
    def limit(self) -> float:
        """A bound above it leads to no shorter makespan."""
        return self.span - self._step

    def _check_budget(self) -> None:
        if self._is_over():
            raise _Over

    def _end(self, order: tuple[int, ...]) -> None:
        span = makespan(self.shop, order)
        if span < self.span:
            self.best, self.span = order, span

    def _with_pairs(
        self, bounds: Floats, jobs: Sequence[int], fronts: Floats, is_left: Flags, tails: Floats
    ) -> Floats:
        """The bounds of nodes that each place one of the jobs, raised by those of two stages."""
        left = np.repeat(is_left[None], len(jobs), axis=0)
        left[np.arange(len(jobs)), jobs] = False
        return np.maximum(bounds, self._pairs.of(fronts, left, tails))


class _BothEnds(_Walk):
    """One slot at each stage: the first and the last jobs of the order grow."""

    def start(self) -> None:
        """Visit all nodes."""
        nothing = np.zeros(len(self.shop.slots))
        everything = np.ones(len(self.shop.tasks), dtype=bool)
        self._visit((), (), everything, nothing, nothing)

    def _visit(
        self,
        first: tuple[int, ...],
        last: tuple[int, ...],
        is_left: Flags,
        front: Floats,
        back: Floats,
    ) -> None:
        """front: when each stage is free.  back: from the start of the last jobs to the end."""
        self._check_budget()
        left = np.flatnonzero(is_left)
        if len(left) <= 1:
            self._end((*first, *left.tolist(), *last))
            return
        works = self._works[left]
        fronts, heads = _placed(works, front)
        backs, tails = _placed(works[:, ::-1], back[::-1])
        backs, tails = backs[:, ::-1], tails[::-1]
        rest = works.sum(axis=0) - works
        forward = (fronts + rest + tails).max(axis=1)
        backward = (backs + rest + heads).max(axis=1)
        is_forward = self._promise(forward) <= self._promise(backward)
        bounds = forward if is_forward else backward
        open_ = np.flatnonzero(bounds <= self.limit)
        if not len(open_):
            return
        jobs, bounds = left[open_], bounds[open_]
        same = np.empty((len(jobs), len(front)))
        grown = (fronts if is_forward else backs)[open_]
        same[:] = tails if is_forward else heads
        ends = (grown, same) if is_forward else (same, grown)
        bounds = self._with_pairs(bounds, jobs.tolist(), ends[0], is_left, ends[1])
        for at in np.argsort(bounds, kind="stable").tolist():
            if bounds[at] > self.limit or self.span <= self._least:
                return
            job = int(jobs[at])
            after = is_left.copy()
            after[job] = False
            if is_forward:
                self._visit((*first, job), last, after, grown[at], back)
            else:
                self._visit(first, (job, *last), after, front, grown[at])

    def _promise(self, bounds: Floats) -> tuple[int, float]:
        """Fewer nodes are better, and then larger bounds."""
        return int((bounds <= self.limit).sum()), -float(bounds.sum())


def _placed(works: Floats, front: Floats) -> tuple[Floats, Floats]:
    """When stages are free once each of the jobs is placed, and when any can be there at all."""
    after = np.empty_like(works)
    ready = np.zeros(len(works))
    heads = front.copy()
    for stage, free in enumerate(front):
        passes = works[:, stage] > 0
        if passes.any():
            heads[stage] = max(free, ready[passes].min())
        ready = np.where(passes, np.maximum(ready, free) + works[:, stage], ready)
        after[:, stage] = np.where(passes, ready, free)
    return after, heads


class _FirstJobs(_Walk):
    """Several slots at a stage: the first jobs of the order grow."""

    def start(self) -> None:
        """Visit all nodes."""
        self._work = np.array(self.shop.work, dtype=float)
        self._passes = self._work > 0
        self._spans = np.array(self.shop.spans, dtype=float)
        until = np.cumsum(self._spans, axis=1)
        self._tails = until[:, -1:] - until
        self._visit((), np.ones(len(self._works), dtype=bool), SlotTimes(self.shop))

    def _visit(self, first: tuple[int, ...], is_left: Flags, slots: SlotTimes) -> None:
        self._check_budget()
        left = np.flatnonzero(is_left).tolist()
        if not left:
            self._end(first)
            return
        nodes = []
        for job in left:
            placed = slots.copy()
            placed.place(job)
            nodes.append(placed)
        fronts, tails, bounds = self._bounds(left, nodes)
        if len(left) > 1:
            bounds = self._with_pairs(bounds, left, fronts, is_left, tails)
        for at in np.argsort(bounds, kind="stable").tolist():
            if bounds[at] > self.limit or self.span <= self._least:
                return
            after = is_left.copy()
            after[left[at]] = False
            self._visit((*first, left[at]), after, nodes[at])

    def _bounds(
        self, left: Sequence[int], nodes: Sequence[SlotTimes]
    ) -> tuple[Floats, Floats, Floats]:
        """When stages are free, the shortest ways to the end, and the bounds, of each node."""
        shape = len(left), len(self.shop.slots)
        fronts, tails = np.full(shape, -math.inf), np.zeros(shape)
        bounds = np.array([node.end for node in nodes], dtype=float)
        for at, node in enumerate(nodes):
            jobs = np.array([*left[:at], *left[at + 1 :]], dtype=int)
            ready = np.zeros(len(jobs))
            for stage, free in enumerate(node.free):
                passes = self._passes[jobs, stage]
                spans, ways = self._spans[jobs, stage], self._tails[jobs, stage]
                ready = np.where(passes, np.maximum(ready, free[0]), ready)
                if passes.any():
                    fronts[at, stage] = ready[passes].min()
                    tails[at, stage] = ways[passes].min()
                    work = float(self._work[jobs, stage].sum())
                    done = _filled(free, float(fronts[at, stage]), work)
                    bounds[at] = max(bounds[at], done + tails[at, stage])
                ready = ready + spans
            bounds[at] = max(bounds[at], ready.max(initial=0.0))
        return fronts, tails, bounds


def _filled(free: Sequence[float], earliest: float, work: float) -> float:
    """When all slots together have done the work, if it can be divided at will."""
    begins = sorted(max(one, earliest) for one in free)
    total = work
    for count, begin in enumerate(begins):
        if count and total <= begin * count:  # done before this slot is free
            return total / count
        total += begin
    return total / len(begins)
