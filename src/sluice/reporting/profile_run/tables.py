"""The table of `profile-run`: a row for each run, with the best run of each job marked."""

from __future__ import annotations

from collections.abc import Iterator

from sluice.estimate.demand import SandboxProfile
from sluice.estimate.run_setting import NotEnoughData
from sluice.model.resources import RESOURCE_NAMES
from sluice.reporting.formatting import NOTHING, duration, shortened
from sluice.reporting.profile_run.result import JobTrials, SandboxReport, TrialLike
from sluice.reporting.table_style import RenderableType, plain_table, plain_text

_JOB_WIDTH = 20
_SHORT = {"cpu": "cpu", "io": "io", "memory": "mem", "network": "net"}


def views(report: SandboxReport) -> Iterator[RenderableType]:
    """A row for each run, then the resources that a task of each job needs."""
    yield plain_table(
        "* fastest run of the job",
        names=("job",),
        numbers=("slots", "elapsed", "tasks", "mean task", "longest"),
        rows=(_cells(job, trial) for job in report.jobs for trial in job.trials),
    )
    for job in report.jobs:
        yield plain_text(_remark(job))


def _cells(job: JobTrials, trial: TrialLike) -> list[str]:
    name = shortened(job.job_id, _JOB_WIDTH)
    if trial.failure is not None or trial.run is None:
        return [name, str(trial.slots), "failed", NOTHING, NOTHING, NOTHING]
    is_best = (
        isinstance(job.profile, SandboxProfile) and trial.run.run_id == job.profile.best.run_id
    )
    phases = trial.run.phases
    return [
        name,
        str(trial.slots),
        duration(trial.run.elapsed_s) + (" *" if is_best else "  "),
        " + ".join(str(phase.tasks) for phase in phases),
        ", ".join(duration(phase.avg_s) for phase in phases),
        ", ".join(duration(phase.max_s) for phase in phases),
    ]


def _remark(job: JobTrials) -> str:
    if job.failure is not None:
        return f"{job.job_id} failed: {job.failure}"
    if isinstance(job.profile, NotEnoughData):
        return f"{job.job_id}: {job.profile}"
    phases = job.profile.demand.items()
    demands = [f"{phase} {_amounts(demand.amounts())}" for phase, demand in phases]
    return f"{job.job_id}: share of this machine that a task uses: {'; '.join(demands)}"


def _amounts(amounts: tuple[float, ...]) -> str:
    named = zip(RESOURCE_NAMES, amounts, strict=True)
    known = [f"{_SHORT[name]} {amount:.3g} %" for name, amount in named if amount > 0]
    return ", ".join(known) or "nothing measurable"
