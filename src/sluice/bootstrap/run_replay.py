"""A finished run as a workload of one job, to simulate it again as it was or with one change.

Stages follow each other as they did: each waits for those that had ended before it began. The time
in which no task ran comes first, as the job's `driver_s`. Spark's cores run tasks of all stages, so
they become containers; other runs have slots for maps and slots for reduces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sluice.estimate.slot_time import on_slots
from sluice.ingest.logs.phase_order import by_stage_number, in_order
from sluice.ingest.logs.slots_seen import slots_of
from sluice.model.cluster import SLOTS_MAX, Cluster, Node
from sluice.model.history import PastPhase, PastRun
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase, SlotKind
from sluice.model.lengths import ConstantLengths, ListedLengths, TaskLengths
from sluice.model.workload import Workload

LEAST_S = 0.001  # a task takes some time, also if the log's clock did not see it
_KINDS = {"map": SlotKind.MAP, "reduce": SlotKind.REDUCE}

Slots = Mapping[SlotKind, int]
Change = Callable[[PastPhase], PastPhase]


def scaled(slots: Slots, factor: float) -> dict[SlotKind, int]:
    """That many times the slots, at least one of each kind."""
    return {kind: min(SLOTS_MAX, max(1, round(number * factor))) for kind, number in slots.items()}


def replay_workload(
    run: PastRun, slots: Slots, driver_s: float, change: Change | None = None
) -> Workload:
    """The run as a workload. change: applied to each phase first."""
    ordered = by_stage_number if SlotKind.CONTAINER in slots else in_order
    phases = ordered(run.phases, is_seen=True)
    if SlotKind.CONTAINER in slots:
        phases = on_slots(phases, slots_of(run)[SlotKind.CONTAINER])
    barriers_s = [barrier_s_of(phase, phases) for phase in phases]
    if change is not None:
        phases = [change(phase) for phase in phases]
    node = Node(
        node_id=NodeId("node-1"),
        map_slots=slots.get(SlotKind.MAP, 0),
        reduce_slots=slots.get(SlotKind.REDUCE, 0),
        containers=slots.get(SlotKind.CONTAINER, 0),
    )
    job = Job(
        job_id=JobId("run"),
        pool=PoolId("run"),
        driver_s=driver_s,
        phases=tuple(
            _phase(phase, index, barrier_s, slots)
            for index, (phase, barrier_s) in enumerate(zip(phases, barriers_s, strict=True))
        ),
    )
    return Workload(cluster=Cluster(nodes=(node,), is_totals=True), jobs=(job,), source=run.run_id)


def barrier_s_of(phase: PastPhase, phases: Sequence[PastPhase]) -> float:
    """When all that the phase reads had ended: a reduce that starts earlier waits until then."""
    before = (task.finished_at_s for at in phase.after for task in phases[at].timeline)
    return max(before, default=0.0)


def _phase(phase: PastPhase, index: int, barrier_s: float, slots: Slots) -> Phase:
    kind = _KINDS[phase.kind] if SlotKind.CONTAINER not in slots else SlotKind.CONTAINER
    return Phase(
        name=f"{index}: {phase.name}",
        kind=kind,
        tasks=phase.tasks,
        lengths=_lengths(phase, barrier_s),
        after=phase.after,
    )


def _lengths(phase: PastPhase, barrier_s: float) -> TaskLengths:
    if len(phase.timeline) != phase.tasks:
        avg_s = max(phase.avg_s, LEAST_S)
        return ConstantLengths(avg_s, max(phase.max_s, avg_s))
    # In the order in which they started: list scheduling then starts them in that order again.
    tasks = sorted(phase.timeline, key=lambda task: task.started_at_s)
    return ListedLengths(
        tuple(
            max(LEAST_S, task.finished_at_s - max(task.started_at_s, barrier_s)) for task in tasks
        )
    )


# --- changes --------------------------------------------------------------------------------------


def evened(stage: str) -> Change:
    """A change: the work of a stage is divided evenly over its tasks."""

    def change(phase: PastPhase) -> PastPhase:
        if phase.name != stage:
            return phase
        return replace(phase, timeline=(), max_s=phase.avg_s)

    return change


def split(stage: str, tasks: int) -> Change:
    """A change: the work of a stage is divided evenly over more tasks."""

    def change(phase: PastPhase) -> PastPhase:
        if phase.name != stage or tasks <= phase.tasks:
            return phase
        avg_s = phase.avg_s * phase.tasks / tasks
        return replace(phase, timeline=(), tasks=tasks, avg_s=avg_s, max_s=avg_s)

    return change
