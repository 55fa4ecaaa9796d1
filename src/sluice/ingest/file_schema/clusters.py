"""Clusters and pools as a file writes them."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonValue

from sluice.ingest.file_schema.fields import (
    OTHER_RESOURCES,
    Amount,
    AmountAboveZero,
    Identity,
    NodesAboveZero,
    OtherResources,
    RoundLength,
    Shape,
    Slots,
    SlotsAboveZero,
    given,
    needs,
)

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


class NodeShape(Shape):
    """One machine: typed slots, containers, resources."""

    map_slots: Slots = Field(0, description="a whole number of 0 or more")
    reduce_slots: Slots = Field(0, description="a whole number of 0 or more")
    containers: Slots = Field(0, description="a whole number of 0 or more")
    cpu: Amount = Field(0.0, description="percent of a reference node, 0 or more")
    io: Amount = Field(0.0, description="percent of a reference node, 0 or more")
    memory: Amount = Field(0.0, description="percent of a reference node, 0 or more")
    network: Amount = Field(0.0, description="percent of a reference node, 0 or more")
    resources: OtherResources = Field(default={}, description=OTHER_RESOURCES)
    unit_weight: AmountAboveZero = Field(
        1.0, description="what a unit on it counts in long-term sharing, above 0"
    )


class NodeGroupShape(NodeShape):
    """Machines that are alike; they are called `<id>-1`, `<id>-2` and so on."""

    id: Identity = Field(description="the name of the group, 1 to 200 printable characters")
    nodes: NodesAboveZero = Field(1, description="how many machines, a whole number of 1 or more")
    rack: Identity | None = Field(None, description="the name of their rack")


class ClusterShape(Shape):
    """The cluster, in one of its forms."""

    model_config = ConfigDict(json_schema_extra={"anyOf": _ONE_AT_LEAST, "allOf": _TOGETHER})

    map_slots: Slots | None = Field(None, description="all map slots, a whole number of 0 or more")
    reduce_slots: Slots | None = Field(
        None, description="all reduce slots, a whole number of 0 or more"
    )
    containers: SlotsAboveZero | None = Field(
        None, description="all containers, a whole number of 1 or more"
    )
    nodes: NodesAboveZero | None = Field(
        None, description="how many nodes, a whole number of 1 or more"
    )
    node: NodeShape | None = Field(
        None, description="what one of the nodes has, as in {map_slots: 10, reduce_slots: 2}"
    )
    racks: NodesAboveZero | None = Field(
        None, description="how many racks, a whole number of 1 or more"
    )
    node_groups: list[NodeGroupShape] | None = Field(
        None, min_length=1, description="a list of groups of nodes that are alike"
    )
    map_slots_per_vm: SlotsAboveZero | None = Field(
        None, description="map slots of one VM, a whole number of 1 or more"
    )
    reduce_slots_per_vm: SlotsAboveZero | None = Field(
        None, description="reduce slots of one VM, a whole number of 1 or more"
    )
    containers_per_vm: SlotsAboveZero | None = Field(
        None, description="containers of one VM for jobs of phases, a whole number of 1 or more"
    )


class PoolShape(Shape):
    """A share of the slots, with a guarantee."""

    id: Identity = Field(description="the name of the pool, 1 to 200 printable characters")
    weight: AmountAboveZero = Field(1.0, description="a relative share, above 0")
    map_slots_min: Slots = Field(0, description="a whole number of 0 or more")
    reduce_slots_min: Slots = Field(0, description="a whole number of 0 or more")
    map_slots_max: SlotsAboveZero | None = Field(None, description="a whole number of 1 or more")
    reduce_slots_max: SlotsAboveZero | None = Field(None, description="a whole number of 1 or more")
    containers_max: SlotsAboveZero | None = Field(None, description="a whole number of 1 or more")
    order: Literal["fair", "fifo"] = Field("fair", description="fair or fifo")


class QueueShape(Shape):
    """A queue of the tree for long-term sharing; jobs are in its leaves."""

    id: Identity = Field(description="the name of the queue, 1 to 200 printable characters")
    parent: Identity | None = Field(None, description="the id of the queue above")
    weight: AmountAboveZero = Field(1.0, description="a relative share, above 0")
    order: Literal["fifo", "mlrf", "ltrf"] = Field("fifo", description="fifo, mlrf or ltrf")
    share_min: Amount = Field(0.0, description="the least share, 0 or more")
    share_max: Amount | None = Field(None, description="the greatest share, at least share_min")
    quantum_s: AmountAboveZero | None = Field(
        None, description="seconds that a task in it is assumed to run at first, above 0"
    )
    round_s: RoundLength | None = Field(
        None, description="seconds after which it forgets use, above 0, or none for never"
    )
