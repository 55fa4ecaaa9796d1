"""The work by place over any span of time: single attempts of a short one, shares of a long one.

A picture of a million attempts must not fetch them: it gets a tile, one byte for each cell of rows
and columns. Source: service spec, sections 6 (`GET /v1/timeline`, `/v1/attempts`) and 8 (Gantt).
"""

from __future__ import annotations

import base64
import math
from array import array
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sluice.bootstrap.service.activity import Activity
from sluice.bootstrap.service.readable import Readable
from sluice.bootstrap.service.views import OTHER_TENANT, Views
from sluice.core.entries import Attempt
from sluice.core.transitions import AttemptState
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]
    Places = npt.NDArray[np.int64]

ATTEMPTS_MAX = 5000  # in one answer
ROWS_MAX, COLUMNS_MAX = 100, 2000
FULL = 127  # a cell whose slots were all busy
FAILED = 128  # added to a cell in which an attempt failed or was lost
KINDS = ("node", "queue", "job")
_BAD_ENDS = frozenset({AttemptState.FAILED, AttemptState.LOST})
Row = dict[str, Any]


class _Column:
    """One value of each attempt, by its number in the order of first use."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.values = array("l")

    def add(self, name: str) -> None:
        self.values.append(self.numbers.setdefault(name, len(self.numbers)))


class Timeline:
    """Columns of numbers over the attempts of a replica, in seconds since 1970."""

    def __init__(self, replica: Readable, views: Views, activity: Activity) -> None:
        self._replica = replica
        self._views = views
        self._activity = activity
        self._started_s, self._ended_s = array("d"), array("d")
        self._tasks = array("d")
        self._is_bad = array("b")
        self._jobs, self._nodes = _Column(), _Column()

    def attempts(self, start: str, end: str, tenant: str | None, node: str | None = None) -> Row:
        """The attempts that ran in a span, of one node or all, by their start.

        start, end: RFC 3339.  tenant: who asks; of the jobs of others it sees that slots were busy.
        Raises InvalidInput for more than 5,000.
        """
        from_s, to_s = _span(start, end)
        found = [each for each in self._within(from_s, to_s) if node in {None, each.node.node_id}]
        if len(found) > ATTEMPTS_MAX:
            raise InvalidInput(
                f"{len(found)} attempts ran in this span, and at most {ATTEMPTS_MAX} are listed",
                where="to",
                hint="ask for a shorter span, or for /v1/timeline",
            )
        found.sort(key=lambda each: (each.started_at_s, each.key))
        return {"attempts": [self._row(each, tenant) for each in found], "total": len(found)}

    def tile(
        self, start: str, end: str, tenant: str | None, *, by: str = "node", first: int = 0,
        rows: int = ROWS_MAX, columns: int = 1000,
    ) -> Row:  # fmt: skip
        """A tile: for each row and column, how busy its slots were.

        by: node (share of its own slots), queue or job (share of all slots of the cluster).
        first, rows: which of the rows, by name; at most 100.  columns: equal parts of the span.
        Returns the names of the rows, how many there are in all, and `cells`: base64 of a byte for
        each cell, row by row, its share in 127ths, plus 128 where an attempt failed.
        Raises InvalidInput.
        """
        import numpy as np

        if by not in KINDS:
            raise InvalidInput(
                f"unknown rows {by!r:.40}", where="by", hint=f"use {', '.join(KINDS)}"
            )
        from_s, to_s = _span(start, end)
        kept = _Marked(*self._all(), from_s=from_s, to_s=to_s)
        names, slots, row_of = self._rows(by, tenant)
        chosen = range(first, min(first + rows, len(names)))
        cells = np.zeros((len(chosen), columns), np.uint8)
        if chosen and len(kept.started_s):
            key = kept.nodes if by == "node" else kept.jobs
            place = row_of[key] - first
            inside = (place >= 0) & (place < len(chosen))
            cells = kept.cells(place, inside, np.array([slots[n] for n in chosen]), columns)
        return {
            "by": by,
            "rows": [names[number] for number in chosen],
            "total": len(names),
            "columns": columns,
            "cells": base64.b64encode(cells.tobytes()).decode(),
        }

    # --- parts --------------------------------------------------------------------------------

    def _rows(self, by: str, tenant: str | None) -> tuple[list[str], list[float], Places]:
        """The names of the rows, the slots of each, and the row of each number of a column."""
        import numpy as np

        nodes = self._replica.state.nodes
        slots_of = {
            str(name): float(one.node.map_slots + one.node.reduce_slots + one.node.containers)
            for name, one in nodes.items()
        }
        if by == "node":
            names = sorted(slots_of)
            slots = [max(1.0, slots_of[name]) for name in names]
            shown = {name: name for name in self._nodes.numbers}
            numbers = self._nodes.numbers
        else:
            shown = {name: self._shown(by, name, tenant) for name in self._jobs.numbers}
            names = sorted(set(shown.values()))
            slots = [max(1.0, sum(slots_of.values()))] * len(names)
            numbers = self._jobs.numbers
        at = {name: number for number, name in enumerate(names)}
        row_of = np.array([at.get(shown[name], -1) for name in numbers] or [-1])
        return names, slots, row_of

    def _shown(self, by: str, job_id: str, tenant: str | None) -> str:
        known = self._replica.jobs.get(JobId(job_id))
        if known is None or tenant not in {None, known.workload.tenant}:
            return OTHER_TENANT
        return job_id if by == "job" else str(known.submitted.job.pool)

    def _within(self, from_s: float, to_s: float) -> list[Attempt]:
        import numpy as np

        self._read()
        started, ended = np.array(self._started_s), np.array(self._ended_s)
        inside = np.flatnonzero((started < to_s) & (ended > from_s))
        closed, wall_s = self._replica.state.closed, self._replica.wall_s
        running = self._replica.state.running.values()
        return [
            *(closed[int(row)] for row in inside),
            *(each for each in running if wall_s(each.started_at_s) < to_s),
        ]

    def _all(self) -> list[Any]:
        """The columns with the attempts that run at their end."""
        import numpy as np

        self._read()
        now_s = self._replica.wall_s(self._replica.now_s)
        running = list(self._replica.state.running.values())
        for each in running:  # numbers that later attempts share
            self._jobs.numbers.setdefault(str(each.phase.job_id), len(self._jobs.numbers))
            self._nodes.numbers.setdefault(str(each.node.node_id), len(self._nodes.numbers))
        wall_s = self._replica.wall_s
        return [
            np.append(old := np.array(column), np.array(more, old.dtype))
            for column, more in (
                (self._started_s, [wall_s(each.started_at_s) for each in running]),
                (self._ended_s, [now_s for _ in running]),
                (self._tasks, [float(each.tasks) for each in running]),
                (self._is_bad, [False] * len(running)),
                (self._jobs.values, [self._jobs.numbers[str(e.phase.job_id)] for e in running]),
                (self._nodes.values, [self._nodes.numbers[str(e.node.node_id)] for e in running]),
            )
        ]

    def _read(self) -> None:
        """Add the attempts that have ended since."""
        closed, wall_s = self._replica.state.closed, self._replica.wall_s
        for number in range(len(self._started_s), len(closed)):
            each = closed[number]
            self._started_s.append(wall_s(each.started_at_s))
            self._ended_s.append(wall_s(each.finished_at_s))
            self._tasks.append(float(each.tasks))
            self._is_bad.append(each.state in _BAD_ENDS)
            self._jobs.add(str(each.phase.job_id))
            self._nodes.add(str(each.node.node_id))

    def _row(self, attempt: Attempt, tenant: str | None) -> Row:
        row = self._activity.attempt_row(attempt)
        known = self._replica.jobs[attempt.phase.job_id]
        if tenant in {None, known.workload.tenant}:
            return {"job_id": attempt.phase.job_id, **row}
        hidden = {"key": OTHER_TENANT, "phase": OTHER_TENANT, "why": "", "task": 0, "number": 0}
        return {"job_id": OTHER_TENANT, **row, **hidden}


class _Marked:
    """The attempts within a span, as arrays of equal length."""

    def __init__(  # the columns
        self,
        started_s: Numbers,
        ended_s: Numbers,
        tasks: Numbers,
        is_bad: npt.NDArray[np.bool_],
        jobs: Places,
        nodes: Places,
        *,
        from_s: float,
        to_s: float,
    ) -> None:
        inside = (started_s < to_s) & (ended_s > from_s)
        self.started_s, self.ended_s, self.tasks = started_s[inside], ended_s[inside], tasks[inside]
        self.is_bad, self.jobs, self.nodes = (
            is_bad[inside].astype(bool),
            jobs[inside],
            nodes[inside],
        )
        self._from_s, self._to_s = from_s, to_s

    def cells(
        self, place: Places, inside: npt.NDArray[np.bool_], slots: Numbers, columns: int
    ) -> npt.NDArray[np.uint8]:
        """The bytes of the tile. place: the row of each attempt.  slots: of each row."""
        import numpy as np

        rows, width = len(slots), columns + 2
        scale = columns / (self._to_s - self._from_s)
        place, weight = place[inside], self.tasks[inside]
        begins = np.clip((self.started_s[inside] - self._from_s) * scale, 0.0, columns)
        ends = np.clip((self.ended_s[inside] - self._from_s) * scale, 0.0, columns)
        busy = _ramps(place, begins, weight, rows, width) - _ramps(place, ends, weight, rows, width)
        share = np.diff(busy[:, : columns + 1], axis=1) / slots[:, None]
        # What is busy at all shows, however short it was.
        found = np.clip(np.ceil(np.round(share * FULL, 9)), 0, FULL).astype(np.uint8)
        bad = self.is_bad[inside] & (self.ended_s[inside] <= self._to_s)
        column = np.minimum(ends[bad].astype(int), columns - 1)
        found[place[bad], column] |= FAILED
        return found


def _ramps(place: Places, at: Numbers, weight: Numbers, rows: int, width: int) -> Numbers:
    """For each row and grid line k, the sum of weight * max(0, k - at): k * count - sum."""
    import numpy as np

    line = place * width + np.ceil(at).astype(int)
    size = rows * width
    counts = np.bincount(line, weight, size).reshape(rows, width).cumsum(axis=1)
    sums = np.bincount(line, weight * at, size).reshape(rows, width).cumsum(axis=1)
    found: Numbers = np.arange(width) * counts - sums
    return found


def _span(start: str, end: str) -> Sequence[float]:
    from_s, to_s = (datetime.fromisoformat(each).timestamp() for each in (start, end))
    if not (from_s < to_s and math.isfinite(to_s)):
        raise InvalidInput(
            "the span ends before it begins", where="to", hint="give a later instant"
        )
    return from_s, to_s
