"""Units in use over time, and their integrals, from the tasks that ran."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


class TaskUse(NamedTuple):
    """Units that a tenant's task held, and since when it could have run. Instants in seconds."""

    tenant: str
    ready_at_s: float
    started_at_s: float
    finished_at_s: float
    units: float


@dataclass(frozen=True, slots=True)
class UseCurve:
    """A step function. levels[k] holds from times_s[k] to times_s[k + 1]; 0 outside."""

    times_s: Numbers
    levels: Numbers

    @classmethod
    def of_spans(cls, spans: Iterable[tuple[float, float, float]]) -> UseCurve:
        """The sum of spans (from, to, units).

        >>> UseCurve.of_spans([(0.0, 4.0, 1.0), (2.0, 6.0, 1.0)]).levels.tolist()
        [1.0, 2.0, 1.0]
        """
        listed = [span for span in spans if span[1] > span[0]]
        if not listed:
            return cls(np.zeros(2), np.zeros(1))
        rows = np.array(listed)
        at_s = np.concatenate([rows[:, 0], rows[:, 1]])
        change = np.concatenate([rows[:, 2], -rows[:, 2]])
        times_s, places = np.unique(at_s, return_inverse=True)
        changes = np.zeros(len(times_s))
        np.add.at(changes, places, change)
        return cls(times_s, np.cumsum(changes)[:-1])

    def integral(self, at_s: Any) -> Numbers:  # noqa: ANN401  # whatever numpy takes as instants
        """Unit-seconds up to instants."""
        sums = np.concatenate([[0.0], np.cumsum(np.diff(self.times_s) * self.levels)])
        found: Numbers = np.interp(at_s, self.times_s, sums)
        return found

    def means(self, edges_s: Numbers) -> Numbers:
        """Mean units in each cell between neighbouring edges."""
        widths = np.diff(edges_s)
        return np.diff(self.integral(edges_s)) / np.where(widths > 0, widths, 1.0)


def static_curve(tasks: Sequence[TaskUse], share: float) -> UseCurve:
    """Units that a tenant would have used alone on a fixed share (the counterfactual of 5.5).

    Its tasks become ready when they did, and take as long as they took. While they want more than
    the share they slow down together, so that a share need not be a whole number of containers:
    processor sharing, in which a task ends when the common progress has advanced by its length.
    """
    waiting = sorted((task.ready_at_s, task) for task in tasks)
    running: list[tuple[float, int, float]] = []  # progress at the end, number, units
    progress, held, now_s = 0.0, 0.0, 0.0
    times_s: list[float] = []
    levels: list[float] = []
    place = 0
    while running or place < len(waiting):
        if not running:
            now_s = max(now_s, waiting[place][0])
        while place < len(waiting) and waiting[place][0] <= now_s:
            task = waiting[place][1]
            length_s = task.finished_at_s - task.started_at_s
            if length_s > 0:
                heapq.heappush(running, (progress + length_s, place, task.units))
                held += task.units
            place += 1
        if not running:
            continue
        speed = min(1.0, share / held)
        end_s = now_s + (running[0][0] - progress) / speed
        next_s = min(end_s, waiting[place][0]) if place < len(waiting) else end_s
        times_s.append(now_s)
        levels.append(min(share, held))
        progress += (next_s - now_s) * speed
        if next_s == end_s:
            progress = running[0][0]
            while running and running[0][0] <= progress:
                held -= heapq.heappop(running)[2]
        now_s = next_s
        if not running:
            held = 0.0
            times_s.append(now_s)
            levels.append(0.0)
    if not levels:  # no task, or none with a length
        return UseCurve.of_spans(())
    return UseCurve(np.array([*times_s, now_s]), np.array(levels))
