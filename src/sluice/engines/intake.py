"""Requests of users to a cluster that goes on: to run jobs, change them, end them, spare a node.

The driver takes the requests of all users at once, journals them with the events that they cause,
waits for the disk once, and only then has them answered. So an answer means that a crash loses
nothing of it, and a hundred users who submit together wait for one write.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from sluice.core.events import Event, NodeCordoned, QueuesChanged
from sluice.engines.arrivals import Arrivals
from sluice.engines.base import Engine
from sluice.model.ids import JobId, NodeId
from sluice.model.job import Job
from sluice.model.queues import Pool
from sluice.store.rows import EntryKind

Acknowledge = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """The jobs of one workload.

    record: their SUBMITTED row in the journal, as JSON.  held: those that wait for their user.
    """

    jobs: Sequence[Job]
    record: str
    acknowledge: Acknowledge
    held: Collection[JobId] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A job that has started nothing, with its new values. record: its CHANGED row, as JSON."""

    job: Job
    is_held: bool
    record: str
    acknowledge: Acknowledge


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """A job that a user wants to end. reason: as `why` and the record of the job give it."""

    job_id: JobId
    reason: str
    acknowledge: Acknowledge


@dataclass(frozen=True, slots=True, kw_only=True)
class Cordon:
    """A node that an operator wants no more tasks on, or wants them on again.

    reason: why, if it is cordoned.
    """

    node_id: NodeId
    is_cordoned: bool
    reason: str
    acknowledge: Acknowledge


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChange:
    """Pools have other weights and limits, and there may be new ones. pools: all of them."""

    pools: tuple[Pool, ...]
    acknowledge: Acknowledge


Request = Submission | Change | Kill | Cordon | QueueChange


class Intake(Protocol):
    """Where requests come from. All calls come from the driver's thread.

    held: jobs that were held by their user when the driver was started.
    """

    @property
    def held(self) -> Collection[JobId]: ...

    def wake(self, engine: Engine) -> None:
        """From now on, requests that arrive end the engine's wait for events."""

    def take(self, now_s: float) -> Sequence[Request]:
        """The requests since the last call, in order. Jobs in them are submitted `now_s`."""

    def forget(self, job_ids: Collection[JobId]) -> None:
        """These jobs are over, and have left the state. Some may be unknown."""

    def pause(self, why: str) -> None:
        """Nothing can be journaled: refuse all requests that the driver has not taken."""

    def resume(self) -> None:
        """Requests are taken again."""


_ROW_OF = {Submission: EntryKind.SUBMITTED, Change: EntryKind.CHANGED}


class OpenRequests:
    """The requests that the driver has taken and not answered yet."""

    def __init__(self, intake: Intake, arrivals: Arrivals) -> None:
        self._intake = intake
        self._arrivals = arrivals
        self._open: list[Request] = []
        self._spoilt: dict[JobId, str] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def spoilt(self, job_id: JobId, why: str) -> None:
        """The job cannot go on after a pause; the jobs of others do, so it is cancelled."""
        self._spoilt[job_id] = why

    def take(self, now_s: float) -> list[Event]:
        """New jobs line up; the events that end jobs are returned."""
        events: list[Event] = []
        taken = self._intake.take(now_s)
        for request in taken:
            if isinstance(request, Submission):
                self._arrivals.add(request.jobs, request.held)
            elif isinstance(request, Cordon):
                fields = (request.node_id, request.is_cordoned, request.reason)
                events.append(NodeCordoned(now_s, *fields))
            elif isinstance(request, QueueChange):
                events.append(QueuesChanged(now_s, request.pools))
            elif isinstance(request, Change):
                events += self._arrivals.change(request.job, now_s, is_held=request.is_held)
            else:
                events += self._arrivals.kill(request.job_id, request.reason, now_s)
        self._open += taken
        while self._spoilt:
            events += self._arrivals.kill(*self._spoilt.popitem(), now_s)
        return events

    def records(self) -> list[tuple[EntryKind, str]]:
        """The rows that the journal is to hold before anything is answered."""
        return [
            (_ROW_OF[type(each)], each.record)
            for each in self._open
            if isinstance(each, Submission | Change)
        ]

    def answer(self) -> None:
        """Have them answered: the batch that they are in is on the disk."""
        for request in self._open:
            request.acknowledge()
        self._open.clear()
