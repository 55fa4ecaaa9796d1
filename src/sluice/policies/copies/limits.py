"""The limits of LATE: from which age and below which rate an attempt is slow, and where copies go.

An attempt is judged from `min_age_s` on. By default that is three times the mean length of its
phase's finished attempts, at least 1 s and at most the 60 s of the source: a task that hangs among
tasks of a second is copied within a few seconds.
"""

from __future__ import annotations

from typing import Final

from sluice.core.entries import Attempt, NodeEntry, PhaseEntry
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.model.slot_kind import SlotKind
from sluice.policies.copies.progress_rate import PhaseRates, ProgressRates, rate_at
from sluice.policies.settings import SpeculationSettings

AGE_S_MAX: Final = 60.0
AGE_S_MIN: Final = 1.0
AGE_TIMES_MEAN: Final = 3.0

_LAUNCHED: Final = AttemptState.LAUNCHED
_RUNNING: Final = AttemptState.RUNNING
_CONTAINER: Final = SlotKind.CONTAINER
_EQUAL: Final = 1 - 1e-9  # rates closer than this differ by rounding alone
_HAIR_LESS: Final = 1 - 1e-12  # an estimate of the bound must not be above it by rounding
_HAIR_MORE: Final = 1 + 1e-12


class CopyLimits:
    """The limits of one run. rates: of all phases, as they are now."""

    def __init__(self, settings: SpeculationSettings, state: ClusterState) -> None:
        self.settings = settings
        self._min_age_s = -1.0 if settings.min_age_s is None else settings.min_age_s
        self.rates = ProgressRates(state)
        self._state = state
        self._slots = -1  # for which the most copies are kept
        self._copies_max = 0

    def age_s(self, phase: PhaseEntry) -> float:
        """The running time from which on attempts of a phase are judged."""
        if self._min_age_s >= 0:
            return self._min_age_s
        rates = self.rates.of(phase)
        return AGE_S_MAX if rates is None else self.age_s_of(rates)

    def age_s_of(self, rates: PhaseRates) -> float:
        """Return the same for a phase of which the rates are known."""
        if self._min_age_s >= 0:
            return self._min_age_s
        age_s = AGE_TIMES_MEAN * rates.mean_s
        if age_s >= AGE_S_MAX:
            return AGE_S_MAX
        return age_s if age_s > AGE_S_MIN else AGE_S_MIN  # noqa: FURB136  # max() takes longer

    def bound(self, phase: PhaseEntry, now_s: float) -> float:
        """The rate below which an attempt is slow."""
        rates = self.rates.of(phase)
        assert rates is not None  # it has attempts that run
        return rates.percentile(self.settings.slow_task, now_s) * _EQUAL

    def slow_of(self, phase: PhaseEntry, now_s: float) -> list[Attempt]:
        """The slow attempts of a phase that may be copied.

        The finished attempts alone mostly say which are: then what runs needs not be looked at.
        """
        rates = self.rates.of(phase)
        if rates is None:
            return []
        copies = phase.copies
        old = [
            attempt
            for attempt in rates.started_by(now_s - self.age_s(phase))
            if attempt.tasks == 1
            and (attempt.state is _LAUNCHED or attempt.state is _RUNNING)  # no hash
            and attempt.task not in copies
        ]
        if not old:
            return old
        least, most = rates.percentile_range(self.settings.slow_task)
        surely_slow, surely_fast = least * _EQUAL * _HAIR_LESS, most * _HAIR_MORE
        bound = -1.0
        slow: list[Attempt] = []
        for attempt in old:
            rate = rate_at(attempt, now_s)
            if rate >= surely_slow:
                if rate >= surely_fast:
                    continue
                if bound < 0:
                    bound = self.bound(phase, now_s)
                if rate >= bound:
                    continue
            slow.append(attempt)
        return slow

    @property
    def copies_max(self) -> int:
        """How many copies may run at once."""
        # Every slot, also a typed one, counts as a container.
        slots = self._state.slots[_CONTAINER]
        if slots != self._slots:
            self._slots, self._copies_max = slots, self.settings.copies_max(slots)
        return self._copies_max

    @property
    def allows_more(self) -> bool:
        """Whether one more copy may run."""
        return self.rates.copies < self.copies_max

    def is_slow(self, node: NodeEntry) -> bool:
        """Whether a node gets no copies because its attempts have made too little progress."""
        return self.rates.nodes.is_slow(node, self.settings.slow_node)
