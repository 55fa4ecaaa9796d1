"""Resource demand of one task of a phase, from sandbox runs at several slot counts.

The job runs alone on a node with n = 1, 2, .., N slots. The fastest of these runs uses the node
best. There the demand of a task is the utilisation of the node divided by the number of tasks that
share it. Source: RAS, spec section 5.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sluice.estimate.run_setting import NotEnoughData, elapsed_s, phase_slots
from sluice.model.history import PastPhase, PastRun
from sluice.model.resources import Resources

FULL = 100.0  # percent of a node


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCapacity:
    """Resources of a node. io_bytes_per_s: disk throughput; None if it was not measured."""

    processors: int
    memory_bytes: int
    io_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRun:
    """A run of one job alone on one node.

    utilisation: by phase, percent of the node while its slots were full.
    concurrent_tasks: by phase, how many tasks ran at that time.
    """

    run_id: str
    slots: int
    elapsed_s: float
    utilisation: Mapping[str, Resources]
    concurrent_tasks: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxProfile:
    """Result of a job's sandbox runs.

    best: the fastest run; of equals, the one with fewer slots.
    demand: demand of one task, by phase, percent of a node.
    """

    best: SandboxRun
    runs: tuple[SandboxRun, ...]
    demand: Mapping[str, Resources]


def profile_from_runs(runs: Iterable[SandboxRun]) -> SandboxProfile | NotEnoughData:
    """Return the best run and the demand of a task in it.

    >>> four = SandboxRun(
    ...     run_id="b",
    ...     slots=4,
    ...     elapsed_s=50.0,
    ...     utilisation={"map": Resources(cpu=100)},
    ...     concurrent_tasks={"map": 4},
    ... )
    >>> profile_from_runs([four]).demand["map"].cpu
    25.0
    """
    every = tuple(sorted(runs, key=lambda run: (run.slots, run.run_id)))
    if not every:
        return NotEnoughData("no sandbox run was successful")
    best = min(every, key=lambda run: (run.elapsed_s, run.slots))
    demand = {
        phase: used.scaled(1 / best.concurrent_tasks[phase])
        for phase, used in best.utilisation.items()
    }
    return SandboxProfile(best=best, runs=every, demand=demand)


def sandbox_run(run: PastRun, capacity: NodeCapacity) -> SandboxRun | NotEnoughData:
    """Return a past run on one node as a sandbox run."""
    took_s = elapsed_s(run)
    slots = [phase_slots(run, phase) for phase in run.phases]
    known = [count for count in slots if count is not None]
    if not run.succeeded or took_s is None or not known or len(known) < len(slots):
        return NotEnoughData(f"run {run.run_id} failed, or has no timing or slot counts")
    concurrent_tasks = {
        phase.name: min(phase.tasks, count) for phase, count in zip(run.phases, known, strict=True)
    }
    return SandboxRun(
        run_id=run.run_id,
        slots=max(known),
        elapsed_s=took_s,
        utilisation={
            phase.name: _task_use(phase, capacity).scaled(concurrent_tasks[phase.name])
            for phase in run.phases
        },
        concurrent_tasks=concurrent_tasks,
    )


def _task_use(phase: PastPhase, capacity: NodeCapacity) -> Resources:
    """Average use of a task while it ran, percent of the node; 0 for what was not measured.

    Memory is that of the largest task, because a node that runs out of memory kills tasks.
    """
    busy_s = phase.avg_s * phase.tasks
    if busy_s <= 0:
        return Resources()
    moved_bytes = sum(_moved_bytes(phase))
    io_bytes_per_s = capacity.io_bytes_per_s
    return Resources(
        cpu=FULL * (phase.cpu_s or 0.0) / busy_s / capacity.processors,
        io=FULL * moved_bytes / busy_s / io_bytes_per_s if io_bytes_per_s else 0.0,
        memory=FULL * (phase.rss_bytes_max or 0) / capacity.memory_bytes,
    )


def _moved_bytes(phase: PastPhase) -> Sequence[int]:
    return (
        phase.input_bytes,
        phase.output_bytes,
        phase.shuffle_read_bytes,
        phase.shuffle_write_bytes,
    )
