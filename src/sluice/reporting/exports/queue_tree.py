"""A queue tree as `capacity-scheduler.xml`, which reads back as the same tree.

Numbers are written in full. What YARN's file cannot say (the minimum of a FairScheduler's queue,
its waits as shares of the nodes) is named in a comment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from difflib import unified_diff
from html import escape

from sluice.model.queue_tree import ROOT, AmountKind, LeafOrder, QueueAmount, QueueTree, YarnRules
from sluice.reporting.exports.capacity_scheduler import HOW_TO, comment_lines

_PREFIX = "yarn.scheduler.capacity"
_MONITOR = "yarn.resourcemanager.scheduler.monitor.enable"
_KILL_WAIT = "yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill"
_PREEMPTION = "yarn.resourcemanager.monitor.capacity.preemption"
_INTERVAL = f"{_PREEMPTION}.monitoring_interval"


def queue_tree_xml(
    tree: QueueTree,
    *,
    container_mb: float = 1024.0,
    container_vcores: float = 1.0,
    comment: str = "",
) -> str:
    """The text of the file. container_mb, container_vcores: size of one container."""
    lost = [
        f"{queue.path} minimum {queue.least:g} containers" for queue in tree.queues if queue.least
    ]
    if not tree.idle_count and any(_beats(tree)):
        lost.append("waits for nodes and racks, and containers of a heartbeat, of FairScheduler")
    lost_line = f"Not expressed: {', '.join(lost)}." if lost else ""
    size = (container_mb, container_vcores)
    lines = [
        '<?xml version="1.0"?>',
        *comment_lines(comment),
        *(line for text in HOW_TO.split("\n") for line in comment_lines(text)),
        *comment_lines(lost_line),
        "<configuration>",
        *(
            f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
            for name, value in _properties(tree, size)
        ),
        "</configuration>",
        "",
    ]
    return "\n".join(lines)


def queue_tree_diff(old: QueueTree, new: QueueTree, size: tuple[float, float]) -> str:
    """A unified diff of two trees: a line for each property, without what all names share.

    size: memory in MB and cores of one container.
    """
    before, after = (
        sorted(
            f"{name.removeprefix(_PREFIX + '.')} = {value}"
            for name, value in _properties(tree, size)
        )
        for tree in (old, new)
    )
    names = (old.source or "old", new.source or "new")
    return "\n".join(unified_diff(before, after, *names, lineterm="", n=0))


def _properties(tree: QueueTree, size: tuple[float, float]) -> Iterator[tuple[str, str]]:
    yield from _preemption(tree)
    if tree.idle_count:  # those of FairScheduler have other units
        yield from ((f"{_PREFIX}.{name}", value) for name, value in _beats(tree))
    for path in (ROOT, *(queue.path for queue in tree.queues)):
        names = [queue.name for queue in tree.children(path)]
        if names:
            yield f"{_PREFIX}.{path}.queues", ",".join(names)
    leaves = set(tree.leaves)
    for queue in tree.queues:
        head = f"{_PREFIX}.{queue.path}"
        yield f"{head}.capacity", _amount(queue.capacity, size)
        if queue.maximum is not None:
            yield f"{head}.maximum-capacity", _amount(queue.maximum, size)
        yield f"{head}.minimum-user-limit-percent", _number(queue.user_limit_percent)
        factor = queue.user_limit_factor
        yield f"{head}.user-limit-factor", "-1" if factor is None else _number(factor)
        yield f"{head}.disable_preemption", str(not queue.is_preemptible).lower()
        if queue.jobs_max is not None:
            yield f"{head}.max-parallel-apps", str(queue.jobs_max)
        masters = 1.0 if queue.masters_share is None else queue.masters_share
        yield f"{head}.maximum-am-resource-percent", _number(masters)
        if queue.path in leaves:
            is_fair = queue.order is LeafOrder.FAIR
            yield f"{head}.ordering-policy", "fair" if is_fair else "fifo"


def _preemption(tree: QueueTree) -> Iterator[tuple[str, str]]:
    if tree.preempts_after_s is None:
        return
    yield _MONITOR, "true"
    yield _KILL_WAIT, _number(1000 * tree.preempts_after_s)
    yield _INTERVAL, "0"
    rules = tree.yarn or YarnRules()
    for name, share, unlimited in (  # without them here, YARN's defaults would take their place
        ("total_preemption_per_round", rules.round_share, 1.0),
        ("natural_termination_factor", rules.natural_share, 1.0),
        ("max_ignored_over_capacity", rules.ignored_share, 0.0),
    ):
        yield f"{_PREEMPTION}.{name}", _number(unlimited if share is None else share)


def _beats(tree: QueueTree) -> Iterator[tuple[str, str]]:
    """Yield the rules of heartbeats. Without them here, YARN's defaults would take their place."""
    rules = tree.yarn or YarnRules()
    for name, value in (
        ("node-locality-delay", rules.node_locality),
        ("rack-locality-additional-delay", rules.rack_locality),
        ("per-node-heartbeat.maximum-container-assignments", rules.containers_max),
        ("per-node-heartbeat.maximum-offswitch-assignments", rules.offswitch_max),
    ):
        if value is not None:
            yield name, _number(value) if value < math.inf else "-1"


def _amount(amount: QueueAmount, size: tuple[float, float]) -> str:
    if amount.kind is AmountKind.WEIGHT:
        return f"{_number(amount.value)}w"
    if amount.kind is AmountKind.PERCENT:
        return _number(amount.value)
    mb, vcores = size
    return f"[memory={_number(amount.value * mb)},vcores={_number(amount.value * vcores)}]"


def _number(value: float) -> str:
    """A number in full, without an exponent where that is short.

    >>> _number(60.0), _number(12.5)
    ('60', '12.5')
    """
    return str(int(value)) if value == int(value) else repr(value)
