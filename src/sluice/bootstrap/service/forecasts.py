"""Possible futures of a service: its replica, simulated on with drawn lengths.

Source: service spec, section 5, "How it is computed".
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from sluice.bootstrap.history.known_lengths import Known, known_lengths
from sluice.bootstrap.service.forking import in_fork
from sluice.bootstrap.service.futures import Future
from sluice.bootstrap.service.replica import Replica
from sluice.core.entries import JobEntry
from sluice.core.events import Event, NodeJoined
from sluice.core.transitions import JobState
from sluice.estimate.length_spread import LengthSpread
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job
from sluice.model.queues import inner_queues
from sluice.simulation.forward import simulate_on

REPLICATIONS = 20
REPLICATIONS_MIN = 3
SECONDS = 2.0  # of all replications of one question
CPU_S_MAX = 20  # of one replication
QUEUES_TRIED_MAX = 3
_KNOWN_MAX = 100_000
_STAGES_OF_MAX = 1000  # open jobs; of more the ends of stages would be most of each answer
_NONE = LengthSpread(0.0)


class Forecaster:
    """Futures of a replica. Its functions run in a fork of the follower, but for `learn_of`."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica
        self._known: dict[JobId, Known] = {}
        self._stopped_s: float | None = None
        known_lengths(())  # imports what it needs now

    @property
    def now_s(self) -> float:
        """The instant at which futures begin, on the clock of the segment."""
        return self.replica.now_s if self._stopped_s is None else self._stopped_s

    def stop_clock(self) -> None:
        """Begin all further futures at this instant. For a fork, which answers one question.

        Simulating takes time: without it, what was simulated first would seem to end earlier.
        """
        self._stopped_s = self.now_s

    def learn_of(self, jobs: Sequence[Job]) -> None:
        """Look up what the past says about these jobs, unless it was done."""
        new = [job for job in jobs if job.job_id not in self._known]
        if not new:
            return
        if len(self._known) > _KNOWN_MAX:  # those of quotes stay, too
            self._known.clear()
            new = list(jobs)
        self._known |= known_lengths(new)

    def forget(self, job_ids: Sequence[JobId]) -> None:
        """These jobs have ended."""
        for job_id in job_ids:
            self._known.pop(job_id, None)

    def known(self, job_id: JobId) -> Known:
        """Return what is known of a job's length."""
        return self._known.get(job_id, Known(spread=None))

    def unknown(self, new: Sequence[Job]) -> list[JobId]:
        """The open jobs whose length nothing is known of, without those that are asked about.

        A job that is held is in no future: its length does not matter.
        """
        own, begun, jobs = {job.job_id for job in new}, self.replica.state.jobs, self.replica.jobs
        return [
            job_id
            for job_id in self.replica.open_jobs
            if job_id not in own
            and (job_id in begun or not jobs[job_id].submitted.held_by)
            and self.known(job_id).spread is None
        ]

    def futures(
        self,
        new: Sequence[Job] = (),
        *,
        events: Sequence[Event] = (),
        replications: int = REPLICATIONS,
        seconds: float = SECONDS,
    ) -> list[Mapping[JobId, Future]]:
        """The ends of all open jobs and new ones, in each future.

        events: happen first, such as nodes that join, or an open job that is withdrawn because it
        is among the new ones, with other values.
        seconds: after so many no further future is begun, once there are a few.
        """
        now_s = self.now_s
        began_s = time.monotonic()
        found: list[Mapping[JobId, Future]] = []
        for number in range(replications):
            if number >= REPLICATIONS_MIN and time.monotonic() - began_s > seconds:
                break
            one = partial(self._one, now_s, new, events, number)
            plain = in_fork(one, CPU_S_MAX)
            if plain is None:
                break
            found.append({JobId(job_id): Future(**each) for job_id, each in plain.items()})
        return found

    def plain_futures(self) -> list[dict[str, Any]]:
        """The futures of all open jobs, as JSON."""
        return [
            {str(job_id): asdict(each) for job_id, each in future.items()}
            for future in self.futures()
        ]

    def _one(
        self, now_s: float, new: Sequence[Job], events: Sequence[Event], seed: int
    ) -> dict[str, dict[str, Any]]:
        scheduler = self.replica.scheduler
        for event in events:
            scheduler.handle(event)
        ended = len(scheduler.state.closed)
        new_ids = {job.job_id for job in new}
        wanted = {*self.replica.open_jobs, *new_ids}  # before they end
        first = [_now(job, now_s) for job in new if not new_ids.intersection(job.after)]
        waiting = [
            each.submitted.job
            for job_id, each in self.replica.jobs.items()
            if job_id not in {*scheduler.state.jobs, *new_ids} and not each.submitted.held_by
        ]
        later = [_now(job, now_s) for job in new if new_ids.intersection(job.after)]
        simulate_on(
            scheduler,
            now_s,
            new=first,
            to_come=[*waiting, *later],
            spread=lambda job_id: self.known(job_id).spread or _NONE,
            seed=seed,
        )
        jobs, closed = scheduler.state.jobs, scheduler.state.closed
        slot_s = dict.fromkeys(new_ids, 0.0)
        for row in range(ended, len(closed)):
            attempt = closed.attempt(row)
            if attempt.key.job_id in new_ids:
                length_s = attempt.finished_at_s - attempt.started_at_s
                slot_s[attempt.key.job_id] += max(0.0, length_s) * attempt.tasks
        has_stages = len(wanted) <= _STAGES_OF_MAX
        return {
            str(job_id): _future(jobs[job_id], slot_s.get(job_id), has_stages=has_stages)
            for job_id in wanted
            if job_id in jobs
        }

    def other_queues(self, job: Job) -> list[PoolId]:
        """The first queues of the service that the job could be in, without its own."""
        workload = self.replica.config.workload
        inner = inner_queues(workload.queues)
        names = [pool.pool_id for pool in workload.pools if pool.pool_id not in inner]
        return [name for name in names if name != job.pool][:QUEUES_TRIED_MAX]

    def more_nodes(self, count: int) -> list[Event]:
        """Nodes that join now, each like the first one of the cluster."""
        first, now_s = self.replica.config.cluster.nodes[0], self.now_s
        names = (NodeId(f"more-{number + 1}") for number in range(count))
        return [NodeJoined(now_s, replace(first, node_id=name)) for name in names]


def _now(job: Job, now_s: float) -> Job:
    """A job that is submitted now; its instants count from then."""
    deadline_at_s = None if job.deadline_at_s is None else now_s + job.deadline_at_s
    return replace(job, submitted_at_s=now_s + job.submitted_at_s, deadline_at_s=deadline_at_s)


def _future(entry: JobEntry, slot_s: float | None, *, has_stages: bool) -> dict[str, Any]:
    is_done = entry.state is JobState.DONE
    stages = entry.phases if has_stages and len(entry.phases) > 1 else ()
    return {
        "starts_at_s": entry.started_at_s if math.isfinite(entry.started_at_s) else None,
        "ends_at_s": entry.finished_at_s if is_done else None,
        "state": entry.state.value,
        "slot_s": slot_s,
        "stages_end_at_s": [one.ended_at_s if one.is_done else None for one in stages],
    }
