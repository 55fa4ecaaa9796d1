"""When the jobs of a queue that was listed start and end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sluice.api.options.calls import called_with
from sluice.api.options.predictions import EtaOptions, QueueFacts
from sluice.bootstrap.queues.forecast import QueueForecast, past_lengths, running_jobs, sized_jobs
from sluice.bootstrap.queues.resource_manager import listed_cluster
from sluice.estimate.run_lengths import PastLength, RunLengths
from sluice.estimate.uncertainty import LEVEL, check_level
from sluice.ingest.logs.formats import read_live_queue, read_log, read_logs
from sluice.ingest.logs.live_queue import LiveQueue, QueuedJob, instant
from sluice.ingest.logs.report import LogRead, Report
from sluice.ingest.servers.web import is_web_address
from sluice.model.cluster import SLOTS_MAX
from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.slot_kind import SlotKind
from sluice.reporting.eta.result import EtaReport, JobEta, When
from sluice.reporting.formatting import counted

REPLICATIONS, REPLICATIONS_MIN = 100, 10
_JOB_FUTURES = 100_000  # of all jobs together, where the number of futures is not asked for
REPLICATIONS_MAX = 10_000
_SERVICE_JOBS_MAX = 100_000


@dataclass(frozen=True)
class EtaCall(EtaOptions):
    """Arguments of `eta`."""

    queue: str | Path | None = None


@called_with(EtaCall)
def eta(given: EtaCall) -> EtaReport:
    """When each job of a queue starts and ends, with an interval.

    queue: what `squeue` prints, Workloads of Kueue, or applications of YARN; the web address of a
        ResourceManager, which lists its own history, too; without it, the jobs of the service that
        runs here, with the forecasts that it has made.
    history: logs of jobs that ended, in any format; without them users' limits count.
    slots: of the cluster; by default those of `nodes`, or the most that the queue or the history
        had in use.
    nodes: what `sinfo` prints.
    backfills: whether jobs start out of turn where that delays no earlier one (EASY); by default
        as the scheduler of the list does.
    level: of the intervals.
    replications: futures that are simulated; by default 100, and down to 10 for more than a
        thousand jobs.
    Jobs that are submitted later are not in it.
    Raises InvalidInput; EngineUnavailable where the service or the ResourceManager does not answer.
    """
    if given.queue is None:
        return _of_service(given)
    check_level(given.level)
    if given.replications is not None and not 1 <= given.replications <= REPLICATIONS_MAX:
        raise wrong_value(
            "replications", given.replications, "--replications", f"give 1 to {REPLICATIONS_MAX}"
        )
    now = queue_now(given.queue, given)
    futures = given.replications or max(
        REPLICATIONS_MIN, min(REPLICATIONS, _JOB_FUTURES // len(now.jobs))
    )
    forecast = QueueForecast(
        now.jobs, RunLengths(now.past, running_jobs(now.jobs)), now.slots, backfills=now.backfills
    )
    return EtaReport(
        as_of=now.as_of,
        slots=now.slots,
        level=given.level,
        jobs=tuple(forecast.etas(given.level, futures, given.seed)),
        notes=(*now.notes, *_unknown_note(forecast.unknown)),
        skipped=now.skipped,
    )


def _unknown_note(jobs: Sequence[str]) -> list[str]:
    if not jobs:
        return []
    ends = "does not end" if len(jobs) == 1 else "do not end"
    names = jobs[0] if len(jobs) == 1 else f"{jobs[0]}, ..."
    what = f"{counted(len(jobs), 'job')} of unknown length"
    return [f"{what} {ends} in this forecast: {names}. Give --history."]


def _of_service(given: EtaCall) -> EtaReport:
    """Return what the service expects of its open jobs. Raises as `eta`."""
    for name, value, default in (
        ("--history", given.history, ()), ("--slots", given.slots, None),
        ("--nodes", given.nodes, None), ("--backfill", given.backfills, None),
        ("--level", given.level, EtaCall.level), ("--replications", given.replications, None),
        ("--seed", given.seed, EtaCall.seed),
    ):  # fmt: skip
        if value != default:
            raise InvalidInput(
                "it has no effect for the queue of the service", where=name,
                hint="leave it out, or name a list with --queue",
            )  # fmt: skip
    from sluice.api import service  # takes a third of a second, which a list does not need

    found = service.jobs(states=("running", "waiting"), limit=_SERVICE_JOBS_MAX)
    now, slots = datetime.now(UTC), service.queues()["slots"]
    rows = sorted(found["jobs"], key=lambda row: (row["state"] != "running", row["job_id"]))
    left_out = found["total"] - len(rows)
    return EtaReport(
        as_of=instant(now.timestamp()),
        slots=slots,
        level=LEVEL,
        jobs=tuple(_eta_of(row, now) for row in rows),
        notes=(
            "These are the forecasts of the service, from past runs of each profile.",
            *([f"{counted(left_out, 'older job')} not shown."] if left_out else []),
        ),
        skipped=left_out,
    )


def _eta_of(row: Mapping[str, Any], now: datetime) -> JobEta:
    """One job of the service. row: as it lists it."""
    starts_in_s = _seconds_until(row["starts_at"], now)
    is_running = row["state"] == "running"
    return JobEta(
        job_id=row["job_id"],
        slots=row["tasks"]["running"] + row["tasks"]["waiting"],
        is_running=is_running,
        starts_in_s=When(
            expected=0.0 if is_running else starts_in_s,
            low=0.0 if is_running else None,
            high=0.0 if is_running else None,
        ),
        ends_in_s=When(**{key: _seconds_until(at, now) for key, at in row["ends_at"].items()}),
        reason=row["reason"],
        runs=None,
        kind=None,
    )


def _seconds_until(at: str | None, now: datetime) -> float | None:
    return None if at is None else max(0.0, (datetime.fromisoformat(at) - now).total_seconds())


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNow:
    """A queue, with all that a forecast of it needs.

    jobs: all with slots.  past: runs that ended, the oldest first.  notes: what was chosen.
    """

    jobs: tuple[QueuedJob, ...]
    past: tuple[PastLength, ...]
    slots: int
    backfills: bool
    as_of: str
    notes: tuple[str, ...]
    skipped: int


def queue_now(queue: str | Path, given: QueueFacts) -> QueueNow:
    """The queue and its history, read. Arguments and errors as for `eta`."""
    found, report, own, up = _listed(queue)
    logs = [log for log in (*own, *read_logs(given.history)) if log.runs]
    past = past_lengths(logs)
    if given.history and not past:
        raise InvalidInput(
            "none of its jobs ended with a known length",
            where=", ".join(map(str, given.history)),
            hint="give logs of jobs that ended, such as the output of `sacct`",
        )
    jobs, guessed = sized_jobs(found, past)
    if given.slots is None and given.nodes is not None:
        most, why = _slots_up(_slots_in(given.nodes), jobs)
    elif given.slots is None and up:
        most, why = _slots_up(up, jobs)
    else:
        most, why = _slots(given.slots, jobs, logs)
    out_of_turn = found.backfills if given.backfills is None else given.backfills
    notes = [
        f"slots = {most}: {why}.",
        f"{counted(len(past), 'past run')} in {counted(len(logs), 'log')}."
        if past
        else "Without history, times are by users' limits: the latest that is expected.",
        "Jobs start out of turn where that delays none before them."
        if out_of_turn
        else "Jobs start in turn.",
        *([f"The slots of {counted(guessed, 'job')} are those of past runs."] if guessed else []),
        "Jobs that are submitted later are not in it.",
        *found.notes,
    ]
    if report.skipped_count:
        first = report.skipped[0]
        place = f"line {first.line}: " if first.line else ""
        notes.append(f"{report.skipped_count} skipped, the first {place}{first.why}")
    return QueueNow(
        jobs=tuple(jobs),
        past=tuple(past),
        slots=most,
        backfills=out_of_turn,
        as_of=found.as_of,
        notes=tuple(notes),
        skipped=report.skipped_count,
    )


def _listed(queue: str | Path) -> tuple[LiveQueue, Report, list[LogRead], int]:
    """The queue, what was skipped, the history that comes with it, and slots that are up (or 0)."""
    if not is_web_address(str(queue)):
        return *read_live_queue(queue), [], 0
    cluster = listed_cluster(str(queue))
    if cluster.queue is None:
        raise InvalidInput(
            "no application runs or waits", where=str(queue), hint="ask again when one does"
        )
    return cluster.queue, cluster.report, [cluster.past] if cluster.past else [], cluster.slots


def _slots_in(nodes: str | Path) -> int:
    """Return the slots of the nodes that are up. Raises InvalidInput."""
    log = read_log(nodes)
    if log.workload is None or log.workload.cluster is None or log.workload.jobs:
        raise InvalidInput(
            f"it is a log of {log.format}, not a list of nodes", where=str(nodes),
            hint="give the output of sinfo",
        )  # fmt: skip
    return log.workload.cluster.slots(SlotKind.CONTAINER)


def _slots_up(up: int, jobs: Sequence[QueuedJob]) -> tuple[int, str]:
    """Return these slots, or more if more are in use, and their source."""
    in_use = sum(job.slots or 1 for job in jobs if job.ran_s is not None)
    if in_use > up:
        return in_use, f"those in use, for the nodes that are up have {up}"
    return up, "those of nodes that are up"


def _slots(
    asked: int | None, jobs: Sequence[QueuedJob], logs: Sequence[LogRead]
) -> tuple[int, str]:
    """Return the slots of the cluster, and their source."""
    if asked is not None:
        if not 1 <= asked <= SLOTS_MAX:
            raise wrong_value("slots", asked, "--slots", f"give 1 to {SLOTS_MAX}")
        return asked, "as asked for"
    in_use = sum(job.slots or 1 for job in jobs if job.ran_s is not None)
    largest = max(job.slots or 1 for job in jobs)
    clusters = [log.workload.cluster for log in logs if log.workload is not None]
    before = max((one.slots(SlotKind.CONTAINER) for one in clusters if one is not None), default=0)
    first = next((job.slots or 1 for job in jobs if job.ran_s is None), None)
    if first is not None and before >= in_use + first:
        # Nodes may be down, or the lists count different things, such as nodes and processors.
        before, why = in_use + first - 1, "the first in line does not fit"
    else:
        why = "the most at once in the history"
    if largest > max(in_use, before):
        return largest, "those of the largest job (set --slots)"
    if in_use >= before:
        return in_use, "those in use (set --slots)"
    return before, f"{why} (set --slots)"
