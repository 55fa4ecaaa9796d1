"""Jobs with waiting tasks by a key: it is worked out again only after the job's tasks changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.indexes.ranking import Ranking
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind


class JobRanking(Ranking[JobEntry]):
    """The jobs that have tasks to start, the least key first. The key is a tuple.

    key: asked for a job only after one of its tasks started or ended, or was released.
    """

    __slots__ = ("_changed", "_state")

    def __init__(self, state: ClusterState, key: Callable[[JobEntry], tuple[Any, ...]]) -> None:
        super().__init__(key)
        self._state = state
        self._changed = state.touched_phases(self.settle)

    def key_of(self, thing: JobEntry) -> tuple[Any, ...] | None:
        for phase in thing.phases:
            if phase.is_queued:
                return self._key(thing)
        return None

    def settle(self) -> None:
        self._take_changes()
        super().settle()

    def _take_changes(self) -> None:
        while (phase := self._changed.take()) is not None:
            self.touch(phase.job)

    def phases(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        """The phases of a kind with tasks to start, those of the first job first, each job's in
        their order. Costs only what is consumed. Change nothing meanwhile.
        """
        if not self._state.backlogs[kind].count:
            return
        self._take_changes()
        # The first job is mostly enough, and is found without giving it its new place.
        first = self.first()
        if first is not None:
            yield from queued_phases(first, kind)
            for job in self.in_order():
                if job is not first:
                    yield from queued_phases(job, kind)

    def first_phase(self, kind: SlotKind) -> PhaseEntry | None:
        """The first of `phases`, or None."""
        for phase in self.phases(kind):
            return phase
        return None


def queued_phases(job: JobEntry, kind: SlotKind) -> list[PhaseEntry]:
    """The phases of a job of a kind that have tasks to start, in their order."""
    return [phase for phase in job.phases if phase.is_queued and phase.kind is kind]
