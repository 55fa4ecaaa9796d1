"""A summary of a workload file, with warnings about what looks unintended.

The lower bound of the makespan holds for any schedule. The work takes at least its slot-seconds
divided by all slots of both kinds, because some policies run tasks in slots of the other kind. A
phase takes at least one task's average length. Bounds use the lengths of the profiles. There is no
bound if nodes have resources, because a node may then run as many tasks as its resources allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sluice.api.sources import settings_of
from sluice.estimate.workflow_deadlines import response_lower_s
from sluice.model.cluster import Cluster
from sluice.model.job import Job, Phase
from sluice.model.queues import inner_queues
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

_WARNINGS_MAX = 10
_TYPED = (SlotKind.MAP, SlotKind.REDUCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Counts and sums of a workload. work_s: slot-seconds by kind, where lengths are known.

    makespan_lower_s: bound for every schedule; None without a cluster or without work.
    unmeasured: jobs with a phase of unknown length; only a real run can measure them.
    """

    workload: Workload
    tasks: Mapping[SlotKind, int]
    work_s: Mapping[SlotKind, float]
    makespan_lower_s: float | None
    unmeasured: int
    warnings: tuple[str, ...]

    @property
    def can_simulate(self) -> bool:
        """Whether there is a cluster, and a length for every task."""
        return self.workload.cluster is not None and not self.unmeasured

    def document(self) -> dict[str, object]:
        """The one JSON document of `validate`."""
        workload = self.workload
        cluster = workload.cluster
        return {
            "valid": True,
            "source": workload.source,
            "jobs": len(workload.jobs),
            "tasks": {kind.value: tasks for kind, tasks in self.tasks.items()},
            "work_s": {kind.value: work_s for kind, work_s in self.work_s.items()},
            "makespan_lower_s": self.makespan_lower_s,
            "deadlines": deadlines(workload),
            "unmeasured_jobs": self.unmeasured,
            "cluster": None if cluster is None else _cluster_document(cluster),
            "pools": [pool.pool_id for pool in workload.pools],
            "queues": [pool.pool_id for pool in workload.pools if pool.queue is not None],
            "settings": dict(workload.settings),
            "warnings": list(self.warnings),
        }


def overview_of(workload: Workload) -> Overview:
    """The overview. Raises InvalidInput where a setting names an unknown policy."""
    settings_of(workload)
    tasks = dict.fromkeys(_TYPED, 0)
    work_s = dict.fromkeys(_TYPED, 0.0)
    for phase in _phases(workload):
        tasks[phase.kind] = tasks.get(phase.kind, 0) + phase.tasks
        work_s[phase.kind] = work_s.get(phase.kind, 0.0) + phase.tasks * (average_s(phase) or 0.0)
    return Overview(
        workload=workload,
        tasks=tasks,
        work_s=work_s,
        makespan_lower_s=_makespan_lower_s(workload, work_s),
        unmeasured=sum(not _is_measured(job) for job in workload.jobs),
        warnings=_bounded(list(_warnings(workload))),
    )


def deadlines(workload: Workload) -> int:
    """Jobs that have a deadline."""
    return sum(job.deadline_at_s is not None for job in workload.jobs)


def average_s(phase: Phase) -> float | None:
    """The mean length of a task, with its part of the shuffle; None if unknown."""
    if phase.lengths is None:
        return None
    fetch_s = 0.0 if phase.fetch is None else phase.fetch.avg_s(phase.tasks)
    return fetch_s + phase.lengths.avg_s(phase.tasks)


def _phases(workload: Workload) -> Iterator[Phase]:
    for job in workload.jobs:
        yield from job.phases


def _is_measured(job: Job) -> bool:
    return bool(job.phases) and all(phase.lengths is not None for phase in job.phases)


def _cluster_document(cluster: Cluster) -> dict[str, object]:
    return {
        "nodes": len(cluster.nodes),
        "racks": len({node.rack for node in cluster.nodes}) if cluster.has_racks else None,
        "map_slots": cluster.slots(SlotKind.MAP),
        "reduce_slots": cluster.slots(SlotKind.REDUCE),
        "containers": sum(node.containers for node in cluster.nodes),
    }


# --- bounds -----------------------------------------------------------------------------------


def _makespan_lower_s(workload: Workload, work_s: Mapping[SlotKind, float]) -> float | None:
    cluster = workload.cluster
    if cluster is None or not _counts_in_slots(cluster) or not any(work_s.values()):
        return None
    first_at_s = min(job.submitted_at_s for job in workload.jobs)
    alone_s = [
        job.submitted_at_s - first_at_s + response_lower_s(job, cluster) for job in workload.jobs
    ]
    return max(sum(work_s.values()) / cluster.slots(SlotKind.CONTAINER), *alone_s)


def _counts_in_slots(cluster: Cluster) -> bool:
    return all(node.capacity.is_zero for node in cluster.nodes)


# --- warnings ---------------------------------------------------------------------------------


def _bounded(warnings: list[str]) -> tuple[str, ...]:
    more = len(warnings) - _WARNINGS_MAX
    return (*warnings[:_WARNINGS_MAX], *([f"and {more} more"] if more > 0 else []))


def _warnings(workload: Workload) -> Iterator[str]:
    if not (workload.jobs or workload.members or workload.classes):
        yield "there are no jobs"
    yield from _idle_pools(workload)
    if workload.cluster is not None:
        yield from _minimum_shares(workload, workload.cluster)
        yield from _missing_slots(workload, workload.cluster)
        yield from _hopeless_deadlines(workload, workload.cluster)


def _minimum_shares(workload: Workload, cluster: Cluster) -> Iterator[str]:
    for kind in _TYPED:
        asked = sum(pool.slots_min(kind) for pool in workload.pools)
        slots = cluster.slots(kind)
        if asked > slots:
            yield (
                f"pools are guaranteed {asked} {kind.value} slots together"
                f" ({kind.value}_slots_min), and the cluster has {slots}"
            )


def _idle_pools(workload: Workload) -> Iterator[str]:
    used = {job.pool for job in workload.jobs} | inner_queues(workload.queues)
    for pool in workload.pools:
        if pool.pool_id not in used:
            yield f"no job is in pool {pool.pool_id!r}"


def _missing_slots(workload: Workload, cluster: Cluster) -> Iterator[str]:
    if any(node.containers for node in cluster.nodes):
        return  # tasks of all kinds run in containers
    for kind in _TYPED:
        jobs = [job for job in workload.jobs if any(p.kind is kind for p in job.phases)]
        if jobs and not cluster.slots(kind):
            yield (
                f"the cluster has no {kind.value} slots, and {len(jobs)} jobs have"
                f" {kind.value} tasks, {jobs[0].job_id!r} first: only policies that place by"
                " containers or resources can run them"
            )


def _hopeless_deadlines(workload: Workload, cluster: Cluster) -> Iterator[str]:
    if not _counts_in_slots(cluster) or workload.settings.get("contention") == "shared":
        return  # tasks that share a node may run faster than their profile says
    for job in workload.jobs:
        if job.deadline_at_s is None:
            continue
        least_s = response_lower_s(job, cluster)
        given_s = job.deadline_at_s - job.submitted_at_s
        if least_s > given_s:
            yield (
                f"job {job.job_id!r} cannot meet its deadline: {given_s:g} s are given, and it"
                f" takes {least_s:.4g} s with the whole cluster to itself"
            )
