"""Clusters of nodes with slots, containers and resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

from sluice.model.described import in_file
from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.ids import NodeId, checked_id
from sluice.model.number_checks import check_numbers
from sluice.model.resources import NOTHING, Resources
from sluice.model.slot_kind import SlotKind

SLOTS_MAX = 10**7
NODES_MAX = 10**6


class Locality(IntEnum):
    """Distance between a task and its input; lower is nearer."""

    NODE = 0
    RACK = 1
    ANY = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A machine with map slots and reduce slots; each slot can also serve as a container.

    containers: containers in addition to the typed slots, for a cluster given in containers.
    capacity: resources in percent of a reference node; all zero means unlimited.
    unit_weight: what a unit on it counts in long-term sharing, such as its speed.
    vm_type, vm_units: the VM type that it is one of, and its resource units; "" for no type.
    vm_is_spare: it is shut down at first, and may be started in place of VMs of other types.
    """

    node_id: NodeId
    rack: str = "rack-1"
    map_slots: int = 0
    reduce_slots: int = 0
    containers: int = 0
    capacity: Resources = NOTHING
    unit_weight: float = in_file(
        "what a unit on it counts in long-term sharing", 1.0, above_zero=True
    )
    vm_type: str = ""
    vm_units: float = 1.0
    vm_is_spare: bool = False

    def __post_init__(self) -> None:
        checked_id(self.node_id, what="node")
        for name in ("map_slots", "reduce_slots", "containers"):
            slots = getattr(self, name)
            if not 0 <= slots <= SLOTS_MAX:
                raise wrong_value(
                    name,
                    slots,
                    f"node {self.node_id!r}",
                    f"give a whole number from 0 to {SLOTS_MAX}",
                )
        check_numbers(self, f"node {self.node_id!r}")

    def slots(self, kind: SlotKind) -> int:
        """Number of slots of a kind; every slot can serve as a container."""
        if kind is SlotKind.MAP:
            return self.map_slots
        if kind is SlotKind.REDUCE:
            return self.reduce_slots
        return self.map_slots + self.reduce_slots + self.containers


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Nodes, in the order of the file.

    is_totals: the user gave only total slot counts, so reports do not name the single node.
    has_racks: the user gave racks, so locality matters.
    """

    nodes: tuple[Node, ...]
    is_totals: bool = False
    has_racks: bool = False

    def __post_init__(self) -> None:
        if not self.nodes:
            raise InvalidInput("the cluster has no node", where="cluster", hint="give at least one")
        seen: set[str] = set()
        for node in self.nodes:
            if node.node_id in seen:
                raise InvalidInput(
                    f"node {node.node_id!r} is listed twice",
                    where="cluster",
                    hint="list each node once",
                )
            seen.add(node.node_id)

    @classmethod
    def of_slots(cls, slots: Mapping[SlotKind, int]) -> Cluster:
        """All slots on one node, as where only their numbers are known; 0 of a kind left out."""
        node = Node(
            node_id=NodeId("node-1"),
            map_slots=slots.get(SlotKind.MAP, 0),
            reduce_slots=slots.get(SlotKind.REDUCE, 0),
            containers=slots.get(SlotKind.CONTAINER, 0),
        )
        return cls(nodes=(node,), is_totals=True)

    def with_names(self, names: tuple[str, ...]) -> Cluster:
        """The cluster with capacities as `Resources.with_names` has them."""
        nodes = (replace(one, capacity=one.capacity.with_names(names)) for one in self.nodes)
        return replace(self, nodes=tuple(nodes))

    def slots(self, kind: SlotKind) -> int:
        """Total slots of a kind over all nodes."""
        return sum(node.slots(kind) for node in self.nodes)
