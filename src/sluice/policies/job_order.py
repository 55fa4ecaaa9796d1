"""A task policy that orders jobs, and that other policies can ask for one task at a time.

`Fair` and `Fifo` are job orders. Other policies build on one: they decide which slot a task takes
(`dynamicmr`), or which task runs twice (`late`). A task that was picked must be started, because
the order counts it as started.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from mypy_extensions import i64, mypyc_attr

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry, PoolEntry
from sluice.core.indexes.backlog import Backlog
from sluice.core.indexes.by_kind import ByKind
from sluice.core.indexes.open_nodes import first_of
from sluice.core.protocols import TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.cluster import Locality
from sluice.model.slot_kind import SlotKind
from sluice.policies.data.data_waits import DataWaits
from sluice.policies.orders.share_order import ShareOrder
from sluice.policies.rooms.nodes_alike import NodesWithRoom, first_with_room
from sluice.policies.rooms.slot_counts import slots_busy

Key = tuple[Any, ...]
IN_TURN: Final = Reason(ReasonCode.FIRST_IN_LINE)


# No named tuple, which takes ten times as long to make: each task that starts makes one.
class Pick:
    """The phase to serve next, and why. copy_of: the attempt to run a second time."""

    def __init__(self, phase: PhaseEntry, reason: Reason, copy_of: Attempt | None = None) -> None:
        self.phase = phase
        self.reason = reason
        self.copy_of = copy_of


class Place(NamedTuple):
    """The place of a job: of its pool among the pools, and its own among the pool's jobs."""

    pool: Key
    job: Key


