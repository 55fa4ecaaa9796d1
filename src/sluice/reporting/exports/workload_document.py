"""A workload as the document of its file, also if it comes from logs or from a program.

Reading the document gives the same workload, except for names: a file numbers its nodes, so that
`host` becomes `host-1`, and it calls the phases of map-reduce jobs map and reduce. A file has no
source and no notes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from sluice.ingest.classes import admission_settings
from sluice.model.classes import CapacityPrices, JobClass
from sluice.model.cluster import Cluster, Node, Pool, PoolOrder
from sluice.model.limits import PlanLimits
from sluice.model.machines import VmShape
from sluice.model.members import Member
from sluice.model.prices import Prices
from sluice.model.queues import Queue
from sluice.model.vm_pools import ReconfigureRule, VmPools, VmType
from sluice.model.workload import Workload
from sluice.reporting.exports.job_document import (
    job_document,
    lengths_document,
    resources_document,
    stage_documents,
)

_SLOTS = ("map_slots", "reduce_slots", "containers")
_SLOT_LIMITS = (
    "map_slots_min", "reduce_slots_min", "map_slots_max", "reduce_slots_max", "containers_max",
)  # fmt: skip


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
            _pool(pool) for pool in workload.pools if _has_slot_limits(pool) or not pool.queue
        ],
        "queues": [_queue(queue) for queue in workload.queues],
        "prices": _prices(workload.prices, workload.capacity_prices),
        "limits": {} if workload.limits is None else _differing(workload.limits, PlanLimits()),
        "classes": [_class(one) for one in workload.classes],
        "capacity": workload.capacity,
        "capacities": dict(workload.capacities),
        "members": [_member(one) for one in workload.members],
        "settings": _settings(workload),
    }
    document |= {name: part for name, part in parts.items() if part}
    if workload.vm_pools is not None:
        document |= _vm_pools(workload.vm_pools)
    document["jobs"] = [job_document(job) for job in workload.jobs]
    return document


def _vm_pools(pools: VmPools) -> dict[str, Any]:
    document = _differing(
        pools, VmPools(), ("server_units", "servers", "boot_s", "prediction_error")
    )
    if pools.vm_types:
        document["vm_types"] = [_vm_type(one) for one in pools.vm_types]
    if math.isfinite(pools.bound_s):
        document["windows"] = {"bound_s": pools.bound_s}
    if pools.reconfigure is not None:
        document["reconfigure"] = {
            name.replace("keeps_", "keep_"): value
            for name, value in _differing(pools.reconfigure, ReconfigureRule()).items()
        }
    return document


def _vm_type(one: VmType) -> dict[str, Any]:
    slots = ("map_slots", "reduce_slots", "containers")
    given = {name: getattr(one.shape, name) for name in slots} if one.shape else {}
    document = {"id": one.type_id, "units": one.units, "vms": one.vms}
    return document | {name: number for name, number in given.items() if number}


def _settings(workload: Workload) -> dict[str, object]:
    """The settings that do not follow from the prices."""
    implied = admission_settings(workload.capacity_prices)
    return {
        name: value
        for name, value in workload.settings.items()
        if name not in implied or implied[name] != value
    }


def _differing(value: Any, default: Any, names: tuple[str, ...] | None = None) -> dict[str, Any]:  # noqa: ANN401  # two of one kind of value
    """The fields that differ from those of the default."""
    return {
        name: getattr(value, name)
        for name in names or value.__slots__
        if getattr(value, name) != getattr(default, name)
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
    slots = {name: getattr(node, name) for name in _SLOTS}
    taken = {name: count for name, count in slots.items() if count}
    return taken | resources_document(node.capacity)


def _alike(cluster: Cluster) -> dict[str, Any]:
    """Equal nodes as a count, in racks as a file makes them; empty if nodes differ."""
    nodes = cluster.nodes
    racks = len(dict.fromkeys(node.rack for node in nodes)) if cluster.has_racks else 1
    for index, node in enumerate(nodes):
        name, rack = f"node-{index + 1}", f"rack-{index * racks // len(nodes) + 1}"
        if (node.node_id, node.rack) != (name, rack) or _room(node) != _room(nodes[0]):
            return {}
    named = {"racks": racks} if cluster.has_racks else {}
    return {"nodes": len(nodes), "node": _room(nodes[0]), **named}


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


def _has_slot_limits(pool: Pool) -> bool:
    return bool(_differing(pool, Pool(pool_id=pool.pool_id), _SLOT_LIMITS))


def _pool(pool: Pool) -> dict[str, Any]:
    default = Pool(pool_id=pool.pool_id)
    document = {"id": str(pool.pool_id), **_differing(pool, default, ("weight", *_SLOT_LIMITS))}
    if pool.order is not PoolOrder.FAIR:
        document["order"] = pool.order.value
    return document


def _queue(queue: Queue) -> dict[str, Any]:
    default = Queue(queue_id=queue.queue_id)
    names = ("parent", "weight", "share_min", "share_max")
    document = {"id": str(queue.queue_id), **_differing(queue, default, names)}
    if queue.order is not default.order:
        document["order"] = queue.order.value
    return document


def _member(member: Member) -> dict[str, Any]:
    weight = {} if member.weight == 1 else {"weight": member.weight}
    task = {"task": dict(member.task)} if member.task else {}
    return {"id": member.member_id, **weight, **task, "demands": list(member.demands)}


# --- money ----------------------------------------------------------------------------------------


def _prices(prices: Prices | None, capacity: CapacityPrices | None) -> dict[str, Any]:
    document: dict[str, Any] = {}
    if prices is not None:
        default = Prices(vm_hour_usd=prices.vm_hour_usd)
        document |= {"vm_hour_usd": prices.vm_hour_usd, **_differing(prices, default)}
    if capacity is not None:
        document |= _differing(capacity, CapacityPrices())
    return document


def _class(one: JobClass) -> dict[str, Any]:
    default = JobClass(class_id="class", penalty_usd=0.0, jobs_max=0.0, vms_per_job=1.0)
    names = (
        "jobs_min",
        "deadline_s",
        "maps_per_vm",
        "reduces_per_vm",
        "containers_per_vm",
        "driver_s",
    )
    document: dict[str, Any] = {
        "id": one.class_id,
        "penalty_usd": one.penalty_usd,
        "jobs_max": one.jobs_max,
        **_differing(one, default, names),
    }
    if one.vms_per_job is not None:
        document["vms_per_job"] = one.vms_per_job
    if one.profile_name is not None:
        document["profile"] = one.profile_name
    if one.phases:
        document["phases"] = stage_documents(one.phases)
    if one.profile is not None:
        profile = one.profile
        document["maps"] = {"tasks": profile.map_tasks, **lengths_document(profile.maps)}
        document["reduces"] = {"tasks": profile.reduce_tasks, **lengths_document(profile.reduces)}
        fetches = {"first_shuffle": profile.first_shuffle, "shuffle": profile.shuffle}
        document |= {
            name: lengths_document(lengths) for name, lengths in fetches.items() if lengths
        }
    return document
