"""What no order with a given prefix can beat: the bounds of branch and bound, as kernels.

Theory of operation. The maps of a prefix are settled: nobody behind can touch them. Its reduces are
settled up to the *horizon*, the earliest instant at which a job behind could be ready; from there
on a job behind may slip in before one of the prefix. So the prefix is run up to the horizon,
and from the slots as they are then:

- *next*: each job of the rest, placed next, cannot have its maps done earlier than so, nor be done
  itself before its reduces have run through;
- *maps*: when the k-th job of the rest has its maps done, at least the k least map works are
  done, on the slots as they come free; after that, reduces as in Johnson's order (makespan) or
  each job's own (total);
- *reduces*: when the k-th job is done, at least the k least reduce works are.

Each is a bound by itself; of the k-th smallest instant the greatest counts. The instant before
which work w cannot be done, on slots free from f_1 .. f_S on, is the t where all max(0, t - f_i)
add up to w.
Source: ordering spec, section 10.2, its three bounds sharpened by the slots' own free instants.
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

from sluice.planning.ordering.kernels.fifo_model import FlowArrays, enqueue, run_reduces
from sluice.planning.ordering.kernels.slot_groups import SlotGroups, copy_groups, start_tasks


class SearchNode(NamedTuple):
    """A prefix, what is known of all jobs, and room to work in.

    order: the prefix comes first in it.  is_placed: by job, 1 for those in the prefix.
    goal: weights of makespan and of total completion in what is minimised.
    johnson, by_maps, by_work: all jobs, by Johnson's rule, by map work, by all work.
    twin: by job, the one like it that goes before it, or -1.
    map_work_s, reduce_work_s: by job, slot-seconds.  span_s: what its reduces take at least.
    mapped_s: by job of the rest, the end of its maps if it came next.
    left_s: by job, reduce work that is still to start.
    ends_s, works_s: sorted instants and works.
    """

    flow: FlowArrays
    scratch: SlotGroups
    order: MutableSequence[int]
    is_placed: MutableSequence[int]
    goal: Sequence[float]
    johnson: Sequence[int]
    by_maps: Sequence[int]
    by_work: Sequence[int]
    twin: Sequence[int]
    map_work_s: Sequence[float]
    reduce_work_s: Sequence[float]
    span_s: Sequence[float]
    mapped_s: MutableSequence[float]
    left_s: MutableSequence[float]
    ends_s: MutableSequence[float]
    works_s: MutableSequence[float]


def prefix_bound(node: SearchNode, depth: int) -> tuple[float, float]:
    """The least value of an order that begins with the first `depth` jobs, and their horizon.

    The flow is at the moment that the prefix without its last job had left behind, but that job's
    maps were run. It is left at the moment of the whole prefix: run up to the horizon.
    """
    horizon_s = _look_ahead(node)
    _run_to(node, depth, horizon_s)
    value = 0.0
    if node.goal[0] > 0.0:
        value += node.goal[0] * _last_end_s(node, depth, horizon_s)
    if node.goal[1] > 0.0:
        by_maps_s = _total_by_maps_s(node, depth, horizon_s)
        value += node.goal[1] * max(by_maps_s, _total_by_reduces_s(node, depth, horizon_s))
    return value, horizon_s


def _look_ahead(node: SearchNode) -> float:
    """When the first of the rest could be ready; when each could, if it came next, is noted."""
    work = node.flow.work
    horizon_s = math.inf
    for job in range(len(node.order)):
        if node.is_placed[job] == 1:
            continue
        copy_groups(node.flow.maps, node.scratch)
        node.mapped_s[job] = 0.0
        for run in range(work.first[2 * job], work.first[2 * job + 1]):
            _, last_s = start_tasks(node.scratch, work.tasks[run], work.length_s[run], math.inf)
            node.mapped_s[job] = max(node.mapped_s[job], last_s)
        horizon_s = min(horizon_s, node.mapped_s[job])
    return horizon_s


def _run_to(node: SearchNode, depth: int, horizon_s: float) -> None:
    """Run the prefix's reduces that start before the horizon; note what work is left by job."""
    queue = node.flow.queue
    enqueue(node.flow, node.order, depth - 1)
    run_reduces(node.flow, node.order, horizon_s)
    for job in range(len(node.order)):
        node.left_s[job] = 0.0
        if node.is_placed[job] == 0:
            node.left_s[job] = node.reduce_work_s[job]
    for place in range(queue.counts[2]):
        _note_left(node, queue.waiting[place])
    for place in range(queue.counts[1], queue.counts[0]):
        _note_left(node, queue.pending[place])


