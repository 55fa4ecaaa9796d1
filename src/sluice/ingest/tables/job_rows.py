"""One row of a table of jobs, read cell by cell."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Final

from sluice.ingest.file_schema.fields import SECONDS_MAX
from sluice.ingest.tables import cells
from sluice.ingest.tables.cells import CellError
from sluice.ingest.tables.columns import Column
from sluice.ingest.tables.dates import DateError, DateOrder
from sluice.ingest.tables.rows import Table
from sluice.model.errors import InvalidInput
from sluice.model.job import TASKS_MAX

STAGE: Final = "all"
NEEDS: Final = ("cpus", "memory_bytes")  # of a task, as other resources of a node
_NUMBER_MAX: Final = 2.0**50  # as of bytes in a workload file
_TEXTS: Final = ("name", "stage", "queue", "user", "after")


class JobRow:
    """One row, read cell by cell."""

    def __init__(
        self,
        table: Table,
        number: int,
        columns: Mapping[str, Column],
        known: Collection[str],
        dates: DateOrder | None,
        read: dict[tuple[str, str], float],
    ) -> None:
        """known: the names of all jobs and stages.  dates: what is first in dates.

        read: numbers by column and cell, for all rows; most rows need what others need.
        """
        self._table = table
        self._number = number
        self._columns = columns
        self._known = known
        self._dates = dates
        self._read = read
        self._cells = table.rows[number]
        self._instants: dict[str, tuple[float, bool]] = {}
        self._filled = {  # asked several times of each cell
            key
            for key, column in columns.items()
            if not (cells.is_blank if key in _TEXTS else cells.is_empty)(self._cells[column.place])
        }

    @property
    def place(self) -> str:
        """Where the row is, for messages."""
        return self._table.place(self._number)

    @property
    def line(self) -> int:
        """Its line in the table."""
        return self._table.line_of(self._number)

    @property
    def is_blank(self) -> bool:
        """Whether no cell holds anything."""
        return all(cells.is_blank(cell) for cell in self._cells)

    @property
    def is_two_phase(self) -> bool:
        """Whether the table has maps and reduces, each in columns of their own."""
        return "reduces" in self._columns

    def has(self, key: str) -> bool:
        """Whether the row has something in that column."""
        return key in self._filled

    def _cell(self, key: str) -> object:
        if key not in self._filled:
            raise self.wrong(key, "is empty", "fill it in")
        return self._cells[self._columns[key].place]

    def wrong(self, key: str, what: str, hint: str) -> InvalidInput:
        """An error of a cell."""
        column = self._columns.get(key)
        where = self._table.place(self._number) + (f", column {column.header}" if column else "")
        return InvalidInput(what, where=where, hint=hint)

    def text(self, key: str) -> str:
        """The text of a cell."""
        return cells.text(self._cell(key))

    def number(self, key: str) -> float:
        """The number of a cell, above 0."""
        cell = self._cell(key)
        if key not in NEEDS or not isinstance(cell, str):
            return self._number_of(key, cell)
        value = self._read.get((key, cell))
        if value is None:
            value = self._read[key, cell] = self._number_of(key, cell)
        return value

    def _number_of(self, key: str, cell: object) -> float:
        column = self._columns[key]
        try:
            value = cells.number(
                cell,
                column.factor,
                units=column.units,
                has_decimal_comma=self._table.has_decimal_comma,
            )
        except CellError as error:
            hint = error.hint or "give a number, with a unit or without"
            raise self.wrong(key, str(error), hint) from None
        if value <= 0:
            raise self.wrong(key, f"{value:g} is too small", "give a number above 0")
        most = _NUMBER_MAX if key in NEEDS else SECONDS_MAX
        if value > most:
            raise self.wrong(key, f"{value:g} is too large", f"give at most {most:g}")
        return value

    @cached_property
    def name(self) -> str:
        """The name of the job."""
        return self.text("name")

    @cached_property
    def stage(self) -> str:
        """The name of the stage."""
        return self.text("stage") if self.has("stage") else STAGE

    def count(self, key: str) -> int:
        """How many tasks a cell says, from 1 on."""
        try:
            found = cells.whole(self._cell(key), has_decimal_comma=self._table.has_decimal_comma)
        except CellError as error:
            raise self.wrong(key, str(error), "give a whole number of tasks") from None
        if found < 1:
            raise self.wrong(key, f"{found} is too small", "give at least 1 task")
        if found > TASKS_MAX:
            raise self.wrong(key, f"{found:.3g} is too large", f"give at most {TASKS_MAX:,}")
        return found

    def is_zero(self, key: str) -> bool:
        """Whether a cell is empty or says 0."""
        with suppress(CellError):
            return not self.has(key) or not cells.whole(
                self._cell(key), has_decimal_comma=self._table.has_decimal_comma
            )
        return False

    @cached_property
    def phases(self) -> list[tuple[str, int, float]]:
        """Its name, number of tasks and seconds of one task, for each phase of the row."""
        if not self.is_two_phase:
            return [(self.stage, self.count("tasks"), self.number("seconds"))]
        maps = ("map", self.count("maps"), self.number("map_seconds"))
        if self.is_zero("reduces"):
            return [maps]
        return [maps, ("reduce", self.count("reduces"), self.number("reduce_seconds"))]

    @property
    def tasks(self) -> int:
        """How many tasks its largest phase has."""
        return max(tasks for _, tasks, _ in self.phases)

    def instant_s(self, key: str) -> tuple[float, bool]:
        """Seconds, and whether they are those of a date."""
        known = self._instants.get(key)
        if known is not None:
            return known
        try:
            found = cells.instant_s(
                self._cell(key),
                self._columns[key].factor,
                order=self._dates,
                has_decimal_comma=self._table.has_decimal_comma,
            )
        except DateError as error:
            raise self.wrong(key, *error.args) from None
        except CellError as error:
            hint = error.hint or "give seconds, or a date such as 2026-03-01 10:00"
            raise self.wrong(key, str(error), hint) from None
        if found[0] < 0:
            raise self.wrong(key, f"{found[0]:g} is below 0", "give 0 or more")
        self._instants[key] = found
        return found

    def deadline_s(self) -> float:
        """Seconds after the submission. A deadline may be a date where the submission is one."""
        due_s, is_date = self.instant_s("deadline_s")
        if not is_date and not self._columns["deadline_s"].holds_instants:
            return self.number("deadline_s")
        submitted_s, has_date = 0.0, not is_date
        if self.has("submitted_at_s"):
            submitted_s, has_date = self.instant_s("submitted_at_s")
        if has_date != is_date:
            kind, other = ("a date", "none") if is_date else ("no date", "one")
            hint = "give the submission as a date, too, or the time between the two"
            raise self.wrong("deadline_s", f"it is {kind}, and the submission is {other}", hint)
        if due_s <= submitted_s:
            raise self.wrong("deadline_s", "it is not after the submission", "correct one of them")
        return due_s - submitted_s

    def names(self, key: str) -> list[str]:
        """The names in a cell."""
        return cells.names(self._cell(key), self._known)
