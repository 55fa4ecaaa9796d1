"""The answer to a user who named something that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SEARCHED_MAX = 20_000  # a search for the nearest of more names takes too long
_LISTED_MAX = 5


def nearest_of(wanted: str, names: Iterable[str]) -> str:
    """The name that comes nearest to the one wanted, or else the first that there are.

    >>> nearest_of("wordcuont", ["sort", "wordcount"])
    "the nearest name is 'wordcount'"
    """
    known = list(names)
    if len(known) <= _SEARCHED_MAX:
        near = difflib.get_close_matches(wanted, known, n=1)
        if near:
            return f"the nearest name is {near[0]!r}"
    shown = ", ".join(known[:_LISTED_MAX]) or "none yet"
    return f"known are {shown}{', ...' if len(known) > _LISTED_MAX else ''}"
