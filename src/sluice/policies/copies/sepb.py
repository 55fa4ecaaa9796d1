"""SEPB: waiting tasks of several jobs come before copies of one.

With a fraction f of the jobs checked, w = ceil(f * jobs): a job's slow maps may be copied only if
neither it nor the w - 1 jobs behind it, in the order of whose turn it is, have maps waiting, nor
reduces that a map slot might be lent to. The same for reduces, the kinds exchanged. In pool mode
only the jobs of its own pool are counted and checked.

The order is kept sorted, pool by pool, so that how far the next waiting job is behind another is
a matter of look-ups. Source: dynamicmr spec, section 5.4 (Algorithm 8; errata E13, E14).
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Any, Final

from sluice.core.entries import JobEntry, PhaseEntry, PoolEntry
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind
from sluice.policies.copies.gate import CopyGate
from sluice.policies.job_order import JobOrder, Key

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE
_ALL: Final = -1
_HAIR: Final = 1e-9  # so that 0.07 * 100 asks for 7 jobs


class _PoolJobs:
    """The jobs of a pool in their order, and those among them that have tasks waiting.

    place: of the pool among the pools, as it was entered there last.
    """

    def __init__(self) -> None:
        self.place: Key | None = None
        self.jobs: list[Key] = []
        self.waiting: list[Key] = []
        self.known: dict[JobEntry, tuple[Key, bool]] = {}

    def enter(self, job: JobEntry, place: Key, *, is_waiting: bool) -> None:
        """Set the place of a job."""
        if self.known.get(job) == (place, is_waiting):
            return
        self.remove(job)
        self.known[job] = (place, is_waiting)
        insort(self.jobs, place)
        if is_waiting:
            insort(self.waiting, place)

    def remove(self, job: JobEntry) -> None:
        """Remove a job that has left, or whose place changes."""
        place, was_waiting = self.known.pop(job, (None, False))
        if place is None:
            return
        del self.jobs[bisect_left(self.jobs, place)]
        if was_waiting:
            del self.waiting[bisect_left(self.waiting, place)]

    def clear_from(self, place: Key) -> tuple[int, bool]:
        """How many jobs from a place on come before one that waits, and whether there is one."""
        first = bisect_left(self.jobs, place)
        following = bisect_left(self.waiting, place)
        if following == len(self.waiting):
            return len(self.jobs) - first, False
        return bisect_left(self.jobs, self.waiting[following]) - first, True


class _Standing:
    """All jobs in the order of whose turn it is for one kind of task.

    Groups are pools, by their number; a line without pools is one group, number -1.
    """

    def __init__(
        self, state: ClusterState, line: JobOrder, kind: SlotKind, *, counts_other: bool
    ) -> None:
        self._state = state
        self._inner = line
        self._kind = kind
        self._counts_other = counts_other
        self._touched: dict[JobEntry, None] = {}
        self._clear()

    def _clear(self) -> None:
        self._groups: dict[int, _PoolJobs] = {}
        self._places: list[tuple[Key, int]] = []  # of the groups, in order, each with its number
        self.jobs = 0
        self.waiting = 0

    def saved(self) -> list[Any]:
        """The jobs that were touched, and the places that all had when they were touched last.

        The place of a job may also change by what other jobs do, and by the time.
        """
        known = (one for group in self._groups.values() for one in group.known.items())
        places = [
            [job.job_id, _plain(place), is_waiting]
            for job, (place, is_waiting) in known
            if not job.has_ended
        ]
        return [[job.job_id for job in self._touched if not job.has_ended], places]

    def restored(self, touched: Sequence[Any], places: Sequence[Any]) -> None:
        """Take back what `saved` returned."""
        self._clear()
        jobs = self._state.jobs
        pools: dict[PoolEntry, None] = {}
        for job_id, place, is_waiting in places:
            job = jobs[job_id]
            pools[job.pool] = None
            self._enter_at(job, _key(place), is_waiting=is_waiting)
        for pool in pools:
            self._enter_group(pool)
        self._touched = {jobs[job_id]: None for job_id in touched}

    def touch(self, job: JobEntry) -> None:
        """The job's place may have changed."""
        self._touched[job] = None

    def settle(self) -> None:
        """Update the places of the jobs that were touched."""
        pools: dict[PoolEntry, None] = {}
        for job in self._touched:
            pools[job.pool] = None
            self._enter(job)
        self._touched.clear()
        for pool in pools:
            self._enter_group(pool)

    def _number(self, pool: PoolEntry) -> int:
        return pool.seq if self._inner.has_pools else _ALL

    def _enter(self, job: JobEntry) -> None:
        place = None
        if not job.has_ended:
            place = (*self._inner.job_place(job, self._kind), job.seq)
        self._enter_at(job, place, is_waiting=self._is_waiting(job))

    def _enter_at(self, job: JobEntry, place: Key | None, *, is_waiting: bool) -> None:
        """Set the place of a job; None if it has left."""
        group = self._groups.setdefault(self._number(job.pool), _PoolJobs())
        self.jobs -= len(group.jobs)
        self.waiting -= len(group.waiting)
        if place is None:
            group.remove(job)
        else:
            group.enter(job, place, is_waiting=is_waiting)
        self.jobs += len(group.jobs)
        self.waiting += len(group.waiting)

    def _is_waiting(self, job: JobEntry) -> bool:
        return any(
            phase.is_queued and (phase.kind is self._kind or self._counts_other)
            for phase in job.phases
        )

    def _enter_group(self, pool: PoolEntry) -> None:
        number = self._number(pool)
        group = self._groups.get(number)
        if group is None:
            return  # left with another pool of the same line
        place = self._inner.pool_place(pool, self._kind) if group.jobs else None
        if place is None:
            del self._groups[number]
        if place == group.place:
            return
        if group.place is not None:
            del self._places[bisect_left(self._places, (group.place, number))]
        if place is not None:
            insort(self._places, (place, number))
        group.place = place

    def group_of(self, job: JobEntry) -> tuple[_PoolJobs, Key]:
        """The jobs of its group, and its own place among them."""
        group = self._groups[self._number(job.pool)]
        return group, group.known[job][0]

    def is_clear(self, job: JobEntry, window: int) -> bool:
        """Whether no task waits in the job and the others of a window that begins with it."""
        if not self.waiting:
            return True
        group, place = self.group_of(job)
        clear, is_found = group.clear_from(place)
        assert group.place is not None
        position = bisect_left(self._places, (group.place, self._number(job.pool)))
        while not is_found and clear < window:
            position += 1
            if position == len(self._places):
                return True
            clear_here, is_found = self._groups[self._places[position][1]].clear_from(())
            clear += clear_here
        return clear >= window


