"""The VMs of pools as nodes of a cluster, and whether a task policy gives jobs VMs of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sluice.model.cluster import NODES_MAX, Cluster, Node
from sluice.model.errors import InvalidInput
from sluice.model.ids import NodeId
from sluice.model.machines import VmShape
from sluice.model.vm_pools import VmType
from sluice.model.workload import Workload
from sluice.policies.machines.vm_pools import PooledVms

if TYPE_CHECKING:
    from sluice.bootstrap.policy_classes import ChosenPolicy

_ROUNDING = 1e-9


def is_about_vms(tasks: ChosenPolicy) -> bool:
    """Whether a task policy gives jobs VMs of their own."""
    return issubclass(tasks.policy_class, PooledVms)


def has_own_vms(cluster: Cluster | None, tasks: ChosenPolicy) -> bool:
    """Whether a job has VMs to itself under this task policy, so that its parts decide nothing."""
    nodes = () if cluster is None else cluster.nodes
    return is_about_vms(tasks) and any(node.vm_type for node in nodes)


def has_vm_nodes(workload: Workload) -> bool:
    """Whether the VMs of its pools can be the cluster: it has none, and VM types have slots."""
    pools = workload.vm_pools
    if workload.cluster is not None or pools is None:
        return False
    return any(one.vms and one.shape is not None for one in pools.vm_types)


def with_vm_nodes(workload: Workload, *, servers: int | None = None) -> Workload:
    """The workload with one node for each VM, if `has_vm_nodes`. Raises InvalidInput.

    servers: with spare nodes for all VMs of each type that so many servers have room for; None for
    no spare nodes.
    """
    if not has_vm_nodes(workload):
        return workload
    pools = workload.vm_pools
    assert pools is not None, "it has VM types"
    most = {one.type_id: one.vms for one in pools.vm_types}
    if servers is not None and pools.server_units is not None:
        for one in pools.vm_types:
            fit = servers * math.floor(pools.server_units / one.units + _ROUNDING)
            most[one.type_id] = max(one.vms, fit)
    if sum(most.values()) > NODES_MAX:
        raise InvalidInput(
            f"vm_types have more than {NODES_MAX} VMs together",
            where=workload.source,
            hint="give fewer vms",
        )
    nodes = [
        replace(node, vm_is_spare=number >= one.vms)
        for one in pools.vm_types
        if most[one.type_id]
        for number, node in enumerate(
            nodes_of_type(one, most[one.type_id], shape_of(one, workload.source))
        )
    ]
    return replace(workload, cluster=Cluster(nodes=tuple(nodes)))


def nodes_of_type(one: VmType, vms: int, shape: VmShape) -> Iterator[Node]:
    """VMs of a type, as `<type>-1` to `<type>-n`."""
    for number in range(1, vms + 1):
        yield Node(
            node_id=NodeId(f"{one.type_id}-{number}"),
            map_slots=shape.map_slots,
            reduce_slots=shape.reduce_slots,
            containers=0 if shape.has_typed_slots else shape.containers_of_any,
            vm_type=one.type_id,
            vm_units=one.units,
        )


def shape_of(one: VmType, where: str) -> VmShape:
    """The slots of a type. Raises InvalidInput where it has none."""
    if one.shape is None:
        raise InvalidInput(
            f"predictions is missing, and type {one.type_id!r} of vm_types has no slots to predict"
            " it on",
            where=where,
            hint='give predictions as in {VM-1: {"10": 250}}, or map_slots and reduce_slots to'
            " the type",
        )
    return one.shape
