"""Sharing several resources with whole tasks: DRF, and long-term DRF.

A member's dominant share is the greatest part of any resource that its running tasks hold. DRF
starts a task of the member whose dominant share by weight is least; long-term DRF one of the member
whose sum of dominant shares so far is least. The sum of dominant shares is remembered, not the
dominant of the sums by resource: with the latter a member that alternates between resources gains
(ltyarn spec, section 8.5). Source: Ghodsi et al., "Dominant Resource Fairness", NSDI 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStream:
    """The tasks of one member, each of one step.

    demands: what a task takes of each resource, by step; a single one holds for all steps.
    Any number of tasks waits in each step, but for `idle_steps`, in which there is no work.
    """

    name: str
    demands: tuple[tuple[int, ...], ...]
    weight: int = 1
    idle_steps: frozenset[int] = frozenset()

    def demand(self, step: int) -> tuple[int, ...]:
        """Return what its tasks take in a step; the sequence repeats."""
        return self.demands[step % len(self.demands)]


@dataclass(frozen=True, slots=True)
class DominantHistory:
    """tasks: by member, started in each step.  dominant: by member, the sum of dominant shares."""

    tasks: dict[str, tuple[int, ...]]
    dominant: dict[str, Fraction]


def share_tasks(
    capacity: Sequence[int],
    members: Sequence[TaskStream],
    steps: int,
    *,
    remembers: str = "nothing",
) -> DominantHistory:
    """Tasks started in each step by progressive filling.

    capacity: of each resource.  remembers: "nothing" (DRF), "dominant" (the sum of dominant
    shares), or "resources" (the dominant of the sums by resource, for comparison).

    >>> a = TaskStream(name="A", demands=((1, 4),))
    >>> b = TaskStream(name="B", demands=((3, 1),))
    >>> share_tasks((9, 18), [a, b], 1).tasks
    {'A': (3,), 'B': (2,)}
    """
    sums = {member.name: [Fraction(0)] * len(capacity) for member in members}
    dominant = {member.name: Fraction(0) for member in members}
    tasks: dict[str, list[int]] = {member.name: [] for member in members}
    for step in range(steps):
        past = {
            member.name: dominant[member.name]
            if remembers == "dominant"
            else max(sums[member.name])
            if remembers == "resources"
            else Fraction(0)
            for member in members
        }
        held = _filled(capacity, members, step, past, sums if remembers == "resources" else None)
        for member in members:
            count, parts = held[member.name]
            tasks[member.name].append(count)
            dominant[member.name] += max(parts)
            mine = sums[member.name]
            sums[member.name] = [old + new for old, new in zip(mine, parts, strict=True)]
    return DominantHistory({name: tuple(row) for name, row in tasks.items()}, dominant)


def _filled(
    capacity: Sequence[int],
    members: Sequence[TaskStream],
    step: int,
    past: dict[str, Fraction],
    sums: dict[str, list[Fraction]] | None,
) -> dict[str, tuple[int, list[Fraction]]]:
    """Tasks and parts of each resource that each member holds once nothing more fits."""
    free = list(capacity)
    held = {member.name: (0, [Fraction(0)] * len(capacity)) for member in members}
    active = [member for member in members if step not in member.idle_steps]

    def key(member: TaskStream) -> tuple[Fraction, Fraction, int]:
        parts = held[member.name][1]
        used = past[member.name] + max(parts)
        if sums is not None:
            used = max(old + new for old, new in zip(sums[member.name], parts, strict=True))
        return used / member.weight, max(parts) / member.weight, active.index(member)

    while fitting := [
        member
        for member in active
        if all(need <= room for need, room in zip(member.demand(step), free, strict=True))
    ]:
        member = min(fitting, key=key)
        count, parts = held[member.name]
        need = member.demand(step)
        free = [room - units for room, units in zip(free, need, strict=True)]
        pairs = zip(parts, need, capacity, strict=True)
        held[member.name] = (count + 1, [part + Fraction(n, total) for part, n, total in pairs])
    return held
