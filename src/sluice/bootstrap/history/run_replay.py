"""A finished run as a workload of one job, to simulate it again as it was or with one change.

Stages follow each other as they did: each waits for those that had ended before it began. The time
in which no task ran comes first, as the job's `driver_s`. Spark's cores run tasks of all stages, so
they become containers; other runs have slots for maps and slots for reduces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sluice.estimate.slot_time import on_slots, with_timeline
from sluice.ingest.logs.phase_order import by_stage_number, in_order
from sluice.ingest.logs.slots_seen import slots_of
from sluice.model.cluster import SLOTS_MAX, Cluster
from sluice.model.history import PastPhase, PastRun
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths, ListedLengths, TaskLengths
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

LEAST_S = 0.001  # a task takes some time, also if the log's clock did not see it
_KINDS = {"map": SlotKind.MAP, "reduce": SlotKind.REDUCE}

Slots = Mapping[SlotKind, int]


def scaled(slots: Slots, factor: float) -> dict[SlotKind, int]:
    """That many times the slots, at least one of each kind."""
    return {kind: min(SLOTS_MAX, max(1, round(number * factor))) for kind, number in slots.items()}


def replay_workload(
    phases: Sequence[PastPhase], slots: Slots, driver_s: float, source: str
) -> Workload:
    """The phases of a run as a workload, as `replay_phases` returns them or changed."""
    job = Job(
        job_id=JobId("run"),
        pool=PoolId("run"),
        driver_s=driver_s,
        phases=tuple(_phase(phase, index, slots) for index, phase in enumerate(phases)),
    )
    return Workload(cluster=Cluster.of_slots(slots), jobs=(job,), source=source)


def replay_phases(run: PastRun) -> list[PastPhase]:
    """The phases in the order of a replay; each task begins when it had a slot and its input."""
    slots = slots_of(run)
    ordered = by_stage_number if SlotKind.CONTAINER in slots else in_order
    phases = ordered(run.phases, is_seen=True)
    if SlotKind.CONTAINER in slots:
        phases = on_slots(phases, slots[SlotKind.CONTAINER])
    return [_from_barrier(phase, barrier_s_of(phase, phases)) for phase in phases]


def _from_barrier(phase: PastPhase, barrier_s: float) -> PastPhase:
    if len(phase.timeline) != phase.tasks:
        return phase
    tasks = [
        replace(task, started_at_s=min(max(task.started_at_s, barrier_s), task.finished_at_s))
        for task in phase.timeline
    ]
    # In the order in which they started: list scheduling then starts them in that order again.
    return with_timeline(phase, sorted(tasks, key=lambda task: task.started_at_s))


def barrier_s_of(phase: PastPhase, phases: Sequence[PastPhase]) -> float:
    """When all that the phase reads had ended: a reduce that starts earlier waits until then."""
    before = (task.finished_at_s for at in phase.after for task in phases[at].timeline)
    return max(before, default=0.0)


def _phase(phase: PastPhase, index: int, slots: Slots) -> Phase:
    kind = _KINDS[phase.kind] if SlotKind.CONTAINER not in slots else SlotKind.CONTAINER
    return Phase(
        name=f"{index}: {phase.name}",
        kind=kind,
        tasks=phase.tasks,
        lengths=_lengths(phase),
        after=phase.after,
    )


def _lengths(phase: PastPhase) -> TaskLengths:
    if len(phase.timeline) != phase.tasks:
        avg_s = max(phase.avg_s, LEAST_S)
        return ConstantLengths(avg_s, max(phase.max_s, avg_s))
    return ListedLengths(tuple(max(LEAST_S, task.length_s) for task in phase.timeline))
