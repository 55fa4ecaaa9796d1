"""States of the FIFO model after each prefix, stored by depth and restored for each child.

A state has both kinds of slots, the reduce queue with the progress of each job, and the ends so
far. Ready instants are not stored, because those of the prefix do not change while its children are
tried. Restoring costs O(jobs + groups); running the prefix again would cost all its tasks.
"""

from __future__ import annotations

from typing import NamedTuple

from sluice.planning.ordering.kernels.fifo_model import FlowArrays
from sluice.planning.ordering.kernels.slot_groups import SlotGroups


class PrefixStates(NamedTuple):
    """Stored states.

    at_s, slots, groups: slot groups, by depth and slot kind.
    queue: three counts and four rows of the reduce queue, by depth.  ended_s: ends, by depth.
    """

    at_s: list[float]
    slots: list[int]
    groups: list[int]
    queue: list[int]
    ended_s: list[float]


def save_prefix(flow: FlowArrays, states: PrefixStates, depth: int, jobs: int) -> None:
    """Store the present state for a depth."""
    _save_groups(states, flow.maps, 2 * depth)
    _save_groups(states, flow.reduces, 2 * depth + 1)
    queue = flow.queue
    base = depth * (4 * jobs + 3)
    for number in range(3):
        states.queue[base + number] = queue.counts[number]
    base += 3
    for place in range(jobs):
        states.queue[base + place] = queue.pending[place]
        states.queue[base + jobs + place] = queue.waiting[place]
        states.queue[base + 2 * jobs + place] = queue.run[place]
        states.queue[base + 3 * jobs + place] = queue.left[place]
        states.ended_s[depth * jobs + place] = flow.times.ended_s[place]


def restore_prefix(flow: FlowArrays, states: PrefixStates, depth: int, jobs: int) -> None:
    """Restore the state of a depth."""
    _restore_groups(states, flow.maps, 2 * depth)
    _restore_groups(states, flow.reduces, 2 * depth + 1)
    queue = flow.queue
    base = depth * (4 * jobs + 3)
    for number in range(3):
        queue.counts[number] = states.queue[base + number]
    base += 3
    for place in range(depth):
        queue.pending[place] = states.queue[base + place]
        queue.waiting[place] = states.queue[base + jobs + place]
        queue.run[place] = states.queue[base + 2 * jobs + place]
        queue.left[place] = states.queue[base + 3 * jobs + place]
    for job in range(jobs):
        flow.times.ended_s[job] = states.ended_s[depth * jobs + job]


def _save_groups(states: PrefixStates, source: SlotGroups, row: int) -> None:
    base = row * (len(states.at_s) // len(states.groups))
    first = source.ends[0]
    groups = source.ends[1] - first
    for group in range(groups):
        states.at_s[base + group] = source.at_s[first + group]
        states.slots[base + group] = source.slots[first + group]
    states.groups[row] = groups


def _restore_groups(states: PrefixStates, target: SlotGroups, row: int) -> None:
    base = row * (len(states.at_s) // len(states.groups))
    for group in range(states.groups[row]):
        target.at_s[group] = states.at_s[base + group]
        target.slots[group] = states.slots[base + group]
    target.ends[0] = 0
    target.ends[1] = states.groups[row]
