"""Pools that share the slots of a cluster, and queues of the tree for long-term sharing.

Each queue divides what it receives among its children.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, StrEnum

from sluice.model.described import in_file
from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.ids import PoolId, checked_id
from sluice.model.number_checks import check_numbers
from sluice.model.slot_kind import SlotKind


class QueueOrder(StrEnum):
    """Which child of a queue comes first.

    FIFO: the one that arrived first.  MLRF: the one with the least running work for its weight.
    LTRF: the one with the least accumulated use for its weight.
    """

    FIFO = "fifo"
    MLRF = "mlrf"
    LTRF = "ltrf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One queue. Jobs are in the leaves. Source: ltyarn spec, sections 3 and 5.4.

    parent: None for a queue at the top.  share_min, share_max: resource units; the least is given
    while the queue has work, and the greatest is never exceeded. None for no limit.
    used_before: unit-seconds that earlier runs have counted for the queue.
    quantum_s: how long a task in it is assumed to run, until some have ended; None for that of the
    queue above.  round_s: seconds after which it forgets what the queues and jobs in it have used,
    0 for never; None for that of the queue above.
    """

    queue_id: PoolId
    parent: PoolId | None = None
    weight: float = in_file("a relative share", 1.0, above_zero=True)
    order: QueueOrder = QueueOrder.FIFO
    share_min: float = 0.0
    share_max: float | None = None
    used_before: float = 0.0
    quantum_s: float | None = None
    round_s: float | None = None

    def __post_init__(self) -> None:
        where = f"queue {self.queue_id!r}"
        checked_id(self.queue_id, what="queue")
        check_numbers(self, where)
        if not 0 <= self.share_min < math.inf:
            raise InvalidInput(f"share_min is {self.share_min}", where=where, hint="give 0 or more")
        if self.share_max is not None and not self.share_min <= self.share_max < math.inf:
            raise wrong_value("share_max", self.share_max, where, "give at least share_min")
        if not 0 <= self.used_before < math.inf:
            raise wrong_value("used_before", self.used_before, where, "give 0 or more")
        if self.quantum_s is not None and not 0 < self.quantum_s < math.inf:
            raise wrong_value("quantum_s", self.quantum_s, where, "give a number above 0")
        if self.round_s is not None and not 0 <= self.round_s < math.inf:
            raise wrong_value("round_s", self.round_s, where, "give a number, 0 for never")


def inner_queues(queues: tuple[Queue, ...]) -> frozenset[PoolId]:
    """Queues that have children; the others are leaves.

    >>> sorted(inner_queues((Queue(queue_id="a"), Queue(queue_id="b", parent="a"))))
    ['a']
    """
    return frozenset(queue.parent for queue in queues if queue.parent is not None)


class PoolOrder(Enum):
    """How the jobs inside one pool share its slots."""

    FAIR = "fair"
    FIFO = "fifo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A share of the cluster's slots, with an optional guarantee and cap.

    weight: relative share.  map_slots_min, reduce_slots_min: slots guaranteed while the pool has
    demand.  map_slots_max, reduce_slots_max: most slots in use at once; None for no cap.
    containers_max: most containers in use at once; None for no cap.
    queue: the queue of the tree for long-term sharing that this pool is; None for no such queue.
    """

    pool_id: PoolId
    weight: float = in_file("a relative share", 1.0, above_zero=True)
    map_slots_min: int = 0
    reduce_slots_min: int = 0
    map_slots_max: int | None = None
    reduce_slots_max: int | None = None
    containers_max: int | None = None
    order: PoolOrder = PoolOrder.FAIR
    queue: Queue | None = None

    def __post_init__(self) -> None:
        where = f"pool {self.pool_id!r}"
        checked_id(self.pool_id, what="pool")
        check_numbers(self, where)
        for name in ("map_slots_min", "reduce_slots_min"):
            if getattr(self, name) < 0:
                raise wrong_value(name, getattr(self, name), where, "give 0 or more")
        for name in ("map_slots_max", "reduce_slots_max", "containers_max"):
            most = getattr(self, name)
            if most is not None and most < 1:
                raise InvalidInput(f"{name} is {most}", where=where, hint="give 1 or more")

    def slots_min(self, kind: SlotKind) -> int:
        """Guaranteed slots of a kind; for containers, the sum of both kinds."""
        if kind is SlotKind.MAP:
            return self.map_slots_min
        if kind is SlotKind.REDUCE:
            return self.reduce_slots_min
        return self.map_slots_min + self.reduce_slots_min

    def slots_max(self, kind: SlotKind) -> float:
        """Most slots of a kind at once; infinite without a cap."""
        most = {
            SlotKind.MAP: self.map_slots_max,
            SlotKind.REDUCE: self.reduce_slots_max,
            SlotKind.CONTAINER: self.containers_max,
        }[kind]
        return math.inf if most is None else most
