"""Philly: the jobs of Microsoft's GPU cluster, `cluster_job_log` of msr-fiddle/philly-traces.

A list of jobs with their attempts. A job is one phase of as many tasks as it had GPUs, which start
together, from the first attempt on for as long as its attempts took together. The number of GPUs is
that of the attempt that had most. Jobs that never ran or still run are skipped; those that were
killed or failed held GPUs too and are replayed unless `failed` is skip. The trace has no size of
the cluster: it is taken to be the most GPUs that were held at once. Its times are local ones of the
cluster, without a zone; they are read as UTC.
Source of the format: Jeon and others, "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN
Training Workloads", USENIX ATC 2019, and its repository.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sluice.ingest.logs.instants import instant_in
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.report import Contents, Report, Unreadable, nothing_found
from sluice.ingest.logs.rigid_jobs import Replay, RigidJob, contents_of, failed_choice
from sluice.ingest.logs.whole_json import BLANKS, listed, mapping, objects_in, text_in, whole_json
from sluice.model.cluster import SLOTS_MAX
from sluice.model.errors import InvalidInput
from sluice.model.ids import checked_id
from sluice.model.settings import number, whole
from sluice.model.workload import JOBS_MAX

FORMAT = "philly"
_WELL: Final = "Pass"
_OVER: Final = frozenset({_WELL, "Killed", "Failed"})
_KEYS: Final = (b'"vc"', b'"jobid"', b'"attempts"')
_NOTES = (
    "A job is one phase: a task for each GPU, which start together.",
    "A job ran for as long as all its attempts took together.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """failed: whether jobs that were killed or failed are submitted.  gpus: of the cluster.

    least_s: of a job that ended in the second in which it began.
    """

    failed: str = failed_choice("jobs")
    least_s: float = number(0.25, "seconds of a job whose length is rounded to 0", above=0.0)
    gpus: int | None = whole(None, "GPUs of the cluster; none: the most in use at once", low=1)


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """A list of jobs with a virtual cluster and attempts."""
    return head.lstrip(BLANKS)[:1] == b"[" and all(key in head for key in _KEYS)


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:
    """The jobs of the list. Raises InvalidInput where none of them ran."""
    found = whole_json(path, report, limits)
    if not isinstance(found, list):
        raise InvalidInput("it is no list of jobs", where=str(path), hint="give cluster_job_log")
    jobs: dict[str, RigidJob] = {}
    for position, one in enumerate(found, start=1):
        with report.skipping(position):
            job = _job(mapping(one))
            if job.job_id in jobs:
                raise Unreadable(f"{job.job_id} is given twice")
            if len(jobs) == JOBS_MAX:
                raise Unreadable(f"more than {JOBS_MAX} jobs")
            jobs[job.job_id] = job
    if not jobs:
        raise nothing_found(path, report, "job that ran", hint="give cluster_job_log")
    replay = Replay.asked(FORMAT, "gpus", options)
    return contents_of(path, list(jobs.values()), replay, _NOTES)


def _job(given: Mapping[str, Any]) -> RigidJob:
    try:
        job_id = checked_id(text_in(given, "jobid", None), what="jobid")
    except InvalidInput:
        raise Unreadable("it has no jobid") from None
    status = text_in(given, "status")
    if status not in _OVER:
        raise Unreadable(f"{job_id} is {status or 'without a status'}")
    attempts = objects_in(given.get("attempts"))
    gpus = max((_gpus(one) for one in attempts), default=0)
    if not gpus:
        raise Unreadable(f"{job_id} never ran")
    spans = [_span_s(job_id, one) for one in attempts]
    started_at_s = min(start_s for start_s, _ in spans)
    submitted_at_s = instant_in(given, "submitted_time") or started_at_s
    user = text_in(given, "user")
    return RigidJob(
        job_id=job_id,
        profile=job_id,
        pool=text_in(given, "vc") or FORMAT,
        tasks=min(gpus, SLOTS_MAX),
        submitted_at_s=min(submitted_at_s, started_at_s),
        started_at_s=started_at_s,
        run_s=math.fsum(end_s - start_s for start_s, end_s in spans),
        is_gang=True,
        is_failed=status != _WELL,
        queue=text_in(given, "vc") or None,
        user=user or None,
    )


def _gpus(attempt: Mapping[str, Any]) -> int:
    """GPUs that an attempt held, over all its machines."""
    return sum(len(listed(one.get("gpus"))) for one in objects_in(attempt.get("detail")))


def _span_s(job_id: str, attempt: Mapping[str, Any]) -> tuple[float, float]:
    start_s, end_s = instant_in(attempt, "start_time"), instant_in(attempt, "end_time")
    if start_s is None or end_s is None or end_s < start_s:
        raise Unreadable(f"an attempt of {job_id[:60]} has no start or end")
    return start_s, end_s
