"""One simulation, assembled: policies and settings in, the scheduler and its result out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sluice.bootstrap.checks import check_simulable
from sluice.bootstrap.container_jobs import with_slot_kinds
from sluice.bootstrap.policy_classes import ChosenPolicy
from sluice.bootstrap.scheduler import reports, scheduler_for
from sluice.bootstrap.whole_jobs import starting_whole
from sluice.core.scheduler import Scheduler
from sluice.estimate.workflow_deadlines import with_shared_deadlines
from sluice.ingest.logs.trace import recorded_lengths
from sluice.ingest.settings import Settings
from sluice.model.cluster import Cluster
from sluice.model.workload import Workload
from sluice.policies.admission.vm_rental import check_rented
from sluice.reporting.run.result import RunResult
from sluice.simulation.driver import OnProgress, Simulation
from sluice.simulation.efforts import Recorded, lengths_in
from sluice.simulation.settings import SimulationSettings

# What makes attempts slow at random: recorded lengths have it in them already.
DRAWN_LENGTHS = ("p_slow", "p_hang", "p_slow_node")

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
    asked, release, admission = chosen
    tasks = starting_whole(asked, workload.jobs, resolved)
    cluster = workload.required_cluster()
    scheduler = scheduler_for(
        settings=resolved, tasks=tasks, release=release, admission=admission, pools=workload.pools
    )
    on_start(scheduler)
    world = resolved.of(SimulationSettings, tasks.name)
    if lengths_from is not None and not isinstance(lengths_from, Workload):
        world = replace(world, p_slow=0.0, p_hang=0.0, p_slow_node=0.0)  # as in DRAWN_LENGTHS
    jobs = with_slot_kinds(workload.jobs, cluster, scheduler.policies.tasks)
    jobs = with_shared_deadlines(jobs, cluster)
    workload = replace(workload, jobs=jobs)
    check_simulable(workload, scheduler, world, has_lengths=lengths_from is not None)
    vm_containers = getattr(scheduler.policies.admission.settings, "vm_containers", None)
    check_rented(scheduler.policies.pools, cluster.nodes, vm_containers)
    simulation = Simulation(
        scheduler,
        cluster,
        workload.jobs,
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
        extra=reports(scheduler, (tasks, release, admission), resolved),
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
