"""Tasks of one phase that wait to start: counted while they are alike, listed once they differ.

`PendingTasks` is a counter and a list of tasks to run again. `LocatedTasks` also knows where
the input of each task is, and finds the nearest waiting task for a node in amortised O(1).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Final

from sluice.core.commands import Locality
from sluice.model.ids import NodeId

_RACK: Final = Locality.RACK
_ANY: Final = Locality.ANY


class PendingTasks:
    """Waiting tasks without a place: failed and lost ones first, then in task order."""

    is_placed = False  # whether the tasks' input lies on known nodes

    __slots__ = ("_again", "_fresh", "_tasks", "count")

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._fresh = 0
        self._again: list[int] = []
        self.count = tasks

    def take_one(self) -> int:
        """Remove and return the next task."""
        self.count -= 1
        if self._again:
            return heapq.heappop(self._again)
        task = self._fresh
        self._fresh = task + 1
        return task

    def take_run(self, most: int) -> tuple[int, int]:
        """Remove up to `most` consecutive tasks never tried before, or one to run again.

        Returns (first task, how many).
        """
        if self._again:
            return self.take_one(), 1
        first = self._fresh
        run = min(most, self._tasks - first)
        self._fresh = first + run
        self.count -= run
        return first, run

    def put_back(self, task: int) -> None:
        """A task that was taken waits again, ahead of those never tried."""
        heapq.heappush(self._again, task)
        self.count += 1

    def clear(self) -> None:
        """Remove all waiting tasks: the job has ended."""
        self._fresh = self._tasks
        self._again.clear()
        self.count = 0

    def nearest(self, node_id: NodeId, rack: str) -> Locality | None:
        """Distance from a node to the nearest waiting task's input; None if it has no effect."""
        return None

    def is_within(self, node_id: NodeId, rack: str, level: Locality) -> bool:
        """Whether a waiting task may run on the node within that distance from its input.

        Cheaper than `nearest` if the answer is no, which delay scheduling mostly gets.
        """
        return True

    def locality_of(self, task: int, node_id: NodeId, rack: str) -> Locality | None:
        """Distance from a node to the input of a task, whether the task waits or not."""
        return None

    def take_nearest(self, node_id: NodeId, rack: str) -> tuple[int, Locality | None]:
        """Remove the nearest waiting task."""
        return self.take_one(), None


class Surroundings:
    """The phases with input on each node and rack, with their tasks there.

    Shared by all phases, and by node first: a scheduler asks many phases about one node, and most
    have no input there. rack_of: the rack of each node.
    """

    __slots__ = ("by_node", "by_rack", "rack_of")

    def __init__(self, rack_of: Mapping[NodeId, str]) -> None:
        self.rack_of = rack_of
        self.by_node: dict[NodeId, dict[LocatedTasks, list[int]]] = {}
        self.by_rack: dict[str, dict[LocatedTasks, list[int]]] = {}


class LocatedTasks(PendingTasks):
    """Waiting tasks whose input lies on known nodes.

    The lists by node and by rack are never searched for a task that was taken by another way:
    such entries are dropped when they come to the top.
    """

    is_placed = True

    __slots__ = (
        "_around", "_locations", "_order", "_placeless", "_waits",
    )  # fmt: skip

    def __init__(
        self,
        tasks: int,
        locations: Sequence[tuple[NodeId, ...]],
        around: Surroundings,
    ) -> None:
        super().__init__(tasks)
        self._locations = locations
        self._around = around
        self._waits = bytearray(b"\x01") * tasks
        self._order: list[int] = []
        self._placeless: list[int] = []
        for task in range(tasks):
            self._index(task)

    def _index(self, task: int) -> None:
        heapq.heappush(self._order, task)
        if not self._locations[task]:
            heapq.heappush(self._placeless, task)
        around = self._around
        racks: dict[str, None] = {}
        for node_id in self._locations[task]:
            self._enter(task, around.by_node.setdefault(node_id, {}))
            if node_id in around.rack_of:
                racks[around.rack_of[node_id]] = None
        for rack in racks:
            self._enter(task, around.by_rack.setdefault(rack, {}))

    def _enter(self, task: int, there: dict[LocatedTasks, list[int]]) -> None:
        heap = there.get(self)
        if heap is None:
            there[self] = [task]
        else:
            heapq.heappush(heap, task)

    def _top(self, heap: list[int] | None) -> int | None:
        while heap:
            if self._waits[heap[0]]:
                return heap[0]
            heapq.heappop(heap)
        return None

    def _top_of(self, there: dict[LocatedTasks, list[int]] | None) -> int | None:
        """The first task on a node or rack, given what lies there."""
        heap = None if there is None else there.get(self)
        if there is None or heap is None:
            return None
        task = self._top(heap)
        if task is None:
            del there[self]
        return task

    def nearest(self, node_id: NodeId, rack: str) -> Locality | None:
        if self._top(self._again) is not None:
            return None  # what failed before runs wherever there is room
        found = self._find(node_id, rack)
        return None if found is None else found[1]

    def is_within(self, node_id: NodeId, rack: str, level: Locality) -> bool:
        if level is _ANY:
            return True
        beside = self._around.by_node.get(node_id)
        if beside is not None and self in beside and self._top_of(beside) is not None:
            return True
        if level is _RACK and self._top_of(self._around.by_rack.get(rack)) is not None:
            return True
        # What failed before, or has no place, runs wherever there is room.
        return bool(self._again or self._placeless) and (
            self._top(self._again) is not None or self._top(self._placeless) is not None
        )

    def _find(self, node_id: NodeId, rack: str) -> tuple[int, Locality | None] | None:
        again = self._top(self._again)
        if again is not None:
            return again, self.locality_of(again, node_id, rack)
        task = self._top_of(self._around.by_node.get(node_id))
        if task is not None:
            return task, Locality.NODE
        task = self._top_of(self._around.by_rack.get(rack))
        if task is not None:
            return task, Locality.RACK
        task = self._top(self._placeless)
        if task is not None:
            return task, None
        task = self._top(self._order)
        return None if task is None else (task, self.locality_of(task, node_id, rack))

    def locality_of(self, task: int, node_id: NodeId, rack: str) -> Locality | None:
        places = self._locations[task]
        if not places:
            return None
        if node_id in places:
            return Locality.NODE
        for place in places:  # not `any`: delay scheduling asks this of every job it holds back
            if self._around.rack_of.get(place) == rack:
                return Locality.RACK
        return Locality.ANY

    def take_nearest(self, node_id: NodeId, rack: str) -> tuple[int, Locality | None]:
        found = self._find(node_id, rack)
        assert found is not None, "asked for a task where none waits"
        self._remove(found[0])
        return found

    def _remove(self, task: int) -> None:
        self._waits[task] = 0
        self.count -= 1

    def take_one(self) -> int:
        task = self._top(self._again)
        if task is None:
            task = self._top(self._order)
        assert task is not None, "asked for a task where none waits"
        self._remove(task)
        return task

    def take_run(self, most: int) -> tuple[int, int]:
        return self.take_one(), 1

    def put_back(self, task: int) -> None:
        self._waits[task] = 1
        self._index(task)
        super().put_back(task)

    def clear(self) -> None:
        super().clear()
        self._order.clear()
        around = self._around
        for node_id in {place for places in self._locations for place in places}:
            around.by_node.get(node_id, {}).pop(self, None)
        for there in around.by_rack.values():
            there.pop(self, None)
        self._placeless.clear()
