"""The nearest known name, for messages about an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Collection

_LISTED_MAX = 12


def suggestion(name: str, known: Collection[str]) -> str:
    """How to mend an unknown name: the nearest known one, or all where they are few.

    >>> suggestion("deadlin_s", ["deadline_s", "weight"])
    'perhaps deadline_s was meant'
    """
    near = difflib.get_close_matches(name[:200], known, n=1, cutoff=0.6)
    if near:
        return f"perhaps {near[0]} was meant"
    if len(known) <= _LISTED_MAX:
        return f"known here: {', '.join(known)}"
    return "take it out"
