"""When the jobs of a queue that was listed start and end.

The queue comes from a list (squeue, Kueue, Volcano, YARN), or from the service, which has forecasts
of its own. `queue_now` reads all that a forecast needs: the list, the past runs that say how long
such jobs take, and the slots of the cluster, from a list of its nodes, as given, or as many as are
in use. `QueueForecast` simulates the rest. `quote.py` asks the same for one job more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sluice.api.options.calls import called_with
from sluice.api.options.predictions import EtaOptions
from sluice.api.queue_now import queue_now
from sluice.bootstrap.queues.forecast import QueueForecast, running_jobs
from sluice.estimate.run_lengths import RunLengths
from sluice.estimate.uncertainty import LEVEL, check_level
from sluice.ingest.logs.live_queue import instant
from sluice.model.errors import InvalidInput, wrong_value
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
        notes=(*now.notes, now.turn_note, *_unknown_note(forecast.unknown)),
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
