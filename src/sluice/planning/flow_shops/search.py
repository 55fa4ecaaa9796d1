"""Search for a short flow shop: the rule NEH, and iterated greedy from there.

NEH (Nawaz, Enscore and Ham 1983) takes the jobs with the most work first, and puts each where the
makespan grows least. Iterated greedy (Ruiz and Stützle 2007) takes a few jobs out, puts them back
in the same way, and keeps a longer order with a chance that falls with its length. With one slot at
each stage all places of a job are compared in one pass (Taillard 1990).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from operator import add

from sluice.planning.flow_shops.flow_shop import FlowShop, SlotTimes, makespan

_TAKEN_OUT = 4  # jobs of one step
_WARMTH = 0.04  # of the mean length, by which a longer order is kept with a chance of 1/e
IsOver = Callable[[], bool]


def neh(shop: FlowShop, is_over: IsOver = lambda: False) -> list[int]:
    """The order of NEH. is_over: asked for each job; the jobs left are then put at the end."""
    total = [sum(work) for work in shop.work]
    jobs = sorted(range(len(total)), key=lambda job: -total[job])
    order: list[int] = []
    for place, job in enumerate(jobs):
        if is_over():
            return order + jobs[place:]
        at, _ = _best_place(shop, order, job)
        order.insert(at, job)
    return order


def searched(
    shop: FlowShop, first: Sequence[int], least: float, draw: random.Random, is_over: IsOver
) -> tuple[int, ...]:
    """The best order of iterated greedy, at the latest when the budget is spent.

    least: of all orders; one that reaches it ends the search.  is_over: asked for each place.
    """
    order = list(first)
    span = makespan(shop, order)
    best, best_span = tuple(order), span
    lengths = [one for job in shop.work for one in job if one]
    warmth = _WARMTH * sum(lengths) / len(lengths)
    while best_span > least and not is_over():
        found = list(order)
        taken = draw.sample(order, min(_TAKEN_OUT, len(order)))
        for job in taken:
            found.remove(job)
        for job in taken:
            at, found_span = _best_place(shop, found, job)
            found.insert(at, job)
        found_span = _by_insertion(shop, found, found_span, draw, is_over)
        if found_span < best_span:
            best, best_span = tuple(found), found_span
        if found_span <= span or draw.random() < math.exp((span - found_span) / warmth):
            order, span = found, found_span
    return best


def _by_insertion(
    shop: FlowShop, order: list[int], span: float, draw: random.Random, is_over: IsOver
) -> float:
    """Move single jobs to better places until no move shortens it; returns the makespan."""
    is_shorter = True
    while is_shorter:
        is_shorter = False
        for job in draw.sample(order, len(order)):
            if is_over():
                return span
            before = order.index(job)
            order.pop(before)
            at, found = _best_place(shop, order, job)
            if found < span:
                order.insert(at, job)
                span, is_shorter = found, True
            else:
                order.insert(before, job)
    return span


def _best_place(shop: FlowShop, order: Sequence[int], job: int) -> tuple[int, float]:
    """Where to put a job, and the makespan of the jobs with it there."""
    if shop.is_classic:
        spans = _spans_by_place(shop, order, job)
    else:
        spans = list(_spans_of_slots(shop, order, job))
    least = min(spans)
    return spans.index(least), least


def _spans_of_slots(shop: FlowShop, order: Sequence[int], job: int) -> Iterator[float]:
    """The makespan with a job at each place, by placing all behind it."""
    before = SlotTimes(shop)
    for at in range(len(order) + 1):
        times = before.copy()
        for one in (job, *order[at:]):
            times.place(one)
        yield times.end
        if at < len(order):
            before.place(order[at])


def _spans_by_place(shop: FlowShop, order: Sequence[int], job: int) -> list[float]:
    """The makespan with a job at each place: ends before it, its own, and ways to the end."""
    stages = range(len(shop.slots))
    ways: list[Sequence[float]] = [[0] * len(stages)]
    for one in reversed(order):
        ways.append(_behind(ways[-1], shop.work[one][::-1]))
    ends: Sequence[float] = [0] * len(stages)
    spans = []
    own = shop.work[job]
    for at, way in enumerate(reversed(ways)):
        spans.append(max(map(add, _behind(ends, own), reversed(way))))
        if at < len(order):
            ends = _behind(ends, shop.work[order[at]])
    return spans


def _behind(ends: Sequence[float], works: Sequence[float]) -> list[float]:
    """When stages are free, once a job is placed behind those that free them at these ends."""
    ready: float = 0
    after = []
    for end, work in zip(ends, works, strict=True):
        if work:
            ready = max(ready, end) + work
            after.append(ready)
        else:
            after.append(end)
    return after
