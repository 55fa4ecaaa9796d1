"""The nights that a cluster is sized for: which runs count, and how a night is drawn."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from sluice.bootstrap.history.profiles import named_by_runs, no_profile
from sluice.estimate.level_changes import current_runs
from sluice.estimate.nights import (
    GAP_DAYS_MIN,
    NightJob,
    Nights,
    OneNight,
    after_last_gap,
    gaps_days,
    nights_of,
)
from sluice.ingest.logs.names import printable
from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun
from sluice.model.job import Job
from sluice.model.workload import Workload
from sluice.reporting.formatting import counted
from sluice.reporting.prediction.level_changes import change_text
from sluice.store.profiles import Profiles

_RUNS_READ = 50  # of each profile

NightDraw = Callable[[random.Random], Sequence[NightJob]]


def stored_runs(workload: Workload, store: str | None) -> tuple[Workload, list[PastRun]]:
    """The newest runs of the profiles that jobs name, and the workload that names them.

    A job that really ran and names no profile gets that of its own runs. Raises InvalidInput for an
    unknown profile.
    """
    if not workload.jobs:
        raise InvalidInput(
            "jobs is missing or empty", where=workload.source, hint="give at least one job"
        )
    if all(job.profile is None and job.run is None for job in workload.jobs):
        return workload, []
    runs = []
    with Profiles.existing(store) as profiles:
        workload = named_by_runs(workload, profiles)
        for name in dict.fromkeys(job.profile for job in workload.jobs if job.profile is not None):
            found = profiles.newest(name, _RUNS_READ)
            if not found:
                raise no_profile(name, profiles, workload.source)
            # The job may name a profile by one of its other names.
            runs += [replace(run, profile=name) for run in found[::-1]]
    return workload, runs


def usable_history(
    runs: Sequence[PastRun], cut_gaps_days: float | None
) -> tuple[list[PastRun], list[str]]:
    """The runs to draw from, at the present level of each profile; and notes on the others."""
    notes = []
    usable = [run for run in runs if run.succeeded and run.phases]
    if len(usable) < len(runs):
        left = counted(len(runs) - len(usable), "run")
        notes.append(f"{left} left out: failed, or without tasks")
    if cut_gaps_days is not None:
        recent = after_last_gap(usable, cut_gaps_days)
        if len(recent) < len(usable):
            left = counted(len(usable) - len(recent), "run")
            notes.append(f"{left} before the last gap ignored")
        usable = recent
    notes += [
        f"there is a gap of {days:.0f} days in the history; --cut-gaps-days {GAP_DAYS_MIN:g}"
        " leaves out the runs before it"
        for days in gaps_days(usable)
    ]
    by_profile: dict[str, list[PastRun]] = {}
    for run in sorted(usable, key=lambda run: run.submitted_at_s or 0.0):
        by_profile.setdefault(run.profile, []).append(run)
    current, changes = current_runs(by_profile)
    notes += [
        f"{printable(name)}: {change_text(change)}" for name, change in sorted(changes.items())
    ]
    # Runs of a trend are other values than those given.
    kept = {(name, run.run_id): run for name, each in current.items() for run in each}
    return [kept[key] for run in usable if (key := (run.profile, run.run_id)) in kept], notes


def night_of(
    workload: Workload | None, runs: Sequence[PastRun], mode: OneNight
) -> tuple[NightDraw, tuple[Job, ...]]:
    """A function that draws a night, and the jobs of the file that are the same each night."""
    if not runs and (workload is None or any(job.profile for job in workload.jobs)):
        raise InvalidInput(
            "no run that ended well has tasks", where="history", hint="import more logs"
        )
    nights = nights_of(runs)
    if workload is None:
        return (lambda rng: nights.draw(mode, rng)), ()
    named = [job for job in workload.jobs if job.profile is not None]
    fixed = tuple(job for job in workload.jobs if job.profile is None)
    for job in fixed:
        if not job.phases or any(phase.lengths is None for phase in job.phases):
            raise InvalidInput(
                "it has no lengths and names no profile",
                where=f"{workload.source}, job {job.job_id!r}",
                hint=("give" if job.run is None else "run it once, or give")
                + " it `profile: NAME`, or lengths",
            )
    return (lambda rng: _drawn_for(named, nights, mode, rng)), fixed


def _drawn_for(
    jobs: Sequence[Job], nights: Nights, mode: OneNight, rng: random.Random
) -> list[NightJob]:
    """The jobs of a file, each with a drawn run of its profile; DRAWN takes them from one night."""
    runs = nights.by_profile()
    same: dict[str, PastRun] = {}
    if mode is OneNight.DRAWN:
        night = nights.by_night[rng.randrange(len(nights.by_night))]
        same = {run.profile: run for _, run in night}
    drawn = []
    for job in jobs:
        past = runs[str(job.profile)]
        run = same.get(str(job.profile)) or past[rng.randrange(len(past))][1]
        deadline_at_s = job.deadline_at_s
        deadline_s = None if deadline_at_s is None else deadline_at_s - job.submitted_at_s
        drawn.append(NightJob(str(job.job_id), job.submitted_at_s, run, deadline_s, job.after))
    return drawn
