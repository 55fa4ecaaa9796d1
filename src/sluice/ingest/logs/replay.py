"""Logs as a workload: what ran before is submitted again, for any verb.

Each run becomes a job: its phases with the lengths that its tasks had, task by task where the log
lists them and by average and maximum elsewhere; submitted when it was, counted from the first. A
log that is a workload itself gives its own jobs.

Cores of Spark run tasks of all stages: its stages become phases in containers. With `slots=typed`,
and with `shape=map-reduce`, a stage that reads input takes map slots and any other takes reduce
slots. The time in which no task of a job of Spark or Hadoop ran, before, between and after its
tasks, becomes the job's `driver_s`; only Spark's typed slots leave it out.

A phase waits for those whose output it reads. With `order=seen` (the default) it waits, besides,
for all that had ended before it began: a Spark application has stages that read nothing from each
other and still follow one another, because its driver asks for them so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.estimate.run_anatomy import outside_s
from sluice.estimate.slot_time import on_slots
from sluice.ingest.logs.formats import option_settings, read_logs
from sluice.ingest.logs.instants import neat
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.names import printable, uniquely_named
from sluice.ingest.logs.options import options_of, rules_in, settings_in
from sluice.ingest.logs.phase_order import by_stage_number, in_order
from sluice.ingest.logs.planning import NOTHING_PLANNED, PlanningOptions, about_classes, classes_of
from sluice.ingest.logs.profile_names import RULE
from sluice.ingest.logs.reading import DEFAULT_LIMITS
from sluice.ingest.logs.registry import AUTO
from sluice.ingest.logs.report import LogRead
from sluice.ingest.logs.slots_seen import cluster_of, slots_of
from sluice.ingest.suggestions import suggestion
from sluice.model.arguments import checked_arguments
from sluice.model.cluster import SLOTS_MAX, Cluster
from sluice.model.errors import InvalidInput
from sluice.model.history import SHARED_SLOTS, PastPhase, PastRun, PastTask
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, MapOutput, Phase
from sluice.model.lengths import ConstantLengths, ListedLengths, TaskLengths
from sluice.model.name_types import LogFormatName
from sluice.model.queues import Pool
from sluice.model.settings import SettingKind, as_number, declared, number, setting, whole, word
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import RecordedJob, Workload

NOTES_MAX = 40
_FLAG = "--from-log-set"
# A workload holds its tasks anyway, so many more of them are read one by one than for profiles.
REPLAY_LIMITS = replace(DEFAULT_LIMITS, timeline_tasks_max=1_000_000)
_NAME_CHARACTERS_MAX = 60
_ABOUT_TYPED = (
    "Spark's cores run stages of both kinds; here each kind has as many slots of its own."
)
_ABOUT_EXECUTORS = "Here all applications share one pool; in the logs each had its own executors."
_ABOUT_SHARED = "Time without tasks counts as driver time, before the first stage."
_ABOUT_HADOOP = "Time without tasks counts as driver time, before the maps."
_HADOOP = frozenset({"jhist", "mr1", "rumen"})
_KINDS = {"map": SlotKind.MAP, "reduce": SlotKind.REDUCE}

Replayed = tuple[Job, RecordedJob | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """The choices that are made when logs become a workload.

    map_slots, reduce_slots, containers: of the cluster; else from the logs, see `slots_seen`.
    slots: of Spark's tasks, which are containers unless typed slots are asked for.
    order: what phases wait for.  least_s: of tasks with 0 s in the log.
    shape: of the jobs to take; those that planning can work with have maps and reduces.
    weights: of queues, "etl=2,ads=1": what tenants paid for, which no log has. Others weigh 1.
    """

    map_slots: int | None = whole(None, "map slots of the cluster", high=SLOTS_MAX)
    reduce_slots: int | None = whole(None, "reduce slots of the cluster", high=SLOTS_MAX)
    containers: int | None = whole(None, "containers of the cluster", low=1, high=SLOTS_MAX)
    slots: str = word("shared", "of Spark's tasks: shared by all, or typed", "shared", "typed")
    order: str = declared(
        SettingKind.CHOICE,
        "seen",
        "what phases wait for: all that had ended before, or only what they read",
        choices=("seen", "data"),
    )
    least_s: float = number(0.001, "seconds of a task that took none", above=0.0)
    shape: str = word("all", "the jobs to take", "all", "map-reduce")
    weights: str = setting("", "weights of queues, as in etl=2,ads=1; 1 for all others")

    def has_containers(self, run: PastRun) -> bool:
        """Whether the tasks of a run become containers."""
        is_typed = self.slots == "typed" or self.shape == "map-reduce"
        return run.source in SHARED_SLOTS and not is_typed

    def driver_s(self, run: PastRun) -> float:
        """Seconds of a run outside its tasks, which the job has again before its first task."""
        is_kept = run.source in _HADOOP or self.has_containers(run)
        return neat(outside_s(run)) if is_kept else 0.0


@checked_arguments
def workload_from_logs(
    paths: Iterable[str | Path],
    format: LogFormatName | str = AUTO,  # noqa: A002  # the users' word for it
    options: Mapping[str, object] | None = None,
    limits: Limits = REPLAY_LIMITS,
) -> Workload:
    """The jobs of logs, to be run again; its `notes` say what was chosen, and what was skipped.

    paths: files and folders.  options: of `ReplayOptions`, and of the formats, by name.
    Its cluster is None if no log has it. Raises InvalidInput.
    """
    own, theirs = _split(options or {}, format)
    chosen = options_of(ReplayOptions, own, _FLAG)
    planning = options_of(PlanningOptions, own, _FLAG)
    named = [str(path) for path in paths]
    logs = read_logs(named, format, theirs, limits)
    return replayed(logs, chosen, planning, source=", ".join(named))


def _split(given: Mapping[str, object], name: str) -> tuple[dict[str, object], dict[str, object]]:
    """Our options, and those of the formats; some are of both."""
    ours = settings_in(ReplayOptions) | settings_in(PlanningOptions)
    theirs = option_settings(name)
    for key in given:
        if key not in ours and key not in theirs and not (key == RULE and rules_in(given)):
            raise InvalidInput(
                f"{key[:80]!r} is not an option here",
                where=_FLAG,
                hint=suggestion(key, (*ours, *theirs)),
            )
    return (
        {key: value for key, value in given.items() if key in ours},
        {key: value for key, value in given.items() if key in theirs or key == RULE},
    )


def replayed(
    logs: Iterable[LogRead],
    options: ReplayOptions,
    planning: PlanningOptions = NOTHING_PLANNED,
    *,
    source: str,
) -> Workload:
    """Do what `workload_from_logs` does for logs that were read. source: their name in messages."""
    notes: list[str] = []
    given: list[Job] = []
    runs: list[PastRun] = []
    clusters: list[Cluster] = []
    scheduler: Mapping[str, object] = {}
    failed = 0
    for log in logs:
        failed += sum(not run.succeeded for run in log.runs)
        notes += _notes_of(log)
        if log.workload is None or not log.workload.jobs:  # a cluster at most
            runs += [run for run in log.runs if run.phases]
        if log.workload is not None:
            given += log.workload.jobs
            scheduler = scheduler or log.workload.scheduler
            if log.workload.cluster is not None:
                # A log without jobs states the cluster; others may have guessed it.
                place = len(clusters) if log.workload.jobs else 0
                clusters.insert(place, log.workload.cluster)
    recorded = [*(None for _ in given), *(_recorded(run) for run in runs)]
    named = zip(uniquely_named([*given, *_jobs(runs, options)]), recorded, strict=True)
    wanted = _wanted(list(named), options, notes)
    jobs = [job for job, _ in wanted]
    if not jobs and not clusters:
        why = f" ({notes[-1]})" if notes else ""
        if failed:
            why = f" ({failed} run{'s' if failed > 1 else ''} failed)"
        what = f"no job in it can be run again{why}"
        raise InvalidInput(what, where=source, hint="give logs of jobs that ended well")
    cluster, chosen = cluster_of(
        runs, jobs, clusters, options.map_slots, options.reduce_slots, options.containers
    )
    jobs = _fitting(jobs, cluster, notes)
    classes = classes_of(runs, planning)
    own = [*_own_notes(runs, options), *about_classes(runs, classes, planning)]
    return Workload(
        cluster=cluster,
        jobs=tuple(jobs),
        pools=tuple(_pools(options.weights, jobs)),
        recorded={job.job_id: one for job, one in wanted if one is not None},
        vm=planning.vm,
        prices=planning.prices,
        limits=planning.limits,
        classes=classes,
        capacity_prices=planning.capacity_prices,
        scheduler=scheduler,
        source=source,
        notes=tuple(_few([*chosen, *own, *notes])),
    )


def _wanted(jobs: list[Replayed], options: ReplayOptions, notes: list[str]) -> list[Replayed]:
    """The jobs that were asked for; how many others there are is noted."""
    if options.shape == "all":
        return jobs
    kept = [one for one in jobs if one[0].is_map_reduce and len(one[0].phases) > 1]
    if len(kept) < len(jobs):
        notes.append(f"shape = map-reduce: {len(jobs) - len(kept)} of {len(jobs)} are left out.")
    return kept


def _fitting(jobs: list[Job], cluster: Cluster | None, notes: list[str]) -> list[Job]:
    """The jobs that can start: logs also list some that asked for more than the machine has."""
    slots = cluster.slots(SlotKind.CONTAINER) if cluster is not None else 0
    large = [job for job in jobs if job.gang > slots > 0]
    if not large or len(large) == len(jobs):
        return jobs
    first = large[0]
    notes.insert(
        0,
        f"Left out for more slots than the {slots} of the cluster: {len(large)} of {len(jobs)},"
        f" such as job {first.job_id}, which takes {first.gang} at once.",
    )
    return [job for job in jobs if job.gang <= slots]


def _notes_of(log: LogRead) -> list[str]:
    """Return what the log says of itself, and how much of it was skipped."""
    notes = list(log.notes)
    if log.workload is None or not log.workload.jobs:
        notes += [note for run in log.runs for note in run.notes]
    if log.skipped_count:
        first = log.skipped[0]
        place = f"line {first.line}: " if first.line else ""
        more = f" ({log.skipped_count} skipped in all)" if log.skipped_count > 1 else ""
        notes.append(f"Skipped {log.path}: {place}{first.why}{more}")
    return notes


def _own_notes(runs: Sequence[PastRun], options: ReplayOptions) -> Iterator[str]:
    if any(run.submitted_at_s is None for run in runs):
        yield "Jobs without a submission time in their log are submitted at 0 s."
    phases = [phase for run in runs for phase in run.phases]
    if any(len(phase.timeline) != phase.tasks for phase in phases):
        yield "Where a log does not list single tasks, each task has the average length."
    if any(_shortest_s(phase) < options.least_s for phase in phases):
        yield f"least_s = {options.least_s:g}: shorter tasks are made so long."
    if any(run.source == "spark" for run in runs):
        shared = [run for run in runs if options.has_containers(run)]
        yield _ABOUT_SHARED if shared else _ABOUT_TYPED
        if len(shared) > 1:
            yield _ABOUT_EXECUTORS
    if any(run.source in _HADOOP and options.driver_s(run) for run in runs):
        yield _ABOUT_HADOOP
    if any(len(run.phases) > 2 for run in runs):  # noqa: PLR2004  # maps and reduces follow from data
        before = "that had finished before them in the log"
        awaited = before if options.order == "seen" else "whose output they read"
        yield f"Stages start after every stage {awaited} (order={options.order})."


def _shortest_s(phase: PastPhase) -> float:
    return min((task.length_s for task in phase.timeline), default=phase.avg_s)


def _few(notes: Sequence[str]) -> list[str]:
    """Each once, and not too many."""
    different = list(dict.fromkeys(notes))
    if len(different) <= NOTES_MAX:
        return different
    return [*different[:NOTES_MAX], f"And {len(different) - NOTES_MAX} more."]


def _pools(weights: str, jobs: Iterable[Job]) -> Iterator[Pool]:
    """The queues with a weight of their own. Raises InvalidInput."""
    known = {str(job.pool): False for job in jobs}  # whether it has been given a weight
    for part in filter(None, weights.split(",")):
        name, _, text = map(str.strip, part.rpartition("="))
        weight = as_number(text)
        if weight is None or not 0 < weight < math.inf:
            raise InvalidInput(
                f"{part[:80]!r} is not a weight",
                where=f"{_FLAG} weights",
                hint="give queues and numbers above 0, as in etl=2,ads=1",
            )
        if known.get(name, True):
            is_twice = name in known
            raise InvalidInput(
                f"{name[:80]!r} is given twice"
                if is_twice
                else f"no job in the logs is in the queue {name[:80]!r}",
                where=f"{_FLAG} weights",
                hint="give one weight for each queue" if is_twice else suggestion(name, known),
            )
        known[name] = True
        yield Pool(pool_id=PoolId(name), weight=float(weight))


# --- jobs -----------------------------------------------------------------------------------------


def _jobs(runs: Sequence[PastRun], options: ReplayOptions) -> list[Job]:
    began_s = min((run.submitted_at_s for run in runs if run.submitted_at_s is not None), default=0)
    return [_job(run, began_s, options) for run in runs]


def _job(run: PastRun, began_s: float, options: ReplayOptions) -> Job:
    name = printable(run.run_id)
    at_s = 0.0 if run.submitted_at_s is None else run.submitted_at_s - began_s
    has_containers = options.has_containers(run)
    ordered = by_stage_number if has_containers else in_order
    phases = ordered(run.phases, is_seen=options.order == "seen")
    if has_containers:
        phases = on_slots(phases, slots_of(run)[SlotKind.CONTAINER])
    kinds = dict.fromkeys(_KINDS, SlotKind.CONTAINER) if has_containers else _KINDS
    names: set[str] = set()
    return Job(
        job_id=JobId(name),
        pool=PoolId(printable(run.queue) if run.queue else name),
        phases=tuple(
            _phase(phase, _barrier_s(phase, phases), names, kinds, options) for phase in phases
        ),
        submitted_at_s=at_s,
        driver_s=options.driver_s(run),
        map_output=None if has_containers else _map_output(run),
    )


def _recorded(run: PastRun) -> RecordedJob:
    is_listed = all(len(phase.timeline) == phase.tasks for phase in run.phases)
    return RecordedJob(
        recorded_s=run.elapsed_s,
        slots=slots_of(run) if is_listed else {},
        outside_s=neat(outside_s(run)),
        profile=printable(run.profile),
    )


def _barrier_s(phase: PastPhase, phases: Sequence[PastPhase]) -> float:
    """When all that the phase reads had ended: a reduce that starts earlier waits until then."""
    before = (task.finished_at_s for at in phase.after for task in phases[at].timeline)
    return max(before, default=0.0)


def _phase(
    phase: PastPhase,
    barrier_s: float,
    names: set[str],
    kinds: Mapping[str, SlotKind],
    options: ReplayOptions,
) -> Phase:
    name = printable(phase.name.partition(":")[0])[:_NAME_CHARACTERS_MAX]
    while name in names:
        name = f"{name}'"
    names.add(name)
    fetch, lengths = _lengths(phase, barrier_s, options.least_s)
    return Phase(
        name=name,
        kind=kinds.get(phase.kind, SlotKind.MAP),
        tasks=phase.tasks,
        lengths=lengths,
        fetch=fetch,
        after=phase.after,
    )


def _lengths(
    phase: PastPhase, barrier_s: float, least_s: float
) -> tuple[TaskLengths | None, TaskLengths]:
    """The length of fetching, if the log has it, and of the rest, both after the barrier."""
    tasks = phase.timeline
    if len(tasks) != phase.tasks:
        avg_s = max(phase.avg_s, least_s)
        return None, ConstantLengths(avg_s, max(phase.max_s, avg_s))
    if all(task.fetched_at_s is None for task in tasks):
        return None, ListedLengths(
            tuple(
                max(neat(task.finished_at_s - max(task.started_at_s, barrier_s)), least_s)
                for task in tasks
            )
        )
    parts = [_parts_s(task, barrier_s, least_s) for task in tasks]
    fetch_s, work_s = zip(*parts, strict=True)
    return ListedLengths(fetch_s), ListedLengths(work_s)


def _parts_s(task: PastTask, barrier_s: float, least_s: float) -> tuple[float, float]:
    """Until a task had its input, and from then on."""
    began_s = max(task.started_at_s, barrier_s)
    fetched_at_s = began_s if task.fetched_at_s is None else max(task.fetched_at_s, began_s)
    return (
        max(neat(fetched_at_s - began_s), least_s),
        max(neat(task.finished_at_s - fetched_at_s), least_s),
    )


def _map_output(run: PastRun) -> MapOutput | None:
    """The map output, if the log has both bytes and records."""
    maps = [phase for phase in run.phases if phase.kind == "map"]
    handed_on = sum(phase.shuffle_write_bytes for phase in maps)
    records = sum(phase.output_records for phase in maps)
    return MapOutput(bytes=handed_on, records=records) if handed_on and records else None
