"""Simulated annealing over orders, as a kernel: so many steps, by draws that were made before.

A step moves a job elsewhere, or swaps two. A better order is always taken; a worse one if what is
lost is at most the temperature times the step's patience, a draw of the exponential distribution:
Metropolis's rule without a logarithm. Kernels neither draw nor read a clock. Source: ordering
spec, section 10.4.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

from sluice.planning.ordering.kernels.fifo_model import FlowArrays, evaluate

_SWAPS, _NEAR = 0.4, 0.5  # shares of the steps: swaps; those that stay near


class RandomDraws(NamedTuple):
    """By step, uniform below 1: which kind of step, and two places. And the patience."""

    kind: Sequence[float]
    place: Sequence[float]
    other: Sequence[float]
    patience: Sequence[float]


class AnnealingState(NamedTuple):
    """Where the walk stands, and the best order that it met.

    goal: the weights of makespan and total completion by which the walk goes, then those by which
    the best is chosen (ties by the former).  now: the present value by the former.
    best: values by the latter and by the former, makespan, total completion.
    """

    order: MutableSequence[int]
    best_order: MutableSequence[int]
    goal: Sequence[float]
    now: MutableSequence[float]
    best: MutableSequence[float]


def anneal_steps(
    flow: FlowArrays, walk: AnnealingState, draws: RandomDraws, temperature: float, floor: float
) -> int:
    """Take a step for each draw, or fewer: none once the best is down to the floor.

    Returns how many steps were taken.
    """
    for step in range(len(draws.kind)):
        if walk.best[0] <= floor:
            return step
        kind = draws.kind[step]
        start, end = pick_places(kind, draws.place[step], draws.other[step], len(walk.order))
        is_swap = kind < _SWAPS
        apply_move(walk.order, start, end, is_swap)
        last_s, total_s = evaluate(flow, walk.order)
        value = walk.goal[0] * last_s + walk.goal[1] * total_s
        if value - walk.now[0] <= temperature * draws.patience[step]:
            walk.now[0] = value
            keep_if_best(walk, last_s, total_s)
        else:
            apply_move(walk.order, end, start, is_swap)
    return len(draws.kind)


def pick_places(kind: float, place: float, other: float, jobs: int) -> tuple[int, int]:
    """Two different places: anywhere, or not far from each other."""
    start = int(place * jobs)
    is_near = (kind < _SWAPS * _NEAR) or (_SWAPS <= kind < _SWAPS + (1 - _SWAPS) * _NEAR)
    if not is_near:
        end = int(other * (jobs - 1))
        return start, end + (end >= start)
    step = 1 + int(other * other * other * (jobs - 1) / 2)
    end = start + step if int(other * 2**20) % 2 == 0 else start - step
    if end < 0 or end >= jobs:
        end = start - step if end >= jobs else start + step
    return start, end


def apply_move(order: MutableSequence[int], start: int, end: int, is_swap: bool) -> None:  # noqa: FBT001  # a draw decides, not a caller
    """Swap the jobs at two places, or move the first to the place of the second."""
    job = order[start]
    if is_swap:
        order[start] = order[end]
        order[end] = job
        return
    step = 1 if end > start else -1
    for place in range(start, end, step):
        order[place] = order[place + step]
    order[end] = job


def keep_if_best(walk: AnnealingState, last_s: float, total_s: float) -> None:
    """Keep the present order if it is the best so far."""
    by_rank = walk.goal[2] * last_s + walk.goal[3] * total_s
    by_way = walk.now[0]
    if by_rank < walk.best[0] or (by_rank == walk.best[0] and by_way < walk.best[1]):
        walk.best[0] = by_rank
        walk.best[1] = by_way
        walk.best[2] = last_s
        walk.best[3] = total_s
        for place in range(len(walk.order)):
            walk.best_order[place] = walk.order[place]
