"""The amount owed to each queue: its part of what all have used, against its own use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sluice.core.reasons import Reason, ReasonCode
from sluice.policies.ltyarn.rounds import ShareTree
from sluice.policies.ltyarn.tree import AppNode, QueueNode, ShareNode

_HOUR_S = 3600.0
_SUMMED_MAX = 64


class Account(NamedTuple):
    """Unit-seconds of one queue. owed: above 0 if it has used less than its part."""

    used: float
    owed: float


def account_of(node: ShareNode, now_s: float) -> Account:
    """The account of a queue or an application among its siblings."""
    used = node.usage.counted(now_s)
    if node.parent is None:
        return Account(used, 0.0)
    siblings = node.parent.children.values()
    weights = sum(sibling.weight for sibling in siblings)
    total = sum(sibling.usage.counted(now_s) for sibling in siblings)
    return Account(used, total * node.weight / weights - used if weights else 0.0)


def amount_text(units_s: float) -> str:
    """Unit-seconds for people.

    >>> amount_text(312 * 3600.0), amount_text(90.0), amount_text(1.0)
    ('312 container-hours', '90 container-seconds', '1 container-second')
    """
    size, noun = (units_s / _HOUR_S, "hour") if units_s >= _HOUR_S else (units_s, "second")
    number = f"{size:,.0f}" if size >= 10 or size == int(size) else f"{size:.1f}"  # noqa: PLR2004  # two digits say enough
    return f"{number} container-{noun}{'' if number == '1' else 's'}"


def turn_reason(node: ShareNode, now_s: float) -> Reason:
    """Why a task of this branch has just been chosen. node: a child of the queue that decides."""
    queue = node.parent
    order = queue.order if queue is not None else "fifo"
    if queue is not None and order in ("ltrf", "decay", "karma"):
        part = _used_by_children(queue, now_s) * node.weight / queue.weights
        owed = part - node.usage.counted(now_s)
        numbers = (("queue", node.name), ("owed", amount_text(abs(owed))))
        return Reason(ReasonCode.OWED if owed > 0 else ReasonCode.LEAST_USED, numbers)
    return Reason(ReasonCode.CONTAINER_SHARE if order == "mlrf" else ReasonCode.FIRST_IN_LINE)


def _used_by_children(queue: QueueNode, now_s: float) -> float:
    """Summed up child by child where there are few, for the rounding of that is the smallest.

    It is asked at each start, so that it must not cost more the more children there are.
    """
    if len(queue.children) > _SUMMED_MAX:
        return queue.children_use.counted(now_s)
    return sum([child.usage.counted(now_s) for child in queue.children.values()])


def deciding_branch(app: AppNode) -> ShareNode:
    """The highest node above an application that had a rival: there its turn was decided."""
    found: ShareNode = app
    for node in app.path:
        if node.parent is not None and len(node.parent.active) > 1:
            found = node
    return found


def wait_reason(app: AppNode, now_s: float) -> Reason | None:
    """Why a waiting application is not the next; None if it is."""
    for node in reversed(app.path[:-1]):
        queue = node.parent
        assert queue is not None
        if isinstance(node, QueueNode) and _is_full(node):
            numbers = (("queue", node.name), ("units", f"{node.share_max:g}"))
            return Reason(ReasonCode.QUEUE_AT_MAX, numbers)
        first = queue.turns.first(now_s)
        if first is None or first is node:
            continue
        return _rival_reason(node, first, queue, now_s)
    return None


def _is_full(queue: QueueNode) -> bool:
    return queue.share_max is not None and queue.units >= queue.share_max


def _rival_reason(node: ShareNode, first: ShareNode, queue: QueueNode, now_s: float) -> Reason:
    numbers: tuple[tuple[str, float | str], ...]
    if isinstance(first, QueueNode) and first.units < first.share_min:
        numbers = (("next", first.name), ("units", f"{first.share_min:g}"))
        return Reason(ReasonCode.RIVAL_BELOW_MIN, numbers)
    if queue.order == "fifo":
        ahead = sum(1 for one in queue.active if one.waiting and one.index < node.index)
        return Reason(ReasonCode.EARLIER_FIRST, (("jobs", ahead), ("queue", queue.name)))
    if queue.order == "mlrf":
        numbers = (("queue", node.name), ("running", f"{node.units:g}"), ("next", first.name))
        return Reason(ReasonCode.RUNS_MORE, numbers)
    mine, theirs = account_of(node, now_s), account_of(first, now_s)
    numbers = (
        ("queue", node.name),
        ("over", amount_text(abs(mine.owed))),
        ("next", first.name),
        ("owed", amount_text(abs(theirs.owed))),
    )
    if mine.owed >= 0:
        return Reason(ReasonCode.OWED_LESS, numbers)
    code = ReasonCode.USED_MORE if theirs.owed >= 0 else ReasonCode.USED_MORE_THAN_NEXT
    return Reason(code, numbers)


def probe(tree: ShareTree, now_s: float) -> dict[str, dict[str, float]]:
    """f, phi and quanta of all queues and applications, before tasks are started."""
    queues = [queue for queue in tree.queues.values() if queue is not tree.root]
    nodes: list[ShareNode] = [*queues, *tree.apps.values()]
    return {
        "f": {node.name: node.usage.used(now_s) for node in nodes},
        "phi": {node.name: node.usage.phi for node in nodes},
        "quantum_s": {node.name: node.quantum_s for node in (tree.root, *nodes)},
    }


def accounts_document(tree: ShareTree, now_s: float) -> Mapping[str, Mapping[str, float | None]]:
    """Weight, counted use and what is owed, by queue."""
    found: dict[str, Mapping[str, float | None]] = {}
    for queue in tree.queues.values():
        if queue is tree.root:
            continue
        account = account_of(queue, now_s)
        found[queue.name] = {
            "weight": queue.weight,
            "used_container_s": account.used,
            "owed_container_s": account.owed,
            "credits": _credits(queue, now_s),
        }
    return found


def _credits(queue: QueueNode, now_s: float) -> float | None:
    book = None if queue.parent is None else queue.parent.credits
    return None if book is None else book.credit_of(queue, now_s)
