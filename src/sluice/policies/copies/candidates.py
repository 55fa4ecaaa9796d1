"""The phases in which LATE looks for slow attempts: all their tasks have started.

Most of them have no attempt that is old enough, so only a few are looked at: after a report or the
end of one of their attempts, and every 3 s, because one that hangs does not report. So a heartbeat
costs what changed, not what runs.
"""

from __future__ import annotations

import math
from typing import Final

from sluice.core.entries import Attempt, PhaseEntry
from sluice.core.indexes.by_kind import KINDS, ByKind
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind
from sluice.policies.copies.limits import CopyLimits
from sluice.policies.copies.progress_rate import PhaseRates
from sluice.policies.memory import Memory, phases_restored, phases_saved

LOOK_S: Final = 3.0  # between two checks of all phases


class CopyCandidates:
    """By kind of task, the phases that may have a slow attempt, as of the last `settle`."""

    __slots__ = ("_check_all_at_s", "_limits", "_started_all", "_touched", "by_kind")

    def __init__(self, limits: CopyLimits, state: ClusterState) -> None:
        self._limits = limits
        # Only at a decision is it known which phases have attempts that are old enough.
        self._touched = state.touched_phases()
        self._started_all: dict[PhaseEntry, PhaseRates] = {}
        self.by_kind: ByKind[dict[PhaseEntry, None]] = ByKind(_nothing)
        self._check_all_at_s = 0.0

    def saved(self) -> Memory:
        """Return the phases found so far, those to look at next, and by which attempts."""
        rates = self._limits.rates
        # Those that are done leave both lists at the next `settle`.
        found = [phase for kind in KINDS for phase in self.of(kind) if rates.of(phase)]
        return {
            "candidates": phases_saved(found),
            "all_started": phases_saved(filter(rates.of, self._started_all)),
            "touched": phases_saved(self._touched.left()),
            "reported": phases_saved(filter(rates.of, [one.phase for one in rates.changed])),
            "check_all_at_s": self._check_all_at_s,
            "finished": rates.saved(),
            "nodes": rates.nodes.saved(),
        }

    def restored(self, saved: Memory, state: ClusterState) -> None:
        """Take back what `saved` returned."""
        rates = self._limits.rates
        rates.nodes.restored(saved["nodes"])
        rates.restored(saved["finished"])
        while self._touched.take() is not None:
            pass  # what led to the record
        for phase in phases_restored(saved["touched"], state):
            self._touched.add(phase)
        for phase in phases_restored(saved["reported"], state):
            rates.note_changed(rates.known(phase))
        for phase in phases_restored(saved["all_started"], state):
            self._started_all[phase] = rates.known(phase)
            rates.known(phase).has_started_all = True
        for phase in phases_restored(saved["candidates"], state):
            self.of(phase.kind)[phase] = None
        self._check_all_at_s = saved["check_all_at_s"]

    def of(self, kind: SlotKind) -> dict[PhaseEntry, None]:
        """The phases of a kind."""
        return self.by_kind.of(kind)

    def settle(self, now_s: float) -> bool:
        """Find the phases that may have a slow attempt now. Returns whether any was looked at."""
        touched, has_looked = self._touched, False
        if touched.count:
            has_looked = True
            while (phase := touched.take()) is not None:
                self._review(phase, now_s)
        rates = self._limits.rates
        if rates.changed:
            has_looked = True
            for one in rates.take_changed():
                self._review(one.phase, now_s)
        if now_s >= self._check_all_at_s:
            self._check_all_at_s = _next_check_s(now_s)
            has_looked = True
            for found in self._started_all.values():
                self._add_if_old(found, now_s)
        return has_looked

    def next_check_s(self, now_s: float) -> float:
        """The next instant at which all phases are checked: the same for every call until then."""
        return self._check_all_at_s if now_s < self._check_all_at_s else _next_check_s(now_s)

    def _review(self, phase: PhaseEntry, now_s: float) -> None:
        """A phase has changed."""
        rates = self._limits.rates.of(phase)
        # Most phases that change have tasks that wait.
        if rates is not None and not phase.is_queued and _has_started_all(phase):
            if not rates.has_started_all:
                rates.has_started_all = True
                self._started_all[phase] = rates
            self._add_if_old(rates, now_s)
        elif rates is None or rates.has_started_all:
            if rates is not None:
                rates.has_started_all = False
            if self._started_all.pop(phase, None) is not None:  # as all candidates are
                self.of(phase.kind).pop(phase, None)

    def _add_if_old(self, rates: PhaseRates, now_s: float) -> None:
        """A phase is a candidate if its oldest attempt may be judged."""
        oldest = rates.oldest
        if oldest is not None and oldest.started_at_s + self._limits.age_s_of(rates) <= now_s:
            self.of(rates.phase.kind)[rates.phase] = None


def _nothing(_: SlotKind) -> dict[PhaseEntry, None]:
    return {}


def _next_check_s(now_s: float) -> float:
    return (math.floor(now_s / LOOK_S) + 1) * LOOK_S


def _has_started_all(phase: PhaseEntry) -> bool:
    """Whether no task of its job waits for slots of its kind, and all its input is there."""
    if not phase.running or phase.is_done or phase.job.has_ended:
        return False
    if not phase.has_inputs:
        return False
    for one in phase.siblings:  # noqa: SIM110  # a generator takes longer
        if one.is_queued:
            return False
    return True


def is_copied_before(attempt: Attempt, other: Attempt) -> bool:
    """Whether the first of two attempts of a phase with the same time left is copied first."""
    if attempt.started_at_s != other.started_at_s:
        return attempt.started_at_s < other.started_at_s
    return (attempt.task, attempt.number) < (other.task, other.number)
