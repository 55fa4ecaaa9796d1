"""One simulation, assembled: policies and settings in, the scheduler and its result out.

It also says how long each job would take if it had the cluster to itself, the base of its slowdown.
A job alone is simulated under first-in, first-out, with the seed and the settings of the run that
it is compared with, so that its tasks have the same lengths. Where that policy cannot run the
workload, the given one runs the job. Jobs that are alike are simulated once.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

from sluice.bootstrap.policy_classes import ChosenPolicy, chosen_policy
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
from sluice.bootstrap.settings import resolved_settings
from sluice.core.scheduler import Scheduler
from sluice.ingest.logs.trace import recorded_lengths
from sluice.ingest.settings import Settings
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.workload import RecordedJob, Workload
from sluice.reporting.run.outcomes import JobReplay
from sluice.reporting.run.result import RunResult
from sluice.simulation.driver import OnProgress, Simulation
from sluice.simulation.efforts import Recorded, lengths_in
from sluice.simulation.settings import SimulationSettings

# Of tasks, release and admission.
Trio = tuple[ChosenPolicy, ChosenPolicy, ChosenPolicy]


def _fifo() -> Trio:
    """First-in, first-out, under which a job runs alone."""
    return (
        chosen_policy("tasks", "fifo"),
        chosen_policy("release", "input"),
        chosen_policy("admission", "all"),
    )


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


# --- jobs alone -----------------------------------------------------------------------------------

_NODES_STARTED_MAX = 2_000_000  # over all simulations of single jobs: some ten seconds

AloneTimes = dict[JobId, float | None]


def depends_on_seed(workload: Workload, resolved: Settings, seeds: int) -> bool:
    """Whether jobs alone take different times under different seeds.

    Where so many simulations of single jobs would take long, those of the first seed serve for all.
    """
    world = resolved.of(SimulationSettings, "fifo")
    cluster = workload.required_cluster()
    is_random = world.is_random or cluster.has_racks
    return is_random and len(workload.jobs) * len(cluster.nodes) * seeds <= _NODES_STARTED_MAX


def alone_s(workload: Workload, fallback: Trio, resolved: Settings, seed: int) -> AloneTimes:
    """Seconds from submission to end of each job alone; None for one that never ends.

    fallback: the policies to use where first-in, first-out cannot run the workload.
    """
    chosen = _fifo()
    world = resolved.of(SimulationSettings, "fifo")
    is_apart = world.tells_tasks_apart or world.node_mtbf_s is not None
    has_places = workload.required_cluster().has_racks
    known: dict[object, float | None] = {}
    found: AloneTimes = {}
    for job in workload.jobs:
        key: object = (job.phases, job.driver_s, job.submitted_at_s if world.heartbeat_s else 0.0)
        if is_apart or has_places:
            key = job.job_id  # its tasks are drawn for this job
        if key not in known:
            try:
                known[key] = _response_s(workload, job, chosen, resolved, seed)
            except InvalidInput:
                if chosen is fallback:
                    raise
                chosen = fallback
                known[key] = _response_s(workload, job, chosen, resolved, seed)
        found[job.job_id] = known[key]
    return found


def _response_s(
    workload: Workload, job: Job, chosen: Trio, resolved: Settings, seed: int
) -> float | None:
    tasks, release, admission = chosen
    fresh = replace(tasks, made=deepcopy(tasks.made))
    alone = replace(workload, jobs=(job,))
    result = simulated_run(alone, (fresh, release, admission), resolved, seed)[1]
    outcome = result.jobs[0]
    return outcome.response_s if outcome.state == "done" else None


# --- jobs from logs -------------------------------------------------------------------------------


def log_replays(workload: Workload) -> dict[JobId, JobReplay] | None:
    """Each job that a log has recorded, run again alone with the slots that it had.

    A check of the simulator, which every command with jobs from logs reports, so that users see
    how far its answer can be trusted. None for a workload that is not from logs.
    """
    if not workload.is_from_logs:
        return None
    return {
        job.job_id: JobReplay(recorded_s=found.recorded_s, replayed_s=_replayed_s(job, found))
        for job in workload.jobs
        if (found := workload.recorded.get(job.job_id)) is not None
    }


def _replayed_s(job: Job, found: RecordedJob) -> float | None:
    if found.recorded_s is None or not found.slots:
        return None
    alone = Workload(
        cluster=Cluster.of_slots(found.slots),
        jobs=(replace(job, submitted_at_s=0.0, deadline_at_s=None, driver_s=found.outside_s),),
    )
    chosen = _fifo()
    _, result = simulated_run(alone, chosen, resolved_settings({}, (), chosen), seed=0)
    return result.makespan_s
