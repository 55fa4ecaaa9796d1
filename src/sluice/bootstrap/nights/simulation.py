"""A drawn night in the simulator: the jobs of past runs, together on a shared cluster.

Each job has the tasks and stages of its run, and the run's time outside tasks as `driver_s`. The
lengths of a stage's tasks are drawn again, with replacement, from those that the run had: which
tasks are slow changes from night to night.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sluice.bootstrap.history.run_replay import LEAST_S, barrier_s_of
from sluice.bootstrap.policy_classes import ChosenPolicy
from sluice.bootstrap.preparation.facts import CHOSEN, DECIDING, SCHEDULER, SETTINGS, WORKLOAD
from sluice.bootstrap.preparation.pipeline import Goal
from sluice.bootstrap.preparation.steps import prepared
from sluice.core.garbage_collector import paused_collector
from sluice.estimate.nights import NightJob
from sluice.ingest.logs.names import printable
from sluice.ingest.logs.phase_order import in_order
from sluice.ingest.settings import Settings
from sluice.model.cluster import Cluster, Node
from sluice.model.history import PastPhase, PastRun
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths, ListedLengths, TaskLengths
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

_KINDS = {"map": SlotKind.MAP, "reduce": SlotKind.REDUCE}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeShape:
    """Slots of one node: for maps and reduces, or containers for any task."""

    map_slots: int = 0
    reduce_slots: int = 0
    containers: int = 0
    speed: float = 1.0

    @property
    def slots(self) -> int:
        """Most tasks of one kind at once."""
        return self.containers or max(self.map_slots, self.reduce_slots)

    def cluster(self, nodes: int) -> Cluster:
        """That many such nodes, as totals."""
        node = Node(
            node_id=NodeId("node-1"),
            map_slots=nodes * self.map_slots,
            reduce_slots=nodes * self.reduce_slots,
            containers=nodes * self.containers,
        )
        return Cluster(nodes=(node,), is_totals=True)


@dataclass(frozen=True, slots=True)
class SimulatedNight:
    """How a night went. span_s: from the first submission to the last end.

    late: jobs that missed their own deadline.  last: the job that ended last.
    """

    span_s: float
    late: tuple[JobId, ...]
    last: JobId


class DrawnJobs:
    """Jobs of nights, with task lengths drawn from those of each run on nodes of a speed.

    What the draws of a run have in common is computed once: a night in a hundred draws of ten runs
    has each run ten times.
    """

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._known: dict[int, _KnownRun] = {}

    def of(self, night: Iterable[NightJob], rng: random.Random) -> tuple[Job, ...]:
        """The jobs of a night."""
        return tuple(_job(one, self._known_run(one.run), rng) for one in night)

    def _known_run(self, run: PastRun) -> _KnownRun:
        known = self._known.get(id(run))
        if known is None:
            known = self._known[id(run)] = _KnownRun.of(run, self._speed)
        return known


@dataclass(frozen=True, slots=True)
class _KnownRun:
    """A run as it enters each night. It holds the run, so that its id stays taken.

    phases: in order.  lengths: of the tasks of each; a list if they are drawn from it.
    """

    run: PastRun
    phases: Sequence[PastPhase]
    lengths: Sequence[list[float] | TaskLengths]
    driver_s: float

    @classmethod
    def of(cls, run: PastRun, speed: float) -> _KnownRun:
        phases = in_order(run.phases, is_seen=True)
        lengths = [_lengths(phase, barrier_s_of(phase, phases), speed) for phase in phases]
        return cls(run, phases, lengths, _outside_s(run))


def work_s(jobs: Iterable[Job], *kinds: SlotKind) -> float:
    """Seconds of all tasks of some kinds together."""
    return math.fsum(
        phase.tasks * phase.lengths.avg_s(phase.tasks)
        for job in jobs
        for phase in job.phases
        if phase.kind in kinds and phase.lengths is not None
    )


# Over the whole night: what it leaves is gone then, and no search goes through it.
@paused_collector()
def simulated_night(
    jobs: Sequence[Job], cluster: Cluster, tasks: ChosenPolicy, settings: Settings, seed: int = 0
) -> SimulatedNight:
    """Simulate the jobs on a cluster under a task policy.

    seed: of the luck that the settings ask for, such as `jitter`.
    Raises InvalidInput for a job that could never start on such nodes.
    """
    night = Workload(cluster=cluster, jobs=tuple(jobs), source="sluice size")
    facts = prepared(Goal.NIGHT, {WORKLOAD: night, CHOSEN: (tasks,), SETTINGS: settings})
    scheduler, (tasks, *_) = facts[SCHEDULER], facts[DECIDING]
    world = settings.of(SimulationSettings, tasks.name)
    Simulation(scheduler, cluster, facts[WORKLOAD].jobs, settings=world, seed=seed).run()
    entries = scheduler.state.jobs.values()
    last = max(entries, key=lambda entry: entry.finished_at_s)
    return SimulatedNight(
        span_s=last.finished_at_s - min(job.submitted_at_s for job in jobs),
        late=tuple(
            entry.job_id
            for entry in entries
            if entry.job.deadline_at_s is not None and entry.finished_at_s > entry.job.deadline_at_s
        ),
        last=last.job_id,
    )


def _job(one: NightJob, known: _KnownRun, rng: random.Random) -> Job:
    name = printable(one.name)
    return Job(
        job_id=JobId(name),
        pool=PoolId(name),
        submitted_at_s=one.at_s,
        after=tuple(JobId(printable(before)) for before in one.after),
        deadline_at_s=None if one.deadline_s is None else one.at_s + one.deadline_s,
        driver_s=known.driver_s,
        phases=tuple(
            _phase(phase, place, lengths, rng)
            for place, (phase, lengths) in enumerate(zip(known.phases, known.lengths, strict=True))
        ),
    )


def _outside_s(run: PastRun) -> float:
    """Time of the run in which none of its tasks ran; 0 if its log does not list single tasks."""
    tasks = sorted(
        (task.started_at_s, task.finished_at_s) for phase in run.phases for task in phase.timeline
    )
    if not tasks:
        return 0.0
    busy_s, until_s = 0.0, tasks[0][0]
    for started_at_s, finished_at_s in tasks:
        busy_s += max(0.0, finished_at_s - max(started_at_s, until_s))
        until_s = max(until_s, finished_at_s)
    return max(0.0, max(until_s, run.elapsed_s or 0.0) - busy_s)


def _phase(
    phase: PastPhase, place: int, known: list[float] | TaskLengths, rng: random.Random
) -> Phase:
    drawn = (
        ListedLengths(tuple(rng.choices(known, k=phase.tasks)))
        if isinstance(known, list)
        else known
    )
    return Phase(
        name=f"{place}: {printable(phase.name)}",
        kind=_KINDS.get(phase.kind, SlotKind.MAP),
        tasks=phase.tasks,
        lengths=drawn,
        after=phase.after,
    )


def _lengths(phase: PastPhase, barrier_s: float, speed: float) -> list[float] | TaskLengths:
    if len(phase.timeline) != phase.tasks:
        avg_s = max(phase.avg_s / speed, LEAST_S)
        return ConstantLengths(avg_s, max(phase.max_s / speed, avg_s))
    # A reduce that starts early waits for the maps; its own work begins then.
    return [
        max((task.finished_at_s - max(task.started_at_s, barrier_s)) / speed, LEAST_S)
        for task in phase.timeline
    ]
