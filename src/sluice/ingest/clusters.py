"""From the shapes of a file to the model's clusters and pools.

Totals and containers make one node, `node-1`. Homogeneous nodes are `node-1` to `node-n`, and a
group's are `<id>-1` to `<id>-n`. `racks: r` divides homogeneous nodes into r contiguous blocks of
equal size (plus or minus one): the first nodes are in `rack-1`, the last in `rack-r`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sluice.ingest.errors import Refusal
from sluice.ingest.file_schema.clusters import (
    ClusterShape,
    NodeGroupShape,
    NodeShape,
    PoolShape,
    QueueShape,
)
from sluice.ingest.file_schema.fields import same_fields
from sluice.ingest.phases import resources_of
from sluice.model.cluster import NODES_MAX, Cluster, Node
from sluice.model.ids import NodeId, PoolId
from sluice.model.machines import VmShape
from sluice.model.queues import Pool, PoolOrder, Queue, QueueOrder

_DEFAULT_RACK = "rack-1"
_TOTALS = ("map_slots", "reduce_slots", "containers")
_PER_VM = ("map_slots_per_vm", "reduce_slots_per_vm", "containers_per_vm")
_FORMS = "give map_slots and reduce_slots, or containers, or nodes and node, or node_groups"


def cluster_of(shape: ClusterShape | None) -> Cluster | None:
    """The cluster; None if the file has none, or only the slots of a VM. Raises Refusal."""
    if shape is None:
        return None
    given = shape.model_fields_set
    totals = [name for name in _TOTALS if getattr(shape, name) is not None]
    forms = [bool(totals), shape.nodes is not None, shape.node_groups is not None]
    if sum(forms) > 1:
        raise Refusal("is given in more than one form", hint=_FORMS)
    _check_companions(shape)
    if totals:
        return _from_totals(shape)
    if shape.nodes is not None:
        return _from_nodes(shape)
    if shape.node_groups is not None:
        return _from_groups(shape.node_groups)
    if given.isdisjoint(_PER_VM):
        raise Refusal("is empty", hint=_FORMS)
    return None


def vm_of(shape: ClusterShape) -> VmShape | None:
    """The slots of a VM; None unless the file gives both kinds, or containers."""
    maps, reduces, containers = (getattr(shape, name) for name in _PER_VM)
    if maps is None or reduces is None:
        if containers is None:
            return None
        maps = reduces = 0
    return VmShape(map_slots=maps, reduce_slots=reduces, containers=containers)


def _check_companions(shape: ClusterShape) -> None:
    if shape.nodes is None and shape.node is not None:
        raise Refusal("is missing", at=("nodes",), hint="give the number of such nodes")
    if shape.nodes is not None and shape.node is None:
        raise Refusal(
            "is missing",
            at=("node",),
            hint="give what a node has: {map_slots: 10, reduce_slots: 2}",
        )
    if shape.racks is not None and shape.nodes is None:
        raise Refusal("is given without nodes", at=("racks",), hint="give nodes and node too")


def _from_totals(shape: ClusterShape) -> Cluster:
    slots = NodeShape.model_validate({name: getattr(shape, name) or 0 for name in _TOTALS})
    if not (slots.map_slots or slots.reduce_slots or slots.containers):
        raise Refusal("has no slots", hint="give map_slots or reduce_slots above 0")
    return Cluster(nodes=(_node(slots, "node-1", _DEFAULT_RACK),), is_totals=True)


def _from_nodes(shape: ClusterShape) -> Cluster:
    assert shape.nodes is not None, "the form was looked at"
    assert shape.node is not None, "so were its companions"
    nodes, racks = shape.nodes, shape.racks or 1
    if racks > nodes:
        raise Refusal(
            f"is {racks}, above nodes = {nodes}", at=("racks",), hint="give each rack a node"
        )
    _check_room(shape.node, at=("node",))
    return Cluster(
        nodes=tuple(
            _node(shape.node, f"node-{index + 1}", f"rack-{index * racks // nodes + 1}")
            for index in range(nodes)
        ),
        has_racks=shape.racks is not None,
    )


def _from_groups(groups: list[NodeGroupShape]) -> Cluster:
    if sum(group.nodes for group in groups) > NODES_MAX:
        raise Refusal(
            f"have more than {NODES_MAX} nodes together",
            at=("node_groups",),
            hint="give fewer nodes",
        )
    seen: set[str] = set()
    for index, group in enumerate(groups):
        if group.id in seen:
            raise Refusal("is given twice", at=("node_groups", index, "id"), hint="name each once")
        seen.add(group.id)
        _check_room(group, at=("node_groups", index))
    nodes = tuple(node for group in groups for node in _group_nodes(group))
    return Cluster(nodes=nodes, has_racks=any(group.rack is not None for group in groups))


def _group_nodes(group: NodeGroupShape) -> Iterator[Node]:
    rack = group.rack or _DEFAULT_RACK
    return (_node(group, f"{group.id}-{number + 1}", rack) for number in range(group.nodes))


def _check_room(shape: NodeShape, *, at: tuple[str | int, ...]) -> None:
    """A node without slots is limited by its resources, so it must have some."""
    has_slots = shape.map_slots or shape.reduce_slots or shape.containers
    if not has_slots and resources_of(shape).is_zero:
        raise Refusal(
            "has no slots and no resources", at=at, hint="give map_slots, reduce_slots or cpu"
        )


def _node(shape: NodeShape, name: str, rack: str) -> Node:
    own = same_fields(shape, Node) | {"rack": rack, "capacity": resources_of(shape)}
    return Node(node_id=NodeId(name), **own)


def pool_of(shape: PoolShape) -> Pool:
    """One pool. Raises Refusal where its limits contradict each other."""
    for least, most in (
        ("map_slots_min", "map_slots_max"),
        ("reduce_slots_min", "reduce_slots_max"),
    ):
        low, high = getattr(shape, least), getattr(shape, most)
        if high is not None and high < low:
            raise Refusal(
                f"is {high}, below {least} = {low}", at=(most,), hint=f"give at least {least}"
            )
    own = same_fields(shape, Pool) | {"order": PoolOrder(shape.order)}
    return Pool(pool_id=PoolId(shape.id), **own)


def queue_of(shape: QueueShape, pool: Pool | None) -> Pool:
    """The pool of a queue; jobs name a leaf queue as their pool.

    pool: a pool of the same name, which keeps its own fields.
    """
    own = same_fields(shape, Queue) | {"order": QueueOrder(shape.order)}
    queue = Queue(queue_id=PoolId(shape.id), **own)
    if pool is not None:
        return replace(pool, queue=queue)
    order = PoolOrder.FIFO if queue.order is QueueOrder.FIFO else PoolOrder.FAIR
    return Pool(pool_id=queue.queue_id, weight=queue.weight, order=order, queue=queue)
