"""The number of tasks of each row of a record, where most rows are of one."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable


class GroupSizes:
    """The rows of several tasks, and how many these are: eight bytes a row.

    >>> sizes = GroupSizes()
    >>> sizes.add(7, 3)
    >>> sizes.of(7), sizes.of(8), list(sizes.rows)
    (3, 1, [7])
    """

    __slots__ = ("_tasks", "rows")

    def __init__(self) -> None:
        self.rows = array("I")  # in order
        self._tasks = array("I")

    def add(self, row: int, tasks: int) -> None:
        """A row after all that were added is of so many tasks."""
        self.rows.append(row)
        self._tasks.append(tasks)

    def of(self, row: int) -> int:
        """How many tasks a row is of."""
        at = bisect_left(self.rows, row)
        return self._tasks[at] if at < len(self.rows) and self.rows[at] == row else 1

    def keep(self, spans: Iterable[range]) -> None:
        """Let go of the rows outside of these spans, which ascend."""
        rows, tasks = array("I"), array("I")
        for span in spans:
            first, end = bisect_left(self.rows, span.start), bisect_left(self.rows, span.stop)
            rows += self.rows[first:end]
            tasks += self._tasks[first:end]
        self.rows, self._tasks = rows, tasks
