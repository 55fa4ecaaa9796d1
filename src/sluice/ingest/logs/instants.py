"""Instants that a log writes as text, and lengths between instants."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sluice.ingest.logs.report import Unreadable
from sluice.ingest.logs.whole_json import text_in

_SHOWN_MAX = 40
_NONE = frozenset({"", "none", "null"})


def iso_instant_s(text: str, field: str) -> float | None:
    """Seconds of the epoch of an ISO 8601 text, in UTC without a zone; None for no instant.

    field: its name, for the message. Raises Unreadable for any other text.

    >>> iso_instant_s("2026-01-05T08:00:00Z", "start"), iso_instant_s("None", "end")
    (1767600000.0, None)
    """
    if text.lower() in _NONE:
        return None
    try:
        date = datetime.fromisoformat(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise Unreadable(f"{field} is {text[:_SHOWN_MAX]!r}") from None


def instant_in(holder: Mapping[str, Any], key: str) -> float | None:
    """Seconds of the epoch of a member. Raises Unreadable as above."""
    return iso_instant_s(text_in(holder, key), key)


def neat(length_s: float) -> float:
    """To the microsecond: logs are not more exact, and subtraction leaves noise below that."""
    return round(length_s, 6)
