"""The lives of jobs in possible futures, and how answers write instants and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from statistics import fmean, stdev

from sluice.estimate.paired_difference import t_quantile
from sluice.estimate.uncertainty import LEVEL

_ROUNDED = 1e-9  # of a rank


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


class Scale(Enum):
    """The kinds of values: lengths count as normal by their logarithms, others as they are."""

    LENGTH = auto()
    DIFFERENCE = auto()
    SHARE = auto()  # from 0 to 1


def interval_of(
    ascending: Sequence[float], level: float = LEVEL, scale: Scale = Scale.LENGTH
) -> dict[str, float]:
    """The median of some draws, and the two ends between which one more lies with chance `level`.

    ascending: values of one kind, which is `scale`; lengths are positive.
    One more draw of n lies below the k-th with chance k / (n + 1), so an end that is asked for lies
    between two draws (Hyndman and Fan, "Sample quantiles in statistical packages", 1996, type 6).
    With too few draws it lies outside of all: there they count as normal on their scale, and
    Student's t covers what so few say of their spread. To take the first and the last of 3 draws
    would keep half of all promises.

    >>> interval_of([float(number) for number in range(1, 20)])
    {'expected': 10.0, 'low': 1.0, 'high': 19.0}
    >>> interval_of([20.0, 20.0, 20.0])
    {'expected': 20.0, 'low': 20.0, 'high': 20.0}
    >>> interval_of([0.0, 0.5, 1.0], scale=Scale.SHARE)
    {'expected': 0.5, 'low': 0.0, 'high': 1.0}
    """
    tail = (1 - level) / 2
    return {
        "expected": ascending[len(ascending) // 2],
        "low": _quantile(ascending, tail, scale),
        "high": _quantile(ascending, 1 - tail, scale),
    }


def draws_of(level: float) -> int:
    """The least number of draws between which both ends of an interval lie.

    >>> draws_of(0.9), draws_of(0.95)
    (19, 39)
    """
    return math.ceil(2 / (1 - level) - 1 - _ROUNDED)


def _quantile(ascending: Sequence[float], share: float, scale: Scale) -> float:
    """The value below which one more draw lies with that chance."""
    count = len(ascending)
    rank = share * (count + 1) - 1  # from 0
    if -_ROUNDED <= rank <= count - 1 + _ROUNDED:
        rank = min(max(rank, 0.0), count - 1.0)
        before, part = ascending[int(rank)], rank % 1
        return before + part * (ascending[math.ceil(rank)] - before)
    if count == 1:
        return ascending[0]
    is_length = scale is Scale.LENGTH
    scaled = [math.log1p(max(0.0, one)) for one in ascending] if is_length else ascending
    reach = t_quantile(count - 1, abs(2 * share - 1)) * stdev(scaled) * math.sqrt(1 + 1 / count)
    end = fmean(scaled) + math.copysign(reach, share - 0.5)
    if is_length:
        end = max(0.0, math.expm1(end))
    elif scale is Scale.SHARE:
        end = min(1.0, max(0.0, end))
    return max(end, ascending[-1]) if share > 0.5 else min(end, ascending[0])  # noqa: PLR2004  # the middle


def kept_from(at_s: float | None) -> dict[str, str]:
    """The field `kept_from` of an answer about the history, if its beginning was removed.

    >>> kept_from(0.0), kept_from(None)
    ({'kept_from': '1970-01-01T00:00:00.000Z'}, {})
    """
    return {} if at_s is None else {"kept_from": instant(at_s)}


def instant(at_s: float) -> str:
    """An instant of the wall clock as RFC 3339, in UTC.

    >>> instant(0.0)
    '1970-01-01T00:00:00.000Z'
    """
    text = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
