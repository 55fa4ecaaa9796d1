"""Whether a segment of a service's journal is whole, and leads to the decisions on record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sluice.bootstrap.service.config import segment_config
from sluice.bootstrap.service.futures import kept_from
from sluice.core.garbage_collector import paused_collector
from sluice.engines.driver_state import DriverState
from sluice.engines.recovery import JournalReplay
from sluice.engines.segments import SegmentOpening
from sluice.store.rows import EntryKind, entries, header_and_end, opening_row
from sluice.store.service.segments import kept_from_s
from sluice.store.service.submissions import SubmittedJob, SubmittedWorkload


def kept_history(segments: Sequence[Path]) -> dict[str, str]:
    """The field `kept_from`: the first instant of the history, if its beginning was removed."""
    return kept_from(kept_from_s(segments[0])) if segments else {}


def verified(segment: Path) -> dict[str, Any]:
    """Replay a segment as a driver does that starts with it; returns how much there is in it.

    jobs: those that were submitted in it.  open_jobs: at its end.  changed: what of the file was
    changed when it began. Raises StoreCorrupt.
    """
    header, _ = header_and_end(segment)
    line = opening_row(segment)
    opening = None if line is None else SegmentOpening.of(line)
    config = segment_config(segment, header)
    scheduler = config.scheduler(None if opening is None else opening.scheduler)
    driver_state = DriverState(scheduler)
    replay = JournalReplay(driver_state)
    before = [] if opening is None else opening.users["jobs"]
    known = {SubmittedJob.of(each["submitted"]).job_id for each in before}
    rows, jobs = 0, 0
    with paused_collector():
        for entry in entries(segment):
            rows += 1
            if entry.kind is EntryKind.SUBMITTED:
                submitted = SubmittedWorkload.of(entry.payload).jobs
                known |= {each.job_id for each in submitted}
                jobs += len(submitted)
            replay.take(entry)
    over = {job_id for job_id, entry in driver_state.state.jobs.items() if entry.has_ended}
    open_jobs = len(known - over - driver_state.forgotten)
    return {"segment": segment.name, "rows": rows, "jobs": jobs, "open_jobs": open_jobs,
            "changed": list(header.changed)}  # fmt: skip
