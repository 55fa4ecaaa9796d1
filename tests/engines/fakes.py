"""A cluster that is not there: an engine in made-up time with faults on demand, and its work."""

import heapq
import itertools
from collections import Counter
from dataclasses import dataclass, field

from sluice.core.events import (
    FailureKind,
    NodeJoined,
    NodeLost,
    TaskFailed,
    TaskFinished,
    TaskStarted,
)
from sluice.core.rules import Rules
from sluice.core.scheduler import Policies, Scheduler
from sluice.core.transitions import AttemptState, JobState
from sluice.engines.base import Snapshot
from sluice.engines.driver import Driver
from sluice.engines.mapreduce.layout import job_name
from sluice.engines.run_clock import RunClock
from sluice.model.cluster import Node
from sluice.model.job import Job, Phase, SlotKind
from sluice.policies.defaults import AdmitAll, KeepPools, ReleaseOnArrival
from sluice.policies.fifo import Fifo
from sluice.store.journal import Journal
from sluice.store.rows import RunHeader

HEADER = RunHeader(source="/jobs.yaml", sha256="ab" * 32, started_at="2026-01-01T00:00:00Z")


def node(node_id, **slots):
    """A node by its id."""
    return Node(node_id=node_id, **slots)


NODES = tuple(node(f"n{index}", map_slots=2, reduce_slots=1) for index in range(3))


class Crash(BaseException):
    """The process dies here: no handler of the house may catch it."""


@dataclass
class Faults:
    """What goes wrong, told by attempt key as text (`job/phase/task/attempt`) or by instant."""

    exits: set[str] = field(default_factory=set)
    twice: set[str] = field(default_factory=set)  # reported finished two times
    hangs: set[str] = field(default_factory=set)  # never ends by itself
    blames: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    losses: dict[float, str] = field(default_factory=dict)  # node by instant; zombies report on
    interrupt_at_s: float = float("inf")


class FakeEngine:
    """Tasks take (task % 3 + 1) seconds, or what `lengths_s` says, of time that only it passes."""

    def __init__(self, nodes=NODES, faults=None, length_s=lambda key: key.task % 3 + 1.0):
        self.faults = faults or Faults()
        self.length_s = length_s
        self.launched, self.killed, self.calls = [], [], []
        self._monotonic_s = 1000.0
        self.clock = RunClock(lambda: self._monotonic_s)
        self._nodes = {node.node_id: node for node in nodes}
        self._heap, self._count = [], itertools.count()
        self._running = {}

    def start(self):
        self.calls.append("start")
        for node in self._nodes.values():
            self._later(0.0, NodeJoined, node)
        for at_s, node_id in self.faults.losses.items():
            self._later(at_s - self.clock.now_s(), NodeLost, node_id, "pulled the plug")

    def capabilities(self):
        return frozenset({"kill"})

    def launch(self, attempt):
        name = str(attempt.key)
        assert attempt.attempt_id not in {known.attempt_id for known in self.launched}
        assert attempt.node_id in self._nodes, f"{name} was launched on {attempt.node_id}"
        self.launched.append(attempt)
        self._running[attempt.key] = attempt
        self._later(0.01, TaskStarted, attempt.key)
        if name in self.faults.hangs:
            return
        length_s = self.length_s(attempt.key)
        for _ in range(2 if name in self.faults.twice else 1):
            self._later(length_s, self._ending(name), attempt)

    def _ending(self, name):
        def exits(at_s, attempt):
            blames = self.faults.blames.get(name, ())
            detail = "exit status 1"
            return TaskFailed(at_s, attempt.key, at_s, FailureKind.EXIT, detail, blames=blames)

        def finishes(at_s, attempt):
            outputs = (f"{attempt.attempt_id}.out",)
            return TaskFinished(at_s, attempt.key, at_s, outputs=outputs)

        return exits if name in self.faults.exits | self.faults.blames.keys() else finishes

    def kill(self, key, reason):
        self.killed.append((str(key), reason))
        attempt = self._running.get(key)
        if attempt is not None:
            self._later(
                0.1, lambda at_s, a: TaskFailed(at_s, a.key, at_s, FailureKind.KILLED), attempt
            )

    def _later(self, delay_s, make, *details):
        at_s = self._monotonic_s + max(0.0, delay_s)
        heapq.heappush(self._heap, (at_s, next(self._count), make, details))

    def events(self, timeout_s):
        until_s = self._monotonic_s + timeout_s
        if self._heap and self._heap[0][0] <= until_s:
            until_s = self._heap[0][0]
        self._monotonic_s = max(self._monotonic_s, until_s)
        if self.clock.now_s() >= self.faults.interrupt_at_s:
            raise KeyboardInterrupt
        told = []
        while self._heap and self._heap[0][0] <= self._monotonic_s:
            _, _, make, details = heapq.heappop(self._heap)
            told.append(make(self.clock.now_s(), *details))
            if isinstance(told[-1], NodeLost):
                self._nodes.pop(told[-1].node_id, None)
        return told

    def reconcile(self):
        self.calls.append("reconcile")
        return Snapshot(nodes=tuple(self._nodes.values()), attempts=())

    def stop(self, *, kill_running):
        self.calls.append(f"stop kill_running={kill_running}")


