"""The facts that planning may know of jobs that really run: how they are cut, how long that took
before, and how far the prediction of the last run was off.

A job's tasks are laid out as `run` would lay them out, and nothing is written. Its lengths come
from its former runs. The estimator then predicts the last run from the runs before it, on the slots
that it really had. The prediction is compared with the run's time from submission to end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sluice.bootstrap.forecasts.job_forecasts import ProfileForecasts
from sluice.bootstrap.history.profile_past import RUNS_RECALLED
from sluice.bootstrap.history.profiles import OnMessage, is_open, same_work, with_past_lengths
from sluice.engines.mapreduce.inputs import input_files
from sluice.engines.mapreduce.layout import prepare
from sluice.engines.mapreduce.made_inputs import made_inputs
from sluice.estimate.forecast import Forecaster
from sluice.estimate.level_changes import current_runs
from sluice.estimate.run_setting import NotEnoughData, timed_runs
from sluice.model.errors import InvalidInput, SluiceError
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.workload import Workload
from sluice.reporting.history.past_runs import profile_name

if TYPE_CHECKING:
    from sluice.store.profiles import Profiles

_NO_OUTPUT = ".not-yet-run"  # planning again after a run is no reason to complain about its output


@dataclass(frozen=True, slots=True, kw_only=True)
class LastPredictionError:
    """The last run of a job: what would have been predicted, and what it took, seconds.

    Both count from submission to end.
    """

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
    if all(job.run is None for job in workload.jobs):
        return workload
    jobs = _all_laid_out(workload.jobs, lambda job: job.run is not None)
    return replace(workload, jobs=tuple(with_past_lengths(jobs, on_message)))


def laid_out_where_open(workload: Workload, on_message: OnMessage) -> Workload:
    """Do what `laid_out` does, but a job that really runs and gives all its lengths stays as it is.

    Its input need not be there, then: it can be simulated anywhere.
    """
    jobs = _all_laid_out(workload.jobs, lambda job: job.run is not None and is_open(job))
    if jobs == list(workload.jobs):
        return workload
    return replace(workload, jobs=tuple(with_past_lengths(jobs, on_message)))


def _all_laid_out(jobs: Sequence[Job], is_wanted: Callable[[Job], bool]) -> list[Job]:
    """The jobs, those that are wanted as `run` would lay them out."""
    makers = made_inputs(jobs) if any(job.after for job in jobs) else {}
    found: dict[JobId, Job] = {}
    for job in jobs:
        made = {
            pattern: _part_files(found.get(maker))
            for pattern, maker in makers.get(job.job_id, {}).items()
            if not _is_there(job, pattern)
        }
        found[job.job_id] = _laid_out(job, made) if is_wanted(job) else job
    return list(found.values())


def _part_files(maker: Job | None) -> int:
    """So many part files a job is expected to make; 1 where it is not known yet."""
    return maker.phases[-1].tasks if maker is not None and maker.phases else 1


def _is_there(job: Job, pattern: str) -> bool:
    """Whether input that another job makes is there, because that job has run before."""
    assert job.run is not None, "it has input"
    try:
        input_files(job.run.folder, [pattern], where=f"job {job.job_id!r}")
    except InvalidInput:
        return False
    return True


def _laid_out(job: Job, made: Mapping[str, int]) -> Job:
    """made: input that is not there, and the part files to expect of it."""
    run = job.run
    assert run is not None, "it was looked at"
    apart = replace(job, run=replace(run, output=run.output + _NO_OUTPUT))
    prepared = prepare(apart, made=made).job
    assert prepared.run is not None, "it has one still"
    # What the file says of a phase is kept: only what it leaves open is laid out. How input that
    # is not there will be cut, the file knows best.
    known = {phase.name: phase for phase in job.phases if phase.lengths is not None}
    phases = tuple(
        replace(known[phase.name], tasks=known[phase.name].tasks if made else phase.tasks)
        if phase.name in known
        else phase
        for phase in prepared.phases
    )
    return replace(prepared, phases=phases, run=replace(prepared.run, output=run.output))


def with_overheads(workload: Workload, given: Workload, forecasts: ProfileForecasts) -> Workload:
    """The workload with the overhead of each profile as the `driver_s` of its jobs.

    given: as the file has it. A job whose file gives phases or `driver_s` keeps them.
    """
    jobs = tuple(
        job
        if before.phases or before.driver_s
        else replace(job, driver_s=forecasts.overhead_s(str(job.job_id)))
        for job, before in zip(workload.jobs, given.jobs, strict=True)
    )
    return replace(workload, jobs=jobs)


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
            found = [_last_error(job, profiles) for job in wanted]
    except SluiceError as error:
        on_message(f"predictions are not looked back at, for the store cannot be read: {error}")
        return ()
    return tuple(one for one in found if one is not None)


def _last_error(job: Job, profiles: Profiles) -> LastPredictionError | None:
    runs = profiles.newest(profile_name(job), RUNS_RECALLED)
    if job.profile is None:
        runs = same_work(job, runs)
    if len(runs) <= 1:
        return None
    (last, *_), before = runs, runs[:0:-1]
    measured = timed_runs([last])
    if not measured:
        return None
    current, _ = current_runs({"": before})
    found = Forecaster(current).forecast("", measured[0].setting).prediction
    if isinstance(found, NotEnoughData):
        return None  # its runs had other phases
    return LastPredictionError(
        job_id=str(job.job_id), predicted_s=found.elapsed_s, measured_s=measured[0].elapsed_s
    )
