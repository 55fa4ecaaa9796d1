"""The changes that would start a waiting job earlier: more nodes, or another queue, each simulated
forward.

Source: service spec, section 6 (`would_help` of `GET /v1/jobs/{id}/why`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sluice.bootstrap.service.forecasts import Forecaster
from sluice.bootstrap.service.futures import Future, instant, interval_of
from sluice.core.events import Event, JobWithdrawn
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job

NODES_MORE = (1, 2, 4, 8)
OPEN_JOBS_MAX = 500  # with more a simulation takes longer than a reader waits
REPLICATIONS = 5
SECONDS = 0.1  # of one change
EARLIER_S = 1.0  # a smaller gain is not worth a change
Row = dict[str, Any]
Futures = Sequence[Mapping[JobId, Future]]


def helps(forecaster: Forecaster, job_id: JobId) -> Row:
    """`would_help`: changes that start the job earlier, the smallest first; null if that takes too
    long to find out.  `never`: whether the job starts in no future.
    """
    replica = forecaster.replica
    if len(replica.open_jobs) > OPEN_JOBS_MAX or forecaster.unknown(()):
        return {"would_help": None, "never": False}
    forecaster.stop_clock()
    now = _futures(forecaster)
    starts_s, _ = _expected(now, job_id)
    is_known = bool(now) and all(job_id in one for one in now)
    found: list[Row] = []
    best_s = math.inf if starts_s is None else starts_s
    for change, futures in _changes(forecaster, job_id):
        then_s, end_s = _expected(futures, job_id)
        if then_s is not None and then_s < best_s - EARLIER_S:
            best_s = then_s  # a larger change must do better than a smaller one
            found.append(
                {
                    "change": change,
                    "starts_at": instant(replica.wall_s(then_s)),
                    "ends_at": None if end_s is None else instant(replica.wall_s(end_s)),
                }
            )
    return {"would_help": found, "never": is_known and starts_s is None}


def _changes(forecaster: Forecaster, job_id: JobId) -> Iterator[tuple[str, Futures]]:
    """Each change in words, and the futures with it."""
    yield from _other_queues(forecaster, job_id)
    for nodes in NODES_MORE:
        more = f"{nodes} more node{'s' if nodes > 1 else ''}"
        yield more, _futures(forecaster, forecaster.more_nodes(nodes))


def _other_queues(forecaster: Forecaster, job_id: JobId) -> Iterator[tuple[str, Futures]]:
    replica = forecaster.replica
    job = replica.jobs[job_id].submitted.job
    if job_id not in replica.state.jobs:
        return  # it waits for other jobs, and in each queue it would
    for queue in forecaster.other_queues(job):
        yield f"queue {queue}", _moved(forecaster, job_id, queue)


def _moved(forecaster: Forecaster, job_id: JobId, queue: PoolId) -> Futures:
    """The futures in which the job is in another queue."""
    now_s = forecaster.now_s
    job = forecaster.replica.jobs[job_id].submitted.job
    # Instants of a job that is asked about count from now.
    deadline_s = None if job.deadline_at_s is None else max(0.001, job.deadline_at_s - now_s)
    moved = replace(job, pool=queue, submitted_at_s=0.0, deadline_at_s=deadline_s)
    return _futures(forecaster, [JobWithdrawn(now_s, job_id)], [moved])


def _futures(
    forecaster: Forecaster, events: Sequence[Event] = (), new: Sequence[Job] = ()
) -> Futures:
    return forecaster.futures(new, events=events, replications=REPLICATIONS, seconds=SECONDS)


def _expected(futures: Futures, job_id: JobId) -> tuple[float | None, float | None]:
    """When it is expected to start and to end; None for what does not happen in each future."""
    found = [one[job_id] for one in futures if job_id in one]
    return (_middle([one.starts_at_s for one in found]), _middle([one.ends_at_s for one in found]))


def _middle(instants_s: Sequence[float | None]) -> float | None:
    known = sorted(one for one in instants_s if one is not None)
    if not known or len(known) < len(instants_s):
        return None
    return interval_of(known)["expected"]
