"""The hint of a message about an unknown name."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from enum import Enum
from typing import TypeVar

from sluice.model.errors import InvalidInput

Choice = TypeVar("Choice", bound=Enum)

_LISTED_MAX = 12


def suggestion(name: str, known: Collection[str], otherwise: str = "remove it") -> str:
    """The nearest known name, or all known names if they are few, as a hint.

    otherwise: the hint if no name is near and there are too many to list, or none.

    >>> suggestion("deadlin_s", ["deadline_s", "weight"])
    'did you mean deadline_s?'
    >>> suggestion("nightly", []), suggestion("nightly", ["ab", "cd"])
    ('remove it', 'use one of ab, cd')
    """
    if near := nearest(name, known):
        return f"did you mean {near}?"
    if 0 < len(known) <= _LISTED_MAX:
        return f"use one of {', '.join(known)}"
    return otherwise


def known_word(flag: str, word: str, known: Collection[str]) -> str:
    """The word, if it is known. Raises InvalidInput with the nearest one."""
    if word not in known:
        raise InvalidInput(f"{word!r} is not known", where=flag, hint=suggestion(word, known))
    return word


def known_choice(flag: str, word: str, kind: type[Choice]) -> Choice:
    """The member of an enumeration whose value is the word. Raises InvalidInput as `known_word`."""
    return kind(known_word(flag, word, [one.value for one in kind]))


def nearest(name: str, known: Collection[str], *, similarity: float = 0.6) -> str:
    """The known name most like `name`, "" if none is. similarity: 0 to 1, the least that counts."""
    return next(iter(difflib.get_close_matches(name[:200], known, 1, similarity)), "")
