"""One simulation, assembled: policies and settings in, the scheduler and its result out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sluice.bootstrap.policy_classes import ChosenPolicy
from sluice.bootstrap.preparation.facts import (
    CHOSEN,
    CLUSTER,
    DECIDING,
    LENGTHS_FROM,
    SCHEDULER,
    SETTINGS,
    WORKLOAD,
)
from sluice.bootstrap.preparation.pipeline import Goal
from sluice.bootstrap.preparation.steps import prepared
from sluice.bootstrap.scheduler import reports
from sluice.core.scheduler import Scheduler
from sluice.ingest.logs.trace import recorded_lengths
from sluice.ingest.settings import Settings
from sluice.model.cluster import Cluster
from sluice.model.workload import Workload
from sluice.reporting.run.result import RunResult
from sluice.simulation.driver import OnProgress, Simulation
from sluice.simulation.efforts import Recorded, lengths_in
from sluice.simulation.settings import SimulationSettings

# Of tasks, release and admission.
Trio = tuple[ChosenPolicy, ChosenPolicy, ChosenPolicy]


def simulated_run(
    workload: Workload,
    chosen: Trio,
    resolved: Settings,
    seed: int,
    *,
    lengths_from: str | Path | Workload | None = None,
    on_progress: OnProgress | None = None,
    until_s: float | None = None,
    on_start: Callable[[Scheduler], None] = lambda _: None,
) -> tuple[Scheduler, RunResult]:
    """The scheduler at the end of the simulation, or at an instant before, and the result.

    lengths_from: a trace whose measured lengths replace those of the profiles; or the same jobs
    with the lengths that tasks really have, while the policies expect those of `workload`.
    on_start: called with the scheduler before the first event.
    Raises InvalidInput for a workload that the policies cannot run.
    """
    facts = prepared(
        Goal.DECIDE,
        {WORKLOAD: workload, CHOSEN: chosen, SETTINGS: resolved, LENGTHS_FROM: lengths_from},
    )
    scheduler, cluster, deciding = facts[SCHEDULER], facts[CLUSTER], facts[DECIDING]
    on_start(scheduler)
    world = resolved.of(SimulationSettings, deciding[0].name)
    if lengths_from is not None and not isinstance(lengths_from, Workload):
        world = replace(world, p_slow=0.0, p_hang=0.0, p_slow_node=0.0)  # see `DRAWN_LENGTHS`
    simulation = Simulation(
        scheduler,
        cluster,
        facts[WORKLOAD].jobs,
        settings=world,
        seed=seed,
        recorded=lengths_in(lengths_from.jobs, world, seed)
        if isinstance(lengths_from, Workload)
        else _recorded(lengths_from, cluster, world),
        on_progress=on_progress,
    )
    simulation.run(until_s=until_s)
    result = RunResult.of(
        scheduler.state,
        cluster,
        seed=seed,
        events=scheduler.events,
        extra=reports(scheduler, tuple(deciding), resolved),
    )
    return scheduler, result


def _recorded(
    trace: str | Path | None, cluster: Cluster, world: SimulationSettings
) -> Recorded | None:
    """Recorded task lengths; with a distance cost, the lengths next to the task's input."""
    if trace is None:
        return None
    factors = {"rack": world.rack_factor, "any": world.remote_factor}
    return recorded_lengths(trace, factors if cluster.has_racks else None)
