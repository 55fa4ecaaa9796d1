"""Workloads of Kueue: what `kubectl get workloads -o json` (or `-o yaml`) prints, or manifests.

A Workload that finished is a job: a task for each of its pods, which Kueue admits together, as long
as from its admission to its end. It was submitted when it was created; its queue is the LocalQueue.
Those that wait or run are skipped. The list has no size of the cluster: it is taken to be the most
pods that were admitted at once. What a pod requests is not read: pods are slots.
Source of the format: Kueue, API reference of kueue.x-k8s.io/v1beta1 and v1beta2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from sluice.ingest.logs.kubernetes_objects import instant_s, read_objects
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.live_queue import LiveQueue, QueuedJob, file_instant, instant
from sluice.ingest.logs.report import Contents, Report, Unreadable, each_read, nothing_found
from sluice.ingest.logs.rigid_jobs import Replay, RigidJob, contents_of, distinct_jobs
from sluice.ingest.logs.whole_json import mapping, objects_in
from sluice.model.cluster import SLOTS_MAX
from sluice.model.errors import InvalidInput
from sluice.model.ids import checked_id
from sluice.model.settings import number, whole
from sluice.model.workload import JOBS_MAX

FORMAT = "kueue"
_GROUP: Final = "kueue.x-k8s.io/"
_HINT: Final = "give what `kubectl get workloads -A -o json` prints"
_ADMITTED: Final = ("Admitted", "QuotaReserved")
_NOTES = (
    "A Workload is one phase: a task for each pod, from its admission to its end.",
    "The pods of a Workload start together, as Kueue admits them.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """least_s: of a Workload that ended at once.  pods: that the cluster runs; None: the most."""

    least_s: float = number(0.25, "seconds of a Workload that ended at once", above=0.0)
    pods: int | None = whole(None, "pods that the cluster runs; none: the most at once", low=1)


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Objects of Kueue with sets of pods; configurations have none."""
    return _GROUP.encode() in head and b"podSets" in head


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:
    """The Workloads of the list. Raises InvalidInput where none has finished."""
    jobs = distinct_jobs(read_objects(path, report, limits), _job, report, "object")
    if not jobs:
        raise nothing_found(path, report, "Workload that finished", hint=_HINT)
    replay = Replay.asked(
        FORMAT,
        "pods",
        options,
        why_slots="the most at once (the list has no size)",
        failed="",
        phase="pods",
    )
    return contents_of(path, jobs, replay, _NOTES)


def read_queue(path: Path, report: Report, limits: Limits) -> LiveQueue:
    """The Workloads that run and wait. Raises InvalidInput where there is none.

    The list does not say when it was made: it is taken to be as old as the newest instant in it, or
    as the file if manifests have none.
    """
    found: dict[str, _Open] = {}
    as_of_s = 0.0

    def listed(item: Mapping[str, Any]) -> _Open | None:
        nonlocal as_of_s
        as_of_s = max([as_of_s, *_instants_s(item)])  # also of a Workload that is then refused
        return _open(item)

    for job in each_read(read_objects(path, report, limits), listed, report, "object"):
        if job is not None:
            found.setdefault(job.job_id, job)
    if not found:
        raise nothing_found(path, report, "Workload that runs or waits", hint=_HINT)
    in_order = sorted(found.values(), key=lambda one: one.rank)
    return LiveQueue(
        format=FORMAT,
        jobs=tuple(one.queued(as_of_s) for one in in_order[:JOBS_MAX]),
        as_of=instant(as_of_s) if as_of_s else file_instant(path),
        backfills=True,
    )


class _Open(NamedTuple):
    """A Workload that has not finished. admitted_at_s: None while it waits.

    created_at_s: infinite for a manifest, which no cluster has yet.
    """

    job_id: str
    name: str
    queue: str
    pods: int
    limit_s: float | None
    priority: int
    created_at_s: float
    admitted_at_s: float | None

    @property
    def rank(self) -> tuple[bool, int, float, str]:
        # Manifests are not created yet: they come last, in the order of the file.
        name = "" if self.created_at_s == math.inf else self.job_id
        return (self.admitted_at_s is None, -self.priority, self.created_at_s, name)

    def queued(self, as_of_s: float) -> QueuedJob:
        ran_s = None if self.admitted_at_s is None else max(0.0, as_of_s - self.admitted_at_s)
        return QueuedJob(self.job_id, self.name, self.queue, self.pods, self.limit_s, ran_s)


