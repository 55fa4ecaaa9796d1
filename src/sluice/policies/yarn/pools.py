"""The pools and queues of a workload as queues of YARN's fair scheduler."""

from __future__ import annotations

from dataclasses import replace

from sluice.model.queue_tree import AmountKind, ConfiguredQueue, LeafOrder, QueueAmount
from sluice.model.queues import Pool
from sluice.model.slot_kind import SlotKind
from sluice.policies.queue_tree.queues import configured_queue

_MASTERS_SHARE = 0.5  # the fair scheduler's default


def queue_of_pool(pool: Pool, path: str) -> ConfiguredQueue:
    """A queue with the weight, the minimum and the order of a pool. path: where it is."""
    if pool.queue is not None:
        made = configured_queue(pool.queue, path)
    else:
        made = ConfiguredQueue(
            path=path,
            capacity=QueueAmount(AmountKind.WEIGHT, pool.weight),
            least=pool.slots_min(SlotKind.CONTAINER),
            order=LeafOrder(pool.order.value),
        )
    return replace(made, masters_share=_MASTERS_SHARE, masters_of_guarantee=True)
