"""What a phase's tasks really took, out of what each of them took.

The other way round from the rest of this room: lengths in, profile out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class TaskUsage(Protocol):
    """What one task took: seconds, bytes, records."""

    @property
    def cpu_s(self) -> float: ...
    @property
    def rss_bytes_max(self) -> int: ...
    @property
    def input_bytes(self) -> int: ...
    @property
    def output_bytes(self) -> int: ...
    @property
    def shuffle_bytes(self) -> int: ...
    @property
    def input_records(self) -> int: ...
    @property
    def output_records(self) -> int: ...


class TaskMeasure(NamedTuple):
    """One task that ended well, or `tasks` alike ones that share `used`.

    used: None where only the length is known.
    """

    length_s: float
    used: TaskUsage | None = None
    tasks: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseMeasure:
    """Tasks of one phase, taken together: lengths as average and longest, the rest as sums.

    rss_bytes_max: the most that one task held. Sizes are None where none was measured.
    """

    tasks: int
    avg_s: float
    max_s: float
    cpu_s: float | None = None
    rss_bytes_max: int | None = None
    input_bytes: int | None = None
    output_bytes: int | None = None
    shuffle_bytes: int | None = None
    input_records: int | None = None
    output_records: int | None = None


def phase_measure(measures: Iterable[TaskMeasure]) -> PhaseMeasure | None:
    """All tasks of a phase taken together; None for no task at all.

    The order of the measures does not matter, to the last bit.

    >>> measure = phase_measure([TaskMeasure(4.0, tasks=3), TaskMeasure(8.0)])
    >>> measure.tasks, measure.avg_s, measure.max_s
    (4, 5.0, 8.0)
    """
    told = [measure for measure in measures if measure.tasks]
    if not told:
        return None
    tasks = sum(measure.tasks for measure in told)
    total_s = math.fsum(measure.length_s * measure.tasks for measure in told)
    longest_s = max(measure.length_s for measure in told)
    average_s = min(total_s / tasks, longest_s)  # rounding must not lift it above the longest
    used = [measure.used for measure in told if measure.used is not None]
    if not used:
        return PhaseMeasure(tasks=tasks, avg_s=average_s, max_s=longest_s)
    return PhaseMeasure(
        tasks=tasks,
        avg_s=average_s,
        max_s=longest_s,
        cpu_s=math.fsum(one.cpu_s for one in used),
        rss_bytes_max=max(one.rss_bytes_max for one in used),
        input_bytes=sum(one.input_bytes for one in used),
        output_bytes=sum(one.output_bytes for one in used),
        shuffle_bytes=sum(one.shuffle_bytes for one in used),
        input_records=sum(one.input_records for one in used),
        output_records=sum(one.output_records for one in used),
    )


def relative_error(predicted: float | None, measured: float) -> float | None:
    """How far a prediction was off, as a share of what was measured; above 0 is too high.

    None where nothing was predicted, or where nothing can be a share of 0.

    >>> relative_error(12.0, 10.0)
    0.2
    """
    if predicted is None or measured == 0:
        return None
    return (predicted - measured) / measured
