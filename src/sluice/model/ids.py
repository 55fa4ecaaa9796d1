"""Ids of jobs, nodes and pools. The user chooses them, so they are never used as paths."""

from __future__ import annotations

import unicodedata
from typing import NewType

from sluice.model.errors import InvalidInput

JobId = NewType("JobId", str)
NodeId = NewType("NodeId", str)
PoolId = NewType("PoolId", str)

ID_LENGTH_MAX = 200


def checked_id(text: str, *, what: str) -> str:
    """Return `text` if it is a valid id: 1 to 200 printable characters.

    Raises InvalidInput that names `what` otherwise.

    >>> checked_id("wordcount-1", what="job")
    'wordcount-1'
    """
    if not 1 <= len(text) <= ID_LENGTH_MAX:
        raise InvalidInput(
            f"id has {len(text)} characters",
            where=what,
            hint=f"give 1 to {ID_LENGTH_MAX} printable characters",
        )
    if text.isascii() and text.isprintable():
        return text  # as most are; to look at each character takes longer than all else
    for character in text:
        # Categories C*: control, format, surrogate, private, unassigned. A line separator (Zl)
        # or paragraph separator (Zp) would break a log line just as a newline does.
        category = unicodedata.category(character)
        if category[0] == "C" or category in {"Zl", "Zp"}:
            raise InvalidInput(
                f"id {text!r} holds the control character {character!r}",
                where=what,
                hint="use printable characters only",
            )
    return text
