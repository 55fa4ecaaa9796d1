"""What one task of a phase takes of its node, from runs of the job alone at several slot counts.

The job runs in a sandbox with n = 1, 2, .., N slots on a node. The run that ends first had the most
of the node in useful work; what a task demands there is the node's utilisation divided by the tasks
that shared it. Source: RAS, spec section 5.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sluice.estimate.run_setting import NotEnoughData, elapsed_s, phase_slots
from sluice.model.history import PastPhase, PastRun
from sluice.model.resources import Resources

FULL = 100.0  # percent: all that a node has


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCapacity:
    """What a node has. io_bytes_per_s: None where nobody measured its disks."""

    processors: int
    memory_bytes: int
    io_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRun:
    """A run of a job alone on one node.

    utilisation: by phase, percent of the node while its slots were full.
    beside: by phase, how many tasks ran side by side then.
    """

    run_id: str
    slots: int
    elapsed_s: float
    utilisation: Mapping[str, Resources]
    beside: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxProfile:
    """What a job's runs in a sandbox tell.

    best: the run that ended first; of equals, the one with fewer slots.
    demand: of one task, by phase, percent of a node.
    """

    best: SandboxRun
    runs: tuple[SandboxRun, ...]
    demand: Mapping[str, Resources]


def profile_from_runs(runs: Iterable[SandboxRun]) -> SandboxProfile | NotEnoughData:
    """The best slot count and the demand of a task there.

    >>> four = SandboxRun(
    ...     run_id="b",
    ...     slots=4,
    ...     elapsed_s=50.0,
    ...     utilisation={"map": Resources(cpu=100)},
    ...     beside={"map": 4},
    ... )
    >>> profile_from_runs([four]).demand["map"].cpu
    25.0
    """
    every = tuple(sorted(runs, key=lambda run: (run.slots, run.run_id)))
    if not every:
        return NotEnoughData("no run in the sandbox ended well")
    best = min(every, key=lambda run: (run.elapsed_s, run.slots))
    demand = {
        phase: used.scaled(1 / best.beside[phase]) for phase, used in best.utilisation.items()
    }
    return SandboxProfile(best=best, runs=every, demand=demand)


def demand_of_best_slots(slots: int, bottleneck: str = "cpu") -> Resources:
    """The fallback where only the best slot count is known: an equal share of the bottleneck.

    >>> demand_of_best_slots(4)
    Resources(cpu=25.0, io=0.0, memory=0.0, network=0.0)
    """
    return Resources(**{bottleneck: FULL / slots})


def sandbox_run(run: PastRun, capacity: NodeCapacity) -> SandboxRun | NotEnoughData:
    """A past run on one node as the sandbox needs it."""
    took_s = elapsed_s(run)
    slots = [phase_slots(run, phase) for phase in run.phases]
    known = [count for count in slots if count is not None]
    if not run.succeeded or took_s is None or not known or len(known) < len(slots):
        return NotEnoughData(f"run {run.run_id} failed, or tells no time or no slots")
    beside = {
        phase.name: min(phase.tasks, count) for phase, count in zip(run.phases, known, strict=True)
    }
    return SandboxRun(
        run_id=run.run_id,
        slots=max(known),
        elapsed_s=took_s,
        utilisation={
            phase.name: _task_use(phase, capacity).scaled(beside[phase.name])
            for phase in run.phases
        },
        beside=beside,
    )


def _task_use(phase: PastPhase, capacity: NodeCapacity) -> Resources:
    """What a task took on average while it ran, percent of the node; 0 for what nobody measured.

    Memory is what the biggest task held: a node that is short of it kills.
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
