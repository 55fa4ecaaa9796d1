"""How long the tasks of a job took when it last ran, out of the journals that are kept.

The newest finished run tells that measured every phase of a job of the same id and the same
commands; one in which the job failed early would tell of its maps alone. What a job reads may have
changed since, for its tasks are cut to the same size.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from sluice.core.events import JobSubmitted, TaskFinished
from sluice.model.errors import InvalidInput, StoreCorrupt
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.lengths import ConstantLengths
from sluice.store.rows import EntryKind, entries
from sluice.store.runs import RunInfo, Runs

RUNS_LOOKED_AT = 20

PhaseLengths = dict[str, ConstantLengths]  # by phase name


def with_past_lengths(jobs: Iterable[Job], runs: Runs) -> list[Job]:
    """The jobs, with lengths where they had none and a former run tells them."""
    wanted = {job.job_id: job for job in jobs}
    found: dict[JobId, PhaseLengths] = {}
    open_jobs = {job_id for job_id, job in wanted.items() if _is_open(job)}
    for run in _newest(runs):
        if not open_jobs:
            break
        # A run of another release, or a damaged one, tells nothing; that stops no new run.
        measured: dict[JobId, PhaseLengths] = {}
        with suppress(StoreCorrupt, InvalidInput):
            measured = _measured(run, wanted)
        for job_id, lengths in measured.items():
            if job_id in open_jobs:
                found[job_id] = lengths
                open_jobs.discard(job_id)
    return [_filled(job, found.get(job.job_id, {})) for job in wanted.values()]


def _is_open(job: Job) -> bool:
    return any(phase.lengths is None for phase in job.phases)


def _newest(runs: Runs) -> Iterator[RunInfo]:
    yield from islice((run for run in runs.newest() if run.is_finished), RUNS_LOOKED_AT)


def _measured(run: RunInfo, wanted: dict[JobId, Job]) -> dict[JobId, PhaseLengths]:
    """What the run measured of those wanted jobs that it ran with the same commands."""
    names: dict[JobId, list[str]] = {}
    took_s: dict[tuple[JobId, int], list[float]] = defaultdict(list)
    for entry in entries(run.folder):
        if entry.kind is not EntryKind.EVENT:
            continue
        event = entry.event()
        if isinstance(event, JobSubmitted):
            job = wanted.get(event.job.job_id)
            if job is not None and _same_work(job, event.job):
                names[job.job_id] = [phase.name for phase in event.job.phases]
        elif isinstance(event, TaskFinished) and event.usage and event.key.job_id in names:
            took_s[event.key.job_id, event.key.phase].append(event.usage.wall_s)
    return {
        job_id: {name: _lengths(took_s[job_id, index]) for index, name in enumerate(phases)}
        for job_id, phases in names.items()
        if all(took_s[job_id, index] for index in range(len(phases)))
    }


def _same_work(one: Job, other: Job) -> bool:
    if one.run is None or other.run is None:
        return False
    return replace(one.run, input=(), output="") == replace(other.run, input=(), output="")


def _lengths(took_s: list[float]) -> ConstantLengths:
    # A clock may tell no time at all for an empty task.
    took_s = [max(length_s, 1e-6) for length_s in took_s]
    average_s = math.fsum(took_s) / len(took_s)
    return ConstantLengths(average_s, max(*took_s, average_s))


def _filled(job: Job, lengths: PhaseLengths) -> Job:
    phases = tuple(
        replace(phase, lengths=lengths.get(phase.name)) if phase.lengths is None else phase
        for phase in job.phases
    )
    return replace(job, phases=phases)
