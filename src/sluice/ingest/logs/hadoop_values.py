"""Values out of Hadoop's JSON, each checked before it counts.

Values of a damaged log that are not numbers are detected here, so that no importer meets a
negative instant, a count of 10^300 or a job whose name breaks the terminal.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from sluice.model.ids import ID_LENGTH_MAX

INSTANT_MS_MAX = 253_402_300_799_999  # the last of the year 9999
AMOUNT_MAX = 2**50  # bytes or records of one task; more is damage, and sums must fit 64 bits
SUM_MAX = 2**63 - 1

_VALUES_MAX = (
    8_000_000  # of one JSON text: about 600 MB as Python values, where all are empty lists
)
_DIGITS = re.compile(r"[0-9]{1,18}")
_LENIENT = json.JSONDecoder(parse_constant=lambda _: None)
_UNION_TYPES = frozenset({"array", "boolean", "double", "float", "int", "long", "map", "string"})

Members = dict[str, Any]


class Unreadable(Exception):
    """A part of a log that cannot be used, and why."""


def json_value(text: bytes) -> Any:  # noqa: ANN401  # JSON is anything
    r"""The value of a JSON text, also of one that only a damaged log holds.

    NaN and the like are read as null, and bytes that are no UTF-8 as U+FFFD, so that one of them
    does not cost the job that contains it. Raises Unreadable.

    >>> json_value(b'{"jobName":"caf\xe9","finishTime":NaN}')
    {'jobName': 'caf\ufffd', 'finishTime': None}
    """
    if text.count(b",") + text.count(b"[") + text.count(b"{") > _VALUES_MAX:
        raise Unreadable(f"more than {_VALUES_MAX} values in one object")
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        why = f"no JSON: {error}"
    try:
        return _LENIENT.decode(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise Unreadable(why) from None


def plain(value: Any) -> Any:  # noqa: ANN401  # as above
    """A value without the type that Avro's JSON writes around members of a union.

    >>> plain({"string": "etl"}), plain("etl")
    ('etl', 'etl')
    """
    if isinstance(value, dict) and len(value) == 1:
        ((name, inner),) = value.items()
        if name in _UNION_TYPES or name.startswith("org.apache.hadoop."):
            return inner
    return value


def whole(value: object, most: int) -> int | None:
    """A whole number from 0 to `most`, also written as text or as 5.0; None for all else.

    >>> (
    ...     whole(5, 10),
    ...     whole("5", 10),
    ...     whole(5.0, 10),
    ...     whole(-1, 10),
    ...     whole(True, 10),
    ...     whole(1e300, 10),
    ... )
    (5, 5, 5, None, None, None)
    """
    value = plain(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = int(value) if _DIGITS.fullmatch(value) else None
    if isinstance(value, float):
        value = int(value) if 0 <= value <= most and value.is_integer() else None
    return value if isinstance(value, int) and 0 <= value <= most else None


def instant_ms(value: object) -> int | None:
    """Milliseconds of an epoch; None for what is none."""
    return whole(value, INSTANT_MS_MAX)


def amount(value: object) -> int | None:
    """Bytes, records or milliseconds of one task; None for what is none, as Hadoop's -1."""
    return whole(value, AMOUNT_MAX)


def text(value: object) -> str:
    r"""Text on one line, without what does not print, cut at 200 characters; "" for all else.

    >>> text("  word\ncount  "), text(7)
    ('word count', '')
    """
    value = plain(value)
    if not isinstance(value, str):
        return ""
    words = " ".join(value[: 10 * ID_LENGTH_MAX].split())
    return "".join(one if one.isprintable() else "\ufffd" for one in words)[:ID_LENGTH_MAX]


def members(value: object) -> Members:
    """A JSON object's members; none where it is something else."""
    value = plain(value)
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """A JSON list's items, likewise."""
    value = plain(value)
    return value if isinstance(value, list) else []
