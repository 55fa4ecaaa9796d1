"""A log that is one JSON value, bounded in bytes and in values."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import orjson

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_bytes
from sluice.ingest.logs.report import Report
from sluice.model.errors import InvalidInput

_VALUES_MAX: Final = 10**7


def whole_json(path: Path, report: Report, limits: Limits) -> object:
    """The value that the log is. Raises InvalidInput where it is not JSON or too large."""
    return parsed(path, log_bytes(path, report, limits))


def parsed(path: Path, content: bytes) -> object:
    """The value that these bytes are. Raises InvalidInput as above."""
    if sum(content.count(mark) for mark in (b",", b"{", b"[")) > _VALUES_MAX:
        raise InvalidInput(
            f"it holds more than {_VALUES_MAX} values", where=str(path), hint="cut it into parts"
        )
    try:
        value: object = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(
            f"it is not JSON: {error}", where=str(path), hint="give the whole list, in UTF-8"
        ) from None
    return value
