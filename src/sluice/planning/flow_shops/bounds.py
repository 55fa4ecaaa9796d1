"""Lower bounds on the makespan of a flow shop, for jobs that are still to be placed.

- One stage: when its slots are free, the work left there, and the shortest way to the end.
- Two stages (Lageweg, Lenstra and Rinnooy Kan 1978): the same with Johnson's rule between them,
  which with one slot at each stage counts the time that a job needs from one to the other.

A stage of several slots counts as one machine that is as fast as all of them together.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sluice.planning.flow_shops.flow_shop import FlowShop

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
ROUNDING = 1e-9


class PairBounds:
    """Johnson's bounds of all pairs of stages, for many sets of jobs at once."""

    def __init__(self, shop: FlowShop) -> None:
        works = fluid_work(shop)
        self._pairs = list(combinations(range(len(shop.slots)), 2))
        first = np.array([first for first, _ in self._pairs], dtype=int)
        last = np.array([last for _, last in self._pairs], dtype=int)
        self._first, self._last = first, last
        ahead, behind = works[:, first].T, works[:, last].T  # pairs x jobs
        until = np.cumsum(works, axis=1)
        between = (until[:, last] - works[:, last] - until[:, first]).T
        lag = between if shop.is_classic else np.zeros_like(ahead)
        # A job that skips one of the two does not wait there, and is left out.
        passes = (ahead > 0) & (behind > 0)
        is_early = ahead <= behind
        key = np.where(is_early, ahead + lag, -(behind + lag))
        order = np.lexsort((key, ~is_early), axis=1)
        self._order = order
        self._ahead = np.take_along_axis(np.where(passes, ahead, 0.0), order, axis=1)
        self._behind = np.take_along_axis(np.where(passes, behind, 0.0), order, axis=1)
        self._lag = np.take_along_axis(np.where(passes, lag, -math.inf), order, axis=1)

    def of(self, fronts: Floats, is_left: Flags, tails: Floats) -> Floats:
        """A bound for each case. fronts, tails: cases x stages.  is_left: cases x jobs."""
        if not self._pairs:
            return np.zeros(len(is_left))
        chosen = is_left[:, self._order]
        ahead = np.cumsum(np.where(chosen, self._ahead, 0.0), axis=2)
        behind = np.where(chosen, self._behind, 0.0)
        behind = np.cumsum(behind[:, :, ::-1], axis=2)[:, :, ::-1]
        spans = np.where(chosen, ahead + self._lag + behind, -math.inf).max(axis=2)
        found: Floats = (fronts[:, self._first] + spans + tails[:, self._last]).max(axis=1)
        return found


def fluid_work(shop: FlowShop) -> Floats:
    """The work of each job at each stage over the slots there."""
    works: Floats = np.array(shop.work, dtype=float) / np.array(shop.slots, dtype=float)
    return works


def least_makespan(shop: FlowShop) -> float:
    """No order of all jobs has a shorter makespan."""
    spans = np.array(shop.spans, dtype=float)
    works = fluid_work(shop)
    until = np.cumsum(spans, axis=1)
    heads = _least(until - spans, works > 0)
    tails = _least(until[:, -1:] - until, works > 0)
    alone = (heads + works.sum(axis=0) + tails).max()
    everything = np.ones((1, len(works)), dtype=bool)
    pairs = PairBounds(shop).of(heads[None], everything, tails[None])
    return rounded_up(shop, max(float(until[:, -1].max()), float(alone), float(pairs[0])))


def rounded_up(shop: FlowShop, least: float) -> float:
    """The bound rounded up to a time that a schedule can have."""
    return math.ceil(least - ROUNDING * max(1.0, least)) if shop.is_whole else least


def _least(ways: Floats, passes: Flags) -> Floats:
    """The least way to each stage of the jobs that have work there; 0 for none."""
    found = np.where(passes, ways, math.inf).min(axis=0)
    return np.where(np.isfinite(found), found, 0.0)
