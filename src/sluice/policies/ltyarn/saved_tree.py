"""The memory of a tree of queues, as JSON values, and the tree that is made of them again.

A place is the number of a node: first the root and the other queues, then the jobs, each in the
order in which they registered. What the state shows is not saved: weights and shares of queues,
waiting and running tasks. Sums are saved as they are, because rounding depends on the order in
which they were made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sluice.core.state import ClusterState
from sluice.model.ids import JobId, PoolId
from sluice.model.queues import Queue, QueueOrder
from sluice.policies.ltyarn.credits import SUMS
from sluice.policies.ltyarn.quanta import Quanta
from sluice.policies.ltyarn.rounds import ShareTree
from sluice.policies.ltyarn.tree import AppNode, QueueNode, RunningTasks, ShareNode, app_key
from sluice.policies.ltyarn.usage import COUNTERS
from sluice.policies.memory import fields_restored, fields_saved, finite, or_infinite

_OF_NODE = ("first_active_at_s", "held", "quantum_s", "registered_at_s", "units")
_OF_QUEUE = ("quanta_changes", "quanta_sum")
_OF_APP = ("finished", "finished_s", "passed_over", "reserves_from_s")


def saved_tree(tree: ShareTree) -> dict[str, Any]:
    """All that the tree remembers."""
    queues = _queues(tree)
    apps = [app for app in tree.apps.values() if not app.has_left]
    places = {node: place for place, node in enumerate([*queues, *apps])}
    return {
        "arrived": [places[node] for node in tree.arrived],
        "epoch_s": tree.epoch_s,
        "jobs": [_saved_app(app, places) for app in apps],
        "nodes_seen": tree.nodes_seen,
        "quanta": tree.quanta.saved(places),
        "queues": [_saved_queue(queue, tree, places) for queue in queues],
        "rounds": [[finite(one.length_s), one.at_s] for one in tree.rounds.values()],
    }


def _queues(tree: ShareTree) -> list[QueueNode]:
    return [tree.root, *(one for one in tree.queues.values() if one is not tree.root)]


def _saved_node(node: ShareNode) -> dict[str, Any]:
    return {**fields_saved(node, _OF_NODE), "usage": fields_saved(node.usage, COUNTERS)}


def _saved_queue(
    queue: QueueNode, tree: ShareTree, places: Mapping[ShareNode, int]
) -> dict[str, Any]:
    book = queue.credits
    return {
        **_saved_node(queue),
        "active": [places[child] for child in queue.active],
        "children": [places[child] for child in queue.children.values()],
        "children_use": fields_saved(queue.children_use, COUNTERS),
        "credits": None if book is None else {**book.saved(places), **fields_saved(book, SUMS)},
        "is_of_file": queue is not tree.root or queue.name in tree.queues,
        "name": queue.name,
        "parent": None if queue.parent is None else places[queue.parent],
        "round_s": finite(queue.children_round.length_s),
        "turns": queue.turns.saved(places),
        "weight": queue.weight,
        **fields_saved(queue, _OF_QUEUE),
    }


def _saved_app(app: AppNode, places: Mapping[ShareNode, int]) -> dict[str, Any]:
    assert app.parent is not None
    return {
        **_saved_node(app),
        "amounts": list(app.amounts.values()),
        "name": app.name,
        "queue": places[app.parent],
        **fields_saved(app, _OF_APP),
        "tasks": [_saved_tasks(tasks) for tasks in app.tasks],
    }


def _saved_tasks(tasks: RunningTasks) -> dict[str, Any]:
    """Starts in the order of the attempts, of which the first ones are old."""
    return {
        "amount": tasks.amount,
        "ends": tasks.ends,
        "old": len(tasks.old),
        "starts_s": [*tasks.old.values(), *tasks.young.values()],
    }


def restore_tree(tree: ShareTree, saved: Mapping[str, Any], state: ClusterState) -> None:
    """Build the tree again. state: with the jobs and attempts of that instant."""
    running = {job_id: list(app.amounts) for job_id, app in tree.apps.items()}
    tree.quanta = Quanta(is_adaptive=tree.rules.is_adaptive)
    tree.epoch_s = saved["epoch_s"]
    for table in (tree.queues, tree.apps, tree.arrived, tree.rounds):
        table.clear()
    tree.with_credits.clear()
    queues = _restored_queues(tree, saved["queues"], state)
    apps: list[AppNode] = []
    for place, one in enumerate(saved["jobs"]):
        job = state.jobs[JobId(one["name"])]
        app = AppNode(job, queues[one["queue"]], place, tree.usage())
        tree.apps[job.job_id] = app
        app.amounts = dict(zip(running[job.job_id], one["amounts"], strict=True))
        apps.append(app)
    nodes: list[ShareNode] = [*queues, *apps]
    tree.registered = len(apps)
    for length_s, at_s in saved["rounds"]:
        tree.rounds[or_infinite(length_s)].at_s = at_s
    for app, one in zip(apps, saved["jobs"], strict=True):
        _restore_app(app, one)
    for queue, one in zip(queues, saved["queues"], strict=True):
        _restore_queue(queue, one, nodes)
    tree.arrived.update(dict.fromkeys(nodes[place] for place in saved["arrived"]))
    tree.quanta.restored(saved["quanta"], nodes)
    tree.nodes_seen = saved["nodes_seen"]
    tree.measure_nodes()


def _restored_queues(
    tree: ShareTree, saved: Sequence[Mapping[str, Any]], state: ClusterState
) -> list[QueueNode]:
    of_file = [entry.pool.queue for entry in state.pools.values() if entry.pool.queue is not None]
    inner = {queue.parent for queue in of_file}
    known = {queue.queue_id: queue for queue in of_file}
    nodes: list[QueueNode] = []
    for one in saved:
        name = PoolId(one["name"])
        queue = known.get(name) if one["is_of_file"] else None
        if queue is None:
            order = QueueOrder.FIFO if nodes else QueueOrder.LTRF
            queue = Queue(queue_id=name, order=order, weight=one["weight"])
        # Its round stays, whatever its file says since.
        queue = replace(queue, round_s=one["round_s"] or 0.0)
        if nodes:
            is_inner = name in inner
            node = tree.add_queue(queue, nodes[one["parent"]], is_inner=is_inner)
        else:
            tree.root = node = tree.queue_node(queue, None, is_inner=True)
            if one["is_of_file"]:
                tree.queues[name] = node
        node.weight = one["weight"]
        nodes.append(node)
    return nodes


def _restore_node(node: ShareNode, saved: Mapping[str, Any]) -> None:
    fields_restored(node, _OF_NODE, saved)
    fields_restored(node.usage, COUNTERS, saved["usage"])


def _restore_app(app: AppNode, saved: Mapping[str, Any]) -> None:
    _restore_node(app, saved)
    fields_restored(app, _OF_APP, saved)
    attempts = [*app.amounts]
    for tasks, was in zip(app.tasks, saved["tasks"], strict=True):
        starts = list(zip(attempts, was["starts_s"], strict=True))
        tasks.old, tasks.young = dict(starts[: was["old"]]), dict(starts[was["old"] :])
        tasks.amount, tasks.ends = was["amount"], was["ends"]
    app.waits = {phase: phase.pending.count for phase in app.job.phases if phase.is_open}
    running, waiting = sum(one.tasks for one in attempts), sum(app.waits.values())
    for node in app.path:
        node.running += running
        node.waiting += waiting
        node.is_active = bool(node.running or node.waiting)


def _restore_queue(queue: QueueNode, saved: Mapping[str, Any], nodes: Sequence[ShareNode]) -> None:
    _restore_node(queue, saved)
    children = [nodes[place] for place in saved["children"]]
    queue.children = {
        app_key(one.name) if isinstance(one, AppNode) else one.name: one for one in children
    }
    queue.forget_weights()
    queue.active = dict.fromkeys(nodes[place] for place in saved["active"])
    fields_restored(queue.children_use, COUNTERS, saved["children_use"])
    fields_restored(queue, _OF_QUEUE, saved)
    queue.turns.restored(saved["turns"], nodes)
    if queue.credits is not None:
        queue.credits.restored(saved["credits"], nodes)
        fields_restored(queue.credits, SUMS, saved["credits"])
