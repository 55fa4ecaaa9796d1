"""What jobs do in possible futures, and how answers write instants and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sluice.estimate.uncertainty import LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Future:
    """One job in one future. Instants on the segment's clock; None for what never happens.

    slot_s: slot-seconds of all its attempts, of a job that is asked about.
    stages_end_at_s: the end of each stage; of jobs with more than one, while few jobs are open.
    """

    starts_at_s: float | None
    ends_at_s: float | None
    state: str
    slot_s: float | None
    stages_end_at_s: Sequence[float | None] = ()


def interval_of(ascending: Sequence[float]) -> dict[str, float]:
    """The median of some draws, and the two between which one more lies with chance LEVEL.

    One more draw of n lies between the k-th and the k-th from the end with chance
    (n + 1 - 2 k) / (n + 1); with few draws these are the first and the last.

    >>> interval_of([float(number) for number in range(20)])
    {'expected': 10.0, 'low': 0.0, 'high': 19.0}
    """
    place = max(0, math.floor((1 - LEVEL) / 2 * (len(ascending) + 1)) - 1)
    return {
        "expected": ascending[len(ascending) // 2],
        "low": ascending[place],
        "high": ascending[-1 - place],
    }


def instant(at_s: float) -> str:
    """An instant of the wall clock as RFC 3339, in UTC.

    >>> instant(0.0)
    '1970-01-01T00:00:00.000Z'
    """
    text = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
