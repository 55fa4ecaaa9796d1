"""The orders of the children of a queue, as keys: the least key comes first.

Ties go to the smaller weighted running amount, then to the order of definition.
"""

from __future__ import annotations

from sluice.policies.ltyarn.tree import QueueNode, ShareNode, arrival_of
from sluice.policies.ltyarn.turns import Key, KeyOf


def key_of(order: str) -> KeyOf[ShareNode]:
    """The key of a queue's children: those below their minimum share first, then by its order.

    Children without a task to start, and those at their maximum share, have none.
    """
    ordered = _ORDERS[order]

    def key(child: ShareNode, now_s: float) -> Key | None:
        if not child.waiting:
            return None
        if child.is_limited:
            assert isinstance(child, QueueNode)
            if child.share_max is not None and child.units >= child.share_max:
                return None
            if child.units < child.share_min:
                return (0, child.units / child.share_min, child.running_level, child.index)
        return ordered(child, now_s)

    return key


def _by_arrival(child: ShareNode, _now_s: float) -> Key:
    return (1, arrival_of(child), child.index)


def _by_running(child: ShareNode, _now_s: float) -> Key:
    return (1, child.running_level, child.index)


def _by_use(child: ShareNode, now_s: float) -> Key:
    return (1, child.usage.level(now_s) / child.weight, child.running_level, child.index)


def _by_credits(child: ShareNode, now_s: float) -> Key:
    assert child.parent is not None
    book = child.parent.credits
    assert book is not None
    guaranteed = book.guaranteed(child)
    running = child.usage.rate
    if running < guaranteed:
        return (1, running / guaranteed, child.index)
    if not book.may_borrow(child, now_s):
        # Without credits it only runs where containers would idle otherwise.
        return (3, child.running_level, child.index)
    return (2, book.spent(child, now_s) / child.weight, child.running_level, child.index)


_ORDERS: dict[str, KeyOf[ShareNode]] = {
    "fifo": _by_arrival,
    "mlrf": _by_running,
    "ltrf": _by_use,
    "decay": _by_use,
    "karma": _by_credits,
}
