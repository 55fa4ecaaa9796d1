"""A list of jobs that run and wait as a workload, for questions about one that waits.

Second 0 is the moment of the listing. What runs holds its slots for what is left of its length, and
what waits comes after it, in the order of the list. A length is the middle of what past runs say,
or else the limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.api.options.predictions import QueueFacts
from sluice.api.queue_now import QueueNow, queue_now
from sluice.bootstrap.queues.forecast import QueueForecast, running_jobs
from sluice.estimate.run_lengths import RunLengths
from sluice.ingest.logs.formats import lists_queue, read_live_queue
from sluice.ingest.logs.live_queue import WAITING_AT_S, QueuedJob
from sluice.ingest.logs.names import printable
from sluice.ingest.logs.options import options_of
from sluice.model.cluster import SLOTS_MAX, Cluster
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.settings import number, whole
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

# The names that formats have for the slots of the cluster.
_SLOTS = ("processors", "pods", "vcores", "containers")
_FLAG = "--from-log-set"
_SET_SLOTS = f"{_FLAG} containers=N"
_NOTE = (
    "Second 0 is the moment of the listing: running jobs hold their slots for what is left of their"
    " length, and waiting ones come after them, in the order of the list."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """slots: of the cluster.  limit_s: of jobs that have no limit."""

    slots: int | None = whole(None, "slots of the cluster", low=1, high=SLOTS_MAX)
    limit_s: float | None = number(None, "seconds of a job without a limit", above=0.0)


def listed_workload(
    paths: Sequence[str | Path], options: Mapping[str, object], name: str
) -> tuple[Workload, str] | None:
    """The jobs of a list that has an open job of this id or name, and its id; None without one.

    The other paths are its history, and what the list itself says of jobs that ended.
    options: of the formats: the slots of the cluster, and `limit_s` of jobs without a length.
    Raises InvalidInput where a list cannot be read, or the length of a job is not known.
    """
    for path in filter(lists_queue, paths):
        job_id = _id_in(path, name)
        if job_id is not None:
            history = [one for one in paths if one != path]
            given = {"slots" if key in _SLOTS else key: value for key, value in options.items()}
            chosen = options_of(_Options, given, _FLAG)
            now = queue_now(path, QueueFacts(history=history, slots=chosen.slots), _SET_SLOTS)
            return _workload(path, now, chosen.limit_s), job_id
    return None


def _id_in(path: str | Path, name: str) -> str | None:
    """The id of an open job: its own, or that of the only one with this name."""
    jobs = read_live_queue(path)[0].jobs
    found = [job.job_id for job in jobs if name in (job.job_id, job.name)]
    exact = [job_id for job_id in found if job_id == name]
    return exact[0] if exact else found[0] if len(found) == 1 else None


def _workload(path: str | Path, now: QueueNow, limit_s: float | None) -> Workload:
    jobs = [job if job.limit_s else job._replace(limit_s=limit_s) for job in now.jobs]
    forecast = QueueForecast(
        jobs, RunLengths(now.past, running_jobs(jobs)), now.slots, backfills=now.backfills
    )
    if forecast.unknown:
        raise InvalidInput(
            f"the length of {forecast.unknown[0]} is not known: it has no limit, and no past run",
            where=str(path),
            hint=f"add a log of jobs that ended with --from-log, or give {_FLAG} limit_s=3600",
        )
    return Workload(
        cluster=Cluster.of_slots({SlotKind.CONTAINER: now.slots}),
        jobs=tuple(map(_job, jobs, forecast.expected_s())),
        scheduler={"tasks": "easy"} if now.backfills else {},
        source=str(path),
        notes=(_NOTE, *now.notes),
    )


def _job(queued: QueuedJob, left_s: float) -> Job:
    tasks, limit_s = queued.slots or 1, queued.limit_s
    phase = Phase(
        name="job", kind=SlotKind.CONTAINER, tasks=tasks, lengths=ConstantLengths(left_s, left_s)
    )
    return Job(
        job_id=JobId(queued.job_id),
        pool=PoolId(printable(queued.queue or queued.user or queued.job_id)),
        phases=(phase,),
        submitted_at_s=0.0 if queued.ran_s is not None else WAITING_AT_S,
        gang=tasks if queued.is_gang else 0,
        limit_s=None if limit_s is None else max(left_s, limit_s - (queued.ran_s or 0.0)),
        customer=printable(queued.user) if queued.user else None,
    )
