"""LATE: a second copy of the task that would otherwise end last.

An order of jobs around another. If a job is next and has started all its tasks, a slow task of it
may be copied before the jobs behind it are asked. A `CopyGate` may put their tasks first (see
`sepb`). Alone, it is a task policy in which each kind of task uses its own slots.

Copies go to nodes that are not slow, while fewer than the limit run, and never to the node of the
first attempt. Data locality is not considered. The first to finish wins; the core kills the other.
A reduce that still waits for maps is not slow and gets no copy.

Only phases that have started all their tasks are checked. A phase without a candidate is checked
again after one of its attempts has reported or is old enough. So a heartbeat costs what has
changed, not what runs.

Source: Zaharia et al., OSDI 2008; dynamicmr spec, sections 5.1 and 5.4 (errata E16, E17).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import Final, Protocol

from mypy_extensions import mypyc_attr

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry, PoolEntry
from sluice.core.protocols import Assignment
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.model.job import SlotKind
from sluice.policies.decorator import earlier
from sluice.policies.job_order import JobOrder, Key, Pick, Place
from sluice.policies.progress_rate import Paces, left_s, percentile
from sluice.policies.settings import SpeculationSettings
from sluice.policies.share_order import ShareOrder

LOOK_S: Final = 3.0  # between two looks at what runs, where there are no heartbeats

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE
_KINDS: Final = (_MAP, _REDUCE)
_CAN_BE_COPIED: Final = frozenset({AttemptState.LAUNCHED, AttemptState.RUNNING})
_EQUAL: Final = 1 - 1e-9  # rates closer than this differ by rounding alone


class CopyGate(Protocol):
    """Whether waiting tasks of other jobs come before copies of a job's."""

    @property
    def number(self) -> str:
        """What it is called among the cases."""

    def attach(self, state: ClusterState, line: JobOrder) -> None:
        """Called once before the first event."""

    def settle(self) -> None:
        """Take in what has changed; before each heartbeat, so that it never piles up."""

    def allows(self, job: JobEntry, kind: SlotKind) -> bool:
        """Whether a slow task of a kind may be searched for in the job."""


class AnyJob:
    """Plain LATE: no other job is asked."""

    number: Final = "LATE"

    def attach(self, state: ClusterState, line: JobOrder) -> None:
        """Needs no index."""

    def settle(self) -> None:
        """Has nothing to take in."""

    def allows(self, job: JobEntry, kind: SlotKind) -> bool:
        return True


