"""How often the intervals of a forecast hold in a history, and how far off its ends are.

At random instants the jobs that run and wait then are a queue, and those that ended are its past.
What happened afterwards, with all later arrivals, is the truth. The peer is the same forecast by
users' limits.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from sluice.bootstrap.queues.forecast import QueueForecast, running_jobs
from sluice.estimate.run_lengths import PastLength, RunLengths
from sluice.ingest.logs.live_queue import QueuedJob
from sluice.planning.queues.starts import QueueEntry, starts

_FIRST, _LAST = 0.15, 0.95  # of the history: before, little has ended; after, little arrives
_TRIES = 50  # instants for each at which a job waits
_DAY_S = 86_400.0  # what the peer takes for a limit where there is none
_TOLERANCE_S = 1.0


class EndedJob(NamedTuple):
    """A job of the history. Instants are seconds of it."""

    job_id: str
    name: str
    user: str
    slots: int
    limit_s: float | None
    submitted_at_s: float
    started_at_s: float
    ended_at_s: float

    def queued(self, at_s: float) -> QueuedJob:
        """The job as the queue lists it at an instant, in seconds of the history."""
        ran_s = at_s - self.started_at_s if self.started_at_s <= at_s else None
        return QueuedJob(self.job_id, self.name, self.user, self.slots, self.limit_s, ran_s)

    def past(self) -> PastLength:
        """The job as a past run."""
        length_s = self.ended_at_s - self.started_at_s
        return PastLength(self.name, self.user, self.slots, self.limit_s, length_s)


class JudgedEta(NamedTuple):
    """The end that one waiting job was given. error, limit_error: shares of the true time to it."""

    is_held: bool
    error: float
    limit_error: float


def judged_etas(
    jobs: Sequence[EndedJob],
    slots: int,
    *,
    backfills: bool,
    level: float,
    replications: int,
    instants: int,
    seed: int,
) -> tuple[list[JudgedEta], int]:
    """Each waiting job at random instants, and at how many instants of those any job waits.

    instants: at which a job waits; fewer if that is rare.
    """
    draw = random.Random(seed)
    end_s = max(job.ended_at_s for job in jobs)
    last_s = max(job.submitted_at_s for job in jobs)
    by_end = sorted(jobs, key=lambda job: job.ended_at_s)
    found: list[JudgedEta] = []
    asked = 0
    for _ in range(_TRIES * instants):
        at_s = draw.uniform(min(_FIRST * end_s, _LAST * last_s), _LAST * last_s)
        running = [job for job in jobs if job.started_at_s <= at_s < job.ended_at_s]
        waiting = [job for job in jobs if job.submitted_at_s <= at_s < job.started_at_s]
        if not waiting:
            continue
        queue = [job.queued(at_s) for job in (*running, *waiting)]
        ended = (job.past() for job in by_end if job.ended_at_s <= at_s)
        past = RunLengths(ended, running_jobs(queue))
        forecast = QueueForecast(queue, past, slots, backfills=backfills)
        etas = forecast.etas(level, replications, seed)[len(running) :]
        latest_s = _ends_by_limits(queue, slots, len(running), backfills=backfills)
        for job, eta, limit_s in zip(waiting, etas, latest_s[len(running) :], strict=True):
            ends, truth_s = eta.ends_in_s, job.ended_at_s - at_s
            if ends.expected is None or ends.high is None:
                continue
            is_held = (ends.low or 0.0) - _TOLERANCE_S <= truth_s <= ends.high + _TOLERANCE_S
            error, limit_error = abs(ends.expected / truth_s - 1), abs(limit_s / truth_s - 1)
            found.append(JudgedEta(is_held, error, limit_error))
        asked += 1
        if asked == instants:
            break
    return found, asked


def _ends_by_limits(
    queue: Sequence[QueuedJob], slots: int, running: int, *, backfills: bool
) -> list[float]:
    """The end of each job if all run as long as their limits allow."""
    limits_s = [max(1.0, (job.limit_s or _DAY_S) - (job.ran_s or 0.0)) for job in queue]
    entries = [
        QueueEntry(job.slots or 1, limit_s) for job, limit_s in zip(queue, limits_s, strict=True)
    ]
    began_s = starts(entries, limits_s, slots, running=running, backfills=backfills)
    return [start_s + limit_s for start_s, limit_s in zip(began_s, limits_s, strict=True)]