@dataclass
class Disk:
    """Where committed output stands; it outlives the lives of a run."""

    commits: Counter[str] = field(default_factory=Counter)
    aborts: Counter[str] = field(default_factory=Counter)
    results: dict[str, list[int]] = field(default_factory=dict)


class FakeSource:
    """Work that does nothing, and checks that it is asked for at the right moment."""

    def __init__(self, jobs, disk=None):
        self.jobs = {job.job_id: job for job in jobs}
        self.disk = disk or Disk()
        self.swept = []
        self.broken = None  # an error to raise at `work`
        self.full = None  # an error to raise at `commit`

    def check_unchanged(self, job_id):
        """Nothing of made-up work changes."""

    def job_name(self, job_id):
        return job_name(job_id)

    def sweep(self, epoch, kept=()):
        self.swept.append(epoch)

    def locations(self, job):
        if not job.phases:
            return {}
        return {0: tuple((f"n{task % 3}",) for task in range(job.phases[0].tasks))}

    def work(self, launch, outputs):
        if self.broken is not None:
            raise self.broken
        phases = self.jobs[launch.key.job_id].phases
        for earlier in phases[launch.key.phase].after:
            assert set(outputs[earlier]) == set(range(phases[earlier].tasks))
        return {"kind": "noop", "job_name": job_name(launch.key.job_id)}

    def commit(self, job_id, outputs):
        if self.full is not None:
            raise self.full
        self.disk.commits[job_id] += 1
        last = len(self.jobs[job_id].phases) - 1
        self.disk.results[job_id] = sorted(outputs[last]) if last >= 0 else []

    def clear(self):
        self.swept.append("cleared")

    def abort(self, job_id):
        self.disk.aborts[job_id] += 1


def job(job_id, maps=4, reduces=2, submitted_at_s=0.0):
    """A job of maps, and of reduces after them."""
    phases = (
        Phase(name="map", kind=SlotKind.MAP, tasks=maps),
        Phase(name="reduce", kind=SlotKind.REDUCE, tasks=reduces, after=(0,)),
    )
    return Job(job_id=job_id, pool=job_id, phases=phases, submitted_at_s=submitted_at_s)


def scheduler(slowstart=1.0):
    """A fresh one, always the same."""
    policies = Policies(
        admission=AdmitAll(), release=ReleaseOnArrival(), tasks=Fifo(), pools=KeepPools()
    )
    return Scheduler(policies, rules=Rules(slowstart=slowstart))


def driver(journal, engine, source, jobs, slowstart=1.0, **more):
    """A driver over fakes."""
    return Driver(
        engine=engine,
        scheduler=scheduler(slowstart),
        journal=journal,
        source=source,
        jobs=jobs,
        clock=engine.clock,
        **more,
    )


def drive(folder, jobs, *, engine=None, source=None, **more):
    """Start a run in a folder, or resume the one that is there, and see it through."""
    journal = Journal.reopened if (folder / "journal.db").exists() else _created
    with journal(folder) as opened:
        return driver(
            opened, engine or FakeEngine(), source or FakeSource(jobs), jobs, **more
        ).run()


def _created(folder):
    return Journal.create(folder, HEADER)


def outcome(state, disk):
    """What must be the same however often a run was left: not who ran where, but what is done."""
    return [
        (job_id, entry.state, [phase.done for phase in entry.phases], disk.results.get(job_id))
        for job_id, entry in sorted(state.jobs.items())
    ]


def done_once(state):
    """Whether every last-phase task of a done job was done by exactly one attempt that counts.

    A map may rightly be done again, after its output was lost.
    """
    counted = Counter(
        attempt.key[:3]
        for attempt in state.closed
        if attempt.state is AttemptState.DONE and not attempt.phase.needed_by
    )
    return all(
        counted[entry.job_id, phase.index, task] == 1
        for entry in state.jobs.values()
        if entry.state is JobState.DONE
        for phase in entry.phases[-1:]
        for task in range(phase.tasks)
    )
