"""Branch and bound over orders, as kernels: depth first over prefixes of an order.

A node is a prefix; its children are the jobs that may come next, tried in the order of their
bounds, of equal ones the shorter job first. A child is cut where its bound is not below the best
value found so far by more than the tolerance: by then no order behind it can be better. Of jobs
that are alike the one that stands first in the input goes first. Nothing else is cut: slots that
are free earlier do not dominate, for with priorities among reduces an earlier start can end
later (Graham's anomalies).

The walk can be left after any number of nodes and taken up again: all it knows is in its `Tree`.
Source: ordering spec, section 10.2.
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence
from typing import NamedTuple

from sluice.planning.ordering.kernels.filling import Pool, reset
from sluice.planning.ordering.kernels.prefixes import Node, prefix_bound
from sluice.planning.ordering.kernels.running import evaluate, run_maps


class Tree(NamedTuple):
    """Where the walk is. Rows have a place for each job, and there is one for each depth.

    child, value: by row, the jobs that may come next and their bounds, most promising first.
    width, place: by depth, how many there are, and which is next.
    at_s, slots, groups: by depth, the map slots as the prefix leaves them.
    best: the best value, and by how much another must be below it.  best_order: what has it.
    counts: depth (-1 when all is done), and nodes opened.
    """

    child: MutableSequence[int]
    value: MutableSequence[float]
    width: MutableSequence[int]
    place: MutableSequence[int]
    at_s: MutableSequence[float]
    slots: MutableSequence[int]
    groups: MutableSequence[int]
    best: MutableSequence[float]
    best_order: MutableSequence[int]
    counts: MutableSequence[int]


def branch(node: Node, tree: Tree, nodes: int) -> int:
    """Open up to so many more nodes. Returns the depth that is left, -1 when all is done."""
    jobs = len(node.order)
    counts = tree.counts
    until = counts[1] + nodes
    if counts[1] == 0:
        reset(node.shop.maps, node.shop.slots[0])
        _keep(tree, node.shop.maps, 0, jobs)
        counts[0] = 0
        _open(node, tree)
        counts[1] = 1
    while counts[0] >= 0 and counts[1] < until:
        depth = counts[0]
        at = depth * jobs + tree.place[depth]
        if tree.place[depth] < tree.width[depth] and _is_open(tree, tree.value[at]):
            tree.place[depth] += 1
            _step_down(node, tree, tree.child[at])
            counts[1] += 1
        else:
            counts[0] = depth - 1
            if depth > 0:
                node.is_placed[node.order[depth - 1]] = 0
    return counts[0]


def lowest_open(tree: Tree, jobs: int) -> float:
    """The least bound of what is not walked yet; infinite where all is."""
    least = math.inf
    for depth in range(tree.counts[0] + 1):
        if tree.place[depth] < tree.width[depth]:
            least = min(least, tree.value[depth * jobs + tree.place[depth]])
    return least


def _is_open(tree: Tree, value: float) -> bool:
    """Whether something better can be behind that bound."""
    return value < tree.best[0] - tree.best[1]


def _step_down(node: Node, tree: Tree, job: int) -> None:
    """Place a job behind the prefix, and open the node that this makes."""
    depth = tree.counts[0]
    node.order[depth] = job
    node.is_placed[job] = 1
    _take_up(tree, node.shop.maps, depth, len(node.order))
    run_maps(node.shop.work, job, node.shop.maps, node.shop.course)
    _keep(tree, node.shop.maps, depth + 1, len(node.order))
    tree.counts[0] = depth + 1
    _open(node, tree)


def _open(node: Node, tree: Tree) -> None:
    """Find the children that are worth a try, and sort them by their bounds."""
    jobs, depth = len(node.order), tree.counts[0]
    tree.width[depth] = 0
    tree.place[depth] = 0
    for place in range(jobs):
        job = node.by_work[place]
        twin = node.twin[job]
        if node.is_placed[job] == 1 or (twin >= 0 and node.is_placed[twin] == 0):
            continue
        node.order[depth] = job
        node.is_placed[job] = 1
        value = _child_value(node, tree, depth)
        node.is_placed[job] = 0
        if _is_open(tree, value):
            _add_child(tree, depth, jobs, job, value)


def _child_value(node: Node, tree: Tree, depth: int) -> float:
    """The bound of the prefix up to `depth`; of a whole order its value, which is kept if best."""
    jobs = len(node.order)
    if depth + 1 == jobs:
        last_s, total_s = evaluate(node.shop, node.order)
        value = node.goal[0] * last_s + node.goal[1] * total_s
        if value < tree.best[0]:
            tree.best[0] = value
            for place in range(jobs):
                tree.best_order[place] = node.order[place]
        return value
    _take_up(tree, node.shop.maps, depth, jobs)
    run_maps(node.shop.work, node.order[depth], node.shop.maps, node.shop.course)
    return prefix_bound(node, depth + 1)


def _add_child(tree: Tree, depth: int, jobs: int, job: int, value: float) -> None:
    first = depth * jobs
    at = first + tree.width[depth]
    while at > first and tree.value[at - 1] > value:
        tree.value[at] = tree.value[at - 1]
        tree.child[at] = tree.child[at - 1]
        at -= 1
    tree.value[at] = value
    tree.child[at] = job
    tree.width[depth] += 1


def _keep(tree: Tree, pool: Pool, depth: int, jobs: int) -> None:
    """Remember the map slots as the prefix of that depth leaves them."""
    base = depth * (len(tree.at_s) // (jobs + 1))
    first = pool.ends[0]
    groups = pool.ends[1] - first
    for group in range(groups):
        tree.at_s[base + group] = pool.at_s[first + group]
        tree.slots[base + group] = pool.slots[first + group]
    tree.groups[depth] = groups


def _take_up(tree: Tree, pool: Pool, depth: int, jobs: int) -> None:
    """Let the map slots be as the prefix of that depth left them."""
    base = depth * (len(tree.at_s) // (jobs + 1))
    for group in range(tree.groups[depth]):
        pool.at_s[group] = tree.at_s[base + group]
        pool.slots[group] = tree.slots[base + group]
    pool.ends[0] = 0
    pool.ends[1] = tree.groups[depth]
