"""A workload with a plan applied, so that `simulate` and `run` follow the plan.

Each job has its own pool, limited to the slots of the plan. The cluster has the VMs that the plan
rents, and task counts are the tuned ones. Under `--tasks fair` each job then has its own slots, as
under the queues manager of the paper. Task lengths of a job on a faster VM type are divided by its
speed, because all nodes of the simulator are equally fast. With waves, a job is submitted when the
plan expects the previous wave to end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sluice.model.buffers import BufferRanges
from sluice.model.cluster import NODES_MAX, Cluster, Node
from sluice.model.errors import InvalidInput
from sluice.model.ids import NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths, ListedLengths, TaskLengths
from sluice.model.machines import VmShape
from sluice.model.queues import Pool
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.planning.pareto.frontier import Plan
from sluice.planning.pareto.pricing import PlanEntry

_CAPS = ("map_slots_max", "reduce_slots_max", "containers_max")
_FIELDS = {SlotKind.MAP: "maps", SlotKind.REDUCE: "reduces"}


def chosen_workload(workload: Workload, plan: Plan) -> Workload:
    """The workload with the plan applied. Raises InvalidInput if it has too many VMs."""
    starts_s = submissions_s(plan)
    return replace(
        workload,
        cluster=_cluster(plan),
        pools=tuple(
            _pool(job, entry, plan) for job, entry in zip(workload.jobs, plan.entries, strict=True)
        ),
        jobs=tuple(
            _job(job, entry, start_s)
            for job, entry, start_s in zip(workload.jobs, plan.entries, starts_s, strict=True)
        ),
    )


def submissions_s(plan: Plan) -> Sequence[float]:
    """Submission of each job, seconds after the start: 0, or the start of its wave."""
    return [0.0] * len(plan.entries) if plan.precedence else plan.starts_s()


def _cluster(plan: Plan) -> Cluster:
    vms = _rented(plan)
    if sum(vms.values()) > NODES_MAX:
        raise InvalidInput(
            f"the plan rents {sum(vms.values())} VMs, more than a workload file may have",
            where="--choose",
            hint="choose a cheaper plan",
        )
    named = len(vms) > 1
    return Cluster(
        nodes=tuple(
            _node(f"{name if named else 'node'}-{number}", _room(shape, plan))
            for (name, shape), count in vms.items()
            for number in range(1, count + 1)
        )
    )


def _node(name: str, room: Mapping[str, int]) -> Node:
    return Node(
        node_id=NodeId(name),
        map_slots=room.get("map_slots", 0),
        reduce_slots=room.get("reduce_slots", 0),
        containers=room.get("containers", 0),
    )


def _room(shape: VmShape, plan: Plan) -> dict[str, int]:
    """The slots of a VM; as containers if a job of the plan has stages."""
    if any(entry.choice.containers for entry in plan.entries):
        return {"containers": shape.containers_of_any}
    return {"map_slots": shape.map_slots, "reduce_slots": shape.reduce_slots}


def _rented(plan: Plan) -> dict[tuple[str, VmShape], int]:
    """VMs by type and shape: the most that jobs have at once."""
    needs: dict[tuple[str, VmShape], int] = {}
    for wave in plan.at_once():
        used: dict[tuple[str, VmShape], int] = {}
        for number in wave:
            entry = plan.entries[number]
            kind = (entry.choice.offer.vm_type, entry.choice.offer.shape)
            used[kind] = used.get(kind, 0) + entry.vms
        for kind, vms in used.items():
            needs[kind] = max(needs.get(kind, 0), vms)
    return needs


def _pool(job: Job, entry: PlanEntry, plan: Plan) -> Pool:
    choice = entry.choice
    if any(one.choice.containers for one in plan.entries):
        # Maps and reduces take containers too, where another job has stages.
        most = choice.containers or choice.map_slots + choice.reduce_slots
        return Pool(pool_id=PoolId(str(job.job_id)), containers_max=most)
    return Pool(
        pool_id=PoolId(str(job.job_id)),
        map_slots_max=entry.choice.map_slots,
        reduce_slots_max=entry.choice.reduce_slots,
    )


def _job(job: Job, entry: PlanEntry, start_s: float) -> Job:
    choice = entry.choice
    tasks = {SlotKind.MAP: choice.map_tasks, SlotKind.REDUCE: choice.reduce_tasks}
    if choice.containers:
        tasks = {}
    deadline_at_s = job.deadline_at_s
    if start_s and deadline_at_s is not None and deadline_at_s <= start_s:
        deadline_at_s = None  # it cannot be met, and must not be before the submission
    buffer = job.buffer or BufferRanges()
    if choice.buffer is not None and choice.buffer != buffer.default:
        buffer = replace(buffer, default=choice.buffer)
    return replace(
        job,
        pool=PoolId(str(job.job_id)),
        phases=tuple(
            _phase(phase, tasks.get(phase.kind, phase.tasks), choice.offer.speed)
            for phase in job.phases
        ),
        driver_s=job.driver_s,
        submitted_at_s=start_s or job.submitted_at_s,
        deadline_at_s=deadline_at_s,
        buffer=buffer if job.buffer or buffer != BufferRanges() else None,
    )


def _phase(phase: Phase, tasks: int, speed: float) -> Phase:
    return replace(
        phase,
        tasks=tasks,
        lengths=None if phase.lengths is None else _lengths(phase.lengths, phase, tasks, speed),
        fetch=None if phase.fetch is None else _lengths(phase.fetch, phase, tasks, speed),
    )


def _lengths(lengths: TaskLengths, phase: Phase, tasks: int, speed: float) -> TaskLengths:
    """Return the same object if nothing changes. A list of lengths fits only its own task count."""
    has_other_split = tasks != phase.tasks and isinstance(lengths, ListedLengths)
    if speed == 1 and not has_other_split:
        return lengths
    return ConstantLengths(lengths.avg_s(tasks) / speed, lengths.max_s(tasks) / speed)


# --- the same as a file ---------------------------------------------------------------------------


def chosen_document(raw: Mapping[str, Any], workload: Workload, plan: Plan) -> dict[str, Any]:
    """The document of the file with the plan applied; other keys do not change.

    raw: the document that the workload was read from.
    """
    chosen = chosen_workload(workload, plan)
    jobs = [
        _job_document(own, before, after)
        for own, before, after in zip(raw["jobs"], workload.jobs, chosen.jobs, strict=True)
    ]
    return {
        **{key: value for key, value in raw.items() if key not in ("pools", "queues", "jobs")},
        "cluster": _cluster_document(raw.get("cluster") or {}, plan),
        "pools": [
            {
                "id": str(pool.pool_id),
                **{name: most for name in _CAPS if (most := getattr(pool, name)) is not None},
            }
            for pool in chosen.pools
        ],
        "jobs": jobs,
    }


def _cluster_document(raw: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    per_vm = {key: value for key, value in raw.items() if key.endswith("_per_vm")}
    groups = [(_room(shape, plan), name, vms) for (name, shape), vms in _rented(plan).items()]
    if len(groups) == 1:
        node, _, vms = groups[0]
        return {"nodes": vms, "node": node, **per_vm}
    return {
        "node_groups": [{"id": name, "nodes": vms, **node} for node, name, vms in groups],
        **per_vm,
    }


def _job_document(raw: Mapping[str, Any], before: Job, after: Job) -> dict[str, Any]:
    document = {**raw, "pool": str(after.pool)}
    if after.submitted_at_s != before.submitted_at_s:
        document["submitted_at_s"] = after.submitted_at_s
        document.pop("deadline_s", None)  # it is relative to the old submission
        document["deadline_at_s"] = after.deadline_at_s
    if document.get("deadline_at_s", 0) is None:
        del document["deadline_at_s"]
    if after.buffer != before.buffer and after.buffer is not None:
        setting = asdict(after.buffer.default)
        document["buffer"] = {**(raw.get("buffer") or {}), "default": setting}
    if after.driver_s and after.phases != before.phases and "driver_s" not in raw:
        document["driver_s"] = after.driver_s  # with lengths of its own the profile is not asked
    if "phases" in raw:
        return {**document, "phases": _stage_documents(raw["phases"], before, after)}
    for old, new in zip(before.phases, after.phases, strict=True):
        document |= _phase_documents(raw, old, new, is_run=after.run is not None)
    if "profile" in raw and any(name in document for name in ("maps", "reduces")):
        _drop_profile(document, raw, after)
    return document


def _stage_documents(raw: Sequence[Any], before: Job, after: Job) -> list[Any]:
    """The stages in the order of the file, with the lengths that the plan changes."""
    changed = {
        new.name: new
        for old, new in zip(before.phases, after.phases, strict=True)
        if new.lengths is not old.lengths
    }
    return [
        {**_kept(stage), **_explicit(stage, phase.tasks, phase.lengths)}
        if (phase := changed.get(stage["name"])) is not None and phase.lengths is not None
        else stage
        for stage in raw
    ]


def _kept(stage: Mapping[str, Any]) -> dict[str, Any]:
    return {key: stage[key] for key in ("name", "after", "demand", "run") if key in stage}


def _phase_documents(
    raw: Mapping[str, Any], old: Phase, new: Phase, *, is_run: bool
) -> dict[str, Any]:
    """The keys that change for a phase; empty if the plan does not change it."""
    name = _FIELDS[new.kind]
    if is_run and new.kind is SlotKind.MAP:
        return {}  # the input splits decide
    documents: dict[str, Any] = {}
    if new.lengths is not old.lengths and new.lengths is not None and not is_run:
        documents[name] = _explicit(raw.get(name) or {}, new.tasks, new.lengths)
    elif new.tasks != old.tasks:
        documents[name] = {**(raw.get(name) or {}), "tasks": new.tasks}
    if new.fetch is not old.fetch and new.fetch is not None:
        documents["shuffle"] = _length_fields(new.fetch, new.tasks)
    return documents


def _explicit(raw: Mapping[str, Any], tasks: int, lengths: TaskLengths) -> dict[str, Any]:
    """A phase with average and maximum length, whatever its old form."""
    kept = {key: raw[key] for key in ("tasks_max", "units", "unit_weight") if key in raw}
    return {"tasks": tasks, **_length_fields(lengths, tasks), **kept}


def _length_fields(lengths: TaskLengths, tasks: int) -> dict[str, float]:
    return {"avg_s": lengths.avg_s(tasks), "max_s": lengths.max_s(tasks)}


def _drop_profile(document: dict[str, Any], raw: Mapping[str, Any], after: Job) -> None:
    """A profile that the plan changes is written out: a file may not give both."""
    changed = {name for name in ("maps", "reduces") if document.get(name) != raw.get(name)}
    if not changed or after.run is not None:
        return
    del document["profile"]
    for phase in after.phases:
        name = _FIELDS[phase.kind]
        if phase.lengths is not None:
            document[name] = _explicit(raw.get(name) or {}, phase.tasks, phase.lengths)
        if phase.fetch is not None:
            document["shuffle"] = _length_fields(phase.fetch, phase.tasks)
