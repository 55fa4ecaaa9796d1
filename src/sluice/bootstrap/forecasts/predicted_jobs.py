"""Jobs that name profiles or have run before, made to take as long as the estimator predicts.

A profile gives task lengths; the estimator also knows the overhead of start-up, driver and commit,
and how uneven the lengths are. A job alone on the cluster is therefore simulated once. What the
prediction is longer becomes the job's `driver_s`. If it is shorter, for example because stages
overlapped, the task lengths are shortened in proportion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

from sluice.bootstrap.forecasts.job_forecasts import cluster_slots, stored_forecasts
from sluice.bootstrap.history.profiles import OnMessage, is_open
from sluice.bootstrap.policy_classes import ChosenPolicy, chosen_policy
from sluice.bootstrap.preparation.container_jobs import with_slot_kinds
from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.estimate.job_forecasts import JobForecast, JobForecasts
from sluice.ingest.logs.names import printable
from sluice.ingest.settings import Settings
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job, Phase
from sluice.model.lengths import changed_lengths
from sluice.model.workload import Workload
from sluice.reporting.history.past_runs import profile_name
from sluice.reporting.prediction.level_changes import change_text
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings


def as_predicted(
    known: Workload, given: Iterable[Job], forecasts: Mapping[JobId, JobForecast]
) -> Workload:
    """The workload whose jobs take as long on its cluster as their forecasts say.

    known: with the lengths of its profiles.  given: the jobs as the file has them. A job whose
    file gives lengths or `driver_s` keeps them.
    """
    if known.cluster is None or not forecasts:
        return known
    cluster, made = known.cluster, dict[tuple[str, int], Job]()
    jobs = []
    for before, job in zip(given, known.jobs, strict=True):
        found = forecasts.get(job.job_id)
        if found is None or _gives_lengths(before) or before.driver_s or not found.predicted_s:
            jobs.append(job)
            continue
        key = found.profile, len(job.phases)
        if key not in made:  # many jobs of a workload may share a profile
            made[key] = _as_predicted(job, found.predicted_s, cluster)
        jobs.append(replace(job, phases=made[key].phases, driver_s=made[key].driver_s))
    return replace(known, jobs=tuple(jobs))


def _gives_lengths(given: Job) -> bool:
    """Whether the file describes the tasks; a job with commands may give their number alone."""
    return bool(given.phases) and (given.run is None or not is_open(given))


def forecasts_of(
    jobs: Iterable[Job], cluster: Cluster | None, on_message: OnMessage
) -> dict[JobId, JobForecast]:
    """A forecast of each job that has past runs, on a cluster.

    jobs: as the file has them. Those that name a profile have past runs, and those with commands
    whose lengths the file leaves open.  on_message: called on each change of level.
    """
    wanted = [
        job for job in jobs if job.profile is not None or (job.run is not None and is_open(job))
    ]
    if not wanted:
        return {}
    from sluice.store.profiles import Profiles

    with Profiles.open() as profiles:
        given = {profile_name(job) for job in wanted}
        names = {name: profiles.profile_named(name) or name for name in given}
        forecasts = stored_forecasts(names.values(), profiles)
    slots = None if cluster is None else cluster_slots(cluster)
    found = _by_job(wanted, names, forecasts, slots)
    for job_id, one in found.items():
        if one.change is not None:
            on_message(f"{printable(str(job_id))}: {change_text(one.change)}")
    return found


def _by_job(
    jobs: list[Job],
    names: Mapping[str, str],
    forecasts: JobForecasts,
    slots: Mapping[str, int] | None,
) -> dict[JobId, JobForecast]:
    by_name = {name: forecasts.of(profile, slots=slots) for name, profile in names.items()}
    found = {job.job_id: by_name[profile_name(job)] for job in jobs}
    return {job: each for job, each in found.items() if each.predicted_s is not None}


def _as_predicted(job: Job, predicted_s: float, cluster: Cluster) -> Job:
    alone_s = time_alone_s(job, cluster)
    if alone_s is None:
        return job
    if alone_s <= predicted_s:
        return replace(job, driver_s=predicted_s - alone_s)
    factor = predicted_s / alone_s
    return replace(job, phases=tuple(_scaled_phase(phase, factor) for phase in job.phases))


@cache
def _fifo() -> tuple[ChosenPolicy, Settings]:
    """The policy and the default settings, which take longer to look up than a small job to run."""
    tasks = chosen_policy("tasks", "fifo")
    return tasks, resolved_settings({}, (), (tasks,))


def time_alone_s(job: Job, cluster: Cluster) -> float | None:
    """Time of the job alone on the cluster, in the simulator; None if it cannot run there."""
    tasks, settings = _fifo()
    scheduler = scheduler_for(settings=settings, tasks=tasks)
    plain = replace(job, submitted_at_s=0.0, deadline_at_s=None, driver_s=0.0)
    jobs = with_slot_kinds((plain,), cluster, scheduler.policies.tasks)
    if any(not cluster.slots(phase.kind) for one in jobs for phase in one.phases):
        return None  # the simulation itself will say which slots are missing
    world = replace(settings.of(SimulationSettings), heartbeat_s=0.0)
    try:
        Simulation(scheduler, cluster, jobs, settings=world, seed=0).run()
    except InvalidInput:
        return None
    (entry,) = scheduler.state.jobs.values()
    return entry.finished_at_s


def _scaled_phase(phase: Phase, factor: float) -> Phase:
    return replace(
        phase,
        lengths=None if phase.lengths is None else changed_lengths(phase.lengths, factor=factor),
        fetch=None if phase.fetch is None else changed_lengths(phase.fetch, factor=factor),
    )
