"""What becomes of jobs in an order: the FIFO slot model, a phase at a time.

Theory of operation. Maps never wait for anything, so that map slots take the maps of all jobs as
one long row, in order. When a job's last map ends, its reduces become ready. A reduce slot that is
free takes a reduce of the ready job that stands first in the order; between two instants at
which a job becomes ready that is one job until it is done. A job that becomes ready while one
behind it runs takes the slots as they come free.

An order is a sequence of job indices. A phase is a row of *runs*, tasks of equal length that follow
each other: one run where all tasks take the average, up to one a task where lengths are listed.
The functions of this module are kernels, see `filling`. Source: ordering spec, section 3.
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

from sluice.planning.ordering.kernels.slot_groups import SlotGroups, idle_until, reset, start_tasks
from sluice.planning.ordering.kernels.sort_and_heap import pop_first, push, sort_by_instant


class JobRuns(NamedTuple):
    """Runs of all jobs: maps of job j are runs first[2j] to first[2j+1] - 1, then its reduces."""

    length_s: Sequence[float]
    tasks: Sequence[int]
    first: Sequence[int]


class JobTimes(NamedTuple):
    """Instants by job: first map started, last map ended (0 without), first reduce, last task."""

    began_s: MutableSequence[float]
    ready_s: MutableSequence[float]
    reducing_s: MutableSequence[float]
    ended_s: MutableSequence[float]


class ReduceQueue(NamedTuple):
    """The jobs that wait for reduce slots.

    coming: `counts[0]` positions in the order of readiness, not ready yet from `counts[1]` on.
    waiting: a heap of the positions that are ready, `counts[2]` of them.
    run, left: by position, the run that is next, and how many of its tasks have not started.
    first_behind: the first position among those that are still to come, by place in `coming`.
    """

    pending: MutableSequence[int]
    waiting: MutableSequence[int]
    run: MutableSequence[int]
    left: MutableSequence[int]
    pending_min: MutableSequence[int]
    counts: MutableSequence[int]


class FlowArrays(NamedTuple):
    """Work, slots of each kind, and room to run the work in."""

    work: JobRuns
    slots: Sequence[int]
    maps: SlotGroups
    reduces: SlotGroups
    times: JobTimes
    queue: ReduceQueue


def evaluate(flow: FlowArrays, order: Sequence[int]) -> tuple[float, float]:
    """Run all jobs of an order: the last of their ends and the sum of their ends, seconds.

    The instants stand in the course of the flow.
    """
    jobs = len(order)
    reset(flow.maps, flow.slots[0])
    reset(flow.reduces, flow.slots[1])
    for position in range(jobs):
        run_maps(flow.work, order[position], flow.maps, flow.times)
    fill_queue(flow, order, jobs)
    run_reduces(flow, order, math.inf)
    last_s = 0.0
    total_s = 0.0
    for position in range(jobs):
        ended_s = flow.times.ended_s[order[position]]
        last_s = max(last_s, ended_s)
        total_s += ended_s
    return last_s, total_s


def run_maps(work: JobRuns, job: int, pool: SlotGroups, times: JobTimes) -> None:
    """Start all maps of a job; the pool is as the jobs before it have left it."""
    first, end = work.first[2 * job], work.first[2 * job + 1]
    times.ready_s[job] = 0.0
    if first < end:
        times.began_s[job] = pool.at_s[pool.ends[0]]
    for run in range(first, end):
        _, last_s = start_tasks(pool, work.tasks[run], work.length_s[run], math.inf)
        times.ready_s[job] = max(times.ready_s[job], last_s)
    times.ended_s[job] = times.ready_s[job]


def fill_queue(flow: FlowArrays, order: Sequence[int], jobs: int) -> None:
    """Put the first jobs of an order in line for their reduces, by the instants of readiness."""
    work, queue, ready_s = flow.work, flow.queue, flow.times.ready_s
    count = 0
    for position in range(jobs):
        job = order[position]
        first = work.first[2 * job + 1]
        if first < work.first[2 * job + 2]:
            queue.pending[count] = position
            queue.run[position] = first
            queue.left[position] = work.tasks[first]
            count += 1
    sort_by_instant(queue.pending, count, order, ready_s, queue.pending_min)
    queue.counts[0] = count
    queue.counts[1] = 0
    queue.counts[2] = 0
    _note_first_behind(queue, jobs)


def enqueue(flow: FlowArrays, order: Sequence[int], position: int) -> None:
    """Put one more job in line; those before it may have begun."""
    work, queue, ready_s = flow.work, flow.queue, flow.times.ready_s
    counts = queue.counts
    job = order[position]
    first = work.first[2 * job + 1]
    if first < work.first[2 * job + 2]:
        queue.run[position] = first
        queue.left[position] = work.tasks[first]
        place = counts[0]
        while place > counts[1] and ready_s[order[queue.pending[place - 1]]] > ready_s[job]:
            queue.pending[place] = queue.pending[place - 1]
            place -= 1
        queue.pending[place] = position
        counts[0] += 1
    _note_first_behind(queue, position + 1)


def _note_first_behind(queue: ReduceQueue, jobs: int) -> None:
    """Of those still to come, note who stands first; beyond the last, nobody."""
    count = queue.counts[0]
    queue.pending_min[count] = jobs
    for place in range(count - 1, queue.counts[1] - 1, -1):
        queue.pending_min[place] = min(queue.pending[place], queue.pending_min[place + 1])


def run_reduces(flow: FlowArrays, order: Sequence[int], until_s: float) -> None:
    """Start the reduces that start before an instant; who has more to start is still in line."""
    pool, queue, ready_s = flow.reduces, flow.queue, flow.times.ready_s
    counts = queue.counts
    while counts[2] > 0 or counts[1] < counts[0]:
        now_s = pool.at_s[pool.ends[0]]
        if counts[2] == 0:
            now_s = max(now_s, ready_s[order[queue.pending[counts[1]]]])
        if now_s >= until_s:
            break
        idle_until(pool, now_s)
        while counts[1] < counts[0] and ready_s[order[queue.pending[counts[1]]]] <= now_s:
            counts[2] = push(queue.waiting, counts[2], queue.pending[counts[1]])
            counts[1] += 1
        before_s = until_s
        if queue.pending_min[counts[1]] < queue.waiting[0]:
            before_s = min(until_s, ready_s[order[queue.pending[counts[1]]]])
        _run_first(flow, order, before_s)


def _run_first(flow: FlowArrays, order: Sequence[int], before_s: float) -> None:
    """Start reduces of the job that waits first, while that is before an instant."""
    work, queue, pool, times = flow.work, flow.queue, flow.reduces, flow.times
    position = queue.waiting[0]
    job = order[position]
    run = queue.run[position]
    if run == work.first[2 * job + 1] and queue.left[position] == work.tasks[run]:
        times.reducing_s[job] = pool.at_s[pool.ends[0]]
    left, last_s = start_tasks(pool, queue.left[position], work.length_s[run], before_s)
    times.ended_s[job] = max(times.ended_s[job], last_s)
    queue.left[position] = left
    if left > 0:
        return
    queue.run[position] = run + 1
    if run + 1 < work.first[2 * job + 2]:
        queue.left[position] = work.tasks[run + 1]
    else:
        queue.counts[2] = pop_first(queue.waiting, queue.counts[2])
