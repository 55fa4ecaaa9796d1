"""Jobs that hold the same slots from start to end, as runs and as a workload.

Each becomes one phase of as many tasks as it has slots, each as long as the job. Logs of such jobs
have no size of the cluster: it is taken to be the most slots that were held at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluice.ingest.logs.instants import neat
from sluice.ingest.logs.names import printable
from sluice.ingest.logs.report import Contents, Record, Report, Unreadable, each_read
from sluice.model.cluster import SLOTS_MAX, Cluster
from sluice.model.history import PastPhase, PastRun
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.settings import SettingKind, declared
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import JOBS_MAX, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class RigidJob:
    """One job. Instants are seconds of the epoch. started_at_s: None while it waits.

    profile: name that its runs share.  pool: who waits in turn.  queue, user: None if not known.
    is_gang: whether its tasks start together.  limit_s: as `Job.limit_s`.
    rss_bytes: the most memory of a task.  cpu_s: of all tasks.
    """

    job_id: str
    profile: str
    pool: str
    tasks: int
    submitted_at_s: float
    started_at_s: float | None
    run_s: float
    is_gang: bool
    is_failed: bool = False
    queue: str | None = None
    user: str | None = None
    limit_s: float | None = None
    rss_bytes: int | None = None
    cpu_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """How the jobs of a log are replayed.

    source: its format.  slots: of the cluster; None for the most at once.  least_s: length of a job
    of 0 s.  keeps_failed: whether failed jobs are submitted, too.  slots_name: of the option.
    why_slots, why_given, failed: words of notes, the last after the number of failed jobs; none
    where they are empty.  more: further notes.  phase, kind: of the phase of each job.
    repeats_ids: whether several jobs of a cluster may have one id.
    log: name of the log in ids of runs; None for its format.  first_s: instant that the workload
    starts at; None for that of the first job.  epoch_s: of instant 0, seconds of the epoch.
    """

    source: str
    slots_name: str
    slots: int | None
    least_s: float
    keeps_failed: bool = True
    why_slots: str = "the most at once (the log has no size)"
    why_given: str = "as asked for"
    more: tuple[str, ...] = ()
    failed: str = "that did not end well"
    phase: str = "job"
    kind: SlotKind = SlotKind.CONTAINER
    repeats_ids: bool = False
    log: str | None = None
    first_s: float | None = None
    epoch_s: float = 0.0

    @classmethod
    def asked(cls, source: str, slots_name: str, options: Any, **words: Any) -> Replay:  # noqa: ANN401  # each format has its own
        """Apply the options of a format: its slots, `least_s` and, where it has it, `failed`."""
        return cls(
            source=source,
            slots_name=slots_name,
            slots=getattr(options, slots_name),
            least_s=options.least_s,
            keeps_failed=getattr(options, "failed", "keep") == "keep",
            **words,
        )


def distinct_jobs(
    records: Iterable[Record], job_of: Callable[[Record], RigidJob], report: Report, name: str
) -> list[RigidJob]:
    """The first JOBS_MAX jobs of the records; an id that comes again is reported. name: of one."""
    jobs: dict[str, RigidJob] = {}

    def distinct(record: Record) -> RigidJob:
        job = job_of(record)
        if job.job_id in jobs:
            raise Unreadable(f"{job.job_id} is given twice")
        return job

    for job in each_read(records, distinct, report, name):
        if len(jobs) < JOBS_MAX:
            jobs[job.job_id] = job
    return list(jobs.values())


def contents_of(
    path: Path | str, jobs: Sequence[RigidJob], replay: Replay, notes: Iterable[str]
) -> Contents:
    """The runs of at least one job, and the workload that they make. notes: about the format."""
    replayed = [one for one in jobs if replay.keeps_failed or not one.is_failed]
    first_s = replay.first_s
    if first_s is None:
        first_s = min(one.submitted_at_s for one in replayed or jobs)
    slots = replay.slots or _most_slots(jobs)
    why = replay.why_given if replay.slots else replay.why_slots
    failed = len(jobs) - sum(not one.is_failed for one in jobs)
    said = [*notes, *([f"{replay.slots_name} = {slots}: {why}."] if why else []), *replay.more]
    if failed and replay.keeps_failed and replay.failed:
        said.append(f"failed = keep: {failed} {replay.failed} are replayed too.")
    return Contents(
        runs=tuple(_run(one, replay, slots, tuple(said)) for one in jobs),
        notes=tuple(said),
        workload=Workload(
            cluster=Cluster.of_slots({replay.kind: slots}),
            jobs=tuple(_submission(one, first_s, replay) for one in replayed),
            source=str(path),
        ),
    )


def failed_choice(jobs: str) -> Any:  # noqa: ANN401  # the default of a field
    """A field of `Options`: "keep" or "skip". jobs: the word of the format for them."""
    meaning = f"whether {jobs} that failed after they ran are replayed"
    return declared(SettingKind.CHOICE, "keep", meaning, choices=("keep", "skip"))


def most_at_once(spans: Iterable[tuple[float, float, int]]) -> int:
    """The most slots that are held at once, at least 1. spans: start, end and slots of each."""
    changes: list[tuple[float, int]] = []
    for start_s, end_s, slots in spans:
        changes += [(start_s, slots), (end_s, -slots)]
    used = most = 0
    for _, change in sorted(changes):  # what ends at an instant makes room first
        used += change
        most = max(most, used)
    return min(SLOTS_MAX, max(most, 1))


def _most_slots(jobs: Sequence[RigidJob]) -> int:
    begun = [(one, one.started_at_s) for one in jobs if one.started_at_s is not None]
    most = most_at_once((start_s, start_s + one.run_s, one.tasks) for one, start_s in begun)
    return min(SLOTS_MAX, max(most, *(one.tasks for one in jobs)))


def _run(one: RigidJob, replay: Replay, slots: int, notes: tuple[str, ...]) -> PastRun:
    phase = PastPhase(
        name=replay.phase,
        kind="map",
        tasks=one.tasks,
        avg_s=one.run_s,
        max_s=one.run_s,
        cpu_s=one.cpu_s,
        rss_bytes_max=one.rss_bytes,
    )
    began_s = one.started_at_s
    again = f"@{one.submitted_at_s:.0f}" if replay.repeats_ids else ""
    return PastRun(
        run_id=f"{replay.log or replay.source}/{one.job_id}{again}",
        profile=printable(one.profile),
        source=replay.source,
        phases=() if one.is_failed else (phase,),
        succeeded=not one.is_failed,
        submitted_at_s=replay.epoch_s + one.submitted_at_s,
        elapsed_s=None if began_s is None else neat(began_s - one.submitted_at_s + one.run_s),
        queue=printable(one.queue) if one.queue else None,
        slots={"map": slots},
        notes=notes,
    )


def _submission(one: RigidJob, first_s: float, replay: Replay) -> Job:
    length_s, after_s = one.run_s or replay.least_s, one.submitted_at_s - first_s
    phase = Phase(
        name=replay.phase,
        kind=replay.kind,
        tasks=one.tasks,
        lengths=ConstantLengths(length_s, length_s),
    )
    return Job(
        job_id=JobId(one.job_id),
        pool=PoolId(printable(one.pool)),
        phases=(phase,),
        submitted_at_s=neat(after_s) or after_s,  # `live_queue.WAITING_AT_S` is as good as 0
        gang=one.tasks if one.is_gang else 0,
        limit_s=one.limit_s,
        customer=printable(one.user) if one.user else None,
    )
