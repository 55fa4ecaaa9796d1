"""Changes of the queue of one job, in a scheduler's configuration, from the smallest on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sluice.model.queue_tree import AmountKind, ConfiguredQueue, QueueAmount, QueueTree
from sluice.reporting.formatting import counted

FACTOR_MAX = 16
_POINTS = 5.0  # percent that a step adds
_WHOLE = 100.0


@dataclass(frozen=True, slots=True)
class QueueChange:
    """A tree with one change. text: for people.  size: what it adds, as a share of what is."""

    kind: str
    text: str
    size: float
    tree: QueueTree


def queue_changes(tree: QueueTree, path: str, containers: int) -> Iterator[list[QueueChange]]:
    """Yield, for each limit of the queue at `path` and of those above, what widens it.

    containers: of the cluster.
    """
    by_path = {one.path: one for one in tree.queues}
    queue = by_path.get(path)
    while queue is not None:
        yield from _of_queue(tree, queue, containers)
        queue = by_path.get(queue.parent or "")


def _of_queue(
    tree: QueueTree, queue: ConfiguredQueue, containers: int
) -> Iterator[list[QueueChange]]:
    yield [*_users(tree, queue)]
    yield [*_masters(tree, queue)]
    yield [*_applications(tree, queue)]
    yield [*_guarantees(tree, queue, containers)]
    yield [*_maxima(tree, queue, containers)]


def _changed(tree: QueueTree, queue: ConfiguredQueue, **fields: object) -> QueueTree:
    new = replace(queue, **fields)  # type: ignore[arg-type]  # fields of a queue
    return replace(tree, queues=tuple(new if one is queue else one for one in tree.queues))


def _users(tree: QueueTree, queue: ConfiguredQueue) -> Iterator[QueueChange]:
    now = queue.user_limit_factor
    for step in range(1, FACTOR_MAX if now else 1):
        assert now is not None
        factor = now + step
        yield QueueChange(
            kind="quota",
            text=f"one user of {queue.path} may hold {factor:g} times its guarantee"
            f" in place of {now:g} (user-limit-factor)",
            size=step / now,
            tree=_changed(tree, queue, user_limit_factor=factor),
        )


def _masters(tree: QueueTree, queue: ConfiguredQueue) -> Iterator[QueueChange]:
    now = queue.masters_share
    for percent in _points(None if now is None else now * _WHOLE):
        assert now is not None
        yield QueueChange(
            kind="quota",
            text=f"application masters may hold {percent:g} % of {queue.path}"
            f" in place of {now * _WHOLE:g} %",
            size=percent / _WHOLE - now,
            tree=_changed(tree, queue, masters_share=percent / _WHOLE),
        )


def _applications(tree: QueueTree, queue: ConfiguredQueue) -> Iterator[QueueChange]:
    now = queue.jobs_max
    for step in range(1, 2 * FACTOR_MAX if now else 1):
        assert now is not None
        yield QueueChange(
            kind="quota",
            text=f"{counted(now + step, 'application')} of {queue.path} may run in place of {now}",
            size=step / now,
            tree=_changed(tree, queue, jobs_max=now + step),
        )


def _guarantees(tree: QueueTree, queue: ConfiguredQueue, most: int) -> Iterator[QueueChange]:
    """A percentage is taken from the other queues of its parent, by what they have."""
    now = queue.capacity
    if now.kind is AmountKind.WEIGHT:
        for factor in range(2, FACTOR_MAX + 1):
            yield QueueChange(
                kind="weight",
                text=f"weight {now.value * factor:g} in place of {now.value:g} for {queue.path}",
                size=factor - 1.0,
                tree=_changed(tree, queue, capacity=replace(now, value=now.value * factor)),
            )
        return
    for amount, text, size in _larger(now, most):
        larger = _changed(tree, queue, capacity=amount)
        if now.kind is AmountKind.PERCENT:
            rest = (_WHOLE - amount.value) / max(_WHOLE - now.value, 1e-9)
            larger = replace(larger, queues=tuple(
                replace(one, capacity=replace(one.capacity, value=one.capacity.value * rest))
                if one.parent == queue.parent and one.path != queue.path
                and one.capacity.kind is AmountKind.PERCENT
                else one
                for one in larger.queues
            ))  # fmt: skip
        yield QueueChange("quota", f"{text} guaranteed to {queue.path}", size, larger)


def _maxima(tree: QueueTree, queue: ConfiguredQueue, most: int) -> Iterator[QueueChange]:
    if queue.maximum is None:
        return
    for amount, text, size in _larger(queue.maximum, most):
        larger = _changed(tree, queue, maximum=amount)
        yield QueueChange("quota", f"{text} at most for {queue.path}", size, larger)


def _larger(now: QueueAmount, most: int) -> Iterator[tuple[QueueAmount, str, float]]:
    """Larger amounts, their texts, and what each adds as a share of the whole."""
    if now.kind is AmountKind.PERCENT:
        for percent in _points(now.value):
            text = f"{percent:g} % in place of {now.value:g} %"
            yield replace(now, value=percent), text, (percent - now.value) / _WHOLE
    elif now.kind is AmountKind.CONTAINERS:
        for step in range(1, int(most - now.value) + 1):
            text = f"{counted(int(now.value + step), 'container')} in place of {now.value:g}"
            yield replace(now, value=now.value + step), text, step / most


def _points(now: float | None) -> Iterator[float]:
    """Percentages above one, a few points apart, up to all."""
    while now is not None and now < _WHOLE:
        now = min(_WHOLE, now + _POINTS)
        yield round(now, 6)
