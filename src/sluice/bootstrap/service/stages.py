"""The stages of a job and the jobs that it runs after, as rows: what a graph of the job shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluice.bootstrap.service.futures import Future, instant, interval_of
from sluice.bootstrap.service.readable import Readable
from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.transitions import JobState
from sluice.model.ids import JobId

Row = dict[str, Any]
Futures = Sequence[Mapping[JobId, Future]]
_LOST = frozenset({JobState.FAILED, JobState.KILLED, JobState.REFUSED})
_UNKNOWN = {"expected": None, "low": None, "high": None}


def stage_rows(replica: Readable, job_id: JobId, futures: Futures) -> list[Row]:
    """The stages of a job in its own order, each with those that it reads from.

    `ends_at` of a stage that is done is the end of its last task; else what is expected.
    """
    phases = replica.jobs[job_id].submitted.job.phases
    entry = replica.state.jobs.get(job_id)
    known = [future[job_id].stages_end_at_s for future in futures if job_id in future]
    is_expected = bool(known) and len(known) == len(futures)
    rows = []
    for number, phase in enumerate(phases):
        now = None if entry is None else entry.phases[number]
        ends_s = [one[number] for one in known if number < len(one)] if is_expected else []
        rows.append(
            {
                "name": phase.name,
                "tasks": phase.tasks if now is None else now.tasks,
                "running": 0 if now is None else now.running,
                "done": 0 if now is None else now.done,
                "after": [phases[index].name for index in phase.after],
                "state": _state(entry, now),
                "ends_at": _ends_at(replica, now, ends_s),
            }
        )
    return rows


def _state(entry: JobEntry | None, phase: PhaseEntry | None) -> str:
    if entry is None or phase is None:
        return "waiting"
    if phase.is_done:
        return "done"
    if entry.state in _LOST:
        return entry.state.value
    return "running" if phase.running or phase.done else "waiting"


def _ends_at(
    replica: Readable, phase: PhaseEntry | None, ends_s: Sequence[float | None]
) -> dict[str, str | None]:
    if phase is not None and phase.is_done:
        return dict.fromkeys(_UNKNOWN, instant(replica.wall_s(phase.ended_at_s)))
    ascending = sorted(one for one in ends_s if one is not None)
    if not ascending or len(ascending) < len(ends_s):
        return dict(_UNKNOWN)
    return {name: instant(replica.wall_s(at)) for name, at in interval_of(ascending).items()}
