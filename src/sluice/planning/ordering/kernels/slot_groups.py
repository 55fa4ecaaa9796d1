"""Slots of one kind as groups with equal free instants, and list scheduling of tasks on them.

Theory of operation. All slots are equal, so the state is only how many slots are free from which
instant: a list of groups (instant, slots), earliest first. Tasks start one after another, and the
next task always takes the slot that is free first. The *window* is the set of slots that are free
before the first of them would be free again. While more tasks remain than the window has slots,
each of its slots takes one task, and the whole window moves by one task length. Many such cycles
are done in one step, so the cost of a phase depends on the number of groups and not of tasks. A
heap of slots would cost O(log slots) for every task.

Every end is `start + length` in floating point. The simulator adds once per task. `advanced` gives
the same rounded sums, so both agree bit for bit.

The functions of this module are kernels: plain Python over sequences, which `compilation` compiles.
Source: ordering spec, section 10.1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

_FEW = 8  # up to this many additions a loop is as fast as the jump


class SlotGroups(NamedTuple):
    """Slot groups: `slots[i]` slots are free from `at_s[i]` on, for ends[0] <= i < ends[1].

    at_s, slots: have twice the length that the groups need, so that groups can be appended without
    moving the others.  moved_at_s, moved_slots: working memory for groups that move.
    """

    at_s: list[float]
    slots: list[int]
    ends: list[int]
    moved_at_s: list[float]
    moved_slots: list[int]


def reset(pool: SlotGroups, slots: int) -> None:
    """Make all slots free from instant 0 on."""
    pool.at_s[0] = 0.0
    pool.slots[0] = slots
    pool.ends[0] = 0
    pool.ends[1] = 1


def copy_groups(source: SlotGroups, target: SlotGroups) -> None:
    """Copy the groups of the source to the target."""
    first = source.ends[0]
    groups = source.ends[1] - first
    for group in range(groups):
        target.at_s[group] = source.at_s[first + group]
        target.slots[group] = source.slots[first + group]
    target.ends[0] = 0
    target.ends[1] = groups


def idle_until(pool: SlotGroups, until_s: float) -> None:
    """Keep slots that are free earlier idle up to an instant."""
    first, end = pool.ends[0], pool.ends[1]
    idle = 0
    while first < end and pool.at_s[first] <= until_s:
        idle += pool.slots[first]
        first += 1
    if idle:
        pool.at_s[first - 1] = until_s
        pool.slots[first - 1] = idle
        pool.ends[0] = first - 1


def advanced(at_s: float, length_s: float, times: int) -> float:
    """`at_s` after adding `length_s` to it `times` times, with each sum rounded.

    Between two powers of two all sums are multiples of one unit, so each addition adds the same
    multiple of it, and a multiplication can replace the additions. The first addition can differ:
    a length midway between two multiples is rounded to the even one.

    >>> advanced(0.1, 0.7, 3) == 0.1 + 0.7 + 0.7 + 0.7
    True
    """
    while times > _FEW:
        first_s = at_s + length_s
        second_s = first_s + length_s
        step_s = (second_s + length_s) - second_s
        if step_s <= 0.0:  # the length is below the precision of the instant
            return second_s
        top_s = math.ldexp(1.0, math.frexp(first_s)[1])
        jumps = 0
        if second_s < top_s:
            jumps = min(times - 2, int((top_s - second_s) / step_s) - 1)
        if jumps > 0:
            at_s = second_s + jumps * step_s
            times -= jumps + 2
        else:
            at_s = first_s
            times -= 1
    for _ in range(times):
        at_s += length_s
    return at_s


def start_tasks(
    pool: SlotGroups, tasks: int, length_s: float, before_s: float
) -> tuple[int, float]:
    """Start tasks of one length on the slots that are free first, if they start before `before_s`.

    Returns the number of tasks left, and the end of the last started task, -1 if none started.
    """
    at_s, slots, ends = pool.at_s, pool.slots, pool.ends
    last_s = -1.0
    while tasks > 0 and at_s[ends[0]] < before_s:
        window, end = ends[0], ends[1]
        # When the first slot of the window is free again; a slot that is free later is not in it.
        back_s = min(at_s[window] + length_s, before_s)
        room = slots[window]
        window += 1
        while window < end and room < tasks and at_s[window] < back_s:
            room += slots[window]
            window += 1
        # The last slot of the window bounds the cycles, because it starts last. A window that has
        # met a group outside of it must stop before it overtakes that group.
        cycles = 1
        if tasks >= room + room:
            until_s = before_s
            if window < end and at_s[window] < until_s:
                until_s = at_s[window]
            cycles = _cycles(at_s[window - 1], length_s, tasks // room, until_s)
        last_s = at_s[window - 1] + length_s
        if cycles > 1:
            last_s = advanced(at_s[window - 1], length_s, cycles)
        # In the last cycle there may be fewer tasks than slots: the slots of the last group idle.
        staying = max(0, room - tasks)
        _move(pool, window, staying, length_s, cycles)
        tasks -= cycles * (room - staying)
    return tasks, last_s


def _cycles(last_s: float, length_s: float, most: int, until_s: float) -> int:
    """Number of cycles of a window before its last group would start at `until_s` or later.

    last_s: first start of that group. It is before `until_s`, so the result is at least 1.
    """
    if until_s == math.inf:
        return most
    room = (until_s - last_s) / length_s
    cycles = most
    if room < most:
        cycles = max(1, int(room))
    # The division is rounded, and sums are rounded each on its own, so the last start is checked.
    # Too few cycles are only slower: the caller goes on with another window.
    while cycles > 1 and advanced(last_s, length_s, cycles - 1) >= until_s:
        cycles //= 2
    return cycles


def _move(pool: SlotGroups, window: int, staying: int, length_s: float, cycles: int) -> None:
    """Give each slot of the groups before `window` one task per cycle; the order is kept.

    staying: slots of the last of these groups that take no task.
    """
    at_s, slots, ends = pool.at_s, pool.slots, pool.ends
    first, began_s = ends[0], at_s[window - 1]
    for group in range(first, window):
        if cycles == 1:
            at_s[group] += length_s
        else:
            at_s[group] = advanced(at_s[group], length_s, cycles)
    if window == ends[1] and staying == 0:
        return
    moved = window - first
    for group in range(moved):
        pool.moved_at_s[group] = at_s[first + group]
        pool.moved_slots[group] = slots[first + group]
    ends[0] = window
    if staying > 0:
        pool.moved_slots[moved - 1] -= staying
        at_s[window - 1] = began_s
        slots[window - 1] = staying
        ends[0] = window - 1
    _join(pool, moved)


def _join(pool: SlotGroups, moved: int) -> None:
    """Merge the moved groups into the others, from the last to the first; equal instants join."""
    at_s, slots, ends = pool.at_s, pool.slots, pool.ends
    if ends[1] + moved > len(at_s):
        _to_front(pool)
    first, old = ends[0], ends[1] - 1
    place = ends[1] + moved
    ends[1] = place
    new = moved - 1
    while new >= 0 or (old >= first and place > old + 1):
        if new < 0 or (old >= first and at_s[old] > pool.moved_at_s[new]):
            next_s, room = at_s[old], slots[old]
            old -= 1
        else:
            next_s, room = pool.moved_at_s[new], pool.moved_slots[new]
            new -= 1
        # Compared without tolerance: groups are the same only if the simulator's sums are.
        if place < ends[1] and at_s[place] == next_s:
            slots[place] += room
        else:
            place -= 1
            at_s[place] = next_s
            slots[place] = room
    ends[0] = min(place, first) if place == old + 1 else place


def _to_front(pool: SlotGroups) -> None:
    """Move the groups to the front of the arrays."""
    first = pool.ends[0]
    groups = pool.ends[1] - first
    for group in range(groups):
        pool.at_s[group] = pool.at_s[first + group]
        pool.slots[group] = pool.slots[first + group]
    pool.ends[0] = 0
    pool.ends[1] = groups
