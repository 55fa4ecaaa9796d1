"""The measurements of runs go into the profile store, and come back as lengths of jobs to come.

Learning is a by-product: a run whose measurements cannot be kept has run all the same, and one
whose past cannot be read runs without a prediction. Both are said. A verb that cannot do without
lengths is refused instead.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, overload

from sluice.bootstrap.history.profile_past import RUNS_RECALLED, Past, past_of, usual_runs_of
from sluice.core.state import ClusterState
from sluice.estimate.forecast import RUNS_JUDGED
from sluice.estimate.forecast_record import with_forecast
from sluice.estimate.gaps import Gaps, gaps
from sluice.estimate.job_forecasts import JobForecast
from sluice.estimate.past_phases import (
    phases_from_runs,
    with_demand_from_runs,
    with_lengths_from_runs,
)
from sluice.ingest.logs.phase_order import in_order
from sluice.ingest.suggestions import suggestion
from sluice.model.cluster import Cluster, Node
from sluice.model.errors import InvalidInput, SluiceError
from sluice.model.history import PastRun
from sluice.model.ids import JobId
from sluice.model.job import Job, Phase
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.reporting.history.past_runs import (
    SOURCE,
    WORK,
    OwnNodes,
    RunFacts,
    past_runs,
    profile_name,
    unreadable_note,
    work_digest,
)
from sluice.store.rows import RunHeader

if TYPE_CHECKING:
    from sluice.store.profiles import Profiles

OnMessage = Callable[[str], None]


def with_profiles(workload: Workload) -> Workload:
    """The workload, its jobs' profiles by name replaced by what the store holds under them.

    The store is opened only if a job asks for it. Raises InvalidInput, naming the job and the
    nearest profile, where there is none of that name; and what opening the store raises.
    """
    if not any(map(_wants_profile, workload.jobs)):
        return workload
    from sluice.store.profiles import Profiles

    with Profiles.open() as profiles:
        # Many jobs of a workload may share a profile.
        names = dict.fromkeys(str(job.profile) for job in workload.jobs if _wants_profile(job))
        known = {name: _newest_usual(name, profiles) for name in names}
        jobs = tuple(_with_profile(job, known, profiles, workload) for job in workload.jobs)
    return replace(workload, jobs=jobs)


def _newest_usual(name: str, profiles: Profiles) -> list[PastRun]:
    """The newest successful runs of a profile at its present level, without outliers.

    The newest first.
    """
    return usual_runs_of(profiles.newest(name, RUNS_JUDGED))


def _nodes_of(workload: Workload) -> Sequence[Node]:
    return () if workload.cluster is None else workload.cluster.nodes


def _wants_profile(job: Job) -> bool:
    return job.profile is not None and is_open(job)


def is_open(job: Job) -> bool:
    """Whether the length of a task of the job is missing."""
    return not job.phases or any(phase.lengths is None for phase in job.phases)


def _with_profile(
    job: Job, known: dict[str, list[PastRun]], profiles: Profiles, workload: Workload
) -> Job:
    if not _wants_profile(job):
        return job
    where = f"{workload.source}, job {job.job_id!r}"
    name = str(job.profile)
    runs = [_in_order(run) for run in known[name] if run.phases]
    if not runs:
        raise no_profile(name, profiles, where)
    try:
        phases = with_demand_from_runs(_profiled(job, runs), runs, _nodes_of(workload))
        return replace(job, phases=phases)
    except InvalidInput as error:
        raise error.within(f"{where}, profile {name!r}") from None


def _profiled(job: Job, runs: Sequence[PastRun]) -> tuple[Phase, ...]:
    """The phases of the job with the lengths of the runs; all of the runs' if it has none.

    A job with commands may give its reduces alone: its splits decide how many maps there are.
    """
    if not job.phases:
        return phases_from_runs(runs)
    given = {phase.name: phase for phase in with_lengths_from_runs(job.phases, runs)}
    if job.run is None or SlotKind.MAP in {phase.kind for phase in job.phases}:
        return tuple(given.values())
    return tuple(
        replace(given.get(phase.name, phase), after=phase.after) for phase in phases_from_runs(runs)
    )


def _in_order(run: PastRun) -> PastRun:
    """The phases in an order in which they can run again, waiting for what they waited for then."""
    return replace(run, phases=tuple(in_order(run.phases, is_seen=True)))


def no_profile(name: str, profiles: Profiles, where: str) -> InvalidInput:
    """The error for a profile that is not stored, or has no run that ended well."""
    names = profiles.names()
    if name in names:
        return InvalidInput(
            f"no run of profile {name!r} has ended well", where=where, hint="give lengths instead"
        )
    return InvalidInput(
        f"no profile {name!r} is stored in {profiles.address}",
        where=where,
        hint=nearest_profile(name, names),
    )


@overload
def known_profile(name: str, profiles: Profiles) -> str: ...


@overload
def known_profile(name: None, profiles: Profiles) -> None: ...


@overload
def known_profile(name: str | None, profiles: Profiles) -> str | None: ...


def known_profile(name: str | None, profiles: Profiles) -> str | None:
    """The profile that a user names, see `Profiles.profile_named`; None for None.

    Raises InvalidInput, with the nearest name, if there is none.
    """
    if name is None:
        return None
    found = profiles.profile_named(name)
    if found is None:
        hint = nearest_profile(name, profiles.names())
        raise InvalidInput(f"there is no profile {name[:200]!r}", where="NAME", hint=hint)
    return found


def nearest_profile(name: str, names: Sequence[str]) -> str:
    """The hint for the name of a profile that is not stored.

    >>> nearest_profile("wordcuont", ["wordcount", "sort"])
    'did you mean wordcount?'
    """
    if not names:
        return "import a log, or run a workload; the store is empty"
    return suggestion(name, names, "`sluice profiles` lists those that are stored")


# --- jobs that really run -------------------------------------------------------------------------


def with_past_lengths(
    jobs: Iterable[Job], on_message: OnMessage, nodes: Sequence[Node] = ()
) -> list[Job]:
    """The jobs, with the measured task lengths and demands of past runs where they had none.

    They come from the profile that a job names, otherwise from the newest successful run of a job
    with the same id and commands: lengths from one in which every phase was measured, demands from
    one of `profile-run`.
    on_message: called with a note if the store cannot be read; nothing is added then.
    nodes: measured demands are at most what these have, see `with_demand_from_runs`.
    """
    wanted = list(jobs)
    if not any(map(is_open, wanted)):
        return wanted
    try:
        from sluice.store.profiles import Profiles

        with Profiles.open() as profiles:
            return [
                _recalled(job, past_of(profile_name(job), profiles), nodes) if is_open(job) else job
                for job in wanted
            ]
    except SluiceError as error:
        on_message(unreadable_note(error))
        return wanted


def _recalled(job: Job, past: Past, nodes: Sequence[Node]) -> Job:
    # A sandbox run may be older than the runs that count for the lengths, or unlike them.
    phases = with_demand_from_runs(job.phases, _of_job(job, past.newest), nodes)
    job = replace(job, phases=phases)
    runs = _of_job(job, past.usual)
    if job.profile is None:
        runs = runs[:1]
    try:
        return replace(job, phases=with_lengths_from_runs(job.phases, runs)) if runs else job
    except InvalidInput:
        return job  # a profile of other phases has no lengths for these


def _of_job(job: Job, runs: Sequence[PastRun]) -> Sequence[PastRun]:
    """The runs that speak of the job: all of a profile that it names, else those of its work."""
    return runs if job.profile is not None else same_work(job, runs)


def same_work(job: Job, runs: Sequence[PastRun]) -> list[PastRun]:
    """Those of the runs that ran the same commands in the same phases."""
    if job.run is None:
        return []
    work, names = work_digest(job.run), {phase.name for phase in job.phases}
    return [
        run
        for run in runs
        if run.source == SOURCE
        and run.configuration.get(WORK) == work
        and names <= {phase.name for phase in run.phases}
    ]


def named_by_runs(workload: Workload, profiles: Profiles) -> Workload:
    """The workload; a job without lengths that names no profile names that of its own past runs."""

    def named(job: Job) -> Job:
        if job.run is None or job.profile is not None or not is_open(job):
            return job
        name = profile_name(job)
        return replace(job, profile=name) if same_work(job, profiles.newest(name, 1)) else job

    return replace(workload, jobs=tuple(map(named, workload.jobs)))


def past_gaps(jobs: Iterable[Job], on_message: OnMessage) -> Gaps:
    """The time between tasks in past runs of these jobs; zero without such runs.

    The engine causes this time, not a job, so it is estimated from all runs together.
    on_message: called with a note if the store cannot be read; the result is then empty.
    """
    try:
        from sluice.store.profiles import Profiles

        with Profiles.open() as profiles:
            return gaps(
                run
                for job in jobs
                for run in same_work(job, profiles.newest(profile_name(job), RUNS_RECALLED))
            )
    except SluiceError as error:
        on_message(unreadable_note(error))
        return Gaps()


def learn(
    state: ClusterState,
    *,
    run_id: str,
    header: RunHeader,
    cluster: Cluster,
    on_message: OnMessage,
    forecasts: Mapping[JobId, JobForecast] | None = None,
    own: Mapping[JobId, OwnNodes] | None = None,
    only: Mapping[JobId, Sequence[int]] | None = None,
) -> None:
    """Keep what the jobs of a real run took. A second time changes nothing.

    forecasts: made before the run; they are stored with it, and compared by `calibrate`.
    own: the nodes of jobs that had some to themselves.
    only: the jobs to keep, with the rows of their attempts; None for all.
    on_message: called with a note if the store cannot be written; the run itself is unaffected.
    """
    runs = measured_runs(state, run_id=run_id, header=header, cluster=cluster, own=own, only=only)
    by_run = {f"{run_id}/{job_id}": found for job_id, found in (forecasts or {}).items()}
    runs = [with_forecast(run, by_run.get(run.run_id)) for run in runs]
    if not runs:
        return
    try:
        from sluice.store.profiles import Profiles

        with Profiles.open() as profiles:
            profiles.add(runs)
    except SluiceError as error:
        on_message(f"what this run measured was not kept in the profile store: {error}")


def measured_runs(
    state: ClusterState,
    *,
    run_id: str,
    header: RunHeader,
    cluster: Cluster,
    own: Mapping[JobId, OwnNodes] | None = None,
    only: Mapping[JobId, Sequence[int]] | None = None,
) -> list[PastRun]:
    """The jobs of a real run that ended, as the store keeps them. own, only: as for `learn`."""
    facts = RunFacts(
        run_id=run_id,
        started_at_s=datetime.fromisoformat(header.started_at).timestamp(),
        engine=str(header.settings.get("engine", "local")),
        machine_type=_node_type(header, cluster),
        slots={kind.value: cluster.slots(kind) for kind in SlotKind},
        own=own or {},
    )
    if only is None:
        return past_runs(state.jobs.values(), state.closed, facts)
    attempts = (state.closed.attempt(row) for rows in only.values() for row in rows)
    wanted = [entry for entry in state.jobs.values() if entry.job_id in only]
    return past_runs(wanted, attempts, facts)


def _node_type(header: RunHeader, cluster: Cluster) -> str | None:
    """The type of the machines that ran the tasks, if known; several with commas between."""
    if "address" not in header.settings:
        return machine_type()
    return ", ".join(sorted({node.vm_type for node in cluster.nodes if node.vm_type})) or None


def machine_type() -> str:
    """This machine as history names it, such as "x86_64, 8 processors".

    >>> machine_type().endswith(" processors")
    True
    """
    return f"{platform.machine() or 'unknown'}, {os.cpu_count() or 1} processors"
