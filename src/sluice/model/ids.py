"""Ids of jobs, nodes and pools. The user chooses them, so they are never used as paths."""

from __future__ import annotations

import unicodedata
from typing import NewType

from sluice.model.errors import InvalidInput

JobId = NewType("JobId", str)
NodeId = NewType("NodeId", str)
PoolId = NewType("PoolId", str)

ID_LENGTH_MAX = 200
_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"


def checked_id(text: str, *, what: str) -> str:
    """Return `text` if it is a valid id: 1 to 200 printable characters.

    The joiners of emoji, and of scripts such as Persian, count as printable between two characters
    that are not ASCII; elsewhere they are invisible, and two names would look the same.
    Raises InvalidInput that names `what`, and the character, otherwise.

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
    for place, character in enumerate(text):
        if character in _JOINERS and _joins(text[:place][-1:], text[place + 1 :][:1]):
            continue
        # Categories C*: control, format, surrogate, private, unassigned. A line separator (Zl)
        # or paragraph separator (Zp) would break a log line just as a newline does.
        category = unicodedata.category(character)
        if category[0] == "C" or category in {"Zl", "Zp"}:
            kind = "invisible" if category == "Cf" else "control"
            name = unicodedata.name(character, "").lower()
            called = f"{character!r} ({name})" if name else repr(character)
            raise InvalidInput(
                f"id {text!r} holds the {kind} character {called} at position {place + 1}",
                where=what,
                hint="remove it: use printable characters only",
            )
    return text


def _joins(before: str, after: str) -> bool:
    """Whether a joiner between these two characters changes how they look."""
    return all(one and not one.isascii() and one not in _JOINERS for one in (before, after))
