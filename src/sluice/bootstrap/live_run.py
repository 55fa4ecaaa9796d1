"""Puts a live run together: workload, scheduler, journal, engine, work; and takes one up again.

A new run is prepared whole before anything is written: inputs, commands and outputs are checked
for all jobs first. A resumed run is what its journal says: the same policies, settings and nodes,
whatever the command line says now.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sluice.bootstrap.checks import check_slots
from sluice.bootstrap.input_locations import nodes_of_files
from sluice.bootstrap.policy_classes import (
    ChosenPolicy,
    absolute_spec,
    check_unchanged,
    chosen_policy,
)
from sluice.bootstrap.predicted_makespan import predicted_makespan_s_of
from sluice.bootstrap.profiles import OnMessage, learn, past_gaps, with_past_lengths
from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import KINDS, resolved_settings, settings_notes
from sluice.core.scheduler import Scheduler
from sluice.engines.base import Engine
from sluice.engines.driver import Driver, LiveRun, LiveSettings
from sluice.engines.job_runner import JobRunner
from sluice.engines.local.engine import LocalEngine
from sluice.engines.mapreduce.layout import PreparedJob, prepare
from sluice.engines.progress import Unwatched, Watcher
from sluice.engines.run_clock import RunClock
from sluice.engines.settings import TaskLimitSettings
from sluice.ingest.reading import STDIN, source_name
from sluice.ingest.settings import Settings
from sluice.model.cluster import Cluster, Node, Pool, PoolOrder
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, NodeId
from sluice.model.job import Job
from sluice.model.workload import Workload
from sluice.store.journal import Journal
from sluice.store.rows import EntryKind, RunHeader, entries
from sluice.store.runs import RunInfo, Runs

ENGINES = ("local",)
_SCRATCH = "scratch"
_OF_FILE = "of_file"
_POLICY_FILES = "policy_files"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What makes a live run what it is: told in the journal's header, the same when resumed.

    nodes, map_slots, reduce_slots: virtual nodes instead of the file's cluster.
    settings: as after `--set`.
    """

    tasks: str = "fifo"
    release: str = "input"
    admission: str = "all"
    engine: str = "local"
    nodes: int | None = None
    map_slots: int | None = None
    reduce_slots: int | None = None
    settings: tuple[str, ...] = ()
    seed: int = 0

    def header(self, workload: Workload, content: bytes) -> RunHeader:
        """The first row of the journal; it holds all that makes the same scheduler again."""
        return RunHeader(
            source=_source(workload.source),
            sha256=hashlib.sha256(content).hexdigest(),
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            policies={kind: absolute_spec(getattr(self, kind)) for kind in KINDS},
            settings={
                "engine": self.engine,
                "nodes": self.nodes,
                "map_slots": self.map_slots,
                "reduce_slots": self.reduce_slots,
                "set": list(self.settings),
                "seed": self.seed,
                _POLICY_FILES: {one.file: one.sha256 for one in self.chosen() if one.file},
                _OF_FILE: {
                    "settings": dict(workload.settings),
                    "pools": [
                        asdict(pool) | {"order": pool.order.value} for pool in workload.pools
                    ],
                },
            },
        )

    def chosen(self) -> list[ChosenPolicy]:
        """The policies of the run, one of each kind. Raises InvalidInput."""
        return [chosen_policy(kind, getattr(self, kind)) for kind in KINDS]

    @classmethod
    def of(cls, header: RunHeader) -> RunOptions:
        """The options that a journal's header tells."""
        told: dict[str, Any] = {**header.policies, **header.settings}
        overrides = told.pop("set")
        told.pop(_OF_FILE, None)
        told.pop(_POLICY_FILES, None)
        return cls(**told, settings=tuple(overrides))

    def cluster(self, workload: Workload) -> Cluster:
        """The virtual nodes of the run; by default one, with a slot of each kind per processor."""
        given = (self.nodes, self.map_slots, self.reduce_slots)
        if workload.cluster is not None and given == (None, None, None):
            return workload.cluster
        slots = os.cpu_count() or 1
        first = workload.cluster.nodes[0] if workload.cluster else None
        nodes = self.nodes or (len(workload.cluster.nodes) if workload.cluster else 1)
        map_slots, reduce_slots = self.map_slots, self.reduce_slots
        if map_slots is None:
            map_slots = first.map_slots if first else slots
        if reduce_slots is None:
            reduce_slots = first.reduce_slots if first else slots
        return Cluster(
            nodes=tuple(
                Node(
                    node_id=NodeId(f"node-{number}"),
                    map_slots=map_slots,
                    reduce_slots=reduce_slots,
                )
                for number in range(1, nodes + 1)
            )
        )


