"""Explain why a finished run took as long as it did, and what would make it shorter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from sluice.api.options.calls import called_with
from sluice.api.options.diagnosis import DiagnosisOptions
from sluice.api.simulate import simulate
from sluice.bootstrap.diagnosis.run_advice import RunReplay, most_valuable
from sluice.bootstrap.history.profiles import nearest_profile
from sluice.bootstrap.history.run_replay import Slots, replay_phases, replay_workload, scaled
from sluice.estimate.run_anatomy import run_anatomy
from sluice.ingest.logs.formats import read_logs
from sluice.ingest.logs.options import read_options
from sluice.ingest.logs.replay import REPLAY_LIMITS
from sluice.ingest.logs.slots_seen import slots_of
from sluice.model.errors import InvalidInput
from sluice.model.history import DEADLINE, PastPhase, PastRun
from sluice.reporting.explain.diagnosis import Diagnosis, WhatIf
from sluice.reporting.explain.map_spills import map_spills
from sluice.reporting.history.past_runs import SOURCE
from sluice.store.profiles import Profiles

FACTORS = (0.5, 1.0, 2.0, 4.0)
_NAMED_MAX = 8
_WORKLOAD_SUFFIXES = (".yaml", ".yml")  # no log has them

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True)
class ExplainCall(DiagnosisOptions):
    """Arguments of `explain`."""

    subject: str


@called_with(ExplainCall)
def explain(given: ExplainCall) -> Diagnosis:
    """Why a finished run took as long as it did.

    subject: a log file or folder; or the id of a run, or the name of an application, in the profile
    store (its newest run).
    job: which job, by id or name, where the subject has several.
    format, settings: for a log, as for `import_logs`.
    Raises InvalidInput if there is no such run, or its log does not list single tasks.
    """
    return diagnosed(_run(given))


def diagnosed(run: PastRun) -> Diagnosis:
    """The diagnosis of a run. Raises InvalidInput if its log does not list single tasks."""
    if not run.phases:
        raise InvalidInput(
            "no task of it ended well", where=f"run {run.run_id!r}", hint="explain another run"
        )
    slots = slots_of(run)
    anatomy = run_anatomy(run, sum(slots.values()))
    # Waiting for slots and the driver's work pass in the replay as well.
    outside_s = anatomy.waited_s + anatomy.driver_s

    def replayed_s(some: Slots, phases: Sequence[PastPhase]) -> float:
        workload = replay_workload(phases, some, outside_s, run.run_id)
        makespan_s = simulate(workload).makespan_s
        assert makespan_s is not None, "every task of a replay ends"
        return makespan_s

    phases = replay_phases(run)
    replay = RunReplay(
        run=run,
        slots=slots,
        anatomy=anatomy,
        phases=phases,
        seconds=replayed_s,
        base_s=replayed_s(slots, phases),
    )
    costs = [phase.costs for phase in run.phases if phase.costs is not None]
    return Diagnosis(
        run_id=run.run_id,
        profile=run.profile,
        source=run.source,
        slots=sum(slots.values()),
        failed_attempts=sum(phase.failed for phase in run.phases),
        anatomy=anatomy,
        replayed_s=replay.base_s,
        what_if=tuple(_what_if(replay)),
        advice=most_valuable(replay),
        deadline_s=_deadline_s(run),
        gc_s=_known_sum(one.gc_s for one in costs),
        spilled_bytes=_known_sum(one.spilled_bytes for one in costs),
        spilled_records=_known_sum(one.spilled_records for one in costs),
        map_spills=map_spills(run),
        remote_tasks=_known_sum(one.remote_tasks for one in costs),
        succeeded=run.succeeded,
        notes=run.notes,
    )


def _known_sum(values: Iterable[_Number | None]) -> _Number | None:
    """The sum of the values that a log holds; None if it holds none."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _deadline_s(run: PastRun) -> float | None:
    deadline = run.configuration.get(DEADLINE)
    # Another system may use the same configuration key for something else.
    return None if deadline is None or run.source != SOURCE else float(deadline)


def _what_if(replay: RunReplay) -> Iterator[WhatIf]:
    total = sum(replay.slots.values())
    for factor in FACTORS:
        some = scaled(replay.slots, factor)
        seconds = replay.base_s if factor == 1 else replay.seconds(some, replay.phases)
        actual = sum(some.values()) / total
        efficiency = replay.base_s / (actual * seconds) if seconds else 1.0
        yield WhatIf(
            slots_factor=factor, slots=sum(some.values()), s=seconds, efficiency=efficiency
        )


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