@mypyc_attr(allow_interpreted_subclasses=True)
class JobOrder(TaskPolicy):
    """A task policy that can be asked for single tasks. A pool of None means all pools.

    A subclass says who comes first, by `candidates` and `job_place`; all else follows from these.
    By default all jobs are in one queue, whatever their pools.
    """

    # Set by a subclass that fills each slot with waiting work of the slot's kind, if there is any.
    knows_next_node: bool = False

    def attach(self, state: ClusterState) -> None:
        self.state = state
        self._backlogs: ByKind[Backlog[PhaseEntry]] = ByKind(lambda kind: state.backlogs[kind])

    def _backlog(self, kind: SlotKind) -> Backlog[PhaseEntry]:
        """The released work of a kind, in order."""
        return self._backlogs.of(kind)

    def next_node(self, index: int, state: ClusterState) -> int:
        if not self.knows_next_node:
            return self.next_node_of_use(index, state)
        # Each decision asks: in a loop over the kinds, a second starts about 4 % fewer tasks.
        lines, nodes, at = self._backlogs, state.open_nodes, i64(index)
        best: i64 = -1
        if lines.maps.count:
            best = nodes.maps.first_from(at)
        if lines.reduces.count:
            best = first_of(best, nodes.reduces.first_from(at))
        if lines.containers.count:
            best = first_of(best, nodes.containers.first_from(at))
        return best

    def next_node_of_use(self, index: int, state: ClusterState) -> int:
        """Do what `next_node` does, for an order that may leave a free slot idle."""
        return super().next_node(index, state)

    def data_waits(self, state: ClusterState) -> DataWaits | None:
        """Return the record of nodes that are worth an offer while jobs wait for data, if any."""
        return None

    def next_with_room(self, rooms: list[NodesWithRoom], index: int, state: ClusterState) -> int:
        """The first node from an index on that could be given a task, of those with room; or -1.

        rooms: for each kind of task that it could use a slot for.
        """
        waits = self.data_waits(state)
        if waits is None:
            return first_with_room(rooms, index)
        return waits.next_with_room(rooms, index)

    @property
    def has_pools(self) -> bool:
        """Whether jobs are ordered by pool first; otherwise all are in one queue."""
        return False

    @property
    def shares(self) -> ShareOrder:
        """The pools' shares of each kind of slot; only an order with pools has them."""
        raise AssertionError("this order has no pools")

    def begin(self, now_s: float) -> None:
        """A node asks for work."""

    def end(self, now_s: float) -> None:
        """The node has been served."""

    def has_waiting(self, kind: SlotKind) -> bool:
        """Whether a task of the kind waits that may start."""
        return self._backlogs.of(kind).count > 0

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        return self.has_waiting(slot_kind)

    def has_room(self, node: NodeEntry, kind: SlotKind, more: int) -> bool:
        """Whether the node may take one more task in a slot of its kind, if `more` tasks are
        wanted in addition to those that wait and run.
        """
        return node.free[kind] > 0

    def next_loan(self, index: int, kind: SlotKind, slot_kind: SlotKind) -> int:
        """The first node from an index on with a free slot of another kind that a task of a kind
        might borrow, as far as is known; or -1.
        """
        return self.state.open_nodes.of(slot_kind).first_from(index)

    def pick(
        self,
        node: NodeEntry,
        kind: SlotKind,
        pool: PoolEntry | None = None,
        before: Place | None = None,
    ) -> Pick | None:
        """The first in order that may start a task of the kind on the node, waits included.

        before: jobs behind this place are not asked.
        """
        for phase in self.candidates(kind):
            if before is not None and self.job_place(phase.job, kind) > before.job:
                return None
            if self.may_start(phase, node):
                return Pick(phase, self.start_reason(phase))
        return None

    def may_start(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        """Whether a task of a phase may start on the node, now that its turn has come."""
        return self.fits(phase, node)

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        """Phases of a kind with a task that may start, the first in turn first, waits aside.

        It is asked again after each start, and only as far as it is needed. Change nothing while
        walking over them.
        """
        raise AssertionError("a JobOrder defines candidates()")

    def start_reason(self, phase: PhaseEntry) -> Reason:
        """Why it is the phase's turn, if it is."""
        return IN_TURN

    def fits(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        """Whether a task of the phase has room on the node, which has a free slot for it."""
        return True

    def may_copy(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        """Whether a second copy of a task of the phase may take a free slot of the node."""
        return True

    def pick_within(
        self, node: NodeEntry, kind: SlotKind, farthest: Locality, pool: PoolEntry | None = None
    ) -> Pick | None:
        """The first in order with a task whose input is not farther from the node, waits aside.

        farthest: NODE for one whose input is on the node, ANY for one of the kind at all.
        """
        for phase in self.candidates(kind):
            nearest = phase.pending.nearest(node.node_id, node.rack)
            is_near = nearest is Locality.NODE or farthest is Locality.ANY
            if is_near and self.fits(phase, node):
                return Pick(phase, self.start_reason(phase))
        return None

    def pool_place(self, pool: PoolEntry, kind: SlotKind) -> Key:
        """A pool's place for a kind of task, also if none of its tasks wait; lower is first."""
        return ()

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        """A job's place among those of its pool, also of one that can start nothing; lower is
        first.
        """
        raise AssertionError("a JobOrder defines job_place()")

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        jobs: dict[JobEntry, int] = {}
        for ahead in self.candidates(phase.kind):
            if ahead is phase:
                break
            if ahead.job is not phase.job:
                jobs[ahead.job] = jobs.get(ahead.job, 0) + ahead.pending.count
        if jobs:
            tasks = sum(jobs.values())
            return Reason(ReasonCode.BEHIND_IN_LINE, (("ahead", len(jobs)), ("tasks", tasks)))
        return slots_busy(state, phase.kind)

    def explain_copy(self, attempt: Attempt, state: ClusterState, now_s: float) -> Reason:
        return Reason(ReasonCode.COPIES_OFF)

    def copies_wanted(self, kind: SlotKind) -> int:
        """Second copies of tasks of a kind that it would start if no task waits."""
        return 0

    def pools_with_copies(self) -> list[PoolEntry]:
        """Pools that may have a task worth a copy."""
        return []
