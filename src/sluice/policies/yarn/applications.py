"""An application of YARN: its master, what it has asked for, and what it knows.

A master speaks with the ResourceManager once an interval. With each call it gives its new requests,
and gets the containers that were granted and those that have ended since the last call. It acts on
an answer at its next call. Source: Hadoop's Scheduler Load Simulator, MRAMSimulator.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry
from sluice.core.transitions import JobState
from sluice.policies.yarn.queues import Application


@dataclass(slots=True, eq=False)
class Host:
    """A node: `held` containers are masters, granted, at work, or over and not yet reported.

    granted: those of tasks that are granted and not yet at work, by phase.
    over: those not yet reported: the phase, None for a master, and whether the task is done.
    killed: those that the node does not know to be over.  ending: those that it reports next.
    reserved: the application whose master gets what becomes free, as long as it has none.
    beat_at_s: its last heartbeat.  is_asleep: whether those that follow would change nothing.
    was_replaced: an opening has the node after it was lost and came back, unseen until then.
    """

    entry: NodeEntry
    containers: int
    held: int = 0
    granted: Counter[PhaseEntry] = field(default_factory=Counter)
    over: list[tuple[Application, PhaseEntry | None, bool]] = field(default_factory=list)
    killed: int = 0
    ending: int = 0
    reserved: Application | None = None
    is_lost: bool = False
    beat_at_s: float = 0.0
    is_asleep: bool = False
    was_replaced: bool = False

    def is_replaced(self, entry: NodeEntry) -> bool:
        """Whether it was lost, and is back. entry: that of the present."""
        return self.was_replaced or self.entry is not entry

    def replace(self, entry: NodeEntry, containers: int) -> None:
        """It is back."""
        self.entry, self.containers, self.was_replaced = entry, containers, False

    @property
    def free(self) -> int:
        """Containers that may be granted here."""
        return self.containers - self.held

    @property
    def has_news(self) -> bool:
        """Whether its next heartbeat, or the one after it, frees containers."""
        return bool(self.over or self.killed or self.ending)


@dataclass(slots=True)
class Answer:
    """The answer to a call: containers granted, by phase, and ended tasks with whether done."""

    granted: list[tuple[PhaseEntry, Host]] = field(default_factory=list)
    over: list[tuple[PhaseEntry, bool]] = field(default_factory=list)


class Master:
    """The master of one application. host: of its container; None before it has one.

    ended_at_s: when it has unregistered; infinity before.  due_at_s: its next call.
    """

    def __init__(self, app: Application, job: JobEntry, begun_at_s: float) -> None:
        self.app = app
        self.job = job
        self.begun_at_s = begun_at_s
        self.host: Host | None = None
        self.ended_at_s = math.inf
        self.due_at_s = math.inf
        self.asked: dict[PhaseEntry, int] = {}  # requests that wait for a container
        self.started: Counter[PhaseEntry] = Counter()  # granted, and not yet at work
        self.known: Counter[PhaseEntry] = Counter()  # tasks that it knows to have ended
        self._arrived = Answer()
        self._next = Answer()

    def next_call_s(self, now_s: float, interval_s: float) -> float:
        """The first instant after `now_s` at which it calls."""
        calls = math.floor((now_s - self.begun_at_s) / interval_s + 1e-9) + 1
        return self.begun_at_s + calls * interval_s

    def grant(self, host: Host) -> None:
        """A container is granted for its first request for a task."""
        phase = self.request
        assert phase is not None, "it has asked for a container"
        self.asked[phase] -= 1
        if not self.asked[phase]:
            del self.asked[phase]
        self.started[phase] += 1
        host.granted[phase] += 1
        self._next.granted.append((phase, host))

    @property
    def request(self) -> PhaseEntry | None:
        """The phase of its next request; None if it has none."""
        return next(iter(self.asked), None)

    def begin(self, phase: PhaseEntry, host: Host) -> None:
        """A container that was granted is at work, or given back."""
        self.started[phase] -= 1
        host.granted[phase] -= 1
        if not host.granted[phase]:
            del host.granted[phase]  # a node may be up for longer than its jobs are known

    def over(self, phase: PhaseEntry, *, is_done: bool) -> None:
        """A node has reported the end of a task."""
        self._next.over.append((phase, is_done))

    def call(self) -> list[tuple[PhaseEntry, Host]]:
        """Act on the last answer, ask, and get the next one; returns the tasks that start now."""
        answer, self._arrived, self._next = self._arrived, self._next, Answer()
        for phase, is_done in answer.over:
            self.known[phase] += is_done
        for phase, missing in self._missing():
            self.asked[phase] = self.asked.get(phase, 0) + missing
        self.asked = dict(sorted(self.asked.items(), key=lambda one: one[0].index))
        self.app.pending = sum(self.asked.values())
        return answer.granted

    @property
    def answers(self) -> tuple[Answer, Answer]:
        """The one that it acts on at its next call, and the one that it gets then."""
        return self._arrived, self._next

    @answers.setter
    def answers(self, answers: tuple[Answer, Answer]) -> None:
        self._arrived, self._next = answers

    @property
    def is_idle(self) -> bool:
        """Whether its next calls would change nothing until a node reports or grants something."""
        return not any(
            answer.granted or answer.over for answer in (self._arrived, self._next)
        )  # fmt: skip

    @property
    def knows_all(self) -> bool:
        """Whether it knows that all its tasks have ended, or that the job came to nothing."""
        if self.job.has_ended and self.job.state is not JobState.DONE:
            return True
        return all(phase.is_done and self.known[phase] >= phase.tasks for phase in self.job.phases)

    def give_back(self, host: Host | None = None) -> None:
        """Containers that it has not used yet are over: those of a node, or all."""
        for answer in (self._arrived, self._next):
            for phase, there in answer.granted:
                if host is None or there is host:
                    self.begin(phase, there)
                    there.over.append((self.app, phase, False))
            kept = () if host is None else answer.granted
            answer.granted = [one for one in kept if one[1] is not host]

    def restart(self) -> None:
        """Its own node is lost. The next one finds out what has been done and asks again."""
        self.give_back()
        self.host = None
        self.asked.clear()
        self.known = Counter({phase: phase.done for phase in self.job.phases})
        self._arrived, self._next = Answer(), Answer()

    def _missing(self) -> Iterator[tuple[PhaseEntry, int]]:
        """Tasks for which no container was asked yet, of phases whose inputs are known to exist."""
        phases = self.job.phases
        for phase in phases:
            if all(self.known[phases[one]] >= phases[one].tasks for one in phase.after):
                waiting = phase.pending.count - self.asked.get(phase, 0) - self.started[phase]
                if waiting > 0:
                    yield phase, waiting


def next_of(last_s: float, every_s: float, now_s: float) -> float:
    """The first instant after the last one and not before now, at whole steps from the last."""
    return last_s + max(1, math.ceil((now_s - last_s) / every_s - 1e-9)) * every_s
