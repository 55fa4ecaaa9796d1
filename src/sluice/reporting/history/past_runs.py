"""The jobs of a real run as past runs, for the profile store.

They have the same fields as runs from any log. Map output that reduces fetch counts as shuffle, not
as output or input. So the inputs of all phases together are what the job read.
"""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from sluice.core.entries import Attempt, JobEntry, PhaseEntry
from sluice.core.record.early_starts import works_from_s
from sluice.core.transitions import AttemptState, JobState
from sluice.estimate.phase_measure import TaskMeasure, phase_measure
from sluice.ingest.logs.profile_names import undated
from sluice.model.errors import SluiceError
from sluice.model.history import DEADLINE, ENGINE, PastPhase, PastRun, PastTask
from sluice.model.ids import JobId
from sluice.model.job import HIDDEN, Job, RunSpec
from sluice.model.slot_kind import SlotKind

SOURCE = "sluice"
WORK = "work"  # key of the configuration: a digest of the commands
_COMMANDS = ("mapper", "combiner", "reducer")
_KINDS = ("map", "reduce")
_ANY = SlotKind.CONTAINER.value


@dataclass(frozen=True, slots=True)
class OwnNodes:
    """Nodes that a job had to itself: their slots by kind of phase, and since when (seconds)."""

    slots: Mapping[str, int]
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Facts that all jobs of a run share.

    started_at_s: wall clock, seconds since 1970.  slots: of the cluster, by kind of phase.
    own: of jobs that had nodes to themselves, which count instead.
    """

    run_id: str
    started_at_s: float
    engine: str
    machine_type: str | None
    slots: Mapping[str, int]
    own: Mapping[JobId, OwnNodes] = field(default_factory=dict)


def profile_name(job: Job) -> str:
    """The profile that the runs of a job belong to: the named one, or the job's own.

    The job of another day is the same job, so a date in its id is not part of the name.
    """
    return undated(str(job.job_id)) if job.profile is None else job.profile


def work_digest(spec: RunSpec) -> str:
    """A digest of the commands, without their input and output.

    The names of environment variables are part of it. Their values are not: they may be secrets,
    and even a digest would let a guess be checked.
    """
    names = tuple((name, HIDDEN) for name, _ in spec.env)
    stages = tuple(replace(one, input=()) for one in spec.stages)
    fields = asdict(replace(spec, input=(), output="", env=names, stages=stages))
    if fields["inherit_env"]:
        del fields["inherit_env"]  # older releases did not know it, and their digests still count
    if not stages:
        del fields["stages"]  # as well
    text = json.dumps(fields, sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def past_runs(
    entries: Iterable[JobEntry], attempts: Iterable[Attempt], facts: RunFacts
) -> list[PastRun]:
    """The ended jobs with at least one attempt, in the order of submission.

    attempts: the ended ones of all jobs. A failed job has the phases that ended well.
    """
    by_phase: dict[PhaseEntry, list[Attempt]] = {}
    for attempt in attempts:
        by_phase.setdefault(attempt.phase, []).append(attempt)
    return [
        _past_run(entry, by_phase, facts)
        for entry in entries
        if entry.has_ended and any(phase in by_phase for phase in entry.phases)
    ]


def _past_run(
    entry: JobEntry, by_phase: Mapping[PhaseEntry, list[Attempt]], facts: RunFacts
) -> PastRun:
    submitted_at_s = entry.submitted_at_s
    own = facts.own.get(entry.job_id, OwnNodes(facts.slots, submitted_at_s))
    profile = profile_name(entry.job)
    kept = [phase for phase in entry.phases if any(_done(by_phase.get(phase, [])))]
    phases = tuple(_past_phase(phase, by_phase[phase], kept, own.since_s) for phase in kept)
    return PastRun(
        run_id=f"{facts.run_id}/{entry.job_id}",
        profile=profile,
        name=None if profile == str(entry.job_id) else str(entry.job_id),
        source=SOURCE,
        phases=phases,
        succeeded=entry.state is JobState.DONE,
        submitted_at_s=facts.started_at_s + own.since_s,
        elapsed_s=max(0.0, entry.finished_at_s - own.since_s),
        # A job without a named pool has its own pool, of the same name.
        queue=None if entry.job.pool == str(entry.job_id) else str(entry.job.pool),
        machine_type=facts.machine_type,
        slots=_slots_of(phases, own.slots),
        configuration={ENGINE: facts.engine, **_configuration(entry.job), **_deadline(entry.job)},
    )


def _slots_of(phases: Sequence[PastPhase], slots: Mapping[str, int]) -> dict[str, int]:
    """The slots that a job had: those of its kinds, or all of them for phases of a graph."""
    if not any(phase.kind == _ANY for phase in phases):
        return {kind: slots[kind] for kind in _KINDS if kind in slots}
    return {_ANY: slots.get(_ANY) or sum(slots.values())}


def _deadline(job: Job) -> dict[str, str]:
    if job.own_deadline_at_s is None:
        return {}
    return {DEADLINE: f"{job.own_deadline_at_s - job.submitted_at_s:.6g}"}


def _done(attempts: Iterable[Attempt]) -> Iterator[Attempt]:
    return (attempt for attempt in attempts if attempt.state is AttemptState.DONE)


def _past_phase(
    entry: PhaseEntry, attempts: list[Attempt], kept: list[PhaseEntry], since_s: float
) -> PastPhase:
    done = sorted(_done(attempts), key=lambda attempt: (attempt.key.task, attempt.key.attempt))
    measure = phase_measure(
        TaskMeasure(max(0.0, a.finished_at_s - works_from_s(a)), a.usage, a.launch.tasks)
        for a in done
    )
    assert measure is not None, "a kept phase has a task that ended well"
    run = entry.job.job.run
    is_typed = run is None or not run.stages
    fetched_bytes, written_bytes = measure.shuffle_bytes or 0, measure.output_bytes or 0
    return PastPhase(
        name=entry.name,
        # What it is, also where it ran in a container; a phase of a graph is of no other kind.
        kind=entry.name if is_typed and entry.name in _KINDS else entry.kind.value,
        tasks=measure.tasks,
        avg_s=measure.avg_s,
        max_s=measure.max_s,
        failed=sum(a.launch.tasks for a in attempts if a.state is AttemptState.FAILED),
        input_bytes=max(0, (measure.input_bytes or 0) - fetched_bytes),
        output_bytes=0 if entry.needed_by else written_bytes,
        shuffle_read_bytes=fetched_bytes,
        shuffle_write_bytes=written_bytes if entry.needed_by else 0,
        input_records=measure.input_records or 0,
        output_records=measure.output_records or 0,
        cpu_s=measure.cpu_s,
        rss_bytes_max=measure.rss_bytes_max,
        timeline=tuple(task for attempt in done for task in _past_tasks(attempt, since_s)),
        after=tuple(kept.index(each) for each in kept if each.index in entry.phase.after),
    )


def _past_tasks(attempt: Attempt, began_at_s: float) -> list[PastTask]:
    """The tasks of an attempt: one, in a real run. began_at_s: when the run of the job began."""
    fetched_at_s = attempt.shuffled_at_s
    read_bytes = 0 if attempt.usage is None else attempt.usage.input_bytes
    task = PastTask(
        started_at_s=works_from_s(attempt) - began_at_s,
        finished_at_s=max(attempt.started_at_s, attempt.finished_at_s) - began_at_s,
        fetched_at_s=None if math.isnan(fetched_at_s) else fetched_at_s - began_at_s,
        node=str(attempt.node.node_id),
        input_bytes=max(0, read_bytes),
        input_records=0 if attempt.usage is None else max(0, attempt.usage.input_records),
    )
    return [task] * attempt.launch.tasks


def _configuration(job: Job) -> dict[str, str]:
    spec = job.run
    if spec is None:
        return {}
    commands = {name: command for name in _COMMANDS if (command := getattr(spec, name)) is not None}
    python = {} if spec.python is None else {"python": spec.python}
    return {
        WORK: work_digest(spec),
        "split_bytes": str(spec.split_bytes),
        **{name: shlex.join(command) for name, command in commands.items()},
        **python,
    }


def unreadable_note(error: SluiceError) -> str:
    """The note for a command that goes on without past runs."""
    return f"past runs are not used, because the profile store cannot be read: {error}"
