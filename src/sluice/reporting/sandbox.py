"""What runs in the sandbox found: the document, the frame and the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol

from sluice.estimate.demand import NodeCapacity, SandboxProfile
from sluice.estimate.run_setting import NotEnoughData
from sluice.model.history import PastRun
from sluice.model.resources import RESOURCE_NAMES
from sluice.reporting.extras import required
from sluice.reporting.formatting import NOTHING, duration, shortened
from sluice.reporting.table_style import plain_table, plain_text

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import RenderableType

_JOB_WIDTH = 20
_SHORT = {"cpu": "cpu", "io": "io", "memory": "mem", "network": "net"}


class TrialLike(Protocol):
    """One run of a job: its slots, what was measured, and why it failed if it did."""

    @property
    def slots(self) -> int: ...
    @property
    def run(self) -> PastRun | None: ...
    @property
    def failure(self) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTrials:
    """All runs of one job, and what they tell together. name: of its profile."""

    job_id: str
    name: str
    trials: tuple[TrialLike, ...]
    profile: SandboxProfile | NotEnoughData

    @property
    def failure(self) -> str | None:
        """Why the job failed; None where it ended well each time."""
        return next((trial.failure for trial in self.trials if trial.failure is not None), None)

    def document(self) -> dict[str, object]:
        """The job in the JSON document; `demand` as a workload file takes it."""
        profile = self.profile if isinstance(self.profile, SandboxProfile) else None
        demand = profile and {phase: asdict(task) for phase, task in profile.demand.items()}
        return {
            "profile": self.name,
            "best_slots": profile.best.slots if profile else None,
            "best_run": profile.best.run_id if profile else None,
            "demand": demand,
            "failure": self.failure,
            "runs": [_trial(trial) for trial in self.trials],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxReport:
    """What `profile-run` measured, in the order of the jobs. capacity: of this machine."""

    jobs: tuple[JobTrials, ...]
    capacity: NodeCapacity

    @property
    def is_whole(self) -> bool:
        """Whether every job ended well each time."""
        return all(job.failure is None for job in self.jobs)

    def document(self) -> dict[str, object]:
        """The one JSON document of `profile-run`."""
        return {
            "machine": asdict(self.capacity),
            "jobs": {job.job_id: job.document() for job in self.jobs},
        }

    def to_frame(self) -> DataFrame:
        """One row for each run. Raises MissingExtra without pandas."""
        pandas = required("pandas", extra="frame", what="a data frame")
        rows = [
            {"job": job.job_id, "profile": job.name, **_flat(trial)}
            for job in self.jobs
            for trial in job.trials
        ]
        frame: DataFrame = pandas.DataFrame(rows)
        return frame


def _flat(trial: TrialLike) -> dict[str, object]:
    return {
        "id": trial.run.run_id if trial.run else None,
        "slots": trial.slots,
        "elapsed_s": trial.run.elapsed_s if trial.run else None,
        "failure": trial.failure,
    }


def _trial(trial: TrialLike) -> dict[str, object]:
    phases = trial.run.phases if trial.run else ()
    told = ("name", "tasks", "avg_s", "max_s", "cpu_s", "rss_bytes_max")
    return {
        **_flat(trial),
        "phases": [{name: getattr(phase, name) for name in told} for phase in phases],
    }


def views(report: SandboxReport) -> Iterator[RenderableType]:
    """A row for each run, the best one of each job marked; then what a task demands there."""
    table = plain_table("* ended first")
    table.add_column("job", no_wrap=True)
    for head in ("slots", "took", "tasks", "average task", "longest"):
        table.add_column(head, justify="right", no_wrap=True)
    for job in report.jobs:
        for trial in job.trials:
            table.add_row(*(plain_text(cell) for cell in _cells(job, trial)))
    yield table
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
    told = [f"{phase} {_amounts(demand.amounts())}" for phase, demand in job.profile.demand.items()]
    return f"{job.job_id}: a task takes of this machine: {'; '.join(told)}"


def _amounts(amounts: tuple[float, ...]) -> str:
    told = zip(RESOURCE_NAMES, amounts, strict=True)
    known = [f"{_SHORT[name]} {amount:.3g} %" for name, amount in told if amount > 0]
    return ", ".join(known) or "nothing that was measured"
