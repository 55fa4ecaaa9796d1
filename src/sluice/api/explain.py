"""Explain a job or node of a recorded run or of a simulation, and a finished run of a log.

Three questions have one way to their answer. `why` and `story` need a state and its reasons: those
of a recorded run, which is replayed from its journal, or those of a simulation of a file up to the
instant that is asked about. `explain` needs only what a run measured: the run of a log or of the
store is taken apart and replayed with other slots. What helps (`by_s`, offers) is found by further
simulations, each with one change.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

from sluice.api.diagnosis import diagnosed
from sluice.api.options.argument_types import Source
from sluice.api.options.calls import called_with
from sluice.api.options.diagnosis import DiagnosisOptions
from sluice.api.options.parts import PartOptions
from sluice.api.options.scheduling import StoryOptions, WhyOptions
from sluice.api.simulate import OnMessage, Scheduling, simulated
from sluice.api.sources import RunOrSource, read_workload, workload_of
from sluice.bootstrap.diagnosis.admission_offers import admission_offers
from sluice.bootstrap.diagnosis.helpful_changes import Change, Times, helpful_changes
from sluice.bootstrap.diagnosis.run_advice import with_heartbeats
from sluice.bootstrap.history import past_runs
from sluice.bootstrap.history.profiles import nearest_profile
from sluice.bootstrap.history.recorded_workload import recorded_workload
from sluice.bootstrap.preparation.queues import in_queues
from sluice.bootstrap.queues.configuration_notes import configuration_notes, keys_note
from sluice.bootstrap.vm_pools import PlannedVms
from sluice.core.entries import JobEntry
from sluice.core.explain.story import story as story_of
from sluice.core.explain.why import Why
from sluice.core.explain.why import why as why_of
from sluice.core.reasons import Reason
from sluice.core.scheduler import Scheduler
from sluice.core.state import ClusterState
from sluice.core.transitions import JobState
from sluice.ingest.logs.formats import read_logs
from sluice.ingest.logs.options import read_options
from sluice.ingest.logs.replay import REPLAY_LIMITS, workload_from_logs
from sluice.ingest.scheduler_configs.reading import read_queue_tree
from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.history import PastRun
from sluice.model.ids import JobId
from sluice.model.queue_tree import QueueTree
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.reporting.explain.answers import StoryAnswer, WhyAnswer
from sluice.reporting.explain.diagnosis import Diagnosis, QueuedJob
from sluice.reporting.explain.helpful import HelpfulChanges
from sluice.reporting.history.past_runs import RunFacts
from sluice.reporting.history.past_runs import past_runs as past_runs_of
from sluice.store.profiles import Profiles
from sluice.store.run_info import RunInfo

_TASKS_MAX = 20_000  # of a job that is explained; more take seconds


@dataclass(frozen=True)
class StoryCall(PartOptions, StoryOptions, RunOrSource):
    """Arguments of `story`."""

    subject: str
    _: KW_ONLY
    on_message: OnMessage | None = None


@dataclass(frozen=True)
class WhyCall(PartOptions, WhyOptions, RunOrSource):
    """Arguments of `why`."""

    job_id: str
    _: KW_ONLY
    on_message: OnMessage | None = None


@called_with(WhyCall)
def why(given: WhyCall) -> WhyAnswer:
    """Why a job waits, at an instant: in a recorded run, or in a simulation of `source`.

    Of a job that has ended well, the answer has a diagnosis, as `explain` makes it, and why it
    waited half-way through its wait; of one without either, why tasks waited half-way through it.
    run_id: a recorded run; by default the newest that can be read.
    at_s: by default the end of what is known.
    config, mapping: queues of a scheduler's configuration, as for `simulate`.
    by_s: the answer has the smallest changes with which the job ends by then, each simulated; of a
        recorded run with the lengths that it measured.
    on_message: called for each newer run that is skipped because it cannot be read.
    Raises InvalidInput if there is no such job or run.
    """
    how = Scheduling.of(given.chosen(given), given.on_message)
    job_id = given.job_id
    source = None if given.source is None else read_workload(given.source)
    asked = _recorded(given, how) if source is None else source
    scheduler = _scheduler_at(asked, given.at_s, how, job_id)
    how = replace(how, on_message=None)  # further simulations repeat the sentences of the first
    state, policy = scheduler.state, scheduler.policies.tasks
    by_heartbeat = scheduler.rules.by_heartbeat
    with _named_run(asked):
        found = why_of(_id_of(job_id, state, source), state, policy, by_heartbeat=by_heartbeat)
    helpful = None if given.by_s is None else _helpful(asked, how, found.job_id, given.by_s)
    entry = state.jobs.get(found.job_id)
    if entry is None:
        return WhyAnswer.of(found, job_id, helpful=helpful)
    if source is not None and entry.state is JobState.REFUSED:
        found = _with_offers(found, entry, scheduler, workload_of(source), how)
    diagnosis = None if isinstance(policy, PlannedVms) else _diagnosis(entry, state, found.driver_s)
    # A limit of a queue holds back tasks on containers, which no replay of the job alone shows.
    in_slots = all(phase.kind is not SlotKind.CONTAINER for phase in entry.phases)
    then_s = _waiting_at_s(found, is_explained=diagnosis is not None and in_slots)
    more: dict[str, Any] = {"helpful": helpful}
    if then_s is not None:
        then = _scheduler_at(asked, then_s, how, job_id)
        waited_for = why_of(
            found.job_id, then.state, then.policies.tasks, by_heartbeat=by_heartbeat
        )
        more["waited_for"] = waited_for if waited_for.is_waiting else None
    if isinstance(policy, PlannedVms):
        return WhyAnswer.of(found, job_id, vms=policy.choice(entry), **more)
    if by_heartbeat and diagnosis is not None:
        diagnosis = with_heartbeats(diagnosis)
    return WhyAnswer.of(found, job_id, diagnosis=diagnosis, **more)


def _with_offers(
    found: Why, entry: JobEntry, scheduler: Scheduler, workload: Workload, how: Scheduling
) -> Why:
    """The refusal with the least changes that admit the job when it is asked again."""

    def simulate(changed: Workload, until_s: float | None) -> ClusterState:
        return simulated(changed, how, until_s=until_s)[0].state

    offered = admission_offers(workload, entry, scheduler.policies.admission, simulate)
    if offered is None:
        return found
    numbers = Reason(found.reason.code, tuple(offered.numbers))
    return replace(found, reason=numbers, detail=offered.text())


def _waiting_at_s(found: Why, *, is_explained: bool) -> float | None:
    """An instant at which a job that has ended well waited, or some of its tasks; None for others.

    is_explained: whether a diagnosis says what held back its tasks.
    """
    started_s, finished_s = found.started_at_s, found.finished_at_s
    if found.state is not JobState.DONE or started_s is None or finished_s is None:
        return None
    if found.waited_s > 0:
        return started_s - found.waited_s / 2  # an instant at which it surely waited
    return None if is_explained else (started_s + finished_s) / 2


def _recorded(given: RunOrSource, how: Scheduling) -> RunInfo:
    """The recorded run that is asked about, by default the newest."""
    return past_runs.recorded(given.run_id, how.on_message or (lambda _: None))


@contextmanager
def _named_run(asked: RunInfo | Source) -> Iterator[None]:
    """Let an error about what a recorded run lacks say which run that is."""
    try:
        yield
    except InvalidInput as wrong:
        if not isinstance(asked, RunInfo):
            raise
        raise InvalidInput(wrong.what, where=asked.run_id, hint=wrong.hint) from wrong


def _helpful(
    asked: RunInfo | Source, how: Scheduling, job_id: JobId, by_s: float
) -> HelpfulChanges:
    """The smallest changes with which a job ends by an instant; none where it does anyway.

    Those of a recorded run are simulated with the lengths that it measured.
    """
    if not 0 < by_s < math.inf:
        raise wrong_value("by_s", by_s, "--by", "give seconds from the start, above 0")
    if isinstance(asked, RunInfo):
        workload, options = recorded_workload(asked)
        how = Scheduling(
            options.tasks, options.release, options.admission, options.settings, options.seed
        )
    else:
        workload = workload_of(read_workload(asked))

    def times(changed: Change) -> Times:
        try:
            found = simulated(changed.workload, replace(how, queues=changed.tree or tree))[1]
        except InvalidInput:
            return None, None  # a change that the policies cannot take
        row = next(one for one in found.jobs if one.job_id == job_id)
        return row.started_at_s, row.finished_at_s

    tree = how.completed(workload).queues
    _, end_s = times(Change(kind="", text="", size=0.0, workload=workload))
    found = HelpfulChanges(by_s=by_s, ends_at_s=end_s, changes=())
    if found.is_in_time:
        return found
    placed = None if tree is None else in_queues(workload, tree, how.mapping).jobs
    queues = {job.job_id: str(job.pool) for job in placed or ()}
    queue = None if tree is None else (tree, queues[job_id])
    changes = helpful_changes(workload, job_id, by_s, times, queue)
    return replace(found, changes=tuple(changes))


def _diagnosis(entry: JobEntry, state: ClusterState, driver_s: float) -> Diagnosis | None:
    """Why a job that ended well took that long; None for others, and for jobs of many tasks."""
    kinds = {phase.kind for phase in entry.phases}
    tasks = sum(phase.phase.tasks for phase in entry.phases)
    if entry.state is not JobState.DONE or tasks > _TASKS_MAX:
        return None
    nodes = [one.node for one in state.nodes.values()]
    facts = RunFacts(
        run_id="",
        started_at_s=0.0,
        engine="",
        machine_type=None,
        slots={kind.value: sum(node.slots(kind) for node in nodes) for kind in kinds},
    )
    runs = past_runs_of([entry], state.closed, facts)
    return diagnosed(runs[0], driver_s) if runs and runs[0].phases else None


@called_with(StoryCall)
def story(given: StoryCall) -> StoryAnswer:
    """Return what happened to a job, a task ("job/phase/task") or a node.

    Arguments as for `why`.
    """
    how = Scheduling.of(given.chosen(given), given.on_message)
    asked = _recorded(given, how) if given.source is None else given.source
    scheduler = _scheduler_at(asked, given.at_s, how, given.subject)
    state = scheduler.state
    found = _id_of(given.subject, state, given.source)
    with _named_run(asked):
        return StoryAnswer.of(story_of(found, state, scheduler.policies.tasks))


def _id_of(name: str, state: ClusterState, source: Source | None) -> str:
    """The id of a job that is named as its application or profile, if there is only one."""
    if JobId(name) in state.jobs or name in state.to_come:
        return name
    profiles = {job_id: entry.job.profile for job_id, entry in state.jobs.items()}
    if source is not None:
        recorded = workload_of(read_workload(source)).recorded
        profiles |= {job_id: each.profile for job_id, each in recorded.items()}
    found = [job_id for job_id, profile in profiles.items() if profile == name]
    return found[0] if len(found) == 1 else name


def _scheduler_at(
    asked: RunInfo | Source, at_s: float | None, how: Scheduling, followed: str
) -> Scheduler:
    def follow(scheduler: Scheduler) -> None:
        """Pools of VMs note the reasons of one job only; those of all would take too long."""
        policy = scheduler.policies.tasks
        if isinstance(policy, PlannedVms):
            policy.follow(JobId(followed))

    if isinstance(asked, RunInfo):
        scheduler = past_runs.replayed(asked, until_s=at_s, on_start=follow)
    else:
        scheduler = simulated(asked, how, until_s=at_s, on_start=follow)[0]
    if at_s is not None:
        scheduler.pass_time(at_s)
    return scheduler


# --- of a finished run ----------------------------------------------------------------------------


@dataclass(frozen=True)
class ExplainCall(DiagnosisOptions):
    """Arguments of `explain`."""

    subject: str
    _: KW_ONLY
    mapping: Mapping[str, str] | None = None


@called_with(ExplainCall)
def explain(given: ExplainCall) -> Diagnosis:
    """Why a finished run took as long as it did.

    subject: a log file or folder; or the id of a run, or the name of an application, in the profile
    store (its newest run).
    job: which job, by id or name, where the subject has several.
    format, settings: for a log, as for `import_logs`.
    config, mapping: queues of a scheduler's configuration, as for `simulate`, in which the whole
    log is replayed; the diagnosis then has what holds the job back there.
    Raises InvalidInput if there is no such run, or its log does not list single tasks.
    """
    if given.config is not None and not Path(given.subject).exists():
        raise InvalidInput(
            "it needs all jobs of a log", where="--config", hint="give the log in place of a run"
        )
    run = past_run(given.subject, given)
    found = diagnosed(run)
    config = given.config
    if config is None:
        return found
    tree = config if isinstance(config, QueueTree) else read_queue_tree(str(config))
    notes = (*found.notes, *configuration_notes(tree), *keys_note(tree.unknown_keys))
    return replace(found, queued=_in_queues(given, tree, run), notes=notes)


def _in_queues(given: ExplainCall, tree: QueueTree, run: PastRun) -> QueuedJob:
    """The reason why the job is held back in the queues of a configuration.

    The whole log is replayed in them: whose limit is reached depends on the other jobs.
    """
    options = read_options(given.settings, "--set")
    workload = workload_from_logs([given.subject], given.format, options)
    answer = why(number_of(run), source=workload, config=tree, mapping=given.mapping or {})
    return QueuedJob(config=Path(tree.source).name, ended=answer, waited=answer.waited_for)


# --- which run ------------------------------------------------------------------------------------


_NAMED_MAX = 8
_WORKLOAD_SUFFIXES = (".yaml", ".yml")  # no log has them


def past_run(subject: str, given: DiagnosisOptions) -> PastRun:
    """The run of a log, or of the name or id in the store. Raises InvalidInput."""
    job = given.job
    if Path(subject).suffix in _WORKLOAD_SUFFIXES:
        raise InvalidInput(
            "it is a workload, which explain does not read: it reads runs",
            where=subject,
            hint=f"give a log or a run, or simulate it: sluice simulate {subject}",
        )
    if Path(subject).exists():
        options = read_options(given.settings, "--set")
        logs = read_logs([subject], given.format, options, REPLAY_LIMITS)
        runs = [run for log in logs for run in log.runs if run.phases]
        if not runs:
            raise InvalidInput(
                "it holds no finished job with tasks", where=subject, hint="give another log"
            )
        return _chosen(runs, job, subject)
    with Profiles.existing(given.store) as profiles:
        runs = profiles.runs(subject)
        if runs and job is None:
            return runs[-1]
        named = profiles.called(subject)
        renamed = profiles.profile_named(subject)
        if not runs and not named and renamed is not None:
            return profiles.runs(renamed)[-1]
        if not runs and not named:
            raise InvalidInput(
                f"{subject!r} is not a file, and no run or application of that name is stored",
                where="explain",
                hint=nearest_profile(subject, profiles.names()),
            )
    return _chosen(runs or named, job, subject)


def _chosen(runs: Sequence[PastRun], job: str | None, subject: str) -> PastRun:
    """The one that is meant. Raises InvalidInput that names the others."""
    if job is not None:
        found = [
            run
            for run in runs
            if job in (run.run_id, _job_of(run), number_of(run), run.profile, run.name)
        ]
        if found:
            return found[-1]
    elif len(runs) == 1:
        return runs[0]
    bare = Counter(map(number_of, runs))
    names = list(
        dict.fromkeys(number_of(run) if bare[number_of(run)] == 1 else _job_of(run) for run in runs)
    )
    more = ", ..." if len(names) > _NAMED_MAX else ""
    what = f"it has {len(names)} jobs" if job is None else f"it has no job {job!r}"
    raise InvalidInput(
        what, where=subject, hint=f"choose one by --job: {', '.join(names[:_NAMED_MAX])}{more}"
    )


def _job_of(run: PastRun) -> str:
    """The run's job in its log."""
    return run.run_id.rpartition("/")[2]


def number_of(run: PastRun) -> str:
    """The job's number without its instant, as Slurm, which uses numbers again, prints it."""
    return _job_of(run).partition("@")[0]
