"""Lower bounds on all orders with a given prefix, for branch and bound, as kernels.

Theory of operation. The maps of a prefix are final: later jobs cannot change them. Its reduces are
final up to the *horizon*, the earliest instant at which a later job can be ready. After it a later
job can start before reduces of the prefix. So the prefix is run up to the horizon, and three bounds
start from the slots at that time:

- *next*: a remaining job cannot have its maps done earlier than if it came next, and cannot end
  before its reduces have run after that;
- *maps*: when the k-th remaining job has its maps done, at least the k smallest map works are done
  on the slots as they become free. Then follow the reduces, in Johnson's order for the makespan, or
  each job's own reduces for the total;
- *reduces*: when the k-th job is done, at least the k smallest reduce works are done.

Each is a valid bound on the k-th smallest instant, so the greatest of them is valid too. Work w on
slots that are free from f_1 .. f_S cannot be done before the t at which the sum of all
max(0, t - f_i) is w: before t there are not enough slot-seconds.
Source: ordering spec, section 10.2; its three bounds are sharpened by the slots' free instants.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sluice.planning.ordering.kernels.fifo_model import FlowArrays, enqueue, run_reduces
from sluice.planning.ordering.kernels.slot_groups import SlotGroups, copy_groups, start_tasks


class SearchNode(NamedTuple):
    """A prefix, constants of all jobs, and working memory.

    order: begins with the prefix.  is_placed: by job, 1 for jobs of the prefix.
    goal: weights of makespan and total completion in the value to minimise.
    johnson, by_maps, by_work: all jobs, sorted by Johnson's rule, by map work, by all work.
    equal_before: by job, the last earlier job that is equal to it, or -1.
    map_work_s, reduce_work_s: by job, slot-seconds.  span_s: least time of its reduces.
    mapped_s: by remaining job, end of its maps if it came next.
    left_s: by job, reduce work that has not started.
    ends_s, works_s: sorted instants and works.  scratch: slots to try a job's maps on.
    """

    flow: FlowArrays
    scratch: SlotGroups
    order: list[int]
    is_placed: list[int]
    goal: list[float]
    johnson: list[int]
    by_maps: list[int]
    by_work: list[int]
    equal_before: list[int]
    map_work_s: list[float]
    reduce_work_s: list[float]
    span_s: list[float]
    mapped_s: list[float]
    left_s: list[float]
    ends_s: list[float]
    works_s: list[float]


def prefix_bound(node: SearchNode, depth: int) -> tuple[float, float]:
    """Lower bound on orders that begin with the first `depth` jobs, and their horizon.

    Before the call, the flow has the state of the prefix without its last job, plus the maps of
    that job. After it, the flow has the state of the whole prefix, run up to the horizon.
    """
    horizon_s = _earliest_ready_s(node)
    _run_to(node, depth, horizon_s)
    value = 0.0
    if node.goal[0] > 0.0:
        value += node.goal[0] * _last_end_s(node, depth, horizon_s)
    if node.goal[1] > 0.0:
        by_maps_s = _total_by_maps_s(node, depth, horizon_s)
        value += node.goal[1] * max(by_maps_s, _total_by_reduces_s(node, depth, horizon_s))
    return value, horizon_s


def _earliest_ready_s(node: SearchNode) -> float:
    """Earliest ready instant of the remaining jobs; stores in `mapped_s` that of each job."""
    work = node.flow.work
    horizon_s = math.inf
    for job in range(len(node.order)):
        if node.is_placed[job] == 1:
            continue
        # On a copy of the slots: the job is only tried next.
        copy_groups(node.flow.maps, node.scratch)
        node.mapped_s[job] = 0.0
        for run in range(work.first[2 * job], work.first[2 * job + 1]):
            _, last_s = start_tasks(node.scratch, work.tasks[run], work.length_s[run], math.inf)
            node.mapped_s[job] = max(node.mapped_s[job], last_s)
        horizon_s = min(horizon_s, node.mapped_s[job])
    return horizon_s


def _run_to(node: SearchNode, depth: int, horizon_s: float) -> None:
    """Run the prefix's reduces that start before the horizon; store the work left by job."""
    queue = node.flow.queue
    enqueue(node.flow, node.order, depth - 1)
    run_reduces(node.flow, node.order, horizon_s)
    for job in range(len(node.order)):
        node.left_s[job] = 0.0
        if node.is_placed[job] == 0:
            node.left_s[job] = node.reduce_work_s[job]
    for place in range(queue.counts[2]):
        _store_left(node, queue.waiting[place])
    # Jobs that are ready wait in the heap; those that are not are still pending. Both have work
    # left.
    for place in range(queue.counts[1], queue.counts[0]):
        _store_left(node, queue.pending[place])


def _store_left(node: SearchNode, position: int) -> None:
    """Store the reduce work of a prefix job that has not started."""
    work, queue, job = node.flow.work, node.flow.queue, node.order[position]
    left_s = queue.left[position] * work.length_s[queue.run[position]]
    for run in range(queue.run[position] + 1, work.first[2 * job + 2]):
        left_s += work.tasks[run] * work.length_s[run]
    node.left_s[job] = left_s


