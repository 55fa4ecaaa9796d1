"""The jobs of a service or of a recorded run, as those see them who answer questions.

A `Readable` is a scheduler in some state: the replica of a service, or a recorded run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sluice.core.scheduler import Scheduler
from sluice.core.state import ClusterState
from sluice.model.ids import JobId
from sluice.store.service.submissions import JobChange, SubmittedJob, SubmittedWorkload


@dataclass(frozen=True, slots=True)
class KnownJob:
    """A job and the submission that it came with."""

    submitted: SubmittedJob
    workload: SubmittedWorkload


class Readable(Protocol):
    """A scheduler in some state, with what is known of its jobs: of a service, or of a run.

    jobs: all that were submitted.  submitted: their ids in order; it only grows.
    settled: jobs whose output is committed or removed.
    changes: what users changed on a job, in order.
    capacity: the slots of the nodes that were up, from each instant at which they changed.
    queues: those of the file, or of its newest change, that jobs can be in.
    kept_from_s: the instant from which on the history is kept, seconds since 1970; None for all.
    seq: the journal position of the state.  wall_s: seconds since 1970 at an instant of its clock.
    """

    scheduler: Scheduler
    state: ClusterState
    jobs: dict[JobId, KnownJob]
    submitted: list[JobId]
    changes: dict[JobId, list[JobChange]]
    settled: dict[JobId, None]
    capacity: list[tuple[float, int]]
    segment: Path
    kept_from_s: float | None

    @property
    def seq(self) -> int: ...

    @property
    def now_s(self) -> float: ...

    @property
    def queues(self) -> list[str]: ...

    @property
    def open_jobs(self) -> list[JobId]: ...

    def wall_s(self, at_s: float) -> float: ...
