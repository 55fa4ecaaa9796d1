"""Faults of a node, such as a full disk: the node rests, and at last it is set aside.

A task that meets such a fault has not failed: it waits again, and its failures are not counted.
The node is offered no work for a second. Each further fault in a row doubles the rest, and after
`node_faults_max` of them the node is set aside: it gets no more work until it joins again. A task
that finishes well ends the row. Faults that arrive while a node rests belong to the fault before
them, because their attempts were launched before it.

What runs on a resting node goes on, and output that is on its disk stays in use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from sluice.core.entries import NodeEntry
from sluice.core.events import NodeCordoned
from sluice.core.rules import Rules
from sluice.core.state import ClusterState
from sluice.model.ids import NodeId

REST_S = 1.0
REST_S_MAX = 60.0


def record_fault(node: NodeEntry, at_s: float, detail: str, rules: Rules) -> None:
    """Count a fault of a node, unless it belongs to the one before, and let the node rest."""
    if at_s < node.rests_until_s:  # a cordoned node rests for ever
        return
    node.faults += 1
    node.fault, node.fault_at_s = detail.partition("\n")[0], at_s
    if node.faults >= rules.node_faults_max:
        node.rests_until_s = math.inf
    else:
        node.rests_until_s = at_s + min(REST_S * 2 ** (node.faults - 1), REST_S_MAX)


def recover(node: NodeEntry) -> None:
    """The node is as good as new; if an operator has cordoned it, it stays so."""
    node.faults, node.rests_until_s = 0, math.inf if node.cordon else -math.inf


def set_cordon(state: ClusterState, resting: dict[NodeEntry, None], event: NodeCordoned) -> None:
    """An operator wants no work on a node, or wants it again. resting: as for `keep_cordon`."""
    node = state.nodes.get(event.node_id)
    if node is None:
        state.ignored["node unknown or gone"] += 1
    else:
        keep_cordon(node, event.reason if event.is_cordoned else "", resting)
        if event.is_cordoned:
            state.machines.cordoned[node.node_id] = node
        else:
            state.machines.cordoned.pop(node.node_id, None)


def keep_cordon(node: NodeEntry, reason: str, resting: dict[NodeEntry, None]) -> None:
    """Give the node no more work, for this reason; "" ends that, and its faults are forgotten.

    resting: the nodes that rest; one that does not is dropped there when it is looked at.
    """
    node.cordon = reason
    recover(node)
    resting[node] = None


def set_aside(nodes: Mapping[NodeId, NodeEntry]) -> list[NodeEntry]:
    """The nodes that are up and get no more work."""
    return [node for node in nodes.values() if node.is_up and node.is_set_aside]


def faults_text(node: NodeEntry) -> str:
    """Why a node was set aside, for people."""
    faults = "a fault" if node.faults == 1 else f"{node.faults} faults in a row"
    return f"after {faults} (last: {node.fault})"


def drop_rested(resting: dict[NodeEntry, None], now_s: float) -> float | None:
    """Forget the nodes that have rested; returns when the next one has, None for never."""
    for node in [one for one in resting if one.rests_until_s <= now_s]:
        del resting[node]
    next_s = min((node.rests_until_s for node in resting), default=math.inf)
    return None if next_s == math.inf else next_s
