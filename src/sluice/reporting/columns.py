"""Columns: each is described once, and table, data frame, JSON document and page follow from it.

Theory of operation. A kind of row, such as a job on VM pools, has one tuple of `Column`. A column
knows the name of its field, where its value is in a row, its heading in a table, how its value is
written there, and when it is shown. From the tuple follow

- `column_table`: the table of a terminal, of the columns that have a heading;
- `column_document`: a row as plain JSON values, of the columns that have a name. Pages and
  notebooks are made of the document, so that they have the same columns, see `document_html`;
- `column_frame`: a data frame with the names of the document.

So one line adds a column everywhere. The order of the tuple is that of all views. A value that
only people read, such as an interval in one cell, has a heading and no name; one for programs has
a name and no heading. Names carry the unit: `started_at_s`.

Tables whose rows are no values of one kind, such as a matrix with a column for each tenant, are
made by hand: this module is to shorten what is said several times, not to say everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import Any, Generic, Literal, TypeVar

from sluice.reporting.extras import DataFrame, data_frame
from sluice.reporting.formatting import NOTHING
from sluice.reporting.table_style import (
    NameCell,
    Table,
    Text,
    left_out,
    name_cell,
    plain_table,
    plain_text,
)

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column of the views of a kind of row.

    name: of the field in documents and frames, with its unit; "" if only tables have it.
    head: in tables; None if only documents have it.  text: writes the value for a table; a value
    that is not known is a dash there.
    of: finds the value in a row; by default the attribute with that name.
    style: of the cell of a row.  is_shown: for the rows of a table, by default always.
    is_left: texts are aligned to the left, numbers to the right.  wraps: may take several lines.
    in_frame: False for lists, which documents have and frames do not.

    >>> Column("real", "real part", "{:.1f}".format).value(2 + 1j)
    2.0
    """

    name: str
    head: str | None = None
    text: Callable[[Any], str | Text | NameCell] = str
    of: Callable[[Row], object] | None = None
    style: Callable[[Row], str] | None = None
    is_shown: Callable[[Sequence[Row]], bool] | None = None
    is_left: bool = False
    wraps: bool = False
    in_frame: bool = True

    def value(self, row: Row) -> object:
        """The value of this column in a row."""
        return attrgetter(self.name)(row) if self.of is None else self.of(row)

    def cell(self, row: Row) -> Text | NameCell:
        """The value as a cell of a table."""
        value = self.value(row)
        text = NOTHING if value is None else self.text(value)
        style = "" if self.style is None else self.style(row)
        return plain_text(text, style) if isinstance(text, str) else text


def field(
    name: str,
    head: str,
    text: Callable[[Any], str | Text | NameCell] = str,
    *,
    is_left: bool = False,
    is_shown: Callable[[Sequence[Mapping[str, Any]]], bool] | None = None,
) -> Column[Mapping[str, Any]]:
    """A column of rows that are JSON values; a field that is missing is not known."""
    of = partial(_field, name)
    return Column(name, head, text, of, None, is_shown, is_left)


def _field(name: str, row: Mapping[str, Any]) -> object:
    return row.get(name)


def named(
    head: str,
    of: Callable[[Row], str] | None = None,
    *,
    name: str = "",
    text: Callable[[str], str | Text | NameCell] = name_cell,
) -> Column[Row]:
    """The column of the names of rows. A document has them as its keys, a frame as `name`."""
    return Column(name, head, text, of, is_left=True)


def column_table(
    columns: Sequence[Column[Row]],
    rows: Sequence[Row] | Mapping[str, Row],
    caption: str = "",
    *,
    key: str = "",
    rows_max: int | None = None,
) -> Table:
    """A table with a row for each of the rows.

    key: heading of the names of rows, where these are the keys of a mapping.
    rows_max: how many are shown at most; the caption counts the others.
    """
    values = list(rows.values() if isinstance(rows, Mapping) else rows)[:rows_max]
    named_rows = islice(rows, rows_max) if isinstance(rows, Mapping) else ()
    names = [[name_cell(name)] for name in named_rows] or [[]] * len(values)
    about = filter(None, (caption, left_out(len(rows) - len(values))))
    table = plain_table("; ".join(about), names=(key,) if isinstance(rows, Mapping) else ())
    shown = shown_columns(columns, values)
    for one in shown:
        justify: Literal["left", "right"] = "left" if one.is_left else "right"
        table.add_column(one.head or "", justify=justify, no_wrap=not one.wraps)
    for name, row in zip(names, values, strict=False):
        table.add_row(*name, *(one.cell(row) for one in shown))
    return table


def shown_columns(columns: Sequence[Column[Row]], rows: Sequence[Row]) -> list[Column[Row]]:
    """The columns that a table of these rows has."""
    return [
        one
        for one in columns
        if one.head is not None and (one.is_shown is None or one.is_shown(rows))
    ]


def any_of(name: str) -> Callable[[Sequence[object]], bool]:
    """Whether any row knows the value of a field: for columns that are often empty."""
    get = attrgetter(name)
    return lambda rows: any(get(row) is not None for row in rows)


def column_document(columns: Iterable[Column[Row]], row: Row) -> dict[str, object]:
    """A row as plain JSON values, by the names of its columns."""
    return {one.name: one.value(row) for one in columns if one.name}


def column_frame(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> DataFrame:
    """A data frame with a row for each of the rows. Raises MissingExtra without pandas."""
    flat = [one for one in columns if one.in_frame]
    return data_frame(column_document(flat, row) for row in rows)
