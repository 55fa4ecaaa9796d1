"""Explain why a finished run took as long as it did, and what would make it shorter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from sluice.api.diagnosed_run import diagnosed
from sluice.api.explain import why
from sluice.api.options.calls import called_with
from sluice.api.options.diagnosis import DiagnosisOptions
from sluice.bootstrap.history.profiles import nearest_profile
from sluice.ingest.logs.formats import read_logs
from sluice.ingest.logs.options import read_options
from sluice.ingest.logs.replay import REPLAY_LIMITS, workload_from_logs
from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun
from sluice.reporting.explain.diagnosis import Diagnosis, QueuedJob
from sluice.store.profiles import Profiles

_NAMED_MAX = 8
_WORKLOAD_SUFFIXES = (".yaml", ".yml")  # no log has them


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
    run = _run(given)
    return replace(diagnosed(run), queued=_in_queues(given, run))


def _in_queues(given: ExplainCall, run: PastRun) -> QueuedJob | None:
    """What holds the job back in the queues of a configuration; None without one.

    The whole log is replayed in them: whose limit is reached depends on the other jobs.
    """
    if given.config is None:
        return None
    options = read_options(given.settings, "--set")
    workload = workload_from_logs([given.subject], given.format, options)
    answer = why(_bare(run), source=workload, config=given.config, mapping=given.mapping or {})
    return QueuedJob(config=Path(str(given.config)).name, ended=answer, waited=answer.waited_for)


# --- which run ------------------------------------------------------------------------------------


def _run(given: ExplainCall) -> PastRun:
    subject, job = given.subject, given.job
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
            if job in (run.run_id, _job_of(run), _bare(run), run.profile, run.name)
        ]
        if found:
            return found[-1]
    elif len(runs) == 1:
        return runs[0]
    bare = Counter(map(_bare, runs))
    names = list(
        dict.fromkeys(_bare(run) if bare[_bare(run)] == 1 else _job_of(run) for run in runs)
    )
    more = ", ..." if len(names) > _NAMED_MAX else ""
    what = f"it has {len(names)} jobs" if job is None else f"it has no job {job!r}"
    raise InvalidInput(
        what, where=subject, hint=f"choose one by --job: {', '.join(names[:_NAMED_MAX])}{more}"
    )


def _job_of(run: PastRun) -> str:
    """The run's job in its log."""
    return run.run_id.rpartition("/")[2]


def _bare(run: PastRun) -> str:
    """The job's number without its instant, as Slurm, which uses numbers again, prints it."""
    return _job_of(run).partition("@")[0]
