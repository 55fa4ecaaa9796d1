"""The finished run that `explain` is about: of a log, or of the profile store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sluice.api.options.diagnosis import DiagnosisOptions
from sluice.bootstrap.history.profiles import nearest_profile
from sluice.ingest.logs.formats import read_logs
from sluice.ingest.logs.options import read_options
from sluice.ingest.logs.replay import REPLAY_LIMITS
from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun
from sluice.store.profiles import Profiles

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
