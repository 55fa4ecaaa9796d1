"""The data that all readers of a scheduler's queues collect on their way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from sluice.ingest.scheduler_configs.amounts import ContainerSize, number_in
from sluice.model.queue_tree import AmountKind, ConfiguredQueue, QueueTree, YarnRules


class TreeReader:
    """Queues of a file, keys that are not read, and notes. name: of the file, for messages."""

    def __init__(self, size: ContainerSize, name: str) -> None:
        self._size = size
        self._name = name
        self.queues: list[ConfiguredQueue] = []
        self.unknown: list[str] = []
        self.notes: list[str] = []

    def tree(
        self,
        preempts_after_s: float | None = None,
        *,
        queues: Iterable[ConfiguredQueue] | None = None,
        undeclared: ConfiguredQueue | None = None,
        idle_count: bool = True,
        yarn: YarnRules | None = None,
    ) -> QueueTree:
        """All that was read. queues: by default those of `queues`, which has parents first.

        undeclared, idle_count, yarn: as of a QueueTree.
        """
        found = tuple(self.queues if queues is None else queues)
        self.notes += [
            f"queue {queue.path}: its guarantee is {queue.capacity.value:.2g} containers, less than"
            " one; check the unit (memory without a unit is in bytes in Kubernetes)"
            for queue in found
            if queue.capacity.kind is AmountKind.CONTAINERS and 0 < queue.capacity.value < 1
        ]
        return QueueTree(
            queues=found,
            preempts_after_s=preempts_after_s,
            undeclared=undeclared,
            idle_count=idle_count,
            yarn=yarn,
            unknown_keys=tuple(sorted(set(self.unknown))),
            notes=tuple(self.notes),
            source=self._name,
        )


def yarn_rules_in(
    given: Mapping[str, str], waits: Sequence[str], name: str, *, most: float = math.inf
) -> YarnRules:
    """How long applications of YARN wait for a node and for a rack. Raises InvalidInput.

    given: properties of the file of that name.  waits: two of their keys; a value below 0 is for
    no wait, and is -1.  most: the greatest value.
    """
    node, rack = (
        None
        if given.get(key) is None
        else -1.0
        if given[key].strip().startswith("-")
        else number_in(given[key], f"{name}, {key}", high=most)
        for key in waits
    )
    return YarnRules(node_locality=node, rack_locality=rack)


def most_in(text: str, where: str) -> float:
    """A greatest number, which is infinity where it is not above 0. Raises InvalidInput."""
    most = -1.0 if text.strip().startswith("-") else number_in(text, where)
    return most if most > 0 else math.inf


def masters_share_in(text: str, where: str) -> float | None:
    """The share of a queue that application masters may hold; None where it limits nothing.

    Raises InvalidInput.
    """
    if text.strip() in {"-1", "-1.0"}:
        return None
    share = number_in(text, where)
    return share if share < 1 else None


def jobs_max_in(text: str | None, where: str) -> int | None:
    """The most jobs of a queue at once, at least 1; None for no limit. Raises InvalidInput."""
    return None if text is None else max(1, int(number_in(text, where)))
