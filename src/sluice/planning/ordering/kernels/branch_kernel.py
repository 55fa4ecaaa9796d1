"""Branch and bound over orders, as kernels: depth first over prefixes of an order.

A node is a prefix. Its children are the jobs that can come next, sorted by their bounds, on a tie
the shorter job first. Depth first finds good orders early and needs memory for one path only.

A child is pruned if its bound is not below the best value by more than the tolerance, because then
no order behind it can be better. Of equal jobs only the input order is searched. Nothing else is
pruned. In particular, a prefix whose slots are all free earlier than those of another does not
dominate it: with priorities among reduces an earlier start can end later (Graham's anomalies).

The search can stop after any number of nodes and continue later; its state is in `SearchTree`.
Source: ordering spec, section 10.2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sluice.planning.ordering.kernels.fifo_model import enqueue, run_maps, run_reduces
from sluice.planning.ordering.kernels.prefix_bounds import SearchNode, prefix_bound
from sluice.planning.ordering.kernels.prefix_state import PrefixStates, restore_prefix, save_prefix
from sluice.planning.ordering.kernels.slot_groups import reset


class SearchTree(NamedTuple):
    """State of the search. There is one row for each depth, with an entry for each job.

    child, value, horizon_s: by row, the jobs that can come next, least bound first, with the
    bounds and horizons of the prefixes that end with them.
    width, place: by depth, number of children, and index of the next one.
    best: the best value, and the tolerance.  best_order: the order with that value.
    counts: depth (-1 when the search is done), and number of opened nodes.
    """

    child: list[int]
    value: list[float]
    horizon_s: list[float]
    width: list[int]
    place: list[int]
    best: list[float]
    best_order: list[int]
    counts: list[int]


def branch(node: SearchNode, states: PrefixStates, tree: SearchTree, nodes: int) -> int:
    """Open up to `nodes` more nodes. Returns the present depth, -1 when the search is done."""
    jobs = len(node.order)
    counts = tree.counts
    until = counts[1] + nodes
    if counts[1] == 0:
        _begin(node, states)
        counts[0] = 0
        _open(node, states, tree)
        counts[1] = 1
    while counts[0] >= 0 and counts[1] < until:
        depth = counts[0]
        at = depth * jobs + tree.place[depth]
        # The best value may have fallen since the row was made, so its bounds are compared again.
        # The row is sorted: the first child that is pruned prunes all behind it.
        if tree.place[depth] < tree.width[depth] and _is_open(tree, tree.value[at]):
            tree.place[depth] += 1
            _step_down(node, states, tree, at)
            counts[1] += 1
        else:
            counts[0] = depth - 1
            if depth > 0:
                node.is_placed[node.order[depth - 1]] = 0
    return counts[0]


def lowest_open(tree: SearchTree, jobs: int) -> float:
    """Least bound of the open nodes; infinite if there are none."""
    least = math.inf
    for depth in range(tree.counts[0] + 1):
        if tree.place[depth] < tree.width[depth]:
            least = min(least, tree.value[depth * jobs + tree.place[depth]])
    return least


def _is_open(tree: SearchTree, value: float) -> bool:
    """Whether a node with this bound can contain a better order."""
    return value < tree.best[0] - tree.best[1]


def _begin(node: SearchNode, states: PrefixStates) -> None:
    """Start with the empty prefix: all slots are free, and the queue is empty."""
    reset(node.flow.maps, node.flow.slots[0])
    reset(node.flow.reduces, node.flow.slots[1])
    for number in range(3):
        node.flow.queue.counts[number] = 0
    save_prefix(node.flow, states, 0, len(node.order))


def _step_down(node: SearchNode, states: PrefixStates, tree: SearchTree, at: int) -> None:
    """Append a child to the prefix, run it up to its horizon, and open the node."""
    depth, job = tree.counts[0], tree.child[at]
    node.order[depth] = job
    node.is_placed[job] = 1
    # The child is run a second time, after its bound: states of all children of all depths would
    # need memory for jobs squared of them.
    restore_prefix(node.flow, states, depth, len(node.order))
    run_maps(node.flow.work, job, node.flow.maps, node.flow.times)
    enqueue(node.flow, node.order, depth)
    run_reduces(node.flow, node.order, tree.horizon_s[at])
    save_prefix(node.flow, states, depth + 1, len(node.order))
    tree.counts[0] = depth + 1
    _open(node, states, tree)


def _open(node: SearchNode, states: PrefixStates, tree: SearchTree) -> None:
    """Find the children that are not pruned, sorted by their bounds."""
    jobs, depth = len(node.order), tree.counts[0]
    tree.width[depth] = 0
    tree.place[depth] = 0
    for place in range(jobs):
        job = node.by_work[place]
        # Orders that differ only in equal jobs are the same order: the later one waits for the
        # earlier.
        equal_before = node.equal_before[job]
        if node.is_placed[job] == 1 or (equal_before >= 0 and node.is_placed[equal_before] == 0):
            continue
        node.order[depth] = job
        node.is_placed[job] = 1
        restore_prefix(node.flow, states, depth, jobs)
        run_maps(node.flow.work, job, node.flow.maps, node.flow.times)
        horizon_s = math.inf
        if depth + 1 < jobs:
            value, horizon_s = prefix_bound(node, depth + 1)
        else:
            value = _whole_value(node, tree)
        node.is_placed[job] = 0
        if _is_open(tree, value):
            _add_child(tree, depth * jobs, job, value, horizon_s)


def _whole_value(node: SearchNode, tree: SearchTree) -> float:
    """Value of the complete order, after the last job's maps were run; stored if it is the best."""
    jobs = len(node.order)
    enqueue(node.flow, node.order, jobs - 1)
    run_reduces(node.flow, node.order, math.inf)
    last_s = 0.0
    total_s = 0.0
    for place in range(jobs):
        ended_s = node.flow.times.ended_s[node.order[place]]
        last_s = max(last_s, ended_s)
        total_s += ended_s
    value = node.goal[0] * last_s + node.goal[1] * total_s
    # Without the tolerance: an order that is a little better costs nothing to keep.
    if value < tree.best[0]:
        tree.best[0] = value
        for place in range(jobs):
            tree.best_order[place] = node.order[place]
    return value


def _add_child(tree: SearchTree, row: int, job: int, value: float, horizon_s: float) -> None:
    """Insert a child into the sorted row that begins at `row`."""
    depth = tree.counts[0]
    at = row + tree.width[depth]
    while at > row and tree.value[at - 1] > value:
        tree.value[at] = tree.value[at - 1]
        tree.child[at] = tree.child[at - 1]
        tree.horizon_s[at] = tree.horizon_s[at - 1]
        at -= 1
    tree.value[at] = value
    tree.child[at] = job
    tree.horizon_s[at] = horizon_s
    tree.width[depth] += 1
