"""Jobs of Volcano: what `kubectl get vcjob -A -o json` (or `-o yaml`) prints.

A job that is over is one phase: a task for each replica of its tasks, from when Volcano ran it to
its end. It was submitted when it was created. Its pods start together if `minAvailable` asks for
all of them, which is its default; with fewer, they start one by one, for a job here is a gang as a
whole or not. Of a job that was restarted the last run counts. Those that wait or run are skipped.
What a pod requests is not read: pods are slots.
Source of the format: Volcano, batch.volcano.sh/v1alpha1 (Job, JobStatus, JobCondition).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sluice.ingest.logs.kubernetes_objects import instant_s, read_objects
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.live_queue import LiveQueue, QueuedJob, instant
from sluice.ingest.logs.report import Contents, Report, Unreadable, each_read, nothing_found
from sluice.ingest.logs.rigid_jobs import (
    Replay,
    RigidJob,
    contents_of,
    distinct_jobs,
    failed_choice,
)
from sluice.ingest.logs.whole_json import mapping, objects_in
from sluice.model.cluster import SLOTS_MAX
from sluice.model.ids import checked_id
from sluice.model.settings import number, whole
from sluice.model.workload import JOBS_MAX

FORMAT = "volcano"
_GROUP: Final = b"batch.volcano.sh/"
_HINT: Final = "give what `kubectl get vcjob -A -o json` prints"
_RUNNING: Final = frozenset({"Running", "Completing"})
_WELL: Final = "Completed"
_OVER: Final = frozenset({_WELL, "Failed", "Aborted", "Terminated"})
_NOTES = (
    "A job is one phase: a task for each pod, from when Volcano ran it to its end.",
    "Pods start together where minAvailable asks for all of them, else one by one.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The part of the list that is replayed.

    failed: whether jobs that did not end well are submitted; they held pods.
    least_s: of a job that ended at once.  pods: that the cluster runs; None: the most at once.
    """

    failed: str = failed_choice("jobs")
    least_s: float = number(0.25, "seconds of a job that ended at once", above=0.0)
    pods: int | None = whole(
        None, "pods that the cluster runs; none: the most at once", low=1, high=SLOTS_MAX
    )


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Objects of Volcano with tasks; its queues have none."""
    return _GROUP in head and b"replicas" in head


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:
    """The jobs of the list. Raises InvalidInput where none of them is over."""
    jobs = distinct_jobs(read_objects(path, report, limits), _over, report, "object")
    if not jobs:
        raise nothing_found(path, report, "job that ran and ended", hint=_HINT)
    replay = Replay.asked(FORMAT, "pods", options)
    return contents_of(path, jobs, replay, _NOTES)


def read_queue(path: Path, report: Report, limits: Limits) -> LiveQueue:
    """The jobs that run and wait. Raises InvalidInput where there is none.

    The list does not say when it was made: it is taken to be as old as the newest instant in it.
    """
    found: dict[str, _Listed] = {}
    as_of_s = 0.0
    for listed in each_read(read_objects(path, report, limits), _Listed, report, "object"):
        as_of_s = max([as_of_s, listed.created_at_s, *listed.instants.values()])
        if listed.phase not in _OVER:
            found.setdefault(listed.job_id, listed)
    if not found:
        raise nothing_found(path, report, "job that runs or waits", hint=_HINT)
    in_order = sorted(found.values(), key=lambda one: (not one.runs, one.created_at_s, one.job_id))
    return LiveQueue(
        format=FORMAT,
        jobs=tuple(one.queued(as_of_s) for one in in_order[:JOBS_MAX]),
        as_of=instant(as_of_s),
        backfills=True,
    )


class _Listed:
    """A job as Volcano lists it. instants: when it came to each phase the last time, by phase.

    Raises Unreadable for what is not a job with pods.
    """

    def __init__(self, item: Mapping[str, Any]) -> None:
        about, self._spec = mapping(item.get("metadata")), mapping(item.get("spec"))
        if item.get("kind") != "Job" or _GROUP.decode() not in str(item.get("apiVersion")):
            raise Unreadable(f"it is a {str(item.get('kind'))[:40]}, and not a Job of Volcano")
        name = str(about.get("name", ""))
        self.name = name[:200]
        namespace = str(about.get("namespace") or "default")
        self.job_id = checked_id(f"{namespace}/{name}", what="job")
        self.queue = str(self._spec.get("queue") or "default")[:200]
        self.created_at_s = instant_s(about.get("creationTimestamp"), "creationTimestamp")
        status = mapping(item.get("status"))
        state = mapping(status.get("state"))
        self.phase = str(state.get("phase") or "Pending")[:40]
        self.instants: dict[str, float] = {}
        for one in (*objects_in(status.get("conditions")), {"status": self.phase, **state}):
            if one.get("lastTransitionTime") is not None:
                at_s = instant_s(one["lastTransitionTime"], "lastTransitionTime")
                self.instants[str(one.get("status"))[:40]] = at_s

    @property
    def runs(self) -> bool:
        return self.phase in _RUNNING

    @property
    def pods(self) -> int:
        counts = [one.get("replicas", 0) for one in objects_in(self._spec.get("tasks"))]
        pods = sum(one for one in counts if type(one) is int and one > 0)
        if not 1 <= pods <= SLOTS_MAX:
            raise Unreadable(f"{self.job_id} has {pods} pods")
        return pods

    @property
    def is_gang(self) -> bool:
        least = self._spec.get("minAvailable")
        return type(least) is not int or least <= 0 or least >= self.pods

    @property
    def ran_at_s(self) -> float | None:
        return self.instants.get("Running")

    def queued(self, as_of_s: float) -> QueuedJob:
        began_s = self.ran_at_s if self.runs else None
        return QueuedJob(
            self.job_id, self.name, self.queue, self.pods, None,
            None if began_s is None else max(0.0, as_of_s - began_s), is_gang=self.is_gang,
        )  # fmt: skip


def _over(item: Mapping[str, Any]) -> RigidJob:
    """A job that is over. Raises Unreadable."""
    found = _Listed(item)
    if found.phase not in _OVER:
        raise Unreadable(f"{found.job_id} is {found.phase.lower()}")
    began_s, ended_s = found.ran_at_s, found.instants.get(found.phase)
    if began_s is None or ended_s is None:
        raise Unreadable(f"{found.job_id} never ran, or does not say when")
    if not found.created_at_s <= began_s <= ended_s:
        raise Unreadable(f"{found.job_id} ends before it begins")
    return RigidJob(
        job_id=found.job_id,
        profile=found.name,
        pool=found.queue,
        tasks=found.pods,
        submitted_at_s=found.created_at_s,
        started_at_s=began_s,
        run_s=ended_s - began_s,
        is_gang=found.is_gang,
        is_failed=found.phase != _WELL,
        queue=found.queue,
    )
