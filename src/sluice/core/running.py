"""The running attempts, in the order of their start.

Live events name an attempt by its key, so that they need an index by key. A simulation has the
attempt itself in hand, and making and hashing a key for each attempt would cost as much as all else
that a task costs. So the index by key is made at the first question by key, and kept from then on.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView

from sluice.core.entries import Attempt
from sluice.core.events import AttemptKey


class RunningAttempts:
    """Reads like a dictionary from the key of an attempt to the attempt."""

    def __init__(self) -> None:
        self._attempts: dict[Attempt, None] = {}
        self._by_key: dict[AttemptKey, Attempt] | None = None

    def add(self, attempt: Attempt) -> None:
        """The attempt runs from now on."""
        self._attempts[attempt] = None
        if self._by_key is not None:
            self._by_key[attempt.key] = attempt

    def remove(self, attempt: Attempt) -> None:
        """The attempt runs no more; KeyError if it did not run."""
        del self._attempts[attempt]
        if self._by_key is not None:
            del self._by_key[attempt.key]

    def _index(self) -> dict[AttemptKey, Attempt]:
        index = self._by_key
        if index is None:
            index = self._by_key = {attempt.key: attempt for attempt in self._attempts}
        return index

    def get(self, key: AttemptKey) -> Attempt | None:
        """The attempt of that key, if it runs."""
        return self._index().get(key)

    def __getitem__(self, key: AttemptKey) -> Attempt:
        return self._index()[key]

    def __contains__(self, key: object) -> bool:
        return key in self._index()

    def __len__(self) -> int:
        return len(self._attempts)

    def __iter__(self) -> Iterator[AttemptKey]:
        return iter(self._index())

    def keys(self) -> KeysView[AttemptKey]:
        """As of a dictionary."""
        return self._index().keys()

    def items(self) -> ItemsView[AttemptKey, Attempt]:
        """As of a dictionary."""
        return self._index().items()

    def values(self) -> KeysView[Attempt]:
        """The attempts; no index is needed for them."""
        return self._attempts.keys()
