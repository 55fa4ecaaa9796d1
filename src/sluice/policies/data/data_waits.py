"""Which nodes are worth an offer while jobs wait for a node or rack that holds their data.

Theory of operation. The nodes with room are offered one after another, and a job that may not start
on one of them is refused there: its wait goes on. A node that is left with room for a kind of task
was asked for by every job that waits with such tasks, and has refused them all. From then on any
node would refuse the same jobs, unless it holds input of a task that waits, or its rack does and
the job may go that far. That stays so until a task comes to wait, or a job has waited long enough
for its next level, or a pool with a cap has a task less. So nodes far from data need no offer: that
they refuse all jobs is noted without asking one, and only the others are offered, found by sets of
node indexes. An instant costs what it starts, and a little for each job that waits, however many
nodes have room.

`DelayScheduling` says how long each job waits, `NodesNearData` where its input is, and
`NodesBelowLine` which nodes have room.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

from mypy_extensions import i64

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry
from sluice.core.indexes.by_kind import KINDS, ByKind
from sluice.core.indexes.open_nodes import IndexSet, first_of
from sluice.core.indexes.pending import PendingTasks
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind
from sluice.policies.data.delay import DelayScheduling, Wait
from sluice.policies.data.nodes_below_line import NodesBelowLine
from sluice.policies.data.nodes_near_data import NodesNearData
from sluice.policies.orders.share_order import ShareOrder
from sluice.policies.rooms.nodes_alike import NodesWithRoom, first_from


class _Refusal:
    """The behaviour of a node with room for a kind of task, but far from data.

    is_known: whether it refuses all jobs. waits: those of these jobs. is_done: whether a node has
    refused them at this instant; started: but not these jobs, for they started a task since, and
    may have none left.
    """

    __slots__ = ("is_done", "is_known", "started", "waits")

    def __init__(self) -> None:
        self.is_known = False
        self.is_done = False
        self.started: dict[JobEntry, None] = {}
        self.waits: dict[JobEntry, Wait] = {}


class DataWaits:
    """Finds the nodes that are worth an offer, where each decision asks for them.

    nodes_min: with fewer, to offer all costs less than to know which are worth it.
    """

    nodes_min: ClassVar[int] = 16

    def __init__(self, state: ClusterState, order: ShareOrder, delay: DelayScheduling) -> None:
        self._state = state
        self._order = order
        self._delay = delay
        self._touched = state.touched_phases()
        self._entered: dict[PendingTasks, PhaseEntry] = {}  # those that are open
        caps = [pool.pool.slots_max(kind) for pool in state.pools.values() for kind in SlotKind]
        self._has_caps = min(caps, default=math.inf) < math.inf
        self._refusals: ByKind[_Refusal] = ByKind(lambda _: _Refusal())
        self._near = NodesNearData(state, delay)
        self._below = NodesBelowLine(state)
        for kind in SlotKind:
            for phase in state.backlogs[kind].in_order():
                self._enter(phase)

    def if_jobs_are_distinct(self) -> DataWaits | None:
        """None if tasks are alike: these do not wait for their data."""
        if self._state.distinct_jobs:
            return self
        self.forget()
        return None

    # --- which node is next -------------------------------------------------------------------

    def next_node(self, index: i64) -> i64:
        """The first node from an index on that is worth an offer; or -1."""
        if not index:
            self.begin()
        best: i64 = -1
        for kind in KINDS:
            if self._state.backlogs[kind].count:
                nodes = self._below.of(kind, self._order.load(kind))
                best = first_of(best, self._next_of(kind, nodes, index))
        return best

    def next_with_room(self, rooms: list[NodesWithRoom], index: int) -> int:
        """Do what `next_node` does, where a task may use room that is not a slot of its kind."""
        best = -1
        for room in rooms:
            best = first_of(best, first_from(room.anywhere, index))
            best = first_of(best, self._first_near(room.near_data, index))
            if self._refusals.of(room.kind).is_known:
                best = first_of(best, self._first_near(room.in_turn, index))
            else:
                best = first_of(best, first_from(room.in_turn, index))
        for room in rooms:
            refusal = self._refusals.of(room.kind)
            if refusal.is_known:
                first = first_from(room.in_turn, index)
                if first >= 0 and (best < 0 or first < best):
                    self._refuse(refusal, room.kind)
        return best

    def _first_near(self, sets: list[IndexSet], index: int) -> int:
        """The first node near data from an index on, of those with room."""
        best = -1
        for one in sets:
            best = first_of(best, self._near.first_from(index, one))
        return best

    def begin(self) -> None:
        """Nodes are about to be offered at another instant, or once more at this one."""
        state = self._state
        if state.open_nodes.first_from(0) >= 0:
            # A node with room ends a wait, whether or not a task that waits could use the room.
            self._delay.count_wait(state.now_s)
        self._settle()
        if self._has_caps or self._delay.take_has_risen():
            self.forget()
        self._near.begin()
        for kind in KINDS:
            self._refusals.of(kind).is_done = False

    def _next_of(self, kind: SlotKind, room: IndexSet, index: i64) -> i64:
        """The first node from an index on of those with room for a kind of task."""
        first, refusal = room.first_from(index), self._refusals.of(kind)
        if first < 0 or not refusal.is_known:
            return first
        near = self._near.first_from(index, room)
        if near != first:
            self._refuse(refusal, kind)
        return near

    def _refuse(self, refusal: _Refusal, kind: SlotKind) -> None:
        """A node with room, but far from data, refuses all jobs."""
        waits, started = refusal.waits, refusal.started
        for job in started:
            if not _has_placed(job, kind):
                waits.pop(job, None)
        if not refusal.is_done:
            self._delay.refuse_all(waits)
        elif started:
            self._delay.refuse_all({job: waits[job] for job in started if job in waits})
        refusal.is_done = True
        if started:
            started.clear()

    def refuses(self, node: NodeEntry, kind: SlotKind) -> bool:
        """Whether a node with room refuses all jobs with tasks of a kind; if so, they have been."""
        refusal = self._refusals.of(kind)
        if not refusal.is_known or self._near.is_near(node):
            return False
        self._refuse(refusal, kind)
        return True

    def only_near(self, node: NodeEntry, kind: SlotKind) -> PhaseEntry | None:
        """The phase that starts next on a node, if it is the only one that may; None: ask each."""
        refusal = self._refusals.of(kind)
        # Those before it in order are refused, as they are already at this instant.
        if not (refusal.is_known and refusal.is_done) or refusal.started or self._has_caps:
            return None
        found: PhaseEntry | None = None
        for pending in self._near.waiting_on(node):
            phase = self._entered.get(pending)
            if phase is not None and phase.is_queued and phase.kind is kind:
                if found is not None:
                    return None
                found = phase
        return found

    # --- what is known ------------------------------------------------------------------------

    def refused_all(self, kind: SlotKind, phases: Iterable[PhaseEntry]) -> None:
        """A node is left with room for tasks of a kind: it refused these phases and all others."""
        refusal, delay = self._refusals.of(kind), self._delay
        refusal.is_known = refusal.is_done = True
        refusal.started.clear()
        jobs = [phase.job for phase in phases if phase.kind is kind]
        refusal.waits = {job: delay.wait_of(job) for job in jobs}

    def refused_in_rack(self, phase: PhaseEntry) -> None:
        """A node refused a phase that may start anywhere in the racks of its input."""
        self._near.enter_rack(phase)

    def started(self, job: JobEntry) -> None:
        """A placed task of a job starts: its wait begins again."""
        if self._has_caps:
            self.forget()
        self._near.level_fell()
        for kind in KINDS:
            refusal = self._refusals.of(kind)
            if refusal.is_known:
                refusal.started[job] = None

    def _settle(self) -> None:
        """Follow the phases that have changed: a task that was not there before may start now."""
        entered = self._entered
        while (phase := self._touched.take()) is not None:
            if not phase.is_open:
                entered.pop(phase.pending, None)
            elif phase.pending not in entered:
                self._enter(phase)
            elif phase.pending.has_again:
                self._refusals.of(phase.kind).is_known = False

    def _enter(self, phase: PhaseEntry) -> None:
        """The tasks of a phase may start from now on."""
        self._entered[phase.pending] = phase
        self._refusals.of(phase.kind).is_known = False
        self._near.enter(phase.pending)

    def forget(self) -> None:
        """Tasks may start that could not before."""
        for kind in KINDS:
            self._refusals.of(kind).is_known = False


def data_waits_if_many(
    state: ClusterState, order: ShareOrder, delay: DelayScheduling
) -> DataWaits | None:
    """None while there are so few nodes that all may be offered."""
    if len(state.node_at) < DataWaits.nodes_min:
        return None
    return DataWaits(state, order, delay)


def _has_placed(job: JobEntry, kind: SlotKind) -> bool:
    """Whether a job has tasks of a kind to start that wait for their data."""
    for phase in job.phases:  # a generator takes several times as long
        if phase.is_queued and phase.kind is kind and phase.pending.is_placed:
            return True
    return False
