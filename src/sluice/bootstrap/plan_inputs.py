"""What planning may know of jobs that really run: how they are cut, how long that took before, and
how far the prediction of the last run was off.

A job's tasks are laid out as `run` would lay them out, and nothing is written. Its lengths come
from its former runs. The last run is then foretold once more, from what was known before it and on
the slots that it really had, and held against what it took.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sluice.bootstrap.profiles import RUNS_RECALLED, OnMessage, same_work, with_past_lengths
from sluice.engines.mapreduce.layout import prepare
from sluice.estimate.bounds import planned_job
from sluice.estimate.past_phases import with_lengths_from_runs
from sluice.model.errors import InvalidInput, SluiceError
from sluice.model.history import PastPhase, PastRun
from sluice.model.job import Job, Phase
from sluice.model.workload import Workload
from sluice.reporting.history.past_runs import profile_name

if TYPE_CHECKING:
    from sluice.store.profiles import Profiles

_NO_OUTPUT = ".not-yet-run"  # planning again after a run is no reason to complain about its output


@dataclass(frozen=True, slots=True, kw_only=True)
class LastPredictionError:
    """The last run of a job: what would have been foretold of it, and what it took, seconds."""

    job_id: str
    predicted_s: float
    measured_s: float

    @property
    def error(self) -> float:
        """How far the prediction was off, as a share of what was measured; above 0 is too high."""
        return self.predicted_s / self.measured_s - 1


def laid_out(workload: Workload, on_message: OnMessage) -> Workload:
    """The workload with all tasks of its real jobs, and with the lengths that past runs measured.

    on_message: called with a note if the profile store cannot be read.
    Raises InvalidInput where a job's input or commands are not there.
    """
    jobs = [job if job.run is None else _laid_out(job) for job in workload.jobs]
    if all(job.run is None for job in jobs):
        return workload
    return replace(workload, jobs=tuple(with_past_lengths(jobs, on_message)))


def _laid_out(job: Job) -> Job:
    run = job.run
    assert run is not None, "it was looked at"
    prepared = prepare(replace(job, run=replace(run, output=run.output + _NO_OUTPUT))).job
    assert prepared.run is not None, "it has one still"
    # What the file says of a phase is kept: only what it leaves open is laid out.
    known = {phase.name: phase for phase in job.phases if phase.lengths is not None}
    phases = tuple(
        replace(known[phase.name], tasks=phase.tasks) if phase.name in known else phase
        for phase in prepared.phases
    )
    return replace(prepared, phases=phases, run=replace(prepared.run, output=run.output))


def last_prediction_error(
    workload: Workload, on_message: OnMessage
) -> tuple[LastPredictionError, ...]:
    """For each job of which two runs or more are known, how far the last prediction was off.

    workload: laid out. A job that gives its lengths itself needs one run only.
    """
    wanted = [job for job in workload.jobs if job.run is not None or job.profile is not None]
    if not wanted:
        return ()
    try:
        from sluice.store.profiles import Profiles

        with Profiles.open() as profiles:
            found = [_hindsight(job, profiles) for job in wanted]
    except SluiceError as error:
        on_message(f"predictions are not looked back at, for the store cannot be read: {error}")
        return ()
    return tuple(one for one in found if one is not None)


def _hindsight(job: Job, profiles: Profiles) -> LastPredictionError | None:
    runs = profiles.newest(profile_name(job), RUNS_RECALLED)
    if job.profile is None:
        runs = same_work(job, runs)
    if len(runs) <= 1:
        return None
    last, before = runs[0], runs[1:]
    measured_s = _took_s(last)
    try:
        phases = with_lengths_from_runs(_open(job.phases, last), before)
    except InvalidInput:
        return None  # its runs had other phases
    if not measured_s:
        return None
    slots = [_slots(last, phase) for phase in last.phases]
    predicted_s = planned_job(zip(phases, slots, strict=True)).mean_s
    return LastPredictionError(
        job_id=str(job.job_id), predicted_s=predicted_s, measured_s=measured_s
    )


def _open(phases: Sequence[Phase], run: PastRun) -> Sequence[Phase]:
    """The phases with as many tasks as the run had, and without lengths."""
    known = {phase.name: phase.tasks for phase in run.phases}
    if [phase.name for phase in phases] != list(known):
        raise InvalidInput("the run had other phases", where=run.run_id, hint="leave it out")
    return [replace(phase, tasks=known[phase.name], lengths=None, fetch=None) for phase in phases]


def _took_s(run: PastRun) -> float | None:
    """From its first task to its last, if the run has a timeline; without waiting for slots."""
    tasks = [task for phase in run.phases for task in phase.timeline]
    if not tasks:
        return run.elapsed_s
    return max(task.finished_at_s for task in tasks) - min(task.started_at_s for task in tasks)


def _slots(run: PastRun, phase: PastPhase) -> int:
    """How many of its tasks ran side by side; without a timeline as many as the cluster had."""
    if not phase.timeline:
        return max(1, run.slots.get(phase.kind, phase.tasks))
    most = busy = 0
    for _, change in sorted(_changes(phase)):
        busy += change
        most = max(most, busy)
    return most


def _changes(phase: PastPhase) -> Iterator[tuple[float, int]]:
    """An end comes before a begin at the same instant."""
    for task in phase.timeline:
        yield task.started_at_s, 1
        yield task.finished_at_s, -1
