"""Measuring jobs: each alone, at several slot counts, so that they can be foretold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace

from sluice.api.options.argument_types import Source
from sluice.api.options.calls import called_with
from sluice.api.options.history import ProfileRunOptions
from sluice.api.sources import read_workload
from sluice.bootstrap.live import sandbox
from sluice.bootstrap.live.sandbox import Sandbox, Trial
from sluice.engines.progress import Watcher
from sluice.estimate.demand import NodeCapacity, SandboxProfile, profile_from_runs, sandbox_run
from sluice.estimate.demand_settings import demand_settings
from sluice.estimate.run_setting import NotEnoughData
from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.history import PastRun
from sluice.model.job import Job
from sluice.reporting.history.past_runs import profile_name
from sluice.reporting.profile_run.result import JobTrials, SandboxReport
from sluice.store.profiles import Profiles

SLOTS_MAX = 1000


@dataclass(frozen=True)
class ProfileRunCall(ProfileRunOptions):
    """Arguments of `profile_run`."""

    source: Source
    _: KW_ONLY
    watcher: Watcher | None = None


@called_with(ProfileRunCall)
def profile_run(given: ProfileRunCall) -> SandboxReport:
    """Run each job alone at these slot counts, find the best, and keep what was measured.

    slots: by default 1, 2, 4, .. and at last twice the processors of this machine.
    repeats: runs at each count; of equal counts the shortest one is looked at.
    io_bytes_per_s: disk throughput of this machine; needed to estimate disk demand.
    store: path or URL of the profile store, by default the account's own.
    The jobs' outputs are not touched. Every run that ended well is kept, the best one with the
    demand of a task. Raises InvalidInput, EngineUnavailable, StoreUnavailable, RunInterrupted.
    """
    workload, repeats = read_workload(given.source), given.repeats
    counts = _checked_slots(given.slots)
    if not 1 <= repeats <= SLOTS_MAX:
        raise InvalidInput(f"repeats is {repeats}", where="--repeats", hint="give 1 or more")
    if not workload.jobs:
        raise InvalidInput("jobs is empty", where=workload.source, hint="add a job with `run`")
    capacity = this_machine(given.io_bytes_per_s)
    with Profiles.open(given.store) as profiles, sandbox.opened(workload) as box:
        measured = tuple(
            _measured(job, box, counts * repeats, capacity, profiles, given.watcher)
            for job in workload.jobs
        )
    return SandboxReport(jobs=measured, capacity=capacity)


def _measured(
    job: Job,
    box: Sandbox,
    slots: Sequence[int],
    capacity: NodeCapacity,
    profiles: Profiles,
    watcher: Watcher | None,
) -> JobTrials:
    trials = []
    for count in slots:
        if watcher is not None:
            watcher.on_message(f"{job.job_id}: {count} slot{'s' * (count > 1)}")
        trial = box.trial(job, count, watcher)
        trials.append(trial)
        if trial.run is not None:
            profiles.add([trial.run])
        if trial.failure is not None:
            break  # what fails once is no better with more slots
    profile = _profile(trials, capacity)
    if isinstance(profile, SandboxProfile):
        profiles.add([_with_demand(profile, trials)])
    return JobTrials(
        job_id=str(job.job_id), name=profile_name(job), trials=tuple(trials), profile=profile
    )


def _profile(trials: Sequence[Trial], capacity: NodeCapacity) -> SandboxProfile | NotEnoughData:
    runs = (sandbox_run(trial.run, capacity) for trial in trials if trial.run is not None)
    return profile_from_runs(run for run in runs if not isinstance(run, NotEnoughData))


def _with_demand(profile: SandboxProfile, trials: Sequence[Trial]) -> PastRun:
    runs = {trial.run.run_id: trial.run for trial in trials if trial.run is not None}
    best = runs[profile.best.run_id]
    return replace(best, configuration={**best.configuration, **demand_settings(profile.demand)})


def this_machine(io_bytes_per_s: float | None = None) -> NodeCapacity:
    """Return what this machine has."""
    if io_bytes_per_s is not None and not 0 < io_bytes_per_s < float("inf"):
        raise wrong_value(
            "io_bytes_per_s",
            io_bytes_per_s,
            "--io-bytes-per-s",
            "give finite bytes a second, above 0",
        )
    return NodeCapacity(
        processors=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        io_bytes_per_s=io_bytes_per_s,
    )


def _checked_slots(slots: Sequence[int] | None) -> tuple[int, ...]:
    if slots is None:
        return default_slots(os.cpu_count() or 1)
    wrong = [count for count in slots if not 1 <= count <= SLOTS_MAX]
    if wrong or not slots:
        raise wrong_value(
            "slots",
            wrong[0] if wrong else "empty",
            "--slots",
            f"give whole numbers from 1 to {SLOTS_MAX}, such as 1,2,4",
        )
    return tuple(dict.fromkeys(slots))


def default_slots(processors: int) -> tuple[int, ...]:
    """1, 2, 4, .. and at last twice the processors: beyond the best, so that it is seen.

    >>> default_slots(6)
    (1, 2, 4, 8, 12)
    """
    powers = [2**power for power in range((2 * processors).bit_length())]
    return tuple(
        dict.fromkeys([*(count for count in powers if count < 2 * processors), 2 * processors])
    )
