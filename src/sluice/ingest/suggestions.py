"""The hint of a message about an unknown name."""

from __future__ import annotations

import difflib
from collections.abc import Collection

_LISTED_MAX = 12


def suggestion(name: str, known: Collection[str]) -> str:
    """The nearest known name, or all known names if they are few, as a hint.

    >>> suggestion("deadlin_s", ["deadline_s", "weight"])
    'did you mean deadline_s?'
    """
    near = difflib.get_close_matches(name[:200], known, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    if len(known) <= _LISTED_MAX:
        return f"use one of {', '.join(known)}"
    return "remove it"
