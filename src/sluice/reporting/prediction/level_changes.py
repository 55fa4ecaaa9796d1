"""A change of a job's level, as a sentence that every command with forecasts uses."""

from __future__ import annotations

from datetime import UTC, datetime

from sluice.estimate.level_changes import Change
from sluice.estimate.trends import Trend
from sluice.reporting.formatting import counted

_TIMES_MIN = 2.5  # from here on a ratio reads better than a percentage


def change_text(change: Change) -> str:
    """A change of level, or a trend, in one sentence.

    >>> from sluice.estimate.level_changes import LevelChange
    >>> change_text(LevelChange(run_id="r", since_at_s=1.762e9, ratio=1.4, runs_before=6))
    'since 1 Nov 2025 it takes 40 % longer; the 6 runs before are left out'
    >>> change_text(Trend(run_id="r", since_at_s=1.762e9, ratio=1.021, runs=14, runs_before=0))
    'since 1 Nov 2025 each run takes 2.1 % longer than the one before; this is assumed to go on'
    """
    since = f"run {change.run_id}"
    if change.since_at_s is not None:
        day = datetime.fromtimestamp(change.since_at_s, UTC)
        since = f"{day.day} {day:%b %Y}"
    left = f"the {counted(change.runs_before, 'run')} before are left out"
    if isinstance(change, Trend):
        percent = f"{abs(change.ratio - 1) * 100:.1f} %"
        how = f"{percent} longer" if change.ratio > 1 else f"{percent} less time"
        text = f"since {since} each run takes {how} than the one before; this is assumed to go on"
        return f"{text}; {left}" if change.runs_before else text
    percent = f"{abs(change.ratio - 1) * 100:.0f} %"
    how = f"{percent} longer" if change.ratio > 1 else f"{percent} less time"
    if change.ratio >= _TIMES_MIN:
        how = f"{change.ratio:.1f} times as long"
    return f"since {since} it takes {how}; {left}"