@dataclass(frozen=True, kw_only=True)
class LiveSetup:
    """A live run, put together.

    header: as its journal tells it.  predicted_makespan_s: None where nothing tells task lengths.
    predicted: jobs with the lengths that former runs tell.
    """

    run_id: str
    header: RunHeader
    cluster: Cluster
    scheduler: Scheduler
    journal: Journal
    workshop: JobRunner
    settings: Settings
    predicted_makespan_s: float | None
    predicted: Mapping[JobId, Job] = field(default_factory=dict)
    watcher: Watcher | None = None

    def run(self) -> LiveRun:
        """Run it to its end, and keep what it measured. Raises what `Driver.run` raises."""
        done = self.carried_out()
        self._learn(done)
        return done

    def carried_out(self) -> LiveRun:
        """Run it to its end. Raises what `Driver.run` raises."""
        clock = RunClock()
        scratch = self.journal.folder / _SCRATCH
        scratch.mkdir(exist_ok=True)
        engine: Engine = LocalEngine(self.cluster.nodes, scratch, self.journal.epoch, clock.now_s)
        driver = Driver(
            engine=engine,
            scheduler=self.scheduler,
            journal=self.journal,
            source=self.workshop,
            jobs=self.workshop.jobs,
            clock=clock,
            watcher=self.watcher,
            settings=LiveSettings(
                limits=self.settings.of(TaskLimitSettings).limits(),
                nodes=tuple(node.node_id for node in self.cluster.nodes),
            ),
        )
        try:
            done = driver.run()
        finally:
            self.journal.close()
        if not done.uncommitted:
            self.workshop.clear()
        return done

    def _learn(self, done: LiveRun) -> None:
        learn(
            done.result,
            run_id=self.run_id,
            header=self.header,
            cluster=self.cluster,
            on_message=(self.watcher or Unwatched()).on_message,
        )


def begin(
    workload: Workload,
    content: bytes,
    options: RunOptions,
    watcher: Watcher | None = None,
    *,
    home: Path | None = None,
) -> LiveSetup:
    """A new run. Raises InvalidInput where any job of it cannot run.

    home: where its state is kept, by default in the account's own state folder.
    """
    _check_engine(options)
    settings = _settings(workload, options)
    on_message = (watcher or Unwatched()).on_message
    for note in settings_notes(settings, options.chosen(), is_live=True):
        on_message(f"Note: {note}.")
    cluster = options.cluster(workload)
    runs = Runs(home)
    prepared = _prepared(workload)
    scheduler = _scheduler(workload, settings, options)
    check_slots([each.job for each in prepared], cluster, scheduler, workload.source)
    jobs = with_past_lengths([each.job for each in prepared], on_message)
    # Who ranks jobs by their work sees what is predicted of it, also after a pause.
    prepared = [replace(each, job=job) for each, job in zip(prepared, jobs, strict=True)]
    predicted_s = _predicted_s(workload, jobs, cluster, settings, options, on_message)
    records = {each.job.job_id: each.to_json() for each in prepared}
    header = options.header(workload, content)
    journal = runs.create(header, records)
    return LiveSetup(
        run_id=journal.folder.name,
        header=header,
        cluster=cluster,
        scheduler=scheduler,
        journal=journal,
        workshop=JobRunner(prepared, journal.folder / _SCRATCH, _writers(prepared, runs)),
        settings=settings,
        predicted_makespan_s=predicted_s,
        predicted={job.job_id: job for job in jobs},
        watcher=watcher,
    )


def _writers(prepared: Sequence[PreparedJob], runs: Runs) -> Mapping[str, NodeId]:
    return nodes_of_files(prepared, runs, lambda run: replayed(run).state)


def resumable(workload: Workload, content: bytes) -> RunInfo | None:
    """The last run of this workload, finished or not; None if there is none."""
    return Runs().resumable(_source(workload.source), hashlib.sha256(content).hexdigest())


def resume(workload: Workload, run: RunInfo, watcher: Watcher | None = None) -> LiveSetup:
    """A run that was left, as its journal tells it."""
    options = RunOptions.of(run.header)
    check_unchanged(options.chosen(), run.header.settings.get(_POLICY_FILES), run.run_id)
    settings = _settings(workload, options)
    records = _records(run)
    scratch = run.folder / _SCRATCH
    workshop = JobRunner.reopened(workload.jobs, records, scratch)
    return LiveSetup(
        run_id=run.run_id,
        header=run.header,
        cluster=options.cluster(workload),
        scheduler=_scheduler(workload, settings, options),
        journal=Runs().reopened(run),
        workshop=workshop,
        settings=settings,
        predicted_makespan_s=None,
        watcher=watcher,
    )


