"""Cells of a table: numbers with or without a unit, clock times and instants."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Final

from sluice.ingest.tables.columns import BYTE_UNITS, TIME_UNITS

_AMOUNT = re.compile(r"([-+]?(?:\d[\d_,.]*|\.\d+)(?:[eE][-+]?\d{1,3})?)\s*([A-Za-z]*)")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")
_CLOCK = re.compile(r"(?:(\d+)-)?(\d{1,4}):(\d{2})(?::(\d{2}(?:\.\d+)?))?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_EMPTY: Final = frozenset({"", "none", "null", "nan", "na", "n/a", "-"})
_LETTERS_MAX = 60


class CellError(Exception):
    """A cell that is not what its column holds. args: what is wrong."""


def is_empty(cell: object) -> bool:
    """Whether a cell of a number holds nothing."""
    return is_blank(cell) or (isinstance(cell, str) and cell.strip().lower() in _EMPTY)


def is_blank(cell: object) -> bool:
    """Whether a cell of a text holds nothing; a name may be `none`."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return True
    return isinstance(cell, str) and not cell.strip()


def text(cell: object) -> str:
    """The cell as a text; a whole number that a spreadsheet made 3.0 is 3 again."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def number(cell: object, factor: float = 1.0, *, has_decimal_comma: bool = False) -> float:
    """The cell in the unit that is kept. factor: of the column, for a cell without a unit.

    >>> number("1,500"), number("2,5"), number("1.500,25 min", has_decimal_comma=True)
    (1500.0, 2.5, 90015.0)
    """
    if isinstance(cell, bool):
        raise CellError(f"{cell} is not a number")
    if isinstance(cell, int | float):
        return _finite(float(cell) * factor, cell)
    written = text(cell)
    clock = _CLOCK.fullmatch(written)
    if clock is not None:
        return _clock_s(clock)
    found = _AMOUNT.fullmatch(written.removeprefix("$").strip())
    if found is None:
        raise CellError(f"{written[:_LETTERS_MAX]!r} is not a number")
    digits = _digits(found[1], has_decimal_comma=has_decimal_comma)
    unit = found[2].lower()
    if unit:
        known = {**BYTE_UNITS, **TIME_UNITS}.get(unit)
        if known is None:
            raise CellError(f"{written[:_LETTERS_MAX]!r} has no known unit")
        factor = known
    return _finite(float(digits) * factor, written)


def _digits(written: str, *, has_decimal_comma: bool) -> str:
    """The digits of a number as Python reads them. Raises CellError."""
    plain = written.replace("_", "")
    if has_decimal_comma and "," in plain:
        plain = plain.replace(".", "").replace(",", ".")
    elif _THOUSANDS.fullmatch(plain):
        plain = plain.replace(",", "")
    elif "." not in plain:
        plain = plain.replace(",", ".")  # a decimal point, as many languages write it
    try:
        float(plain)
    except ValueError:
        raise CellError(f"{written[:_LETTERS_MAX]!r} is not a number") from None
    return plain


def whole(cell: object) -> int:
    """The cell as a whole number."""
    value = number(cell)
    if not value.is_integer():
        raise CellError(f"{text(cell)[:_LETTERS_MAX]!r} is not a whole number")
    return int(value)


def instant_s(
    cell: object, factor: float = 1.0, *, has_decimal_comma: bool = False
) -> tuple[float, bool]:
    """Seconds of an instant, and whether they are those of a date."""
    if isinstance(cell, datetime):
        return _of_date(cell), True
    if isinstance(cell, str) and is_date(cell):
        try:
            return _of_date(datetime.fromisoformat(cell.strip())), True
        except ValueError:
            raise CellError(f"{cell.strip()[:_LETTERS_MAX]!r} is not a date") from None
    return number(cell, factor, has_decimal_comma=has_decimal_comma), False


def is_date(cell: object) -> bool:
    """Whether a cell holds a date, which may still be wrong, such as 2026-02-30."""
    is_text = isinstance(cell, str) and _DATE.match(cell.strip()) is not None
    return is_text or isinstance(cell, datetime)


def _of_date(date: datetime) -> float:
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _clock_s(found: re.Match[str]) -> float:
    """H:MM, H:MM:SS or days-H:MM:SS."""
    days, hours, minutes, seconds = found.groups()
    if days is not None and seconds is None:
        raise CellError(f"{found[0][:_LETTERS_MAX]!r} is not a time")
    return (
        int(days or 0) * 86_400.0 + int(hours) * 3600.0 + int(minutes) * 60.0 + float(seconds or 0)
    )


def _finite(value: float, cell: object) -> float:
    if not math.isfinite(value):
        raise CellError(f"{str(cell)[:_LETTERS_MAX]!r} is not a finite number")
    return value
