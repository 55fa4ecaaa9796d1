"""Jobs with waiting tasks by a key: it is worked out again only after the job's tasks changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry
from sluice.core.indexes.by_kind import KINDS, ByKind
from sluice.core.indexes.ranking import Ranking
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind

JobKey = Callable[[JobEntry], tuple[Any, ...]]


class JobRanking:
    """The jobs that have tasks to start, the least key first. The key is a tuple.

    key: asked for a job only after one of its tasks started or ended, or was released.
    Each kind of task has a ranking of its own. In one for all kinds the first job often has none
    of the kind that is asked for, and finding the next was a fifth of the cost of the documented
    policy.
    """

    __slots__ = ("_changed", "_of", "_state")

    def __init__(self, state: ClusterState, key: JobKey) -> None:
        self._state = state
        self._of: ByKind[_JobsOfKind] = ByKind(lambda kind: _JobsOfKind(key, kind))
        self._changed = state.touched_phases(self.settle)

    def settle(self) -> None:
        """Give all jobs their places now, and let go of those that have nothing to start."""
        self._take_changes()
        for kind in KINDS:
            self._of.of(kind).settle()

    def _take_changes(self) -> None:
        while (phase := self._changed.take()) is not None:
            for kind in KINDS:
                jobs = self._of.of(kind)
                if phase.kind is kind or not jobs.is_empty:  # else the job is not in it
                    jobs.touch(phase.job)

    def phases(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        """The phases of a kind with tasks to start, those of the first job first, each job's in
        their order. Costs only what is consumed. Change nothing meanwhile.
        """
        if not self._state.backlogs[kind].count:
            return
        self._take_changes()
        jobs = self._of.of(kind)
        # The first job is mostly enough, and is found without giving it its new place.
        first = jobs.first()
        if first is not None:
            yield from queued_phases(first, kind)
            for job in jobs.in_order():
                if job is not first:
                    yield from queued_phases(job, kind)

    def first_phase(self, kind: SlotKind) -> PhaseEntry | None:
        """The first of `phases`, or None."""
        if not self._state.backlogs[kind].count:
            return None
        self._take_changes()
        first = self._of.of(kind).first()
        return None if first is None else _queued_phase(first, kind)

    def first_on(self, node: NodeEntry) -> PhaseEntry | None:
        """The first phase of the first kind with tasks to start and a free slot on the node."""
        for kind in KINDS:
            if node.free.of(kind).count and (phase := self.first_phase(kind)) is not None:
                return phase
        return None


class _JobsOfKind(Ranking[JobEntry]):
    """The jobs that have tasks of one kind to start."""

    __slots__ = ("_kind",)

    def __init__(self, key: JobKey, kind: SlotKind) -> None:
        super().__init__(key)
        self._kind = kind

    def key_of(self, thing: JobEntry) -> tuple[Any, ...] | None:
        return None if _queued_phase(thing, self._kind) is None else self._key(thing)


def _queued_phase(job: JobEntry, kind: SlotKind) -> PhaseEntry | None:
    """The first of `queued_phases`, or None."""
    for phase in job.phases:
        if phase.is_queued and phase.kind is kind:
            return phase
    return None


def queued_phases(job: JobEntry, kind: SlotKind) -> list[PhaseEntry]:
    """The phases of a job of a kind that have tasks to start, in their order."""
    return [phase for phase in job.phases if phase.is_queued and phase.kind is kind]