@mypyc_attr(allow_interpreted_subclasses=True)
class Late(JobOrder):
    """An order of jobs in which a slow task is offered a second time, at its job's place."""

    def __init__(
        self,
        inner: JobOrder,
        gate: CopyGate | None = None,
        settings: SpeculationSettings | None = None,
    ) -> None:
        super().__init__()
        self._line = inner
        self._gate: CopyGate = gate or AnyJob()
        self._limits = settings or SpeculationSettings()
        self._touched: dict[PhaseEntry, None] = {}
        self._started_all: dict[PhaseEntry, None] = {}
        self._awake: dict[SlotKind, dict[PhaseEntry, None]] = {_MAP: {}, _REDUCE: {}}
        self._ripe: list[tuple[float, int, Attempt]] = []  # when attempts come of age
        self._begun = 0
        # Of the heartbeat at hand:
        self._now_s = 0.0
        self._is_slow: bool | None = None
        self._lined_up: dict[SlotKind, dict[PoolEntry | None, list[PhaseEntry]]] = {}

    @property
    def name(self) -> str:  # type: ignore[override]  # one name for each object, not for the class
        """The name of the order that is decorated, because that is what users name."""
        return self._line.name

    @property
    def reads_progress(self) -> bool:
        return True

    @property
    def has_pools(self) -> bool:
        return self._line.has_pools

    @property
    def shares(self) -> ShareOrder:
        return self._line.shares

    def attach(self, state: ClusterState) -> None:
        self._line.attach(state)
        self._state = state
        self._paces = Paces(state)
        state.observe(self)
        state.observe_attempts(self)
        self._gate.attach(state, self._line)

    def wants_offer(self, state: ClusterState) -> bool:
        return bool(state.running)

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        inner_s = self._line.wake_at_s(state, now_s)
        if not state.running:
            return inner_s
        # The same instant whenever it is asked for, so that wake-ups do not multiply.
        return earlier(inner_s, (math.floor(now_s / LOOK_S) + 1) * LOOK_S)

    def holds_back(self, state: ClusterState, now_s: float) -> bool:
        return self._line.holds_back(state, now_s)  # to look at what runs holds nothing back

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        return self._line.explain(phase, state, now_s)

    # --- what runs ----------------------------------------------------------------------------

    def touch(self, phase: PhaseEntry) -> None:
        """As `Observer`."""
        self._touched[phase] = None

    def began(self, attempt: Attempt) -> None:
        """As `AttemptObserver`."""
        self._begun += 1
        of_age_s = attempt.started_at_s + self._limits.min_age_s
        heapq.heappush(self._ripe, (of_age_s, self._begun, attempt))

    def told(self, attempt: Attempt) -> None:
        """As `AttemptObserver`; `Paces` keeps what it says."""

    def ended(self, attempt: Attempt) -> None:
        """As `AttemptObserver`; `Paces` keeps how it went."""

    def _settle(self, now_s: float) -> None:
        """Wake the phases that may have a candidate now."""
        self._touched.update(self._paces.changed)
        self._paces.changed.clear()
        for phase in self._touched:
            if _has_started_all(phase):
                self._started_all[phase] = None
                self._wake_if_old(phase, now_s)
            else:
                self._started_all.pop(phase, None)
                self._awake[phase.kind].pop(phase, None)
        self._touched.clear()
        while self._ripe and self._ripe[0][0] <= now_s:
            phase = heapq.heappop(self._ripe)[2].phase
            if phase in self._started_all:
                self._wake_if_old(phase, now_s)

    def _wake_if_old(self, phase: PhaseEntry, now_s: float) -> None:
        """Look at a phase if any of its attempts is old enough."""
        pace = self._paces.phases.get(phase)
        oldest = None if pace is None else next(iter(pace.running), None)
        if oldest is not None and oldest.started_at_s + self._limits.min_age_s <= now_s:
            self._awake[phase.kind][phase] = None

    # --- in line ------------------------------------------------------------------------------

    def assign(self, node: NodeEntry, state: ClusterState, now_s: float) -> Iterator[Assignment]:
        self.begin(now_s)
        for kind in _KINDS:
            while self.has_room(node, kind, 0):
                pick = self.pick(node, kind)
                if pick is None:
                    break
                yield Assignment(pick.phase, kind, pick.reason, copy_of=pick.copy_of)
        self.end(now_s)

    def begin(self, now_s: float) -> None:
        self._now_s, self._is_slow = now_s, None
        self._lined_up.clear()
        self._settle(now_s)
        self._gate.settle()
        self._line.begin(now_s)

    def end(self, now_s: float) -> None:
        self._line.end(now_s)

    def has_waiting(self, kind: SlotKind) -> bool:
        return self._line.has_waiting(kind)

    def has_room(self, node: NodeEntry, kind: SlotKind, more: int) -> bool:
        return self._line.has_room(node, kind, more + self.copies_wanted(kind))

    def copies_wanted(self, kind: SlotKind) -> int:
        if not self._awake[kind] or not self._has_room_for_copies():
            return 0
        # Else what waits could use the room that is meant for the copy.
        return 0 if any(self._line.has_waiting(waiting) for waiting in _KINDS) else 1

    def pools_with_copies(self) -> list[PoolEntry]:
        if not self._has_room_for_copies():
            return []
        phases = (phase for kind in _KINDS for phase in self._awake[kind])
        return list(dict.fromkeys(phase.job.pool for phase in phases))

    def pick(
        self,
        node: NodeEntry,
        kind: SlotKind,
        pool: PoolEntry | None = None,
        before: Place | None = None,
    ) -> Pick | None:
        copy = self._copy(node, kind, pool) if self._awake[kind] else None
        if copy is None:
            return self._line.pick(node, kind, pool, before)
        place = self._place(copy.phase)
        first = self._line.pick(node, kind, pool, place if before is None else min(place, before))
        if first is not None or (before is not None and before < place):
            return first
        return copy

    def pick_near_data(
        self, node: NodeEntry, kind: SlotKind, pool: PoolEntry | None = None
    ) -> Pick | None:
        return self._line.pick_near_data(node, kind, pool)

    def pick_anywhere(
        self, node: NodeEntry, kind: SlotKind, pool: PoolEntry | None = None
    ) -> Pick | None:
        return self._line.pick_anywhere(node, kind, pool)

    def pool_place(self, pool: PoolEntry, kind: SlotKind) -> Key:
        return self._line.pool_place(pool, kind)

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        return self._line.job_place(job, kind)

    # --- what is copied -----------------------------------------------------------------------

    def _has_room_for_copies(self) -> bool:
        slots = self._state.slots
        return self._paces.copies < self._limits.copies_max(slots[_MAP] + slots[_REDUCE])

    def _copy(self, node: NodeEntry, kind: SlotKind, pool: PoolEntry | None) -> Pick | None:
        """The first job in order that has a slow task, and that task."""
        if not self._has_room_for_copies():
            return None
        if self._is_slow is None:
            self._is_slow = self._paces.nodes.is_slow(node, self._limits.slow_node)
        if self._is_slow:
            return None
        if kind not in self._lined_up:
            self._line_up(kind)
        for phase in self._lined_up[kind].get(pool, ()):
            if self._gate.allows(phase.job, kind):
                found = self._slowest(phase, node)
                if found is not None:
                    return Pick(phase, self._reason(found), found)
        return None

    def _line_up(self, kind: SlotKind) -> None:
        """Candidates in order, of all pools and of each: once in a heartbeat."""
        groups: dict[PoolEntry | None, list[PhaseEntry]] = {None: self._candidates(kind)}
        for phase in groups[None]:
            groups.setdefault(phase.job.pool, []).append(phase)
        self._lined_up[kind] = groups

    def _candidates(self, kind: SlotKind) -> list[PhaseEntry]:
        """Phases with an attempt that is old enough, in the order of whose turn it is."""
        return sorted(self._awake[kind], key=lambda phase: (self._place(phase), phase.index))

    def _place(self, phase: PhaseEntry) -> Place:
        job, kind = phase.job, phase.kind
        return Place(self._line.pool_place(job.pool, kind), self._line.job_place(job, kind))

    def _slowest(self, phase: PhaseEntry, node: NodeEntry) -> Attempt | None:
        """The slow attempt with the longest time left, not on this node."""
        pace = self._paces.phases[phase]
        bound = percentile(pace.rates, self._limits.slow_task) * _EQUAL
        youngest_s = self._now_s - self._limits.min_age_s
        slow = [
            attempt
            for attempt, rate in pace.running.items()
            if rate < bound
            and attempt.started_at_s <= youngest_s
            and attempt.tasks == 1
            and attempt.state in _CAN_BE_COPIED
            and attempt.key.task not in phase.copies
        ]
        if not slow:
            self._awake[phase.kind].pop(phase, None)
            return None
        return min(
            [attempt for attempt in slow if attempt.node is not node],
            key=lambda attempt: (
                -left_s(attempt, pace.running[attempt], self._now_s),
                attempt.started_at_s,
                attempt.key,
            ),
            default=None,
        )

    def _reason(self, attempt: Attempt) -> Reason:
        rate = self._paces.phases[attempt.phase].running[attempt]
        to_go_s = left_s(attempt, rate, self._now_s)
        told = "no end of time" if math.isinf(to_go_s) else f"{max(0.0, to_go_s):.0f} s"
        return Reason(
            ReasonCode.SPECULATED,
            (
                ("case", self._gate.number),
                ("left", told),
                ("percentile", self._limits.slow_task),
            ),
        )


def _has_started_all(phase: PhaseEntry) -> bool:
    """Whether nothing of its job waits for slots of its kind, and what runs has all its input."""
    if not phase.running or phase.is_done or phase.job.has_ended:
        return False
    return phase.has_inputs and not any(one.is_queued for one in phase.siblings)
