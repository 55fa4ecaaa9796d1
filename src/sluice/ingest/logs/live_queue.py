"""A queue as it was when it was listed: what runs, and what waits in which order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

# Jobs that wait come after those that run, so that no order of theirs takes the slots of these. It
# is so soon after second 0 that a sum with any length is that length.
WAITING_AT_S: Final = 1e-300


class QueuedJob(NamedTuple):
    """A job in the queue. slots: None where the list does not say how many it will hold.

    user: who shares past runs with it.  limit_s: None without a limit.  ran_s: None while it waits.
    queue: empty where it is the user's.  is_gang: whether its tasks start together.
    """

    job_id: str
    name: str
    user: str
    slots: int | None
    limit_s: float | None
    ran_s: float | None
    queue: str = ""
    is_gang: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveQueue:
    """jobs: those that run, then those that wait, the first in line first.

    as_of: when it was listed, ISO 8601.  backfills: whether its scheduler starts jobs out of turn.
    notes: what it says that a forecast does not count.
    """

    format: str
    jobs: tuple[QueuedJob, ...]
    as_of: str
    backfills: bool
    notes: tuple[str, ...] = ()


def file_instant(path: Path) -> str:
    """When a file was written: for lists that do not say when they were made."""
    return instant(path.stat().st_mtime)


def instant(at_s: float) -> str:
    """Seconds of the epoch in ISO 8601.

    >>> instant(1_767_600_000)
    '2026-01-05T08:00:00Z'
    """
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
