"""Cells of a table: numbers with or without a unit, lengths of time and instants."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from sluice.ingest.tables.columns import BYTE_UNITS, TIME_UNITS
from sluice.ingest.tables.dates import DateOrder, is_date_text, moment

_AMOUNT = re.compile(
    r"([-+]?(?:\d[\d_,.]*|\.\d+)(?:[eE][-+]?\d{1,3})?)\s*([A-Za-z][A-Za-z/ ]*|/[a-z]+)?"
)
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?")
_THOUSANDS_BY_POINT = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+")
_CLOCK = re.compile(r"(?:(\d+)(?:-| days? ))?(\d{1,4}):(\d{2})(?::(\d{2}(?:\.\d+)?))?")
_PARTS = re.compile(r"(?:(\d+(?:\.\d+)?)\s*([a-z]+)\s*)")
_ISO_LENGTH = re.compile(r"p(?:\d+d)?(?:t(?=\d).*)?")  # P1DT2H3M4S, without months
_PLAIN = re.compile(r"\d{1,15}(?:\.\d{1,15})?")
_DIGITS = re.compile(r"[0-9]{1,15}")
_ANY_UNITS: Final = {**BYTE_UNITS, **TIME_UNITS}
_EMPTY: Final = frozenset({"", "none", "null", "nan", "na", "n/a", "-"})
_MISSING: Final = frozenset({"NAType", "NaTType"})  # of pandas; they equal nothing
_SEPARATORS: Final = ";|,"
# Seconds, or milliseconds, of an instant since 1970: no workload lasts 15 years.
EPOCH_S_MIN: Final = 5e8
_EPOCH_MS_MIN: Final = EPOCH_S_MIN * 1000
_LETTERS_MAX = 60


# What `1:30` is in a column of minutes, or of hours; in any other column it could be both.
SHORT_CLOCKS: Final = {60.0: "m:ss", 3600.0: "h:mm"}


class CellError(Exception):
    """A cell that is not what its column holds. hint: what to give; empty for the usual."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.hint = hint


def is_empty(cell: object) -> bool:
    """Whether a cell of a number holds nothing."""
    return cell.strip().lower() in _EMPTY if isinstance(cell, str) else is_blank(cell)


def is_blank(cell: object) -> bool:
    """Whether a cell of a text holds nothing; a name may be `none`."""
    if isinstance(cell, str):
        return not cell.strip()
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return True
    return type(cell).__name__ in _MISSING or (isinstance(cell, list | tuple) and not cell)


