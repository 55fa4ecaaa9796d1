"""Simulate a workload under one scheduler, or compare several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sluice import bootstrap
from sluice.api.sources import GivenSettings, Source, settings_of, workload_of
from sluice.bootstrap.checks import check_simulable
from sluice.core.protocols import ReleasePolicy
from sluice.core.scheduler import Scheduler
from sluice.ingest.logs.trace import recorded_lengths
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.reporting.compare.result import SchedulerComparison, compared
from sluice.reporting.run.result import RunResult
from sluice.simulation.driver import OnProgress, Simulation
from sluice.simulation.efforts import Recorded
from sluice.simulation.settings import SimulationSettings


@dataclass(frozen=True, slots=True)
class Scheduling:
    """Which policies decide, with which settings, from which seed."""

    tasks: str = "fifo"
    release: str | ReleasePolicy = "input"
    admission: str = "all"
    settings: GivenSettings = ()
    seed: int = 0


def simulate(
    source: Source,
    *,
    tasks: str = "fifo",
    release: str | ReleasePolicy = "input",
    admission: str = "all",
    settings: GivenSettings = (),
    seed: int = 0,
    lengths_from: str | Path | None = None,
    on_progress: OnProgress | None = None,
) -> RunResult:
    """Run the workload in virtual time under the named policies.

    release: a name, or a policy of your own, such as `MrOrder` with your ordering engine.
    settings: `{"heartbeat_s": 3}`, or as on the command line `["heartbeat_s=3"]`.
    lengths_from: a trace whose measured lengths replace those of the profiles.
    on_progress: is told (now_s, tasks ended) now and then.
    Raises InvalidInput.
    """
    how = Scheduling(tasks, release, admission, settings, seed)
    return simulated(source, how, lengths_from=lengths_from, on_progress=on_progress)[1]


def simulated(
    source: Source,
    how: Scheduling,
    *,
    lengths_from: str | Path | None = None,
    on_progress: OnProgress | None = None,
    until_s: float | None = None,
) -> tuple[Scheduler, RunResult]:
    """The scheduler as it stands when the simulation is over, or at an instant before."""
    workload = workload_of(source)
    resolved = settings_of(workload, how.settings)
    cluster = workload.required_cluster()
    scheduler = bootstrap.scheduler_for(
        settings=resolved,
        tasks=how.tasks,
        release=how.release,
        admission=how.admission,
        pools=workload.pools,
    )
    world = bootstrap.simulation_settings(resolved.for_policy(how.tasks))
    check_simulable(workload, scheduler, world, has_lengths=lengths_from is not None)
    simulation = Simulation(
        scheduler,
        cluster,
        workload.jobs,
        settings=world,
        seed=how.seed,
        recorded=_recorded(lengths_from, cluster, world),
        on_progress=on_progress,
    )
    simulation.run(until_s=until_s)
    result = RunResult.of(
        scheduler.state,
        cluster,
        seed=how.seed,
        events=scheduler.events,
        extra=bootstrap.reports(scheduler.policies),
    )
    return scheduler, result


def _recorded(
    trace: str | Path | None, cluster: Cluster, world: SimulationSettings
) -> Recorded | None:
    """Recorded lengths; where distance costs time, as they would be beside the task's input."""
    if trace is None:
        return None
    factors = {"rack": world.rack_factor, "any": world.remote_factor}
    return recorded_lengths(trace, factors if cluster.has_racks else None)


def compare(
    source: Source,
    schedulers: Sequence[str],
    *,
    seeds: int = 10,
    settings: GivenSettings = (),
    on_progress: Callable[[str, int], None] | None = None,
) -> SchedulerComparison:
    """The workload under several schedulers, each with the same seeds 0 .. seeds - 1.

    schedulers: names of task policies; `release+tasks`, as in `mrorder+fifo`, names both.
    on_progress: is told (scheduler, seed) before each simulation.
    Raises InvalidInput.
    """
    if seeds < 1:
        raise InvalidInput(f"seeds is {seeds}", where="--seeds", hint="give 1 or more")
    _check_names(schedulers)
    if not schedulers:
        raise InvalidInput("no scheduler", where="--schedulers", hint="name one, such as fifo")
    workload = workload_of(source)
    runs: dict[str, list[RunResult]] = {}
    for name in dict.fromkeys(schedulers):
        release, plus, tasks = name.rpartition("+")
        how = Scheduling(tasks, release if plus else "input", settings=settings)
        runs[name] = []
        for seed in range(seeds):
            if on_progress is not None:
                on_progress(name, seed)
            runs[name].append(simulated(workload, replace(how, seed=seed))[1])
    return compared(runs, workload)


def _check_names(schedulers: object) -> None:
    """Raise InvalidInput unless the schedulers are a sequence of names."""
    if isinstance(schedulers, str) or not isinstance(schedulers, Sequence):
        what = f"{type(schedulers).__name__} is not a list of schedulers"
    else:
        kinds = [type(one).__name__ for one in schedulers if not isinstance(one, str)]
        what = f"{kinds[0]} is not the name of a scheduler" if kinds else ""
    if what:
        hint = 'give a list of names, such as ["fifo", "mrorder+fifo"]'
        raise InvalidInput(what, where="--schedulers", hint=hint)