def recorded(run_id: str | None) -> RunInfo:
    """A recorded run, by default the newest. Raises InvalidInput where there is none."""
    runs = Runs()
    if run_id is None:
        latest = runs.latest()
        if latest is None:
            raise InvalidInput(
                "no run is recorded yet", where="--run", hint="run a workload first, or give --file"
            )
        return latest
    known = {run.run_id: run for run in runs.all()}
    if run_id not in known:
        raise InvalidInput(
            f"there is no recorded run {run_id!r}",
            where="--run",
            hint="leave it out for the newest",
        )
    return known[run_id]


def replayed(run: RunInfo, *, until_s: float | None = None) -> Scheduler:
    """The scheduler of a recorded run as it stood at an instant, or at the journal's end.

    The run itself is not disturbed, even while it goes on.
    """
    options, workload = RunOptions.of(run.header), _file_of(run.header)
    check_unchanged(options.chosen(), run.header.settings.get(_POLICY_FILES), run.run_id)
    scheduler = _scheduler(workload, _settings(workload, options), options)
    for entry in entries(run.folder):
        if entry.kind is EntryKind.EVENT:
            event = entry.event()
            if until_s is not None and event.at_s > until_s:
                break
            scheduler.handle(event)
    return scheduler


def _file_of(header: RunHeader) -> Workload:
    """What the workload file said of the scheduler when the run began, whatever it says now."""
    told: Any = header.settings.get(_OF_FILE, {"settings": {}, "pools": []})
    pools = (Pool(**{**pool, "order": PoolOrder(pool["order"])}) for pool in told["pools"])
    return Workload(cluster=None, jobs=(), pools=tuple(pools), settings=told["settings"])


def _records(run: RunInfo) -> dict[JobId, Mapping[str, Any]]:
    return dict(e.prepared() for e in entries(run.folder) if e.kind is EntryKind.PREPARED)


def _source(source: str) -> str:
    """What a run remembers of its file: the path wherever one stands, or "-"."""
    return STDIN if source in {STDIN, source_name(STDIN)} else str(Path(source).resolve())


def _check_engine(options: RunOptions) -> None:
    if options.engine not in ENGINES:
        raise InvalidInput(
            f"{options.engine!r} is no known engine", where="--engine", hint=f"use {ENGINES[0]}"
        )


def _settings(workload: Workload, options: RunOptions) -> Settings:
    return resolved_settings(workload.settings, options.settings, options.chosen())


def _scheduler(workload: Workload, settings: Settings, options: RunOptions) -> Scheduler:
    return scheduler_for(
        settings=settings,
        tasks=options.tasks,
        release=options.release,
        admission=options.admission,
        pools=workload.pools,
        is_live=True,
    )


def _prepared(workload: Workload) -> list[PreparedJob]:
    # Runs of one file may overlap, or one be left behind: what they stage must not meet.
    token = secrets.token_hex(4)
    outputs: dict[Path, JobId] = {}
    prepared = []
    for job in workload.jobs:
        if job.run is None:
            raise InvalidInput(
                "run is missing",
                where=f"job {job.job_id!r}",
                hint="say what runs (input, output, mapper), or use `simulate`",
            )
        output = Path(job.run.folder, job.run.output).resolve()
        if output in outputs:
            raise InvalidInput(
                f"output {job.run.output!r} is that of job {outputs[output]!r} too",
                where=f"job {job.job_id!r}",
                hint="give every job an output of its own",
            )
        outputs[output] = job.job_id
        prepared.append(prepare(job, run_id=token))
    if not prepared:
        raise InvalidInput("jobs is empty", where=workload.source, hint="add a job with `run`")
    return prepared


def _predicted_s(
    workload: Workload,
    jobs: list[Job],
    cluster: Cluster,
    settings: Settings,
    options: RunOptions,
    on_message: OnMessage,
) -> float | None:
    """Makespan in the simulator, if every phase's lengths are known."""
    if any(phase.lengths is None for job in jobs for phase in job.phases):
        return None
    scheduler = scheduler_for(
        settings=settings.having(heartbeat_s=0.0),
        tasks=options.tasks,
        release=options.release,
        admission=options.admission,
        pools=workload.pools,
    )
    return predicted_makespan_s_of(
        jobs,
        past_gaps(jobs, on_message),
        scheduler=scheduler,
        cluster=cluster,
        settings=settings,
        seed=options.seed,
    )
