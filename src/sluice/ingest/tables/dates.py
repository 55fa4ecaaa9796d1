"""Dates in the cells of a table: as ISO 8601 has them, and as spreadsheets write them.

03/04/2021 is in March in the United States and in April in most other countries. The cells of a
table show which, once one of them has a day above 12; else its user says so. A zone may be an
offset, a name of the tz database, or an abbreviation that only one zone has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

_ISO = re.compile(r"\d{4}[-/]\d{2}[-/]\d{2}")
_WRITTEN = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(?:,?\s+(.+))?")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:\s*([AaPp])\.?[Mm]\.?)?")
_ZONE = re.compile(r"(.*\d(?:\s*[AaPp]\.?[Mm]\.?)?)\s*\(?([A-Za-z][A-Za-z_]+(?:/[\w+-]+)*)\)?")
_PM = re.compile(r"[AaPp]\.?[Mm]\.?")
_MONTHS: Final = 12
_HOURS: Final = 12
# Of RFC 5322 (section 4.3) and of Europe. CST is China's, too, and BST, IST and AST have several.
_ZONE_HOURS: Final = {
    **dict.fromkeys(("UTC", "GMT", "WET"), 0), **dict.fromkeys(("CET", "WEST"), 1),
    **dict.fromkeys(("CEST", "EET"), 2), "EEST": 3, "EST": -5, "EDT": -4, "CDT": -5, "MST": -7,
    "MDT": -6, "PST": -8, "PDT": -7,
}  # fmt: skip


class DateError(Exception):
    """A text that is not a date. args: what is wrong, and how to correct it."""


class DateOrder(StrEnum):
    """The part that comes first in a date such as 03/04/2021."""

    DAY_FIRST = "day-first"
    MONTH_FIRST = "month-first"


def is_date_text(written: str) -> bool:
    """Whether a text is meant as a date, which may still be wrong, such as 2026-02-30."""
    return _ISO.match(written) is not None or _WRITTEN.fullmatch(written) is not None


def date_order(written: Iterable[str]) -> DateOrder | None:
    """Which order the dates of a table show; None if none of them has a day above 12.

    A point parts days from months nowhere but where the day is first. Raises DateError if they
    show both.
    """
    found: dict[DateOrder, str] = {}
    for one in written:
        parts = _WRITTEN.fullmatch(one)
        if parts is None:
            continue
        if parts[2] == "." or int(parts[1]) > _MONTHS:
            found.setdefault(DateOrder.DAY_FIRST, one)
        elif int(parts[3]) > _MONTHS:
            found.setdefault(DateOrder.MONTH_FIRST, one)
    if len(found) > 1:
        first, other = found.values()
        raise DateError(
            f"{first!r} and {other!r} do not have day and month in one order",
            "write all dates as 2026-03-01 10:00",
        )
    return next(iter(found), None)


def moment(written: str, order: DateOrder | None) -> datetime:
    """The instant of a text; of UTC where it names no zone. Raises DateError."""
    plain, zone = _without_zone(written)
    parts = _WRITTEN.fullmatch(plain)
    try:
        found = (
            datetime.fromisoformat(plain.replace("/", "-"))
            if parts is None
            else _of_parts(parts, order, written)
        )
    except ValueError:
        raise DateError(f"{written!r} is not a date", _HINT) from None
    if zone is not None and found.tzinfo is not None:
        raise DateError(f"{written!r} has two zones", "leave out one of them")
    return found if found.tzinfo else found.replace(tzinfo=zone or UTC)


_HINT: Final = "give seconds, or a date such as 2026-03-01 10:00"


def _of_parts(parts: re.Match[str], order: DateOrder | None, written: str) -> datetime:
    first, second, year = int(parts[1]), int(parts[3]), int(parts[4])
    if order is None and first != second:
        raise DateError(
            f"{written!r} may have the day or the month first",
            "say which: --map dates=day-first, or --map dates=month-first",
        )
    month, day = (first, second) if order is DateOrder.MONTH_FIRST else (second, first)
    return datetime.combine(date(year, month, day), _time_of(parts[5]))


def _time_of(written: str | None) -> time:
    """The time of day, of 24 hours or of 12. Raises ValueError."""
    if written is None:
        return time()
    found = _TIME.fullmatch(written)
    if found is None or found[4] is None:
        return time.fromisoformat(written if written[1:2] != ":" else f"0{written}")
    hour = int(found[1])
    if not 1 <= hour <= _HOURS:
        raise ValueError(hour)
    hour = hour % _HOURS + (_HOURS if found[4] in "Pp" else 0)
    return time(hour, int(found[2]), int(found[3] or 0))


def _without_zone(written: str) -> tuple[str, tzinfo | None]:
    """A date without the name of a zone, and the zone. Raises DateError."""
    found = _ZONE.fullmatch(written)
    if found is None or found[2] in {"Z", "z"} or _PM.fullmatch(found[2]):
        return written, None
    name = found[2]
    hours = _ZONE_HOURS.get(name.upper())
    if hours is not None:
        return found[1], timezone(timedelta(hours=hours))
    if "/" in name:
        try:
            return found[1], ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            pass
    raise DateError(
        f"{name!r} is not a zone that is known for sure",
        "give its offset, as in 2026-03-01 10:00+05:30, or a name such as Europe/Berlin",
    )
