"""A table of VM types and what an hour of each costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sluice.ingest.tables import cells
from sluice.ingest.tables.cells import CellError
from sluice.ingest.tables.columns import PRICE_FIELDS, Column, recognised
from sluice.ingest.tables.rows import Table
from sluice.model.errors import InvalidInput

_HAIR: Final = 1e-9  # amounts are read with rounding


class ListedType(NamedTuple):
    """A VM type. containers: how many of the largest task fit on it."""

    vm_type: str
    containers: int
    hour_usd: float


def listed_types(table: Table, needs: Mapping[str, float]) -> list[ListedType]:
    """The VM types of a table on which a task fits.

    needs: cpus and memory_bytes of the largest task; without them a task takes one cpu.
    Raises InvalidInput naming line and column.
    """
    columns = recognised(table.headers, PRICE_FIELDS, {}, table.where)
    rows = [
        (number, row)
        for number, row in enumerate(table.rows)
        if not all(cells.is_empty(cell) for cell in row)
    ]
    if not rows:
        raise InvalidInput("it has no rows", where=table.where, hint="give a row for each VM type")
    wanted = {"cpus": 1.0, **needs}
    types: dict[str, ListedType] = {}
    for number, row in rows:
        values = _values(table, number, row, columns)
        if values["type"] in types:
            raise InvalidInput(
                f"type {values['type']!r} is given twice", where=table.place(number),
                hint="name each once",
            )  # fmt: skip
        fits = min(
            math.floor(values[key] / need + _HAIR)
            for key, need in wanted.items()
            if need > 0 and key in values
        )
        types[values["type"]] = ListedType(values["type"], fits, values["hour_usd"])
    found = [one for one in types.values() if one.containers >= 1]
    if not found:
        shown = " and ".join(f"{need:g} {key}" for key, need in wanted.items())
        raise InvalidInput(
            f"no type holds a task, which needs {shown}", where=table.where,
            hint="add a larger type, or correct the needs of the jobs",
        )  # fmt: skip
    return found


def _values(
    table: Table, number: int, row: Sequence[object], columns: list[Column]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for column in columns:
        cell = row[column.place]
        where = f"{table.place(number)}, column {column.header}"
        if cells.is_empty(cell):
            if column.key == "memory_bytes":
                continue
            raise InvalidInput("it is empty", where=where, hint="fill it in")
        if column.key == "type":
            found["type"] = cells.text(cell)
            continue
        try:
            found[column.key] = cells.number(
                cell, column.factor, units=column.units, has_decimal_comma=table.has_decimal_comma
            )
        except CellError as error:
            raise InvalidInput(str(error), where=where, hint="give a number") from None
        if found[column.key] < 0:
            raise InvalidInput(f"{found[column.key]:g} is below 0", where=where, hint="correct it")
    return found
