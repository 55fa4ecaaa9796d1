"""The records of runs: their states, jobs, sizes, and what they left on the disk."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sluice.bootstrap.history.past_runs import replayed
from sluice.core.entries import JobEntry
from sluice.engines.mapreduce.commit import SUCCESS
from sluice.model.errors import SluiceError
from sluice.model.ids import JobId
from sluice.reporting.recorded_runs.result import RecordedJob, RecordedRun, RunDetails
from sluice.store.leftovers import staging_left
from sluice.store.rows import EntryKind, entries
from sluice.store.run_info import (
    RunInfo,
    RunState,
    UnreadableRun,
    driver_of,
    folder_bytes,
    job_counts,
)

_NOT_SUBMITTED = "not submitted"


def described(run: RunInfo | UnreadableRun) -> RecordedRun:
    """The run at a glance. Of its journal, only the ends are read."""
    staging_bytes = sum(map(folder_bytes, staging_left(run)))
    identity = run.identity
    about = RecordedRun(
        id=run.run_id,
        file=identity.source if identity else None,
        folder=identity.folder if identity else None,
        started_at=None,
        state=RunState.DAMAGED,
        jobs=None,
        bytes=folder_bytes(run.folder) + staging_bytes,
        path=str(run.folder),
        process=driver_of(run.folder),
    )
    if isinstance(run, UnreadableRun):
        started_at = run.record.started_at if run.record else None
        return replace(about, started_at=started_at, problem=run.why)
    about = replace(about, started_at=run.header.started_at)
    try:
        jobs, failed = job_counts(run.folder)
    except (SluiceError, ValueError) as error:
        return replace(about, problem=str(error))
    state = RunState.UNFINISHED
    if run.is_finished:
        state = RunState.FAILED if failed else RunState.FINISHED
    return replace(about, state=state, jobs=jobs)


def detailed(run: RunInfo | UnreadableRun) -> RecordedRun:
    """Everything about the run. Its whole journal is read, so that any damage shows."""
    about = described(run)
    if isinstance(run, UnreadableRun):
        return about
    jobs = None
    try:
        jobs = _jobs(run)
    except SluiceError as error:
        about = replace(about, state=RunState.DAMAGED, problem=str(error))
    settings = {name: value for name, value in run.header.settings.items() if name != "of_file"}
    details = RunDetails(
        jobs=jobs,
        policies=run.header.policies,
        settings=settings,
        staging=tuple(map(str, staging_left(run))),
    )
    return replace(about, details=details)


def _jobs(run: RunInfo) -> dict[str, RecordedJob]:
    """Raises SluiceError if the journal cannot be replayed."""
    records: dict[JobId, Mapping[str, Any]] = dict(
        entry.prepared() for entry in entries(run.folder) if entry.kind is EntryKind.PREPARED
    )
    known = replayed(run).state.jobs
    return {
        str(job_id): _job(str(record["output"]), known.get(job_id))
        for job_id, record in records.items()
    }


def _job(output: str, entry: JobEntry | None) -> RecordedJob:
    is_complete = Path(output, SUCCESS).is_file()
    if entry is None:
        return RecordedJob(state=_NOT_SUBMITTED, reason="", output=output, is_complete=is_complete)
    return RecordedJob(
        state=entry.state.value,
        reason=entry.reason,
        output=output,
        is_complete=is_complete,
        started_at_s=_known(entry.started_at_s),
        finished_at_s=_known(entry.finished_at_s),
    )


def _known(at_s: float) -> float | None:
    return at_s if math.isfinite(at_s) else None
