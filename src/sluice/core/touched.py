"""Phases that have changed since an index over the state was last brought up to date."""

from __future__ import annotations

from typing import Final

from sluice.core.entries import PhaseEntry

_KEPT_MIN: Final = 64
_DIFFERENT: Final = 2  # neighbours differ, so that none of two is there twice


class TouchedPhases:
    """Phases that changed, in the order of their first change, for an index that catches up later.

    Nearly always the changes between two questions concern one phase: its task ended, and another
    started. So this is a list, and only one that grows is searched for phases that are there twice.
    """

    __slots__ = ("_kept_max", "_phases")

    def __init__(self) -> None:
        self._phases: list[PhaseEntry] = []
        self._kept_max = _KEPT_MIN

    def __len__(self) -> int:
        return len(self._phases)

    def add(self, phase: PhaseEntry) -> None:
        """The phase has changed."""
        phases = self._phases
        if phases and phases[-1] is phase:
            return
        phases.append(phase)
        if len(phases) > self._kept_max:
            self._phases = list(dict.fromkeys(phases))
            self._kept_max = 2 * len(self._phases) + _KEPT_MIN

    def take(self) -> list[PhaseEntry]:
        """Each phase that has changed, once; from now on none has."""
        phases = self._phases
        self._phases = []
        return phases if len(phases) <= _DIFFERENT else list(dict.fromkeys(phases))
