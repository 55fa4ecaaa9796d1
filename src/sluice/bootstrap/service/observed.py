"""The jobs of others: applications of a YARN cluster that a service observes.

The service can neither refuse them nor promise them anything, so that they have forecasts alone.
Source: service spec, section 16 (d).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sluice.bootstrap.queues.forecast import QueueForecast, past_lengths, running_jobs, sized_jobs
from sluice.bootstrap.queues.resource_manager import ListedCluster, listed_cluster
from sluice.bootstrap.service.futures import instant
from sluice.core.reasons import Reason
from sluice.estimate.run_lengths import RunLengths
from sluice.estimate.uncertainty import LEVEL
from sluice.ingest.logs.live_queue import LiveQueue
from sluice.model.errors import SluiceError
from sluice.reporting.eta.result import JobEta, When

EVERY_S = 15.0  # the cluster is asked
_JOB_FUTURES = 100_000  # of all jobs together
_REPLICATIONS_MIN, _REPLICATIONS_MAX = 10, 100
_MS = 1000

Answer = Mapping[str, Any]


def observed_jobs(address: str) -> Answer:
    """The applications that run or wait, with forecasts, as JSON.

    address: of the ResourceManager's web page. `problem` says why there is no answer.
    """
    try:
        cluster = listed_cluster(address)
        rows = [] if cluster.queue is None else _rows(cluster.queue, cluster)
    except SluiceError as error:
        return {"address": address, "jobs": [], "as_of": None, "problem": str(error)}
    as_of = None if cluster.queue is None else cluster.queue.as_of
    return {"address": address, "jobs": rows, "as_of": as_of, "problem": None}


def _rows(queue: LiveQueue, cluster: ListedCluster) -> list[dict[str, Any]]:
    past = past_lengths([cluster.past] if cluster.past else [])
    jobs, _ = sized_jobs(queue, past)
    in_use = sum(job.slots or 1 for job in jobs if job.ran_s is not None)
    slots = max(cluster.slots, in_use, 1)
    forecast = QueueForecast(
        jobs, RunLengths(past, running_jobs(jobs)), slots, backfills=queue.backfills
    )
    futures = max(_REPLICATIONS_MIN, min(_REPLICATIONS_MAX, _JOB_FUTURES // len(jobs)))
    now_s = datetime.fromisoformat(queue.as_of).timestamp()
    return [_row(one, cluster.rows[one.job_id], now_s) for one in forecast.etas(LEVEL, futures, 0)]


def _row(job: JobEta, said: Mapping[str, Any], now_s: float) -> dict[str, Any]:
    began = instant((said.get("launchTime") or said["startedTime"]) / _MS)
    return {
        "job_id": job.job_id,
        "name": str(said.get("name") or ""),
        "user": str(said.get("user") or ""),
        "queue": str(said.get("queue") or ""),
        "state": "running" if job.is_running else "waiting",
        "decision": "observed",
        "slots": job.slots,
        "submitted_at": instant(said["startedTime"] / _MS),
        "starts_at": dict.fromkeys(("expected", "low", "high"), began)
        if job.is_running
        else _instants(job.starts_in_s, now_s),
        "ends_at": _instants(job.ends_in_s, now_s),
        "level": LEVEL,
        "past_runs": job.runs,
        "reason": job.reason.text() if isinstance(job.reason, Reason) else None,
    }


def _instants(when: When, now_s: float) -> dict[str, str | None]:
    seconds = {"expected": when.expected, "low": when.low, "high": when.high}
    return {
        name: None if value is None else instant(now_s + value) for name, value in seconds.items()
    }


class Observed:
    """The newest answer; one without jobs for a problem leaves the jobs of the answer before."""

    def __init__(self) -> None:
        self._newest: Answer | None = None

    def take(self, answer: Answer | None) -> None:
        """Keep an answer; None if it took too long."""
        known = self._newest
        if answer is None:
            answer = {"jobs": [], "as_of": None, "problem": "the forecast took too long"}
        if answer["problem"] is not None and known is not None:
            answer = {**known, "problem": answer["problem"]}
        self._newest = answer

    def job(self, job_id: str) -> Answer | None:
        """One of these jobs; None if there is none of this id."""
        rows = self._newest["jobs"] if self._newest else []
        return next((row for row in rows if row["job_id"] == job_id), None)

    @property
    def is_known(self) -> bool:
        """Whether a cluster was observed, or tried to be."""
        return self._newest is not None

    def listed(
        self, states: Sequence[str], queue: str | None, name: str | None, limit: int
    ) -> Mapping[str, Answer]:
        """Those jobs, as a part of an answer; nothing where no cluster has been observed.

        Filtered, counted in `total`, then cut.
        """
        if self._newest is None:
            return {}
        rows = [
            row
            for row in self._newest["jobs"]
            if (not states or row["state"] in states)
            and queue in {None, row["queue"]}
            and name in {None, row["name"]}
        ]
        return {"observed": {**self._newest, "jobs": rows[:limit], "total": len(rows)}}
