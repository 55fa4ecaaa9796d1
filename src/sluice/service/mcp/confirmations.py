"""A tool that changes something is called twice: first to see what it would do, then to do it.

The second call carries the word that the first one gave. The word is bound to what is to be done,
works once, and within a minute, so that no text which an agent has read can do it alone.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from typing import Any

from sluice.model.errors import InvalidInput

VALID_S = 60.0


class Confirmations:
    """The words that were given and not used yet."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, float]] = {}

    def new(self, what: Mapping[str, Any]) -> str:
        """A word that confirms this."""
        word = secrets.token_urlsafe(16)
        self._open[word] = (_digest(what), time.monotonic() + VALID_S)
        return word

    def use(self, word: str, what: Mapping[str, Any]) -> None:
        """Raise InvalidInput unless the word confirms this. It is worth nothing afterwards."""
        digest, until_s = self._open.pop(word, ("", 0.0))
        if digest != _digest(what) or time.monotonic() > until_s:
            raise InvalidInput(
                "the word confirms something else, was used, or is older than a minute",
                where="confirm",
                hint="call the tool without it, and read what it would do",
            )


def _digest(what: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