def _end_s(node: SearchNode, position: int, horizon_s: float) -> float:
    """End of a prefix job: exact if all its tasks have started, else a lower bound."""
    flow, queue, job = node.flow, node.flow.queue, node.order[position]
    if node.left_s[job] <= 0.0:
        return flow.times.ended_s[job]
    # All reduce slots for this job alone would still need this many waves of the present run.
    waves = -(-queue.left[position] // flow.slots[1])
    from_s = max(horizon_s, flow.times.ready_s[job])
    end_s = from_s + waves * flow.work.length_s[queue.run[position]]
    return max(end_s, flow.times.ended_s[job])


def _last_end_s(node: SearchNode, depth: int, horizon_s: float) -> float:
    """Lower bound on the makespan."""
    last_s = _johnson_s(node)
    left_s = 0.0
    for place in range(depth):
        last_s = max(last_s, _end_s(node, place, horizon_s))
    for job in range(len(node.order)):
        left_s += node.left_s[job]
        if node.is_placed[job] == 0:
            last_s = max(last_s, node.mapped_s[job] + node.span_s[job])
    return max(last_s, level_s(node.flow.reduces, horizon_s, left_s))


def _johnson_s(node: SearchNode) -> float:
    """Fluid makespan of the remaining jobs in Johnson's order, on the map slots as they are.

    The smallest map work starts on the slots as they become free. All further work takes at least
    its even share of the slots. Johnson's order is optimal for the fluid model, so this is a bound.
    """
    map_slots, reduce_slots = node.flow.slots[0], node.flow.slots[1]
    least_s = math.inf
    for job in range(len(node.order)):
        if node.is_placed[job] == 0 and node.map_work_s[job] > 0.0:
            least_s = min(least_s, node.map_work_s[job])
    if least_s == math.inf:
        return 0.0
    # Less one even share, because the loop below adds the share of that job again.
    mapped_s = level_s(node.flow.maps, 0.0, least_s) - least_s / map_slots
    done_s = 0.0
    for place in range(len(node.order)):
        job = node.johnson[place]
        if node.is_placed[job] == 0 and node.map_work_s[job] > 0.0:
            mapped_s += node.map_work_s[job] / map_slots
            done_s = max(mapped_s, done_s) + node.reduce_work_s[job] / reduce_slots
    return done_s


def _total_by_maps_s(node: SearchNode, depth: int, horizon_s: float) -> float:
    """Lower bound on the sum of ends: maps shortest first, then each job's own reduces."""
    count = 0
    total_s = 0.0
    for place in range(depth):
        total_s += _end_s(node, place, horizon_s)
    for job in range(len(node.order)):
        if node.is_placed[job] == 0:
            count = _add_sorted(node.ends_s, count, node.mapped_s[job])
    # The k-th smallest of these instants bounds the k-th job in any order, whichever job it is. So
    # it may be paired with the k smallest map works below, though they may belong to other jobs.
    count = 0
    work_s = 0.0
    for place in range(len(node.order)):
        job = node.by_maps[place]
        if node.is_placed[job] == 0:
            work_s += node.map_work_s[job]
            total_s += max(node.ends_s[count], level_s(node.flow.maps, 0.0, work_s))
            total_s += node.span_s[job]
            count += 1
    return total_s


def _total_by_reduces_s(node: SearchNode, depth: int, horizon_s: float) -> float:
    """Lower bound on the sum of ends: all remaining reduce work, shortest first."""
    count = 0
    total_s = 0.0
    for place in range(depth):
        job = node.order[place]
        end_s = _end_s(node, place, horizon_s)
        if node.left_s[job] > 0.0:
            count = _add_sorted(node.ends_s, count, end_s)
            # Ends and works are sorted each for itself, for the same reason.
            _add_sorted(node.works_s, count - 1, node.left_s[job])
        else:
            total_s += end_s
    for job in range(len(node.order)):
        if node.is_placed[job] == 0 and node.left_s[job] > 0.0:
            count = _add_sorted(node.ends_s, count, node.mapped_s[job] + node.span_s[job])
            _add_sorted(node.works_s, count - 1, node.left_s[job])
        elif node.is_placed[job] == 0:
            total_s += node.mapped_s[job]
    work_s = 0.0
    for place in range(count):
        work_s += node.works_s[place]
        total_s += max(node.ends_s[place], level_s(node.flow.reduces, horizon_s, work_s))
    return total_s


def level_s(pool: SlotGroups, from_s: float, work_s: float) -> float:
    """Earliest instant at which `work_s` slot-seconds can be done on these slots.

    from_s: no work is done before this instant.
    """
    at_s = from_s
    slots = 0
    if work_s <= 0.0:  # no work needs no slot, so it does not wait for one
        return from_s
    for group in range(pool.ends[0], pool.ends[1]):
        next_s = max(from_s, pool.at_s[group])
        if slots > 0:
            room_s = (next_s - at_s) * slots
            # The work is done before the next group is free, which then does not matter.
            if room_s >= work_s:
                break
            work_s -= room_s
        at_s = next_s
        slots += pool.slots[group]
    return at_s + work_s / slots


def _add_sorted(numbers: list[float], count: int, number: float) -> int:
    """Insert a number into the first `count` sorted numbers; returns the new count."""
    place = count
    while place > 0 and numbers[place - 1] > number:
        numbers[place] = numbers[place - 1]
        place -= 1
    numbers[place] = number
    return count + 1
