"""Simulated annealing over orders, as a kernel that takes its random numbers as input.

A step moves one job or swaps two. A better order is always accepted. A worse one is accepted if the
loss is at most the temperature times an exponential draw. This is Metropolis's rule: it accepts a
loss d with probability exp(-d / temperature), and needs no logarithm here. Small moves are mixed
with far ones, because most gains come from neighbours but a search must be able to leave a local
optimum. Source: ordering spec, section 10.4.
"""

from __future__ import annotations

from typing import NamedTuple

from sluice.planning.ordering.kernels.fifo_model import FlowArrays, evaluate

_SWAPS, _NEAR = 0.4, 0.5  # share of steps that swap; share of steps to a near position


class RandomDraws(NamedTuple):
    """Random numbers by step.

    kind, place, other: uniform in [0, 1): kind of the step and two positions.
    patience: exponential, for the acceptance of a worse order.
    """

    kind: list[float]
    place: list[float]
    other: list[float]
    patience: list[float]


class AnnealingState(NamedTuple):
    """Present order of annealing, and the best order found.

    goal: weights of makespan and total completion that guide the steps, then the weights of the
    value to minimise (ties by the former).  now: the present guide value.
    best: value to minimise, guide value, makespan and total completion of the best order.
    """

    order: list[int]
    best_order: list[int]
    goal: list[float]
    now: list[float]
    best: list[float]


def anneal_steps(
    flow: FlowArrays, state: AnnealingState, draws: RandomDraws, temperature: float, floor: float
) -> int:
    """Take one step for each draw; stop when the best value reaches the floor.

    Returns the number of steps taken.
    """
    for step in range(len(draws.kind)):
        if state.best[0] <= floor:
            return step
        kind = draws.kind[step]
        start, end = pick_places(kind, draws.place[step], draws.other[step], len(state.order))
        is_swap = kind < _SWAPS
        apply_move(state.order, start, end, is_swap)
        last_s, total_s = evaluate(flow, state.order)
        value = state.goal[0] * last_s + state.goal[1] * total_s
        if value - state.now[0] <= temperature * draws.patience[step]:
            state.now[0] = value
            keep_if_best(state, last_s, total_s)
        else:
            apply_move(state.order, end, start, is_swap)
    return len(draws.kind)


def pick_places(kind: float, place: float, other: float, jobs: int) -> tuple[int, int]:
    """Return two different positions: any, or near each other."""
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


def apply_move(order: list[int], start: int, end: int, is_swap: bool) -> None:  # noqa: FBT001  # a draw decides, not a caller
    """Swap the jobs at two positions, or move the first to the position of the second."""
    job = order[start]
    if is_swap:
        order[start] = order[end]
        order[end] = job
        return
    step = 1 if end > start else -1
    for place in range(start, end, step):
        order[place] = order[place + step]
    order[end] = job


def keep_if_best(state: AnnealingState, last_s: float, total_s: float) -> None:
    """Store the present order if it is the best so far."""
    value = state.goal[2] * last_s + state.goal[3] * total_s
    guide = state.now[0]
    if value < state.best[0] or (value == state.best[0] and guide < state.best[1]):
        state.best[0] = value
        state.best[1] = guide
        state.best[2] = last_s
        state.best[3] = total_s
        for place in range(len(state.order)):
            state.best_order[place] = state.order[place]