def text(cell: object) -> str:
    """The cell as a text; a whole number that a spreadsheet made 3.0 is 3 again."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def number(
    cell: object,
    factor: float = 1.0,
    *,
    units: Mapping[str, float] = _ANY_UNITS,
    has_decimal_comma: bool = False,
    is_instant: bool = False,
) -> float:
    """The cell in the unit that is kept. factor: of the column, for a cell without a unit.

    units: what the cell may be counted in.  is_instant: whether `1:30` is a time of day, unless
    the column has a unit.  Raises CellError.

    >>> number("1,500"), number("2,5"), number("1.500,25 min", has_decimal_comma=True)
    (1500.0, 2.5, 90015.0)
    >>> number("1h 30m", units=TIME_UNITS)
    5400.0
    """
    if isinstance(cell, bool):
        raise CellError(f"{cell} is not a number")
    if isinstance(cell, int | float):
        return _finite(float(cell) * factor, cell)
    if not has_decimal_comma and isinstance(cell, str) and _PLAIN.fullmatch(cell):
        return float(cell) * factor  # nearly all cells of large tables
    if "s" in units:
        length_s = _length_s(cell, 3600.0 if is_instant and factor == 1 else factor)
        if length_s is not None:
            return length_s
    written = text(cell)
    found = _AMOUNT.fullmatch(written.removeprefix("$").strip())
    if found is None:
        raise CellError(f"{written[:_LETTERS_MAX]!r} is not a number")
    digits = _digits(found[1], has_decimal_comma=has_decimal_comma)
    unit = (found[2] or "").lower()
    if unit:
        if unit not in units:
            raise CellError(f"{written[:_LETTERS_MAX]!r} has no known unit")
        factor = units[unit]
    return _finite(float(digits) * factor, written)


def _length_s(cell: object, factor: float) -> float | None:
    """Seconds of a length that is no single number: 1:30:00, 1h 30m, PT90S; None for others.

    factor: of the unit in which the column counts, which says what `1:30` is.  Raises CellError.
    """
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    written = text(cell)
    clock = _CLOCK.fullmatch(written)
    if clock is not None:
        return _clock_s(clock, factor)
    lowered = written.lower()
    if _ISO_LENGTH.fullmatch(lowered):
        lowered = lowered[1:].replace("t", "")
    elif not lowered[-1:].isalpha():
        return None
    parts = _PARTS.findall(lowered)
    if not parts or _PARTS.sub("", lowered):
        return None
    known = [TIME_UNITS.get(unit) for _, unit in parts]
    sizes = [size for size in known if size is not None]
    # 20s 3m and 1m 2m are more likely mistakes than lengths.
    if len(sizes) < len(known) or sorted(set(sizes), reverse=True) != sizes:
        return None
    return math.fsum(float(amount) * size for (amount, _), size in zip(parts, sizes, strict=True))


def _digits(written: str, *, has_decimal_comma: bool) -> str:
    """The digits of a number as Python reads them. Raises CellError."""
    plain = written.replace("_", "")
    if has_decimal_comma and "," in plain:
        plain = plain.replace(".", "").replace(",", ".")
    elif has_decimal_comma and _THOUSANDS_BY_POINT.fullmatch(plain):
        plain = plain.replace(".", "")
    elif _THOUSANDS.fullmatch(plain):
        plain = plain.replace(",", "")
    elif "." not in plain:
        plain = plain.replace(",", ".")  # a decimal point, as many languages write it
    try:
        float(plain)
    except ValueError:
        raise CellError(f"{written[:_LETTERS_MAX]!r} is not a number") from None
    return plain


def whole(cell: object, *, has_decimal_comma: bool = False) -> int:
    """The cell as a whole number, in which a comma can only part thousands."""
    if isinstance(cell, str) and _DIGITS.fullmatch(cell):
        return int(cell)  # nearly all cells of large tables
    has_decimal_comma = has_decimal_comma and "," not in text(cell)
    value = number(cell, units={}, has_decimal_comma=has_decimal_comma)
    if not value.is_integer():
        raise CellError(f"{text(cell)[:_LETTERS_MAX]!r} is not a whole number")
    return int(value)


def instant_s(
    cell: object,
    factor: float = 1.0,
    *,
    order: DateOrder | None = None,
    has_decimal_comma: bool = False,
) -> tuple[float, bool]:
    """Seconds of an instant, and whether they are those of a date.

    A number so large that it can only count from 1970 is one, in seconds or milliseconds.
    order: of day and month in dates such as 03/04/2021.  Raises CellError and DateError.
    """
    if isinstance(cell, date):
        return _of_date(cell), True
    if isinstance(cell, str) and is_date(cell):
        return moment(cell.strip()[:_LETTERS_MAX], order).timestamp(), True
    found = number(
        cell, factor, units=TIME_UNITS, has_decimal_comma=has_decimal_comma, is_instant=True
    )
    if found >= _EPOCH_MS_MIN:
        found /= 1000
    return found, found >= EPOCH_S_MIN


def is_date(cell: object) -> bool:
    """Whether a cell holds a date, which may still be wrong, such as 2026-02-30."""
    return isinstance(cell, date) or (isinstance(cell, str) and is_date_text(cell.strip()))


def _of_date(day: date) -> float:
    moment = day if isinstance(day, datetime) else datetime.combine(day, time(), UTC)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def names(cell: object, known: Collection[str] = ()) -> list[str]:
    """The names in a cell: a list, the text of one, or names that are parted by ; or , or |.

    known: names that are not parted, as they have such a character in them.
    """
    written = text(cell)
    if isinstance(cell, str) and written.startswith("[") and written.endswith("]"):
        try:
            cell = ast.literal_eval(written)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            cell = written[1:-1]
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if isinstance(cell, list | tuple | set | frozenset):
        return [text(one) for one in cell if not is_blank(one)]
    found = [text(cell)]
    for separator in _SEPARATORS:
        found = [
            part for one in found for part in ([one] if one in known else one.split(separator))
        ]
        found = [part.strip() for part in found if part.strip()]
    return found


def is_short_clock(cell: object) -> bool:
    """Whether a cell holds two numbers of a clock, such as 1:30."""
    found = _CLOCK.fullmatch(cell.strip()) if isinstance(cell, str) and ":" in cell else None
    return found is not None and found[4] is None


def _clock_s(found: re.Match[str], factor: float) -> float:
    """H:MM:SS or days-H:MM:SS; H:MM in a column of hours, and M:SS in one of minutes."""
    days, first, second, third = found.groups()
    if third is not None:
        return int(days or 0) * 86_400.0 + int(first) * 3600.0 + int(second) * 60.0 + float(third)
    if days is not None:
        raise CellError(f"{found[0][:_LETTERS_MAX]!r} is not a time")
    if factor not in SHORT_CLOCKS:
        raise CellError(
            f"{found[0]!r} may be minutes and seconds, or hours and minutes",
            f"write 0:{first:0>2}:{second} or {first}:{second}:00, or name the unit in the header,"
            " such as mm:ss or h:mm",
        )
    return int(first) * factor + int(second) * factor / 60


def _finite(value: float, cell: object) -> float:
    if not math.isfinite(value):
        raise CellError(f"{str(cell)[:_LETTERS_MAX]!r} is not a finite number")
    return value