class PendingFirst(CopyGate):
    """The gate of SEPB.

    fraction: of all jobs that are checked, 0 to 1; with `is_by_pool`, of the jobs of the pool.
    lends_map, lends_reduce: whether map slots may go to reduces, and reduce slots to maps: then
    waiting tasks of the other kind come before copies as well.
    """

    def __init__(
        self, fraction: float, *, is_by_pool: bool, lends_map: bool, lends_reduce: bool
    ) -> None:
        self._fraction = fraction
        self._is_by_pool = is_by_pool
        self._lends = {_MAP: lends_map, _REDUCE: lends_reduce, SlotKind.CONTAINER: False}

    @property
    def number(self) -> str:
        return "SEPB"

    def attach(self, state: ClusterState, line: JobOrder) -> None:
        self._standings = {
            kind: _Standing(state, line, kind, counts_other=lends)
            for kind, lends in self._lends.items()
        }
        state.observe(self, self.settle)

    def saved(self) -> list[Any]:
        return [[kind.value, *standing.saved()] for kind, standing in self._standings.items()]

    def restored(self, saved: Sequence[Any]) -> None:
        for kind, touched, places in saved:
            self._standings[SlotKind(kind)].restored(touched, places)

    def touch(self, phase: PhaseEntry) -> None:
        """See `Observer`."""
        for standing in self._standings.values():
            standing.touch(phase.job)

    def settle(self) -> None:
        for standing in self._standings.values():
            standing.settle()

    def allows(self, job: JobEntry, kind: SlotKind) -> bool:
        standing = self._standings[kind]
        standing.settle()
        if not self._is_by_pool:
            return standing.is_clear(job, self._window(standing.jobs))
        group, place = standing.group_of(job)
        clear, is_found = group.clear_from(place)
        return not is_found or clear >= self._window(len(group.jobs))

    def _window(self, jobs: int) -> int:
        """w: how many jobs are checked."""
        return math.ceil(self._fraction * jobs - _HAIR)


def _plain(key: Any) -> Any:  # noqa: ANN401  # a key has keys inside
    """A key as JSON values, in which infinity has a name."""
    if isinstance(key, tuple):
        return [_plain(one) for one in key]
    if isinstance(key, float) and math.isinf(key):
        return {"infinite": key > 0}
    return key


def _key(plain: Any) -> Any:  # noqa: ANN401  # as above
    """The key of which `_plain` made JSON values."""
    if isinstance(plain, list):
        return tuple([_key(one) for one in plain])
    if isinstance(plain, dict):
        return math.inf if plain["infinite"] else -math.inf
    return plain
