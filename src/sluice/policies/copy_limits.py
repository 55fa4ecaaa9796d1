"""The limits of LATE: from which age and below which rate an attempt is slow, and where copies go.

An attempt is judged from `min_age_s` on. By default that is three times the mean length of its
phase's finished attempts, at least 1 s and at most the 60 s of the source: a task that hangs among
tasks of a second is copied within a few seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sluice.core.entries import Attempt, NodeEntry, PhaseEntry
from sluice.core.state import ClusterState
from sluice.model.job import SlotKind
from sluice.policies.progress_rate import ProgressRates
from sluice.policies.settings import SpeculationSettings

AGE_S_MAX: Final = 60.0
AGE_S_MIN: Final = 1.0
AGE_TIMES_MEAN: Final = 3.0

_EQUAL: Final = 1 - 1e-9  # rates closer than this differ by rounding alone


class CopyLimits:
    """The limits of one run. rates: of all phases, as they are now."""

    def __init__(self, settings: SpeculationSettings, state: ClusterState) -> None:
        self.settings = settings
        self.rates = ProgressRates(state)
        self._state = state

    def age_s(self, phase: PhaseEntry) -> float:
        """The running time from which on attempts of a phase are judged."""
        if self.settings.min_age_s is not None:
            return self.settings.min_age_s
        rates = self.rates.phases.get(phase)
        if rates is None:
            return AGE_S_MAX
        return min(AGE_S_MAX, max(AGE_S_MIN, AGE_TIMES_MEAN * rates.mean_s))

    def bound(self, phase: PhaseEntry, running: Mapping[Attempt, float]) -> float:
        """The rate below which an attempt is slow. running: rates of the running attempts."""
        known = self.rates.phases[phase]
        return known.percentile(running.values(), self.settings.slow_task) * _EQUAL

    @property
    def copies_max(self) -> int:
        """How many copies may run at once."""
        slots = self._state.slots
        return self.settings.copies_max(slots[SlotKind.MAP] + slots[SlotKind.REDUCE])

    @property
    def allows_more(self) -> bool:
        """Whether one more copy may run."""
        return self.rates.copies < self.copies_max

    def is_slow(self, node: NodeEntry) -> bool:
        """Whether a node gets no copies because its attempts have made too little progress."""
        return self.rates.nodes.is_slow(node, self.settings.slow_node)
