"""PrefixState of a flow, kept by depth: what a prefix leaves behind, taken up again for each child.

A moment is all that is settled when a prefix was run: both kinds of slots, who is in line for
reduces and how far each has got, and the ends so far. Readiness is not in it, for a prefix's own
does not change while its children are tried.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import NamedTuple

from sluice.planning.ordering.kernels.filling import Pool
from sluice.planning.ordering.kernels.running import FlowArrays


class PrefixState(NamedTuple):
    """By depth and kind of slot, groups; by depth, four rows of the line and its counts; ends."""

    at_s: MutableSequence[float]
    slots: MutableSequence[int]
    groups: MutableSequence[int]
    line: MutableSequence[int]
    ended_s: MutableSequence[float]


def keep(flow: FlowArrays, moments: PrefixState, depth: int, jobs: int) -> None:
    """Remember the present moment under a depth."""
    _keep_pool(moments, flow.maps, 2 * depth)
    _keep_pool(moments, flow.reduces, 2 * depth + 1)
    line = flow.line
    base = depth * (4 * jobs + 3)
    for number in range(3):
        moments.line[base + number] = line.counts[number]
    base += 3
    for place in range(jobs):
        moments.line[base + place] = line.coming[place]
        moments.line[base + jobs + place] = line.waiting[place]
        moments.line[base + 2 * jobs + place] = line.run[place]
        moments.line[base + 3 * jobs + place] = line.left[place]
        moments.ended_s[depth * jobs + place] = flow.course.ended_s[place]


def take_up(flow: FlowArrays, moments: PrefixState, depth: int, jobs: int) -> None:
    """Let the flow be as it was remembered."""
    _take_up_pool(moments, flow.maps, 2 * depth)
    _take_up_pool(moments, flow.reduces, 2 * depth + 1)
    line = flow.line
    base = depth * (4 * jobs + 3)
    for number in range(3):
        line.counts[number] = moments.line[base + number]
    base += 3
    for place in range(depth):
        line.coming[place] = moments.line[base + place]
        line.waiting[place] = moments.line[base + jobs + place]
        line.run[place] = moments.line[base + 2 * jobs + place]
        line.left[place] = moments.line[base + 3 * jobs + place]
    for job in range(jobs):
        flow.course.ended_s[job] = moments.ended_s[depth * jobs + job]


def _keep_pool(moments: PrefixState, pool: Pool, row: int) -> None:
    base = row * (len(moments.at_s) // len(moments.groups))
    first = pool.ends[0]
    groups = pool.ends[1] - first
    for group in range(groups):
        moments.at_s[base + group] = pool.at_s[first + group]
        moments.slots[base + group] = pool.slots[first + group]
    moments.groups[row] = groups


def _take_up_pool(moments: PrefixState, pool: Pool, row: int) -> None:
    base = row * (len(moments.at_s) // len(moments.groups))
    for group in range(moments.groups[row]):
        pool.at_s[group] = moments.at_s[base + group]
        pool.slots[group] = moments.slots[base + group]
    pool.ends[0] = 0
    pool.ends[1] = moments.groups[row]