def _note_left(node: SearchNode, position: int) -> None:
    """The reduce work that a job of the prefix has still to start."""
    work, queue, job = node.flow.work, node.flow.queue, node.order[position]
    left_s = queue.left[position] * work.length_s[queue.run[position]]
    for run in range(queue.run[position] + 1, work.first[2 * job + 2]):
        left_s += work.tasks[run] * work.length_s[run]
    node.left_s[job] = left_s


def _end_s(node: SearchNode, position: int, horizon_s: float) -> float:
    """When a job of the prefix ends: exactly if all of it has started, else at the earliest."""
    flow, queue, job = node.flow, node.flow.queue, node.order[position]
    if node.left_s[job] <= 0.0:
        return flow.times.ended_s[job]
    waves = -(-queue.left[position] // flow.slots[1])
    from_s = max(horizon_s, flow.times.ready_s[job])
    end_s = from_s + waves * flow.work.length_s[queue.run[position]]
    return max(end_s, flow.times.ended_s[job])


def _last_end_s(node: SearchNode, depth: int, horizon_s: float) -> float:
    """A bound on the makespan."""
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
    """The makespan of the rest in Johnson's order, as if work flowed, on the map slots as they are.

    Work beyond the least of the rest needs at least its even share; the least one, what it needs.
    """
    map_slots, reduce_slots = node.flow.slots[0], node.flow.slots[1]
    least_s = math.inf
    for job in range(len(node.order)):
        if node.is_placed[job] == 0 and node.map_work_s[job] > 0.0:
            least_s = min(least_s, node.map_work_s[job])
    if least_s == math.inf:
        return 0.0
    mapped_s = level_s(node.flow.maps, 0.0, least_s) - least_s / map_slots
    done_s = 0.0
    for place in range(len(node.order)):
        job = node.johnson[place]
        if node.is_placed[job] == 0 and node.map_work_s[job] > 0.0:
            mapped_s += node.map_work_s[job] / map_slots
            done_s = max(mapped_s, done_s) + node.reduce_work_s[job] / reduce_slots
    return done_s


def _total_by_maps_s(node: SearchNode, depth: int, horizon_s: float) -> float:
    """A bound on the sum of ends: the rest's maps shortest first, and each one's own reduces."""
    count = 0
    total_s = 0.0
    for place in range(depth):
        total_s += _end_s(node, place, horizon_s)
    for job in range(len(node.order)):
        if node.is_placed[job] == 0:
            count = _add_sorted(node.ends_s, count, node.mapped_s[job])
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
    """A bound on the sum of ends: all reduce work that is left, shortest first."""
    count = 0
    total_s = 0.0
    for place in range(depth):
        job = node.order[place]
        end_s = _end_s(node, place, horizon_s)
        if node.left_s[job] > 0.0:
            count = _add_sorted(node.ends_s, count, end_s)
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
    """The instant before which so many slot-seconds cannot be done, on slots free as in the pool.

    from_s: nothing is done before.
    """
    at_s = from_s
    slots = 0
    if work_s <= 0.0:  # what takes no slot waits for none
        return from_s
    for group in range(pool.ends[0], pool.ends[1]):
        next_s = max(from_s, pool.at_s[group])
        if slots > 0:
            room_s = (next_s - at_s) * slots
            if room_s >= work_s:
                break
            work_s -= room_s
        at_s = next_s
        slots += pool.slots[group]
    return at_s + work_s / slots


def _add_sorted(numbers: MutableSequence[float], count: int, number: float) -> int:
    """Insert a number into the first so many, least first; how many there are now."""
    place = count
    while place > 0 and numbers[place - 1] > number:
        numbers[place] = numbers[place - 1]
        place -= 1
    numbers[place] = number
    return count + 1
