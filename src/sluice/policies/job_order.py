"""What a policy of turns offers to those who build on it: one task at a time, on demand.

`Fair` and `Fifo` say whose turn it is; they are task policies by themselves, and others decide
over them which slot a task takes (`dynamicmr`), or what runs twice (`late`). What was picked must
be started: the line counts it as started when it is told.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry, PoolEntry
from sluice.core.protocols import TaskPolicy
from sluice.core.reasons import Reason
from sluice.core.state import ClusterState
from sluice.model.job import SlotKind

Key = tuple[Any, ...]


class Pick(NamedTuple):
    """A phase whose turn it is, and why. copy_of: the attempt that is to run a second time."""

    phase: PhaseEntry
    reason: Reason
    copy_of: Attempt | None = None


class Place(NamedTuple):
    """Where a job stands in line: its pool among the pools, and itself among the pool's jobs."""

    pool: Key
    job: Key


class Named(TaskPolicy, Protocol):
    """A task policy that tells its name.

    uses: what tasks take, "typed slots" of their own kind or "slots of either kind".
    """

    name: str

    @property
    def uses(self) -> str:
        """As above."""


@runtime_checkable
class JobOrder(Named, Protocol):
    """A task policy that can be asked for single tasks. A pool of None stands for all pools.

    has_pools: whether jobs stand by pool first; else all stand in one line.
    """

    @property
    def has_pools(self) -> bool:
        """As above."""

    def begin(self, now_s: float) -> None:
        """A node asks for work."""

    def end(self, now_s: float) -> None:
        """The node has been served."""

    def has_waiting(self, kind: SlotKind) -> bool:
        """Whether a task of the kind waits that may start."""

    def has_room(self, node: NodeEntry, kind: SlotKind, more: int) -> bool:
        """Whether the node may take one more task in a slot of its kind, `more` tasks being wanted
        beside those that wait and run.
        """

    def pick(
        self,
        node: NodeEntry,
        kind: SlotKind,
        pool: PoolEntry | None = None,
        before: Place | None = None,
    ) -> Pick | None:
        """The first in line that may start a task of the kind on the node, its waits obeyed.

        before: nobody who stands behind this place is asked.
        """

    def pick_beside_data(
        self, node: NodeEntry, kind: SlotKind, pool: PoolEntry | None = None
    ) -> Pick | None:
        """The first in line with a task whose input lies on the node."""

    def pick_anywhere(
        self, node: NodeEntry, kind: SlotKind, pool: PoolEntry | None = None
    ) -> Pick | None:
        """The first in line that has a task of the kind, wherever its input lies."""

    def pool_place(self, pool: PoolEntry, kind: SlotKind) -> Key:
        """Where a pool stands for a kind of task, also when nothing of it waits; lower is first."""

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        """Where a job stands among those of its pool."""

    def copies_wanted(self, kind: SlotKind) -> int:
        """Tasks of a kind that it would start where nothing waits: copies."""

    def pools_with_copies(self) -> list[PoolEntry]:
        """Pools of which a task may be worth a copy."""

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        """When work that was held back should be looked at again."""
