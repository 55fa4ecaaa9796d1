"""Running a workload, in virtual time or for real, and asking what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sluice import bootstrap
from sluice.bootstrap import live
from sluice.bootstrap.preconditions import check_simulable
from sluice.core.protocols import ReleasePolicy
from sluice.core.scheduler import Scheduler
from sluice.core.story import Story
from sluice.core.story import story as story_of
from sluice.core.transitions import JobState
from sluice.core.why import Why
from sluice.core.why import why as why_of
from sluice.engines.progress import Watcher
from sluice.ingest.reading import read_source, source_folder, source_name
from sluice.ingest.schema import json_schema
from sluice.ingest.workload import parse_workload
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload
from sluice.reporting.comparison import Comparison, compared
from sluice.reporting.result import RunResult
from sluice.reporting.trace import read_trace
from sluice.simulation.driver import Observer, Simulation
from sluice.simulation.efforts import Recorded
from sluice.simulation.settings import SimulationSettings
from sluice.verbs.sources import GivenSettings, Source, read_workload, settings_of, workload_of


@dataclass(frozen=True, slots=True)
class Scheduling:
    """Which policies decide, with which settings, from which seed."""

    tasks: str = "fifo"
    release: str | ReleasePolicy = "input"
    admission: str = "all"
    settings: GivenSettings = ()
    seed: int = 0


def validate(source: Source) -> Workload:
    """The workload, if everything about it is in order. Raises InvalidInput where it is not.

    Profiles by name are left as they are: whether the store knows them is another question.
    """
    return read_workload(source)


def schema() -> dict[str, object]:
    """The JSON Schema of the workload file."""
    return json_schema()


def simulate(
    source: Source,
    *,
    tasks: str = "fifo",
    release: str | ReleasePolicy = "input",
    admission: str = "all",
    settings: GivenSettings = (),
    seed: int = 0,
    lengths_from: str | Path | None = None,
    observer: Observer | None = None,
) -> RunResult:
    """Run the workload in virtual time under the named policies.

    release: a name, or a policy of your own, such as `MrOrder` with your ordering engine.
    settings: `{"heartbeat_s": 3}`, or as on the command line `["heartbeat_s=3"]`.
    lengths_from: a trace whose measured lengths replace those of the profiles.
    observer: is told (now_s, tasks ended) now and then.
    Raises InvalidInput.
    """
    how = Scheduling(tasks, release, admission, settings, seed)
    return _simulated(source, how, lengths_from=lengths_from, observer=observer)[1]


def _simulated(
    source: Source,
    how: Scheduling,
    *,
    lengths_from: str | Path | None = None,
    observer: Observer | None = None,
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
        observer=observer,
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
    return read_trace(trace, factors if cluster.has_racks else None)


def compare(
    source: Source,
    schedulers: Sequence[str],
    *,
    seeds: int = 10,
    settings: GivenSettings = (),
    observer: Callable[[str, int], None] | None = None,
) -> Comparison:
    """The workload under several schedulers, each with the same seeds 0 .. seeds - 1.

    schedulers: names of task policies; `release+tasks`, as in `mrorder+fifo`, names both.
    observer: is told (scheduler, seed) before each simulation.
    Raises InvalidInput.
    """
    if seeds < 1:
        raise InvalidInput(f"seeds is {seeds}", where="--seeds", mend="give 1 or more")
    if not schedulers:
        raise InvalidInput("no scheduler", where="--schedulers", mend="name one, such as fifo")
    workload = workload_of(source)
    runs: dict[str, list[RunResult]] = {}
    for name in dict.fromkeys(schedulers):
        release, plus, tasks = name.rpartition("+")
        how = Scheduling(tasks, release if plus else "input", settings=settings)
        runs[name] = []
        for seed in range(seeds):
            if observer is not None:
                observer(name, seed)
            runs[name].append(_simulated(workload, replace(how, seed=seed))[1])
    return compared(runs, workload)


def run(
    source: str | Path,
    *,
    engine: str = "local",
    nodes: int | None = None,
    map_slots: int | None = None,
    reduce_slots: int | None = None,
    tasks: str = "fifo",
    release: str = "input",
    admission: str = "all",
    settings: Sequence[str] = (),
    seed: int = 0,
    resume: bool = False,
    watcher: Watcher | None = None,
) -> RunResult:
    """Run the workload's jobs for real, and measure them.

    nodes, map_slots, reduce_slots: virtual nodes on this machine instead of the file's cluster.
    resume: continue the file's last unfinished run, as it was started; begin one if there is none.
    watcher: is told how it goes.
    The result's `extra` holds run_id, predicted_makespan_s, measured, outputs, uncommitted.
    Raises InvalidInput, EngineUnavailable, StoreCorrupt, and RunInterrupted at Ctrl-C.
    """
    content = read_source(str(source))
    workload = parse_workload(
        content, source=source_name(str(source)), folder=source_folder(str(source))
    )
    plan = live.Plan(
        tasks=tasks, release=release, admission=admission, engine=engine, nodes=nodes,
        map_slots=map_slots, reduce_slots=reduce_slots, settings=tuple(settings), seed=seed,
    )  # fmt: skip
    left = live.resumable(workload, content) if resume else None
    if left is None:
        assembly = live.begin(workload, content, plan, watcher)
    else:
        assembly = live.resume(workload, left, watcher)
    done = assembly.run()
    result = RunResult.of(
        done.result,
        assembly.cluster,
        seed=live.Plan.of(left.header).seed if left else seed,
        events=assembly.scheduler.events,
    )
    outputs = {
        job.job_id: str(Path(job.run.folder, job.run.output))
        for job in workload.jobs
        if job.run is not None and done.result.jobs[job.job_id].state is JobState.DONE
    }
    extra = {
        "run_id": assembly.run_id,
        "was_finished": done.was_finished,
        "predicted_makespan_s": assembly.predicted_makespan_s,
        "measured": result.measured(assembly.predicted),
        "outputs": outputs,
        "uncommitted": dict(done.uncommitted),
        **bootstrap.reports(assembly.scheduler.policies),
    }
    return replace(result, extra=extra)


def why(
    job_id: str,
    *,
    source: Source | None = None,
    run_id: str | None = None,
    at_s: float | None = None,
    tasks: str = "fifo",
    release: str = "input",
    admission: str = "all",
    settings: GivenSettings = (),
    seed: int = 0,
) -> Why:
    """Why a job waits, at an instant: in a recorded run, or in a simulation of `source`.

    run_id: a recorded run; by default the newest.  at_s: by default the end of what is known.
    Raises InvalidInput where there is no such job or run.
    """
    how = Scheduling(tasks, release, admission, settings, seed)
    scheduler = _scheduler_at(source, run_id, at_s, how)
    return why_of(job_id, scheduler.state, scheduler.policies.tasks)


def story(
    subject: str,
    *,
    source: Source | None = None,
    run_id: str | None = None,
    at_s: float | None = None,
    tasks: str = "fifo",
    release: str = "input",
    admission: str = "all",
    settings: GivenSettings = (),
    seed: int = 0,
) -> Story:
    """What happened to a job, a task ("job/phase/task") or a node. Arguments as for `why`."""
    how = Scheduling(tasks, release, admission, settings, seed)
    scheduler = _scheduler_at(source, run_id, at_s, how)
    return story_of(subject, scheduler.state)


def _scheduler_at(
    source: Source | None, run_id: str | None, at_s: float | None, how: Scheduling
) -> Scheduler:
    if source is None:
        scheduler = live.replayed(live.recorded(run_id), until_s=at_s)
    else:
        scheduler = _simulated(source, how, until_s=at_s)[0]
    if at_s is not None:
        scheduler.pass_time(at_s)
    return scheduler
