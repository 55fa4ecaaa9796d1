"""The FIFO slot model: start and end instants of jobs in a given order, phase by phase.

Theory of operation. Maps wait for nothing but slots, so the map slots take the maps of all jobs in
one sequence, in order. When the last map of a job ends, its reduces become ready. A free reduce
slot takes a reduce of the first ready job in the order. Between two instants at which jobs become
ready this is the same job until all its reduces have started. A job that becomes ready while a
later one runs takes the slots as they become free; running tasks are not stopped.

An order is a sequence of job indices. A phase is a sequence of *runs*, which are tasks of equal
length that follow each other: one run if all tasks have the average length, up to one run per task
if lengths are listed. So the cost depends on runs and slot groups, not on tasks.
The functions of this module are kernels, see `slot_groups`. Source: ordering spec, section 3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sluice.planning.ordering.kernels.slot_groups import SlotGroups, idle_until, reset, start_tasks
from sluice.planning.ordering.kernels.sort_and_heap import pop_first, push, sort_by_instant


class JobRuns(NamedTuple):
    """Task runs of all jobs: runs first[2j] to first[2j+1] - 1 are job j's maps, then reduces."""

    length_s: list[float]
    tasks: list[int]
    first: list[int]


class JobTimes(NamedTuple):
    """Instants by job: first map start, last map end (0 without), first reduce start, last end."""

    began_s: list[float]
    ready_s: list[float]
    reducing_s: list[float]
    ended_s: list[float]


class ReduceQueue(NamedTuple):
    """The jobs that wait for reduce slots, by their positions in the order.

    pending: `counts[0]` positions by ready instant; those from index `counts[1]` on are not ready.
    waiting: a heap of the `counts[2]` positions that are ready.
    run, left: by position, the next run, and how many of its tasks have not started.
    pending_min: by index in `pending`, the least position from there on.
    """

    pending: list[int]
    waiting: list[int]
    run: list[int]
    left: list[int]
    pending_min: list[int]
    counts: list[int]


class FlowArrays(NamedTuple):
    """Task runs, slots of each kind, and working memory."""

    work: JobRuns
    slots: list[int]
    maps: SlotGroups
    reduces: SlotGroups
    times: JobTimes
    queue: ReduceQueue


def evaluate(flow: FlowArrays, order: list[int]) -> tuple[float, float]:
    """Run all jobs of an order. Returns the last end and the sum of all ends, in seconds.

    Stores the instants of the jobs in `flow.times`.
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


def run_maps(work: JobRuns, job: int, groups: SlotGroups, times: JobTimes) -> None:
    """Start all maps of a job; the slots are as the earlier jobs left them."""
    first, end = work.first[2 * job], work.first[2 * job + 1]
    times.ready_s[job] = 0.0
    if first < end:
        times.began_s[job] = groups.at_s[groups.ends[0]]
    for run in range(first, end):
        _, last_s = start_tasks(groups, work.tasks[run], work.length_s[run], math.inf)
        times.ready_s[job] = max(times.ready_s[job], last_s)
    times.ended_s[job] = times.ready_s[job]


def fill_queue(flow: FlowArrays, order: list[int], jobs: int) -> None:
    """Fill the queue with the first `jobs` jobs of an order, sorted by ready instant."""
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
    _update_pending_min(queue, jobs)


def enqueue(flow: FlowArrays, order: list[int], position: int) -> None:
    """Add one more job to the queue; earlier jobs may already run."""
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
    _update_pending_min(queue, position + 1)


def _update_pending_min(queue: ReduceQueue, jobs: int) -> None:
    """Update `pending_min`; after the last pending job it is `jobs`, which no position reaches."""
    count = queue.counts[0]
    queue.pending_min[count] = jobs
    for place in range(count - 1, queue.counts[1] - 1, -1):
        queue.pending_min[place] = min(queue.pending[place], queue.pending_min[place + 1])


def run_reduces(flow: FlowArrays, order: list[int], until_s: float) -> None:
    """Start the reduces that start before `until_s`; unfinished jobs stay in the queue."""
    groups, queue, ready_s = flow.reduces, flow.queue, flow.times.ready_s
    counts = queue.counts
    while counts[2] > 0 or counts[1] < counts[0]:
        now_s = groups.at_s[groups.ends[0]]
        if counts[2] == 0:
            # No job is ready: the slots idle until the next one is.
            now_s = max(now_s, ready_s[order[queue.pending[counts[1]]]])
        if now_s >= until_s:
            break
        # What idled until now is free now: a slot cannot start a reduce in the past.
        idle_until(groups, now_s)
        while counts[1] < counts[0] and ready_s[order[queue.pending[counts[1]]]] <= now_s:
            counts[2] = push(queue.waiting, counts[2], queue.pending[counts[1]])
            counts[1] += 1
        before_s = until_s
        # Only a pending job with an earlier position can interrupt the first waiting job.
        if queue.pending_min[counts[1]] < queue.waiting[0]:
            before_s = min(until_s, ready_s[order[queue.pending[counts[1]]]])
        _run_first(flow, order, before_s)


def _run_first(flow: FlowArrays, order: list[int], before_s: float) -> None:
    """Start reduces of the first waiting job that start before `before_s`."""
    work, queue, groups, times = flow.work, flow.queue, flow.reduces, flow.times
    position = queue.waiting[0]
    job = order[position]
    run = queue.run[position]
    # The first reduce of the job starts now; later calls go on where this one stops.
    if run == work.first[2 * job + 1] and queue.left[position] == work.tasks[run]:
        times.reducing_s[job] = groups.at_s[groups.ends[0]]
    left, last_s = start_tasks(groups, queue.left[position], work.length_s[run], before_s)
    times.ended_s[job] = max(times.ended_s[job], last_s)
    queue.left[position] = left
    if left > 0:
        return
    queue.run[position] = run + 1
    if run + 1 < work.first[2 * job + 2]:
        queue.left[position] = work.tasks[run + 1]
    else:
        queue.counts[2] = pop_first(queue.waiting, queue.counts[2])
