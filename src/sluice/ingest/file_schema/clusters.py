"""Clusters and pools as a file writes them."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict
from pydantic.config import JsonValue

from sluice.ingest.file_schema.fields import (
    Amount,
    AmountAboveZero,
    Identity,
    NodesAboveZero,
    RoundLength,
    Shape,
    Slots,
    SlotsAboveZero,
    given,
    key,
    needs,
    required,
)
from sluice.ingest.file_schema.jobs import ResourcesShape
from sluice.model.cluster import Node
from sluice.model.queues import Pool, Queue

_FORMS = (
    ("map_slots",),
    ("reduce_slots",),
    ("containers",),
    ("nodes", "node"),
    ("node_groups",),
    ("map_slots_per_vm",),
    ("reduce_slots_per_vm",),
    ("containers_per_vm",),
)
_ONE_AT_LEAST: list[JsonValue] = [given(*names) for names in _FORMS]
_TOGETHER: list[JsonValue] = [
    needs(*names) for names in (("nodes", "node"), ("node", "nodes"), ("racks", "nodes"))
]


class SlotsShape(Shape):
    """The slots of one machine."""

    map_slots: Slots = key("a whole number of 0 or more", 0)
    reduce_slots: Slots = key("a whole number of 0 or more", 0)
    containers: Slots = key("a whole number of 0 or more", 0)


class NodeShape(ResourcesShape, SlotsShape, of=Node):
    """One machine: typed slots, containers, resources."""


class NodeGroupShape(NodeShape):
    """Machines that are alike; they are called `<id>-1`, `<id>-2` and so on."""

    id: Identity = required("the name of the group, 1 to 200 printable characters")
    nodes: NodesAboveZero = key("how many machines, a whole number of 1 or more", 1)
    rack: Identity | None = key("the name of their rack")


class ClusterShape(Shape):
    """The cluster, in one of its forms."""

    model_config = ConfigDict(json_schema_extra={"anyOf": _ONE_AT_LEAST, "allOf": _TOGETHER})

    map_slots: Slots | None = key("all map slots, a whole number of 0 or more")
    reduce_slots: Slots | None = key("all reduce slots, a whole number of 0 or more")
    containers: SlotsAboveZero | None = key("all containers, a whole number of 1 or more")
    nodes: NodesAboveZero | None = key("how many nodes, a whole number of 1 or more")
    node: NodeShape | None = key(
        "what one of the nodes has, as in {map_slots: 10, reduce_slots: 2}"
    )
    racks: NodesAboveZero | None = key("how many racks, a whole number of 1 or more")
    node_groups: list[NodeGroupShape] | None = key(
        "a list of groups of nodes that are alike", min_length=1
    )
    map_slots_per_vm: SlotsAboveZero | None = key(
        "map slots of one VM, a whole number of 1 or more"
    )
    reduce_slots_per_vm: SlotsAboveZero | None = key(
        "reduce slots of one VM, a whole number of 1 or more"
    )
    containers_per_vm: SlotsAboveZero | None = key(
        "containers of one VM for jobs of phases, a whole number of 1 or more"
    )


class PoolShape(Shape, of=Pool, order=("id", "weight")):
    """A share of the slots, with a guarantee."""

    id: Identity = required("the name of the pool, 1 to 200 printable characters")
    map_slots_min: Slots = key("a whole number of 0 or more", 0)
    reduce_slots_min: Slots = key("a whole number of 0 or more", 0)
    map_slots_max: SlotsAboveZero | None = key("a whole number of 1 or more")
    reduce_slots_max: SlotsAboveZero | None = key("a whole number of 1 or more")
    containers_max: SlotsAboveZero | None = key("a whole number of 1 or more")
    order: Literal["fair", "fifo"] = key("fair or fifo", "fair")


class QueueShape(Shape, of=Queue, order=("id", "parent", "weight")):
    """A queue of the tree for long-term sharing; jobs are in its leaves."""

    id: Identity = required("the name of the queue, 1 to 200 printable characters")
    parent: Identity | None = key("the id of the queue above")
    order: Literal["fifo", "mlrf", "ltrf"] = key("fifo, mlrf or ltrf", "fifo")
    share_min: Amount = key("the least share, 0 or more", 0.0)
    share_max: Amount | None = key("the greatest share, at least share_min")
    quantum_s: AmountAboveZero | None = key(
        "seconds that a task in it is assumed to run at first, above 0"
    )
    round_s: RoundLength | None = key(
        "seconds after which it forgets use, above 0, or none for never"
    )
