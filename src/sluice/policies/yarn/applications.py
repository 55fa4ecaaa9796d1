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
from sluice.policies.yarn.queues import Application


@dataclass(slots=True, eq=False)
class Host:
    """A node: `held` containers are masters, granted, at work, or over and not yet reported."""

    entry: NodeEntry
    offset_s: float
    containers: int
    held: int = 0
    over: list[tuple[Application, PhaseEntry | None]] = field(default_factory=list)

    @property
    def free(self) -> int:
        """Containers that may be granted here."""
        return self.containers - self.held


@dataclass(slots=True)
class Answer:
    """The answer to a call: containers granted, by phase, and tasks that have ended."""

    granted: list[tuple[PhaseEntry, Host]] = field(default_factory=list)
    over: list[PhaseEntry] = field(default_factory=list)


class Master:
    """The master of one application. host: of its container; None before it has one.

    ended_at_s: when it has unregistered; infinity before.
    """

    def __init__(self, app: Application, job: JobEntry, begun_at_s: float) -> None:
        self.app = app
        self.job = job
        self.begun_at_s = begun_at_s
        self.host: Host | None = None
        self.ended_at_s = math.inf
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
        """A container is granted for its first request."""
        phase = next(iter(self.asked))
        self.asked[phase] -= 1
        if not self.asked[phase]:
            del self.asked[phase]
        self.started[phase] += 1
        self._next.granted.append((phase, host))

    def over(self, phase: PhaseEntry) -> None:
        """A node has reported the end of a task."""
        self._next.over.append(phase)

    def call(self) -> list[tuple[PhaseEntry, Host]]:
        """Act on the last answer, ask, and get the next one; returns the tasks that start now."""
        answer, self._arrived, self._next = self._arrived, self._next, Answer()
        for phase in answer.over:
            self.known[phase] += 1
        for phase, missing in self._missing():
            self.asked[phase] = self.asked.get(phase, 0) + missing
        self.asked = dict(sorted(self.asked.items(), key=lambda one: one[0].index))
        self.app.pending = sum(self.asked.values())
        return answer.granted

    @property
    def knows_all(self) -> bool:
        """Whether it knows that all its tasks have ended."""
        return all(self.known[phase] >= phase.tasks for phase in self.job.phases)

    def _missing(self) -> Iterator[tuple[PhaseEntry, int]]:
        """Tasks for which no container was asked yet, of phases whose inputs are known to exist."""
        phases = self.job.phases
        for phase in phases:
            if all(self.known[phases[one]] >= phases[one].tasks for one in phase.after):
                waiting = phase.pending.count - self.asked.get(phase, 0) - self.started[phase]
                if waiting > 0:
                    yield phase, waiting
