"""Limits on how much of a log is read."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024
GIB = 1024 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on one log; beyond them it is refused, but for lines, which are skipped.

    bytes_max: unpacked, over all files of the log.  whole_bytes_max: likewise, of a format that
        cannot be read line by line and is held in memory.
    ratio_max: unpacked bytes for one packed, once more than ratio_free_bytes were unpacked. Event
        logs reach 100 and more; bombs begin at 1000.
    line_bytes_max: longer lines are skipped.  lines_max: of lines.
    skipped_max: with more lines skipped, and more than half of all, a file is not a log.
    timeline_tasks_max: with more tasks that ended well, only averages and maxima are kept.
    """

    bytes_max: int = 16 * GIB
    whole_bytes_max: int = 256 * MIB
    ratio_max: int = 600
    ratio_free_bytes: int = 4 * MIB
    line_bytes_max: int = 32 * MIB
    lines_max: int = 10**8
    skipped_max: int = 20_000
    timeline_tasks_max: int = 50_000