class _Workload(NamedTuple):
    """A Workload as Kueue lists it. conditions: those that hold, by type."""

    job_id: str
    name: str
    queue: str
    spec: Mapping[str, Any]
    created_at: object
    conditions: Mapping[str, Mapping[str, Any]]

    @property
    def pods(self) -> int:
        return _pods(self.spec, self.job_id)

    @property
    def created_at_s(self) -> float:
        return instant_s(self.created_at, "creationTimestamp")

    @property
    def admitted_at_s(self) -> float | None:
        """Seconds of the epoch; None while it waits."""
        found = next((self.conditions[one] for one in _ADMITTED if one in self.conditions), None)
        return (
            None if found is None else instant_s(found.get("lastTransitionTime"), "its admission")
        )


def _workload(item: Mapping[str, Any]) -> _Workload:
    if item.get("kind") != "Workload":
        raise Unreadable(f"it is a {str(item.get('kind'))[:40]}")
    metadata, spec, status = (mapping(item.get(key)) for key in ("metadata", "spec", "status"))
    name = str(metadata.get("name", ""))
    try:
        job_id = checked_id(f"{metadata.get('namespace', 'default')}/{name}", what="Workload")
    except InvalidInput as error:
        raise Unreadable(str(error)) from None
    return _Workload(
        job_id=job_id,
        name=_owner(metadata) or name,
        queue=str(spec.get("queueName") or metadata.get("namespace") or job_id)[:200],
        spec=spec,
        created_at=metadata.get("creationTimestamp"),
        conditions={
            str(one.get("type")): one
            for one in objects_in(status.get("conditions"))
            if one.get("status") in {"True", True}
        },
    )


def _open(item: Mapping[str, Any]) -> _Open | None:
    """A Workload that runs or waits; None if it has finished or is not active."""
    found = _workload(item)
    if "Finished" in found.conditions or found.spec.get("active") is False:
        return None
    limit_s, priority = found.spec.get("maximumExecutionTimeSeconds"), found.spec.get("priority")
    return _Open(
        job_id=found.job_id,
        name=found.name,
        queue=found.queue,
        pods=found.pods,
        limit_s=float(limit_s) if isinstance(limit_s, int) and limit_s > 0 else None,
        priority=priority if isinstance(priority, int) else 0,
        created_at_s=math.inf if found.created_at is None else found.created_at_s,
        admitted_at_s=found.admitted_at_s,
    )


def _instants_s(item: Mapping[str, Any]) -> list[float]:
    conditions = objects_in(mapping(item.get("status")).get("conditions"))
    given = [mapping(item.get("metadata")).get("creationTimestamp")]
    given += [one.get("lastTransitionTime") for one in conditions]
    return [instant_s(one, "an instant") for one in given if one is not None]


def _job(item: Mapping[str, Any]) -> RigidJob:
    found = _workload(item)
    created_at_s, admitted_at_s = found.created_at_s, found.admitted_at_s
    finished = found.conditions.get("Finished")
    if finished is None:
        raise Unreadable(f"{found.job_id} has not finished")
    if admitted_at_s is None:
        raise Unreadable(f"{found.job_id} was never admitted")
    ended_at_s = instant_s(finished.get("lastTransitionTime"), "its end")
    if not created_at_s <= admitted_at_s <= ended_at_s:
        raise Unreadable(f"{found.job_id} ends before it begins")
    return RigidJob(
        job_id=found.job_id,
        profile=found.name,
        pool=found.queue,
        queue=found.queue,
        tasks=found.pods,
        submitted_at_s=created_at_s,
        started_at_s=admitted_at_s,
        is_gang=True,
        run_s=ended_at_s - admitted_at_s,
        is_failed=finished.get("reason") in {"Failed", "JobFailed"},
    )


def _owner(metadata: Mapping[str, Any]) -> str:
    """The name of the job that owns the Workload, if it has one."""
    owners = objects_in(metadata.get("ownerReferences"))
    return str(owners[0].get("name", ""))[:200] if owners else ""


def _pods(spec: Mapping[str, Any], job_id: str) -> int:
    pods = 0
    for one in objects_in(spec.get("podSets")):
        count = one.get("count", 1)
        if isinstance(count, int) and not isinstance(count, bool) and count > 0:
            pods += count
    if not 1 <= pods <= SLOTS_MAX:
        raise Unreadable(f"{job_id} has {pods} pods")
    return pods
