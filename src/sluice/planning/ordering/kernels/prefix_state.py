"""PrefixState of a flow, kept by depth: what a prefix leaves behind, taken up again for each child.

A moment is all that is settled when a prefix was run: both kinds of slots, who is in line for
reduces and how far each has got, and the ends so far. Readiness is not in it, for a prefix's own
does not change while its children are tried.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import NamedTuple

from sluice.planning.ordering.kernels.fifo_model import FlowArrays
from sluice.planning.ordering.kernels.slot_groups import SlotGroups


class PrefixStates(NamedTuple):
    """By depth and kind of slot, groups; by depth, four rows of the line and its counts; ends."""

    at_s: MutableSequence[float]
    slots: MutableSequence[int]
    groups: MutableSequence[int]
    queue: MutableSequence[int]
    ended_s: MutableSequence[float]


def save_prefix(flow: FlowArrays, states: PrefixStates, depth: int, jobs: int) -> None:
    """Remember the present moment under a depth."""
    _keep_pool(states, flow.maps, 2 * depth)
    _keep_pool(states, flow.reduces, 2 * depth + 1)
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
    """Let the flow be as it was remembered."""
    _take_up_pool(states, flow.maps, 2 * depth)
    _take_up_pool(states, flow.reduces, 2 * depth + 1)
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


def _keep_pool(states: PrefixStates, pool: SlotGroups, row: int) -> None:
    base = row * (len(states.at_s) // len(states.groups))
    first = pool.ends[0]
    groups = pool.ends[1] - first
    for group in range(groups):
        states.at_s[base + group] = pool.at_s[first + group]
        states.slots[base + group] = pool.slots[first + group]
    states.groups[row] = groups


def _take_up_pool(states: PrefixStates, pool: SlotGroups, row: int) -> None:
    base = row * (len(states.at_s) // len(states.groups))
    for group in range(states.groups[row]):
        pool.at_s[group] = states.at_s[base + group]
        pool.slots[group] = states.slots[base + group]
    pool.ends[0] = 0
    pool.ends[1] = states.groups[row]
