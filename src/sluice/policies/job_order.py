"""A task policy that orders jobs, and that other policies can ask for one task at a time.

`Fair` and `Fifo` are job orders. Other policies build on one: they decide which slot a task takes
(`dynamicmr`), or which task runs twice (`late`). A task that was picked must be started, because
the order counts it as started.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

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

Key = tuple[Any, ...]


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
    """A task policy that can be asked for single tasks. A pool of None means all pools."""

    # Set by a subclass that fills each slot with waiting work of the slot's kind, if there is any.
    knows_next_node: bool = False

    def _find_backlogs(self, state: ClusterState) -> None:
        """Called by a subclass in `attach`, if it asks for them."""
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
        raise AssertionError("each order of jobs has its own")

    def has_room(self, node: NodeEntry, kind: SlotKind, more: int) -> bool:
        """Whether the node may take one more task in a slot of its kind, if `more` tasks are
        wanted in addition to those that wait and run.
        """
        raise AssertionError("each order of jobs has its own")

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
        raise AssertionError("each order of jobs has its own")

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        """Phases of a kind with a task that may start, the first in turn first, waits aside.

        Change nothing while walking over them.
        """
        raise AssertionError("each order of jobs has its own")

    def start_reason(self, phase: PhaseEntry) -> Reason:
        """Why it is the phase's turn, if it is."""
        raise AssertionError("each order of jobs has its own")

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
        raise AssertionError("each order of jobs has its own")

    def pool_place(self, pool: PoolEntry, kind: SlotKind) -> Key:
        """A pool's place for a kind of task, also if none of its tasks wait; lower is first."""
        raise AssertionError("each order of jobs has its own")

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        """A job's place among those of its pool."""
        raise AssertionError("each order of jobs has its own")

    def explain_copy(self, attempt: Attempt, state: ClusterState, now_s: float) -> Reason:
        return Reason(ReasonCode.COPIES_OFF)

    def copies_wanted(self, kind: SlotKind) -> int:
        """Second copies of tasks of a kind that it would start if no task waits."""
        return 0

    def pools_with_copies(self) -> list[PoolEntry]:
        """Pools that may have a task worth a copy."""
        return []
