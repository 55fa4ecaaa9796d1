"""The running attempts, in the order of their start.

Live events name an attempt by its key, so that they need an index by key. A simulation has the
attempt itself in hand, and making and hashing a key for each attempt would cost as much as all else
that a task costs. So the attempts are a linked list, which is entered and left without hashing. A
question by key searches the list. Once the questions have cost more than an index by key would
have, it is made, and kept from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, KeysView
from typing import Final

from mypy_extensions import i64

from sluice.core.entries import Attempt
from sluice.model.attempts import AttemptKey

_EXPECTED_MAX: Final = 64
_SEARCHED_MAX: Final = 8  # for each attempt that has started; to keep an index takes as long


class RunningAttempts:
    """Reads like a dictionary from the key of an attempt to the attempt.

    first: the one that was started first; each knows the one `after` it.
    """

    def __init__(self) -> None:
        self.first: Attempt | None = None
        self._last: Attempt | None = None
        self._count: i64 = 0
        self._started: i64 = 0
        self._searched: i64 = 0
        self._by_key: dict[AttemptKey, Attempt] | None = None
        self._expected: dict[AttemptKey, Attempt] = {}

    def add(self, attempt: Attempt) -> None:
        """The attempt runs from now on."""
        last = self._last
        if last is None:
            self.first = attempt
        else:
            last.after = attempt
            attempt.before = last
        self._last = attempt
        self._count += 1
        self._started += 1
        if self._by_key is not None:
            self._by_key[attempt.key] = attempt

    def remove(self, attempt: Attempt) -> None:
        """The attempt runs no more; KeyError if it did not run."""
        before, after = attempt.before, attempt.after
        if before is None:
            if self.first is not attempt:
                raise KeyError(attempt.key)
            self.first = after
        else:
            before.after = after
        if after is None:
            self._last = before
        else:
            after.before = before
        attempt.before = attempt.after = None
        self._count -= 1
        if self._by_key is not None:
            del self._by_key[attempt.key]

    def _index(self) -> dict[AttemptKey, Attempt]:
        index = self._by_key
        if index is None:
            index = self._by_key = {attempt.key: attempt for attempt in self.values()}
        return index

    def expect(self, attempt: Attempt) -> None:
        """A running attempt whose key will be asked for, as that of one which is to be killed."""
        if len(self._expected) >= _EXPECTED_MAX:
            known = self._expected.items()
            self._expected = {key: one for key, one in known if not one.has_ended}
        if len(self._expected) < _EXPECTED_MAX:
            self._expected[attempt.key] = attempt

    def get(self, key: AttemptKey) -> Attempt | None:
        """The attempt of that key, if it runs."""
        if self._expected:
            expected = self._expected.get(key)
            if expected is not None and not expected.has_ended:
                return expected
        if self._by_key is None and self._searched <= _SEARCHED_MAX * self._started:
            return self._search(key)
        return self._index().get(key)

    def _search(self, key: AttemptKey) -> Attempt | None:
        """Search from both ends: who is asked about is mostly very old or has just started."""
        first, last = self.first, self._last
        while first is not None and last is not None:
            self._searched += 1
            if _has_key(first, key):
                return first
            if _has_key(last, key):
                return last
            if first is last or first.after is last:
                return None
            first, last = first.after, last.before
        return None

    def __getitem__(self, key: AttemptKey) -> Attempt:
        attempt = self.get(key)
        if attempt is None:
            raise KeyError(key)
        return attempt

    def __contains__(self, key: object) -> bool:
        return key in self._index()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[AttemptKey]:
        return iter(self._index())

    def keys(self) -> KeysView[AttemptKey]:
        """Keys of all attempts."""
        return self._index().keys()

    def items(self) -> list[tuple[AttemptKey, Attempt]]:
        """Pairs of an attempt's key and the attempt."""
        return [(attempt.key, attempt) for attempt in self.values()]

    def values(self) -> list[Attempt]:
        """The attempts as they are now; no index is needed for them."""
        attempts: list[Attempt] = []
        attempt = self.first
        while attempt is not None:
            attempts.append(attempt)
            attempt = attempt.after
        return attempts


def _has_key(attempt: Attempt, key: AttemptKey) -> bool:
    job_id, phase, task, number = key
    if attempt.task != task or attempt.number != number:
        return False
    return attempt.phase.index == phase and attempt.phase.job_id == job_id
