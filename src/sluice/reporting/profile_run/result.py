"""The result of `profile-run`: runs of each job at several slot counts, and the best of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Protocol

from sluice.estimate.demand import NodeCapacity, SandboxProfile
from sluice.estimate.run_setting import NotEnoughData
from sluice.model.history import PastRun
from sluice.model.resources import RESOURCE_NAMES
from sluice.reporting.document_html import NotebookView
from sluice.reporting.extras import DataFrame, data_frame


class TrialLike(Protocol):
    """One run of a job: its slots, its measurements, and the failure if it failed."""

    @property
    def slots(self) -> int: ...
    @property
    def run(self) -> PastRun | None: ...
    @property
    def failure(self) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTrials:
    """All runs of one job, and the profile made from them. name: of the profile."""

    job_id: str
    name: str
    trials: tuple[TrialLike, ...]
    profile: SandboxProfile | NotEnoughData

    @property
    def failure(self) -> str | None:
        """Why the job failed; None if each run ended well."""
        return next((trial.failure for trial in self.trials if trial.failure is not None), None)

    def document(self) -> dict[str, object]:
        """The job in the JSON document, with `demand` as in a workload file."""
        profile = self.profile if isinstance(self.profile, SandboxProfile) else None
        demand = profile and {
            phase: {name: getattr(task, name) for name in RESOURCE_NAMES}
            for phase, task in profile.demand.items()
        }
        return {
            "profile": self.name,
            "best_slots": profile.best.slots if profile else None,
            "best_run": profile.best.run_id if profile else None,
            "demand": demand,
            "failure": self.failure,
            "runs": [_trial(trial) for trial in self.trials],
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SandboxReport(NotebookView):
    """All jobs in their order. capacity: of this machine."""

    jobs: tuple[JobTrials, ...]
    capacity: NodeCapacity

    @property
    def is_whole(self) -> bool:
        """Whether all runs of all jobs ended well."""
        return all(job.failure is None for job in self.jobs)

    def document(self) -> dict[str, object]:
        """The one JSON document of `profile-run`."""
        return {
            "machine": asdict(self.capacity),
            "jobs": {job.job_id: job.document() for job in self.jobs},
        }

    def to_frame(self) -> DataFrame:
        """One row for each run. Raises MissingExtra without pandas."""
        rows = [
            {"job": job.job_id, "profile": job.name, **_flat(trial)}
            for job in self.jobs
            for trial in job.trials
        ]
        return data_frame(rows)


def _flat(trial: TrialLike) -> dict[str, object]:
    return {
        "id": trial.run.run_id if trial.run else None,
        "slots": trial.slots,
        "elapsed_s": trial.run.elapsed_s if trial.run else None,
        "failure": trial.failure,
    }


def _trial(trial: TrialLike) -> dict[str, object]:
    phases = trial.run.phases if trial.run else ()
    names = ("name", "tasks", "avg_s", "max_s", "cpu_s", "rss_bytes_max")
    return {
        **_flat(trial),
        "phases": [{name: getattr(phase, name) for name in names} for phase in phases],
    }
