"""A log that is one JSON value, bounded in bytes and in values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_bytes
from sluice.ingest.logs.report import Report
from sluice.model.errors import InvalidInput
from sluice.model.ids import ID_LENGTH_MAX

BLANKS: Final = b"\xef\xbb\xbf \t\r\n"  # before the first value of a file
_VALUES_MAX: Final = 10**7


def whole_json(path: Path, report: Report, limits: Limits) -> object:
    """The value that the log is. Raises InvalidInput where it is not JSON or too large."""
    return parsed(path, log_bytes(path, report, limits))


def parsed(path: Path, content: bytes, kind: str = "list") -> object:
    """The value that these bytes are. kind: for messages. Raises InvalidInput as above."""
    if sum(content.count(mark) for mark in (b",", b"{", b"[")) > _VALUES_MAX:
        raise InvalidInput(
            f"it holds more than {_VALUES_MAX} values", where=str(path), hint="cut it into parts"
        )
    try:
        value: object = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(
            f"it is not JSON: {error}", where=str(path), hint=f"give the whole {kind}, in UTF-8"
        ) from None
    return value


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> Sequence[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects_in(value: object) -> Sequence[Mapping[str, Any]]:
    """The mappings of a list; none of what is not a list."""
    return [one for one in listed(value) if isinstance(one, dict)]


def text_in(holder: Mapping[str, Any], key: str, most: int | None = ID_LENGTH_MAX) -> str:
    """The text of a member without blanks around it, cut to `most`; "" for what is no text."""
    found = holder.get(key)
    return found.strip()[:most] if isinstance(found, str) else ""
