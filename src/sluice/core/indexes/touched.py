"""Phases that have changed since an index over the state was last brought up to date."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from sluice.core.entries import PhaseEntry

_KEPT_MIN: Final = 64


class TouchedPhases:
    """Phases that changed, in the order of their change, for an index that catches up later.

    Mostly one or two have changed between two questions: a task of one ended, a task of another
    started. So the list is filled again and again, and nothing is made for a change. Only a list
    that grows is searched for phases that are there twice.
    """

    __slots__ = ("_kept_max", "_phases", "_taken", "count")

    def __init__(self) -> None:
        self.count: i64 = 0  # of those that have changed, which are the first of the list
        self._taken: i64 = 0  # so many of them are in the index already
        self._phases: list[PhaseEntry] = []
        self._kept_max: i64 = _KEPT_MIN

    def add(self, phase: PhaseEntry) -> None:
        """The phase has changed."""
        phases, count = self._phases, self.count
        if count > self._taken and phases[count - 1] is phase:
            return
        if count < len(phases):
            phases[count] = phase
        else:
            phases.append(phase)
        self.count = count + 1
        if count == self._kept_max:
            self._drop_repeated()

    def left(self) -> list[PhaseEntry]:
        """The phases that have changed, each of them once or more."""
        return self._phases[self._taken : self.count]

    def take(self) -> PhaseEntry | None:
        """The next phase that has changed; from now on it has not. None if there is no other.

        A phase may come more than once.
        """
        taken = self._taken
        if taken == self.count:
            self.count = self._taken = 0
            return None
        self._taken = taken + 1
        return self._phases[taken]

    def _drop_repeated(self) -> None:
        self._phases = list(dict.fromkeys(self.left()))
        self._taken = 0
        self.count = len(self._phases)
        self._kept_max = 2 * self.count + _KEPT_MIN
