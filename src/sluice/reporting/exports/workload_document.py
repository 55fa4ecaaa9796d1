"""A workload as the document of its file, also if it comes from logs or from a program.

Reading the document gives the same workload, except for names: a file numbers its nodes, so that
`host` becomes `host-1`, and it calls the phases of map-reduce jobs map and reduce. A file has no
source and no notes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sluice.ingest.classes import admission_settings
from sluice.ingest.file_schema.clusters import NodeShape, PoolShape, QueueShape
from sluice.ingest.file_schema.fields import Shape
from sluice.ingest.file_schema.planning import (
    ClassShape,
    LimitsShape,
    MemberShape,
    PlanningShape,
    PowerShape,
    PricesShape,
    ReconfigureShape,
    VmTypeShape,
)
from sluice.model.classes import JobClass
from sluice.model.cluster import Cluster, Node
from sluice.model.machines import VmShape
from sluice.model.members import Member
from sluice.model.vm_pools import ReconfigureRule, VmPools, VmType
from sluice.model.workload import Workload
from sluice.reporting.exports.job_document import (
    job_document,
    lengths_document,
    resources_document,
    stage_documents,
    written,
)

_SLOTS = ("map_slots", "reduce_slots", "containers")


def workload_document(workload: Workload) -> dict[str, Any]:
    """The document, without keys that have their default.

    Raises InvalidInput, with the job, for phases that a file cannot express.

    >>> import sluice
    >>> workload_document(
    ...     sluice.parse_workload(
    ...         "{version: 1, cluster: {map_slots: 2, reduce_slots: 1}, jobs: ["
    ...         "{id: a, maps: {tasks: 4, avg_s: 5}, reduces: {tasks: 1, avg_s: 2, max_s: 2}}]}"
    ...     )
    ... )["jobs"]
    [{'id': 'a', 'maps': {'tasks': 4, 'avg_s': 5.0}, 'reduces': {'tasks': 1, 'avg_s': 2.0}}]
    """
    document: dict[str, Any] = {"version": 1}
    cluster = _cluster(workload.cluster) | _vm(workload.vm)
    parts = {
        "cluster": cluster,
        "pools": [
            made
            for pool in workload.pools
            if _has_limits(made := written(PoolShape, pool, id=str(pool.pool_id))) or not pool.queue
        ],
        "queues": [written(QueueShape, one, id=str(one.queue_id)) for one in workload.queues],
        "prices": _own(PricesShape, workload.prices) | _own(PricesShape, workload.capacity_prices),
        "limits": _own(LimitsShape, workload.limits),
        "classes": [_class(one) for one in workload.classes],
        "capacity": workload.capacity,
        "capacities": dict(workload.capacities),
        "members": [_member(one) for one in workload.members],
        "scheduler": dict(workload.scheduler) or None,
        "settings": _settings(workload),
    }
    document |= {name: part for name, part in parts.items() if part}
    if workload.vm_pools is not None:
        document |= _vm_pools(workload.vm_pools)
    document["jobs"] = [job_document(job) for job in workload.jobs]
    return document


def _own(shape: type[Shape], value: object) -> dict[str, Any]:
    return {} if value is None else written(shape, value)


def _vm_pools(pools: VmPools) -> dict[str, Any]:
    return written(
        PlanningShape,
        pools,
        vm_types=[_vm_type(one) for one in pools.vm_types] or None,
        windows={"bound_s": pools.bound_s} if math.isfinite(pools.bound_s) else None,
        reconfigure=None if pools.reconfigure is None else _rule(pools.reconfigure),
        power=None if pools.power is None else written(PowerShape, pools.power),
    )


def _rule(rule: ReconfigureRule) -> dict[str, Any]:
    return written(ReconfigureShape, rule, keep_largest=rule.keeps_largest or None)


def _vm_type(one: VmType) -> dict[str, Any]:
    slots = {name: getattr(one.shape, name) or None for name in _SLOTS} if one.shape else {}
    return written(VmTypeShape, one, id=one.type_id, **slots)


def _settings(workload: Workload) -> dict[str, object]:
    """The settings that do not follow from the prices."""
    implied = admission_settings(workload.capacity_prices)
    return {
        name: value
        for name, value in workload.settings.items()
        if name not in implied or implied[name] != value
    }


# --- cluster --------------------------------------------------------------------------------------


def _cluster(cluster: Cluster | None) -> dict[str, Any]:
    if cluster is None:
        return {}
    if cluster.is_totals:
        return _room(cluster.nodes[0])
    return _alike(cluster) or {"node_groups": list(_groups(cluster))}


def _vm(vm: VmShape | None) -> dict[str, Any]:
    if vm is None:
        return {}
    given = {
        "map_slots_per_vm": vm.map_slots,
        "reduce_slots_per_vm": vm.reduce_slots,
        "containers_per_vm": vm.containers,
    }
    return {name: slots for name, slots in given.items() if slots}


def _room(node: Node) -> dict[str, Any]:
    return written(NodeShape, node) | resources_document(node.capacity)


def _alike(cluster: Cluster) -> dict[str, Any]:
    """Equal nodes as a count, in racks as a file makes them; empty if nodes differ."""
    nodes = cluster.nodes
    racks = len(dict.fromkeys(node.rack for node in nodes)) if cluster.has_racks else 1
    room = _room(nodes[0])
    for index, node in enumerate(nodes):
        name, rack = f"node-{index + 1}", f"rack-{index * racks // len(nodes) + 1}"
        if (node.node_id, node.rack) != (name, rack) or _room(node) != room:
            return {}
    named = {"racks": racks} if cluster.has_racks else {}
    return {"nodes": len(nodes), "node": room, **named}


def _groups(cluster: Cluster) -> Iterator[dict[str, Any]]:
    taken: dict[str, None] = {}
    for run in _runs(cluster.nodes):
        head, number = _numbered(run[0])
        name = head if number == 1 else str(run[0].node_id)
        while name in taken:
            name += "'"
        taken[name] = None
        group = {"id": name, "nodes": len(run), **_room(run[0])}
        yield {**group, "rack": run[0].rack} if cluster.has_racks else group


def _runs(nodes: Iterable[Node]) -> Iterator[list[Node]]:
    """Equal neighbours that are numbered from 1 as one group; all others one by one."""
    run: list[Node] = []
    for node in nodes:
        if run and not _continues(run, node):
            yield run
            run = []
        run.append(node)
    yield run


def _continues(run: list[Node], node: Node) -> bool:
    first = run[0]
    head, number = _numbered(first)
    is_next = number == 1 and _numbered(node) == (head, len(run) + 1)
    return is_next and node.rack == first.rack and _room(node) == _room(first)


def _numbered(node: Node) -> tuple[str, int]:
    """The name of a node without the number at its end, and that number, or 0."""
    head, _, tail = str(node.node_id).rpartition("-")
    is_number = head and tail.isascii() and tail.isdigit() and not tail.startswith("0")
    return (head, int(tail)) if is_number else (str(node.node_id), 0)


def _has_limits(pool: Mapping[str, Any]) -> bool:
    return any(name.endswith(("_min", "_max")) for name in pool)


def _member(member: Member) -> dict[str, Any]:
    task = dict(member.task) or None
    demands = list(member.demands)
    return written(MemberShape, member, id=member.member_id, demands=demands, task=task)


def _class(one: JobClass) -> dict[str, Any]:
    document: dict[str, Any] = {}
    if one.profile is not None:
        profile = one.profile
        document["maps"] = {"tasks": profile.map_tasks, **lengths_document(profile.maps)}
        document["reduces"] = {"tasks": profile.reduce_tasks, **lengths_document(profile.reduces)}
        document["first_shuffle"] = lengths_document(profile.first_shuffle) or None
        document["shuffle"] = lengths_document(profile.shuffle) or None
    return written(
        ClassShape,
        one,
        id=one.class_id,
        profile=one.profile_name,
        phases=stage_documents(one.phases) or None,
        **document,
    )
