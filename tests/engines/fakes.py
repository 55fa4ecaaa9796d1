"""A cluster that is not there: an engine in made-up time with faults on demand, and its work."""

import heapq
import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

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
from sluice.model.job import Job, Phase
from sluice.model.slot_kind import SlotKind
from sluice.policies.defaults import AdmitAll, KeepPools, ReleaseOnArrival
from sluice.policies.orders.fifo import Fifo
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
    """The faults of a run, by attempt key as text (`job/phase/task/attempt`) or by instant."""

    exits: set[str] = field(default_factory=set)
    twice: set[str] = field(default_factory=set)  # reported finished two times
    hangs: set[str] = field(default_factory=set)  # never ends by itself
    blames: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    losses: dict[float, str] = field(default_factory=dict)  # node by instant; zombies report on
    interrupt_at_s: float = float("inf")


class FakeEngine:
    """Tasks take (task % 3 + 1) seconds, or what `length_s` says, of time that only it passes.

    A shell command takes what its sleeps say.  epoch: attempts of another one are rejected; None
    takes all.  It is strict, and does not forgive a driver that launches what it must not.
    """

    def __init__(
        self, nodes=NODES, faults=None, length_s=lambda key: key.task % 3 + 1.0, epoch=None
    ):
        self.epoch, self.is_strict = epoch, True
        self.faults = faults or Faults()
        self.length_s = length_s
        self.launched, self.killed, self.calls = [], [], []
        self._monotonic_s = 1000.0
        self.clock = RunClock(lambda: self._monotonic_s)
        self._nodes = {node.node_id: node for node in nodes}
        self._heap, self._count = [], itertools.count()
        self._running = {}
        self._is_stopped = False

    def start(self):
        self.calls.append("start")
        for node in self._nodes.values():
            self._later(0.0, NodeJoined, node)
        for at_s, node_id in self.faults.losses.items():
            self.lose(node_id, at_s - self.clock.now_s())

    def capabilities(self):
        return frozenset({"kill"})

    def lose(self, node_id, delay_s=0.0, back_s=math.inf):
        """Lose a node after a while; its attempts report on. It is back `back_s` later."""
        node = self._nodes[node_id]
        self._later(delay_s, NodeLost, node_id, "pulled the plug")
        if back_s < math.inf:
            self._later(delay_s + back_s, NodeJoined, node)

    def launch(self, attempt):
        name = str(attempt.key)
        is_known = attempt.attempt_id in {known.attempt_id for known in self.launched}
        if self.is_strict:
            assert not is_known
            assert attempt.node_id in self._nodes, f"{name} was launched on {attempt.node_id}"
        if is_known:
            return
        self.launched.append(attempt)
        self._running[attempt.key] = attempt
        if refusal := self._refusal(attempt):
            self._later(0.0, _failure(refusal), attempt)
            return
        self._later(0.01, TaskStarted, attempt.key)
        if name in self.faults.hangs:
            return
        length_s, end = self._script(attempt)
        if (wall_s := attempt.limits.wall_s or math.inf) < length_s:
            length_s, end = wall_s, _failure(FailureKind.TIMEOUT)
        for _ in range(2 if name in self.faults.twice else 1):
            self._later(length_s, end, attempt)

    def _refusal(self, attempt):
        """The kind of failure of an attempt that cannot be launched; None for others."""
        argv = attempt.work.get("argv", ["true"])
        if self._is_stopped or attempt.node_id not in self._nodes:
            return FailureKind.NODE_FAULT
        is_text = bool(argv) and all(isinstance(word, str) for word in argv)
        return None if is_text and self.epoch in {None, attempt.epoch} else FailureKind.REJECTED

    def _script(self, attempt):
        """How long an attempt takes, and its end. Of a shell it knows `echo`, `sleep` and `yes`."""
        if "argv" not in attempt.work:
            return self.length_s(attempt.key), self._ending(str(attempt.key))
        script = attempt.work["argv"][-1]
        said = re.findall(r"echo (\w+) >> (\w+)", script)
        length_s = 0.02 + sum(map(float, re.findall(r"sleep ([\d.]+)", script)))

        def finishes(at_s, attempt):
            for word, file in said:
                with Path(attempt.work["cwd"], file).open("a") as text:
                    text.write(f"{word}\n")
            return TaskFinished(at_s, attempt.key, at_s)

        return math.inf if "yes" in script else length_s, finishes

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
            self._later(0.1, _failure(FailureKind.KILLED, reason), attempt)

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
        heard = []
        while self._heap and self._heap[0][0] <= self._monotonic_s:
            _, _, make, details = heapq.heappop(self._heap)
            event = make(self.clock.now_s(), *details)
            if self._is_shown(event):
                heard.append(event)
        return heard

    def _is_shown(self, event):
        """Whether an event is shown: an attempt has one end, and none once its node is lost."""
        match event:
            case NodeJoined():
                self._nodes[event.node.node_id] = event.node
            case NodeLost():
                self._nodes.pop(event.node_id, None)
                if event.node_id not in self.faults.losses.values():
                    lost = [one for one in self._running.values() if one.node_id == event.node_id]
                    for attempt in lost:
                        del self._running[attempt.key]
            case TaskStarted():
                return event.key in self._running
            case _:
                was_open = self._running.pop(event.key, None) is not None
                return was_open or str(event.key) in self.faults.twice
        return True

    def reconcile(self):
        self.calls.append("reconcile")
        return Snapshot(nodes=tuple(self._nodes.values()), attempts=tuple(self._running))

    def stop(self, *, kill_running):
        self.calls.append(f"stop kill_running={kill_running}")
        self._is_stopped = True
        for attempt in self._running.values() if kill_running else ():
            self._later(0.0, _failure(FailureKind.KILLED), attempt)


def _failure(kind, detail=""):
    """Return the function that makes the event of a failure."""
    return lambda at_s, attempt: TaskFailed(at_s, attempt.key, at_s, kind, detail)


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
        self.changed: frozenset[int] = frozenset()  # last tasks whose first output is changed
        self.forgotten = set()

    def check_unchanged(self, job_id):
        """Nothing of made-up work changes."""

    def check_runnable(self, job_id):
        """Made-up work needs no program."""

    def lay_out(self, job_id):
        """All input of made-up work is known before it runs."""

    def job_name(self, job_id):
        return job_name(job_id)

    def sweep(self, epoch, kept=()):
        self.swept.append(epoch)

    def locations(self, job):
        assert job.job_id not in self.forgotten
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

    def broken_outputs(self, job_id, outputs):
        """Outputs of first attempts of the tasks in `changed`."""
        return {
            task: "flipped"
            for task, one in outputs.items()
            if task in self.changed and one.key.attempt == 1
        }

    def commit(self, job_id, outputs):
        if self.full is not None:
            raise self.full
        self.disk.commits[job_id] += 1
        last = len(self.jobs[job_id].phases) - 1
        self.disk.results[job_id] = sorted(outputs[last]) if last >= 0 else []

    def clear(self):
        self.swept.append("cleared")

    def forget(self, job_ids):
        self.forgotten |= set(job_ids)

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


def driver(journal, engine, source, jobs, slowstart=1.0, opened=None, **more):
    """A driver over fakes. opened: the scheduler of an opening."""
    return Driver(
        engine=engine,
        scheduler=opened or scheduler(slowstart),
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
    """Return what is done, not who ran where: it must be the same however often a run was left."""
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
