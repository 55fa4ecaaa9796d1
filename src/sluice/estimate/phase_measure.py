"""Aggregates the measurements of single tasks into the measurement of a phase."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class TaskUsage(Protocol):
    """Resources that one task used: seconds, bytes, records."""

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
    """One successful task, or `tasks` equal ones. used: None if only the length is known."""

    length_s: float
    used: TaskUsage | None = None
    tasks: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseMeasure:
    """Tasks of one phase: average and longest length, and sums of the other figures.

    rss_bytes_max: largest memory of one task. Sizes are None if none was measured.
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
    """Aggregate all tasks of a phase; None if there is no task.

    The order of the measures does not change the result, not even by rounding.

    >>> measure = phase_measure([TaskMeasure(4.0, tasks=3), TaskMeasure(8.0)])
    >>> measure.tasks, measure.avg_s, measure.max_s
    (4, 5.0, 8.0)
    """
    present = [measure for measure in measures if measure.tasks]
    if not present:
        return None
    tasks = sum(measure.tasks for measure in present)
    total_s = math.fsum(measure.length_s * measure.tasks for measure in present)
    longest_s = max(measure.length_s for measure in present)
    average_s = min(total_s / tasks, longest_s)  # rounding must not raise it above the longest
    used = [measure.used for measure in present if measure.used is not None]
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
    """Error of a prediction as a share of the measured value; above 0 if it is too high.

    None without a prediction, or if the measured value is 0.

    >>> relative_error(12.0, 10.0)
    0.2
    """
    if predicted is None or measured == 0:
        return None
    return (predicted - measured) / measured
