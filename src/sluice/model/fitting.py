"""Whether any node has room for a task, and what is short if none has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sluice.model.cluster import Node
from sluice.model.resources import RESOURCE_NAMES, Resources
from sluice.model.slot_kind import SlotKind


class SlotShortage(NamedTuple):
    """Why no node of a cluster can run a kind of task. hint: what to change, from "give"."""

    what: str
    hint: str


def slot_shortage(
    kind: SlotKind, nodes: Sequence[Node], *, has_any_slot: bool
) -> SlotShortage | None:
    """Return what a cluster lacks to run a kind of task in its slots; None if nothing.

    has_any_slot: whether the task may take a slot of any kind.
    """
    if any(node.slots(SlotKind.CONTAINER if has_any_slot else kind) for node in nodes):
        return None
    if has_any_slot:
        return SlotShortage("the cluster has no slots", "give the cluster containers")
    return SlotShortage(
        f"{kind.value}_slots of the cluster is 0", f"give the cluster {kind.value} slots"
    )


def fits(demand: Resources, node: Node) -> bool:
    """Whether an idle node has room for the demand. A resource that it does not state is plenty."""
    capacity = node.capacity
    has = dict(capacity.other)
    return all(amount <= has.get(name, 0.0) for name, amount in demand.other) and all(
        getattr(demand, name) <= most
        for name in RESOURCE_NAMES
        if (most := getattr(capacity, name))
    )


def shortage_of(demand: Resources, nodes: Sequence[Node]) -> str | None:
    """Return what is short on every node, such as "memory: 99, and the largest node has 8".

    None if the demand fits somewhere.
    """
    if any(fits(demand, node) for node in nodes):
        return None
    wanted = [(name, getattr(demand, name)) for name in RESOURCE_NAMES] + list(demand.other)
    for name, amount in wanted:
        most = max((_has(node, name) for node in nodes), default=0.0)
        if amount > most > 0 or (amount > 0 and name not in RESOURCE_NAMES and amount > most):
            return f"{name}: {amount:g}, and the largest node has {most:g}"
    return ", ".join(f"{name} {amount:g}" for name, amount in wanted if amount) + " together"


def _has(node: Node, name: str) -> float:
    if name in RESOURCE_NAMES:
        return float(getattr(node.capacity, name))
    return dict(node.capacity.other).get(name, 0.0)
