"""Build a live run from its workload, scheduler, journal and engine, or resume one.

Everything is checked before anything is written: the inputs, commands and outputs of all jobs. A
resumed run has the policies, settings and nodes in its journal, whatever the options are now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sluice.bootstrap.engines.kinds import EngineKind, EngineWork
from sluice.bootstrap.engines.registry import checked_engine, engine_kind
from sluice.bootstrap.forecasts.job_forecasts import live_forecasts
from sluice.bootstrap.history.past_runs import replayed
from sluice.bootstrap.history.profiles import OnMessage, learn, past_gaps
from sluice.bootstrap.live.input_locations import input_places
from sluice.bootstrap.live.predicted_makespan import predicted_makespan_s_of
from sluice.bootstrap.live.run_options import RunOptions, scheduler_part
from sluice.bootstrap.live.run_progress import EstimatingWatcher, works_of
from sluice.bootstrap.preparation.facts import (
    CHOSEN,
    CLUSTER,
    ENGINE,
    ON_MESSAGE,
    ON_NOTE,
    OPTIONS,
    OVERRIDES,
    OVERWRITE,
    PREPARED,
    RUN,
    RUN_ID,
    RUNS,
    SCHEDULER,
    SETTINGS,
    WORKLOAD,
)
from sluice.bootstrap.preparation.pipeline import Fact, Goal
from sluice.bootstrap.preparation.steps import prepared
from sluice.bootstrap.scheduler import Fields, reports, scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.bootstrap.vm_pools import own_nodes
from sluice.core.scheduler import Scheduler
from sluice.engines.driver import Driver, LiveRun
from sluice.engines.job_runner import JobRunner
from sluice.engines.live_settings import LiveSettings
from sluice.engines.local.node_limits import LimitsUnavailable, Machine, NodeLimits, capacities_of
from sluice.engines.mapreduce.commit import Staging
from sluice.engines.mapreduce.layout import PreparedJob
from sluice.engines.progress import Unwatched, Watcher
from sluice.engines.run_clock import RunClock
from sluice.engines.settings import TaskLimitSettings
from sluice.estimate.forecast_record import forecast_numbers, forecast_of_numbers
from sluice.estimate.job_forecasts import JobForecast
from sluice.ingest.reading import SourceText
from sluice.ingest.settings import Settings
from sluice.model.cluster import Cluster
from sluice.model.errors import StoreCorrupt, sentence
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.workload import Workload
from sluice.reporting.history.past_runs import profile_name
from sluice.store.journal import Journal
from sluice.store.private import make_private_folder
from sluice.store.rows import RunHeader, prepared_jobs
from sluice.store.run_info import RunInfo, cannot_resume
from sluice.store.run_record import RunIdentity
from sluice.store.runs import Runs

_SCRATCH = "scratch"


@dataclass(frozen=True, kw_only=True)
class LiveSetup:
    """A live run that is ready to start.

    header: of its journal.  predicted_makespan_s: None if task lengths are unknown.
    predicted: jobs with the task lengths of former runs.
    forecasts: of jobs with enough former runs, made before anything has run.
    """

    run_id: str
    header: RunHeader
    cluster: Cluster
    scheduler: Scheduler
    journal: Journal
    runner: JobRunner
    settings: Settings
    predicted_makespan_s: float | None
    predicted: Mapping[JobId, Job] = field(default_factory=dict)
    forecasts: Mapping[JobId, JobForecast] = field(default_factory=dict)
    watcher: Watcher | None = None

    def run(self) -> LiveRun:
        """Run it to its end and store what it measured. Raises what `Driver.run` raises."""
        done = self.carried_out()
        self._learn(done)
        return done

    def carried_out(self) -> LiveRun:
        """Run it to its end. Raises what `Driver.run` raises."""
        clock, watcher = RunClock(), self.watcher
        if watcher is not None:
            jobs = self.predicted.values() or self.runner.jobs
            works = works_of(jobs, self.runner.input_bytes)
            watcher = EstimatingWatcher(watcher, works, self.predicted_makespan_s)
        scratch = self.journal.folder / _SCRATCH
        make_private_folder(scratch)
        limits = self.settings.of(TaskLimitSettings)
        node_limits = self._node_limits(limits)
        options = RunOptions.of(self.header)
        kind = engine_kind(options.engine)
        opening = kind.at_work(
            EngineWork(
                options=options,
                settings=self.settings,
                cluster=self.cluster,
                runner=self.runner,
                scratch=scratch,
                epoch=self.journal.epoch,
                clock=clock.now_s,
                node_limits=node_limits,
                vm_start_s=self.scheduler.policies.pools.start_s,
            )
        )
        try:
            with opening as engine:
                done = Driver(
                    engine=engine,
                    scheduler=self.scheduler,
                    journal=self.journal,
                    source=self.runner,
                    jobs=self.runner.jobs,
                    clock=clock,
                    watcher=watcher,
                    settings=LiveSettings(
                        limits=limits.limits(),
                        nodes=tuple(node.node_id for node in self.cluster.nodes),
                        nodes_s=kind.nodes_s,
                        reattach_s=limits.reattach_s,
                    ),
                ).run()
        finally:
            self.journal.close()
            if node_limits is not None:
                node_limits.close()
        if not done.uncommitted:
            self.runner.clear()
        return done

    def _node_limits(self, settings: TaskLimitSettings) -> NodeLimits | None:
        """Return what holds the nodes to their capacity, and report of what each is held to."""
        nodes = self.cluster.nodes
        if not engine_kind(RunOptions.of(self.header).engine).is_local or not capacities_of(nodes):
            return None
        on_message = (self.watcher or Unwatched()).on_message
        why = "node_limits=off"
        if settings.node_limits != "off":
            machine = Machine.this(
                io_bytes_per_s=settings.io_bytes_per_s, scratch=self.journal.folder
            )
            try:
                limits = NodeLimits(nodes, machine)
            except LimitsUnavailable as error:
                why = str(error)
            else:
                on_message(f"note: {limits.summary}.")
                return limits
        on_message(
            f"note: limits of nodes are only scheduled (by --tasks ras), and not enforced: {why}."
        )
        return None

    def reports(self) -> Fields:
        """Fields that the scheduler adds to the document of the run."""
        options = RunOptions.of(self.header)
        recorded = resolved_settings(
            scheduler_part(self.header).settings, options.settings, options.chosen()
        )
        return reports(self.scheduler, options.chosen(), recorded)

    def _learn(self, done: LiveRun) -> None:
        learn(
            done.result,
            run_id=self.run_id,
            header=self.header,
            cluster=self.cluster,
            forecasts=self.forecasts,
            own=own_nodes(self.scheduler.policies.tasks.report(), self.cluster),
            on_message=(self.watcher or Unwatched()).on_message,
        )


def identity_of(text: SourceText) -> RunIdentity:
    """Return what identifies runs of this text."""
    return RunIdentity(source=text.file, folder=text.folder, sha256=text.sha256)


def begin(
    workload: Workload,
    identity: RunIdentity,
    options: RunOptions,
    watcher: Watcher | None = None,
    *,
    home: Path | None = None,
    overwrite: bool = False,
) -> LiveSetup:
    """A new run. Raises InvalidInput if a job of it cannot run.

    home: the state folder, by default the account's own.
    overwrite: whether outputs at URLs are replaced; those on a disk have stepped aside by now.
    """
    engine = checked_engine(options)
    on_message, runs = _each_once(_on_message(watcher)), Runs(home)
    facts = prepared(
        Goal.RUN, _given(workload, options, engine, on_message) | {RUNS: runs, OVERWRITE: overwrite}
    )
    workload, options, cluster = facts[WORKLOAD], facts[OPTIONS], facts[CLUSTER]
    settings, jobs = facts[SETTINGS], list(facts[WORKLOAD].jobs)
    # Policies that rank jobs by their work see the prediction, also after a resume.
    ready = [replace(each, job=job) for each, job in zip(facts[PREPARED], jobs, strict=True)]
    predicted_s = _predicted_s(workload, jobs, cluster, settings, options, on_message)
    records = {each.job.job_id: each.to_json() for each in ready}
    forecasts = live_forecasts(jobs, cluster, on_message)
    numbers = {str(job_id): forecast_numbers(found) for job_id, found in forecasts.items()}
    header = replace(options.header(workload, identity), forecasts=numbers)
    stagings = _local_stagings(ready)
    places = input_places(ready, cluster.nodes, runs, lambda run: replayed(run).state)
    outputs = runs.locked_outputs(str(one.output) for one in stagings)
    try:
        for one in stagings:  # another run may have ended since this was checked
            one.refuse_foreign_output()
        staging = [str(one.folder) for one in stagings]
        journal = runs.create(header, records, staging=staging, reserved_id=facts[RUN_ID])
    except BaseException:
        outputs.release()
        raise
    journal.outputs = outputs
    return LiveSetup(
        run_id=journal.folder.name,
        header=header,
        cluster=cluster,
        scheduler=facts[SCHEDULER],
        journal=journal,
        runner=JobRunner(ready, journal.folder / _SCRATCH, places),
        settings=settings,
        predicted_makespan_s=predicted_s,
        predicted={job.job_id: job for job in jobs},
        forecasts=forecasts,
        watcher=watcher,
    )


def resumable(identity: RunIdentity, watcher: Watcher | None = None) -> RunInfo | None:
    """The run of this workload to resume or report; as `Runs.resumable`."""
    return Runs().resumable(identity, (watcher or Unwatched()).on_message)


@contextmanager
def explained_damage(run: RunInfo) -> Iterator[None]:
    """Inside, damage in the journal of the run that is resumed says how to go on."""
    try:
        yield
    except StoreCorrupt as error:
        raise cannot_resume(run.run_id, str(error)) from error


def resume(workload: Workload, run: RunInfo, watcher: Watcher | None = None) -> LiveSetup:
    """An unfinished run, with the options in its journal."""
    options = RunOptions.of(run.header)
    given = _given(workload, options, checked_engine(options), _on_message(watcher))
    facts = prepared(Goal.RESUME, given | {RUN: run})
    workload = facts[WORKLOAD]
    records = prepared_jobs(run.folder)
    scratch = run.folder / _SCRATCH
    runner = JobRunner.reopened(workload.jobs, records, scratch)
    runs = Runs()
    journal = runs.reopened(run, _on_message(watcher))
    try:
        outputs = (str(one.output) for one in _local_stagings(runner.prepared))
        journal.outputs = runs.locked_outputs(outputs)
    except BaseException:
        journal.close()
        raise
    return LiveSetup(
        run_id=run.run_id,
        header=run.header,
        cluster=facts[CLUSTER],
        scheduler=facts[SCHEDULER],
        journal=journal,
        runner=runner,
        settings=facts[SETTINGS],
        predicted_makespan_s=None,
        # Later knowledge, which the run itself may have added, is no forecast of it.
        forecasts={
            job.job_id: forecast_of_numbers(profile_name(job), run.header.forecasts[job.job_id])
            for job in workload.jobs
            if job.job_id in run.header.forecasts
        },
        watcher=watcher,
    )


def _local_stagings(prepared: Iterable[PreparedJob]) -> list[Staging]:
    """The staging folders of jobs whose output is on a disk."""
    stagings = (each.staging for each in prepared)
    return [one for one in stagings if isinstance(one, Staging)]


def _given(
    workload: Workload, options: RunOptions, engine: EngineKind, on_message: OnMessage
) -> dict[Fact[Any], Any]:
    """The facts that a new run and a resumed one start with."""
    return {
        WORKLOAD: workload,
        CHOSEN: options.chosen(),
        OVERRIDES: options.settings,
        OPTIONS: options,
        ENGINE: engine,
        ON_MESSAGE: on_message,
        ON_NOTE: lambda note: on_message(f"note: {sentence(note)}"),
    }


def _on_message(watcher: Watcher | None) -> OnMessage:
    return (watcher or Unwatched()).on_message


def _each_once(on_message: OnMessage) -> OnMessage:
    """Several parts of a run may meet one fault, such as a store that cannot be read."""
    seen: set[str] = set()

    def once(message: str) -> None:
        if message not in seen:
            seen.add(message)
            on_message(message)

    return once


def _predicted_s(
    workload: Workload,
    jobs: list[Job],
    cluster: Cluster,
    settings: Settings,
    options: RunOptions,
    on_message: OnMessage,
) -> float | None:
    """Makespan in the simulator; None unless the lengths of all phases are known."""
    if any(phase.lengths is None for job in jobs for phase in job.phases):
        return None
    scheduler = scheduler_for(
        settings=settings.having(heartbeat_s=0.0),
        tasks=options.tasks,
        release=options.release,
        admission=options.admission,
        pools=workload.pools,
        demands=workload.has_demands,
    )
    return predicted_makespan_s_of(
        jobs,
        past_gaps(jobs, on_message),
        scheduler=scheduler,
        cluster=cluster,
        settings=settings,
        seed=options.seed,
    )
