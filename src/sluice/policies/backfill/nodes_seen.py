"""The nodes as a timetable sees them: one pool of slots, or node by node where resources count."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Final

from sluice.core.entries import Attempt, NodeEntry
from sluice.core.state import ClusterState
from sluice.model.cluster import Node
from sluice.model.job import Phase
from sluice.model.resources import RESOURCE_NAMES
from sluice.model.slot_kind import SlotKind
from sluice.policies.backfill.timetable import Amounts, Release

_CONTAINER: Final = SlotKind.CONTAINER


class NodesSeen:
    """The room on the nodes, by place. Where no node states resources, all are one place.

    has_resources: whether tasks need room on one node, by their demands.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self.has_resources = False

    def look(self) -> None:
        """See which nodes there are now."""
        nodes = self._state.node_at
        self.has_resources = any(_counts(node.node) for node in nodes)

    def place_of(self, node: NodeEntry) -> int:
        """The place of a node in what is free."""
        return int(node.index) if self.has_resources else 0

    def need(self, phase: Phase) -> list[float]:
        """Return what a task of the phase needs: a slot, and its resources."""
        return task_need(phase, has_resources=self.has_resources)

    def free(self, now_s: float) -> list[Amounts]:
        """Return what is free now, by place.

        Nothing on nodes that are lost or rest after a fault.
        """
        usable = [(node, self._is_usable(node, now_s)) for node in self._state.node_at]
        if self.has_resources:
            return [_free_on(node, is_usable=is_usable) for node, is_usable in usable]
        return [[float(sum(node.free[_CONTAINER] for node, is_usable in usable if is_usable))]]

    @staticmethod
    def _is_usable(node: NodeEntry, now_s: float) -> bool:
        return node.is_up and node.rests_until_s <= now_s and not node.is_mixed(_CONTAINER)

    def release(self, attempt: Attempt, at_s: float) -> Release:
        """Return what a running attempt gives back at an instant."""
        need = [amount * attempt.tasks for amount in self.need(attempt.phase.phase)]
        return Release(at_s, self.place_of(attempt.node), need)

    def on_nodes(
        self, places: Iterable[tuple[int, int]], now_s: float
    ) -> Iterable[tuple[NodeEntry, int]]:
        """The nodes on which tasks in these places start, and how many on each."""
        nodes = self._state.node_at
        for place, tasks in places:
            if self.has_resources:
                yield nodes[place], tasks
                continue
            left = tasks
            for node in nodes:
                here = min(left, node.free[_CONTAINER]) if self._is_usable(node, now_s) else 0
                if here:
                    yield node, here
                    left -= here
                if not left:
                    break


def _counts(node: Node) -> bool:
    """Whether a node says what it has, or tasks ask for what only some nodes have."""
    return not node.capacity.is_zero or bool(node.capacity.other)


def task_need(phase: Phase, *, has_resources: bool) -> list[float]:
    """A slot, and the amounts of each resource where they count."""
    return [1.0, *phase.demand.work.amounts()] if has_resources else [1.0]


def _free_on(node: NodeEntry, *, is_usable: bool) -> Amounts:
    capacity = node.node.capacity
    if not is_usable:
        return [0.0] * (1 + len(capacity.amounts()))
    slots = float(node.free[_CONTAINER])
    known = len(RESOURCE_NAMES)
    most = list(capacity.amounts())
    if not any(most[:known]):
        most[:known] = [math.inf] * known
    held = node.reserved.amounts()
    return [slots, *(one - taken for one, taken in zip_longest(most, held, fillvalue=0.0))]


def room_when_idle(nodes: Sequence[Node]) -> tuple[list[Amounts], bool]:
    """Return what idle nodes have, and whether it is by node, with their resources."""
    if not any(map(_counts, nodes)):
        return [[float(sum(node.slots(_CONTAINER) for node in nodes))]], False
    return [_free_on(NodeEntry(node, at), is_usable=True) for at, node in enumerate(nodes)], True
