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

from sluice.planning.ordering.kernels.filling import Pool, give, reset, wait
from sluice.planning.ordering.kernels.readiness import pop_first, push, sort_by_instant


class Work(NamedTuple):
    """Runs of all jobs: maps of job j are runs first[2j] to first[2j+1] - 1, then its reduces."""

    length_s: Sequence[float]
    tasks: Sequence[int]
    first: Sequence[int]


class Course(NamedTuple):
    """Instants by job: first map started, last map ended (0 without), first reduce, last task."""

    began_s: MutableSequence[float]
    ready_s: MutableSequence[float]
    reducing_s: MutableSequence[float]
    ended_s: MutableSequence[float]


class Line(NamedTuple):
    """The jobs that wait for reduce slots.

    coming: `counts[0]` positions in the order of readiness, not ready yet from `counts[1]` on.
    waiting: a heap of the positions that are ready, `counts[2]` of them.
    run, left: by position, the run that is next, and how many of its tasks have not started.
    first_behind: the first position among those that are still to come, by place in `coming`.
    """

    coming: MutableSequence[int]
    waiting: MutableSequence[int]
    run: MutableSequence[int]
    left: MutableSequence[int]
    first_behind: MutableSequence[int]
    counts: MutableSequence[int]


class FlowArrays(NamedTuple):
    """Work, slots of each kind, and room to run the work in."""

    work: Work
    slots: Sequence[int]
    maps: Pool
    reduces: Pool
    course: Course
    line: Line


def evaluate(flow: FlowArrays, order: Sequence[int]) -> tuple[float, float]:
    """Run all jobs of an order: the last of their ends and the sum of their ends, seconds.

    The instants stand in the course of the flow.
    """
    jobs = len(order)
    reset(flow.maps, flow.slots[0])
    reset(flow.reduces, flow.slots[1])
    for position in range(jobs):
        run_maps(flow.work, order[position], flow.maps, flow.course)
    line_up(flow, order, jobs)
    run_reduces(flow, order, math.inf)
    last_s = 0.0
    total_s = 0.0
    for position in range(jobs):
        ended_s = flow.course.ended_s[order[position]]
        last_s = max(last_s, ended_s)
        total_s += ended_s
    return last_s, total_s


def run_maps(work: Work, job: int, pool: Pool, course: Course) -> None:
    """Start all maps of a job; the pool is as the jobs before it have left it."""
    first, end = work.first[2 * job], work.first[2 * job + 1]
    course.ready_s[job] = 0.0
    if first < end:
        course.began_s[job] = pool.at_s[pool.ends[0]]
    for run in range(first, end):
        _, last_s = give(pool, work.tasks[run], work.length_s[run], math.inf)
        course.ready_s[job] = max(course.ready_s[job], last_s)
    course.ended_s[job] = course.ready_s[job]


def line_up(flow: FlowArrays, order: Sequence[int], jobs: int) -> None:
    """Put the first jobs of an order in line for their reduces, by the instants of readiness."""
    work, line, ready_s = flow.work, flow.line, flow.course.ready_s
    count = 0
    for position in range(jobs):
        job = order[position]
        first = work.first[2 * job + 1]
        if first < work.first[2 * job + 2]:
            line.coming[count] = position
            line.run[position] = first
            line.left[position] = work.tasks[first]
            count += 1
    sort_by_instant(line.coming, count, order, ready_s, line.first_behind)
    line.counts[0] = count
    line.counts[1] = 0
    line.counts[2] = 0
    _note_first_behind(line, jobs)


def fall_in(flow: FlowArrays, order: Sequence[int], position: int) -> None:
    """Put one more job in line; those before it may have begun."""
    work, line, ready_s = flow.work, flow.line, flow.course.ready_s
    counts = line.counts
    job = order[position]
    first = work.first[2 * job + 1]
    if first < work.first[2 * job + 2]:
        line.run[position] = first
        line.left[position] = work.tasks[first]
        place = counts[0]
        while place > counts[1] and ready_s[order[line.coming[place - 1]]] > ready_s[job]:
            line.coming[place] = line.coming[place - 1]
            place -= 1
        line.coming[place] = position
        counts[0] += 1
    _note_first_behind(line, position + 1)


def _note_first_behind(line: Line, jobs: int) -> None:
    """Of those still to come, note who stands first; beyond the last, nobody."""
    count = line.counts[0]
    line.first_behind[count] = jobs
    for place in range(count - 1, line.counts[1] - 1, -1):
        line.first_behind[place] = min(line.coming[place], line.first_behind[place + 1])


def run_reduces(flow: FlowArrays, order: Sequence[int], until_s: float) -> None:
    """Start the reduces that start before an instant; who has more to start is still in line."""
    pool, line, ready_s = flow.reduces, flow.line, flow.course.ready_s
    counts = line.counts
    while counts[2] > 0 or counts[1] < counts[0]:
        now_s = pool.at_s[pool.ends[0]]
        if counts[2] == 0:
            now_s = max(now_s, ready_s[order[line.coming[counts[1]]]])
        if now_s >= until_s:
            break
        wait(pool, now_s)
        while counts[1] < counts[0] and ready_s[order[line.coming[counts[1]]]] <= now_s:
            counts[2] = push(line.waiting, counts[2], line.coming[counts[1]])
            counts[1] += 1
        before_s = until_s
        if line.first_behind[counts[1]] < line.waiting[0]:
            before_s = min(until_s, ready_s[order[line.coming[counts[1]]]])
        _run_first(flow, order, before_s)


def _run_first(flow: FlowArrays, order: Sequence[int], before_s: float) -> None:
    """Start reduces of the job that waits first, while that is before an instant."""
    work, line, pool, course = flow.work, flow.line, flow.reduces, flow.course
    position = line.waiting[0]
    job = order[position]
    run = line.run[position]
    if run == work.first[2 * job + 1] and line.left[position] == work.tasks[run]:
        course.reducing_s[job] = pool.at_s[pool.ends[0]]
    left, last_s = give(pool, line.left[position], work.length_s[run], before_s)
    course.ended_s[job] = max(course.ended_s[job], last_s)
    line.left[position] = left
    if left > 0:
        return
    line.run[position] = run + 1
    if run + 1 < work.first[2 * job + 2]:
        line.left[position] = work.tasks[run + 1]
    else:
        line.counts[2] = pop_first(line.waiting, line.counts[2])
