"""Phases that have changed since an index over the state was last brought up to date."""

from __future__ import annotations

from typing import Final

from sluice.core.entries import PhaseEntry

_KEPT_MIN: Final = 64
_DIFFERENT: Final = 2  # neighbours differ, so that none of two is there twice


class TouchedPhases:
    """Phases that changed, in the order of their first change, for an index that catches up later.

    Nearly always the changes between two questions concern one phase: its task ended, and another
    started. It needs no list. Of more there is a list, and only one that grows is searched for
    phases that are there twice.
    """

    __slots__ = ("_kept_max", "_more", "first")

    def __init__(self) -> None:
        self.first: PhaseEntry | None = None  # the first that has changed
        self._more: list[PhaseEntry] = []
        self._kept_max = _KEPT_MIN

    def __len__(self) -> int:
        return 0 if self.first is None else 1 + len(self._more)

    def add(self, phase: PhaseEntry) -> None:
        """The phase has changed."""
        more = self._more
        if self.first is None:
            self.first = phase
        elif phase is not (more[-1] if more else self.first):
            more.append(phase)
            if len(more) > self._kept_max:
                self._more = list(dict.fromkeys(more))
                self._kept_max = 2 * len(self._more) + _KEPT_MIN

    def take_alone(self) -> PhaseEntry | None:
        """The phase that has changed, if it is the only one; from now on it has not."""
        if self._more:
            return None
        first, self.first = self.first, None
        return first

    def take(self) -> list[PhaseEntry]:
        """Each phase that has changed, once; from now on none has."""
        if self.first is None:
            return []
        phases = [self.first, *self._more]
        self.first, self._more = None, []
        return phases if len(phases) <= _DIFFERENT else list(dict.fromkeys(phases))
