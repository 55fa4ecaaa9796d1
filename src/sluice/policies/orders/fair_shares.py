"""Arithmetic of fair shares: who gets the next slots.

Source: dynamicmr spec, section 5.1 (order of pools, shares), golden example G5.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

from sluice.core.entries import JobEntry
from sluice.model.slot_kind import SlotKind


@dataclass(frozen=True, slots=True)
class Claim:
    """One claimant: tasks it runs, tasks it could start, its weight."""

    running: int
    waiting: int
    weight: float


def claim_of(job: JobEntry, kind: SlotKind) -> Claim:
    """Return what a job claims of its pool's slots."""
    phases = [phase for phase in job.phases if phase.kind is kind]
    waiting = sum(phase.pending.count for phase in phases if phase.is_queued)
    return Claim(sum(phase.running for phase in phases), waiting, job.job.weight)


def fill(slots: int, claims: Sequence[Claim]) -> list[int]:
    """How many of `slots` free slots each claimant gets when each slot in turn goes to the one
    with the least running / weight; equal ones in their given order.

    Equal to handing slots out one by one, at a cost that does not grow with their number.

    >>> fill(5, [Claim(0, 9, 1.0), Claim(2, 9, 1.0), Claim(0, 1, 1.0)])
    [3, 1, 1]
    """
    slots = min(slots, sum(claim.waiting for claim in claims))
    given = _fill_below(slots, claims) if slots > 2 * len(claims) else [0] * len(claims)
    heap = [
        ((claim.running + got) / claim.weight, position)
        for position, (claim, got) in enumerate(zip(claims, given, strict=True))
        if got < claim.waiting
    ]
    heapq.heapify(heap)
    for _ in range(slots - sum(given)):
        _, position = heap[0]
        claim = claims[position]
        given[position] += 1
        if given[position] < claim.waiting:
            level = (claim.running + given[position]) / claim.weight
            heapq.heapreplace(heap, (level, position))
        else:
            heapq.heappop(heap)
    return given


def _fill_below(slots: int, claims: Sequence[Claim]) -> list[int]:
    """Slots that go out before the level at which `slots` would be passed, whatever the ties.

    The level at which a fluid would run out, less the height of the highest step, is below it.
    """
    rises = sorted(
        event
        for claim in claims
        if claim.waiting
        for event in (
            (claim.running / claim.weight, claim.weight),
            ((claim.running + claim.waiting) / claim.weight, -claim.weight),
        )
    )
    level = speed = poured = 0.0
    for at, change in rises:
        if poured + (at - level) * speed >= slots:
            break
        poured += (at - level) * speed
        level = at
        speed += change
    if speed > 0:
        level += (slots - poured) / speed
    level -= max(1 / claim.weight for claim in claims)
    given = [_below(level, claim) for claim in claims]
    return given if sum(given) <= slots else [0] * len(claims)


def _below(level: float, claim: Claim) -> int:
    """How many of the claimant's next slots are strictly below a level."""
    steps = level * claim.weight - claim.running
    # Weights as far apart as floats can be make it infinite, or no number at all.
    count = math.ceil(steps) if 0 < steps < claim.waiting else (claim.waiting if steps > 0 else 0)
    # The product may round across a step; the quotient is what the order is made of.
    while count and (claim.running + count - 1) / claim.weight >= level:
        count -= 1
    while count < claim.waiting and (claim.running + count) / claim.weight < level:
        count += 1
    return count
