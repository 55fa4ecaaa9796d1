"""Tasks of one phase that wait to start: counted while they are alike, listed once they differ.

`PendingTasks` is a counter and a list of tasks to run again. `LocatedTasks` also knows where
the input of each task is, and finds the nearest waiting task for a node in amortised O(1).
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from librt.strings import BytesWriter, read_i32_le, write_i32_le
from mypy_extensions import i32, i64

from sluice.model.cluster import Locality
from sluice.model.ids import NodeId

_NUMBER_BYTES: Final = 4
_NODE: Final = Locality.NODE
_RACK: Final = Locality.RACK
_ANY: Final = Locality.ANY


class PendingTasks:
    """Waiting tasks without a place: failed and lost ones first, then in task order.

    runs_again_last: whether these come last instead, in the order of their ends.
    """

    is_placed = False  # whether the tasks' input lies on known nodes

    __slots__ = ("_again", "_fresh", "count", "runs_again_last", "tasks")

    def __init__(self, tasks: int) -> None:
        self.tasks = tasks
        self._fresh = 0
        self._again: list[int] | None = None  # few phases have any
        self.count = tasks
        self.runs_again_last = False

    @property
    def has_again(self) -> bool:
        """Whether a task waits to run again."""
        return bool(self._again)

    def take_one(self) -> int:
        """Remove and return the next task."""
        self.count -= 1
        if self._again and (not self.runs_again_last or self._fresh >= self.tasks):
            return self._again.pop(0) if self.runs_again_last else heapq.heappop(self._again)
        task = self._fresh
        self._fresh = task + 1
        return task

    def take_run(self, most: int) -> tuple[int, int]:
        """Remove up to `most` consecutive tasks never tried before, or one to run again.

        Returns (first task, how many).
        """
        if self._again and (not self.runs_again_last or self._fresh >= self.tasks):
            return self.take_one(), 1
        first = self._fresh
        run = min(most, self.tasks - first)
        self._fresh = first + run
        self.count -= run
        return first, run

    def put_back(self, task: int) -> None:
        """A task that was taken waits again."""
        if self._again is None:
            self._again = []
        if self.runs_again_last:
            self._again.append(task)  # in the order of their ends
        else:
            heapq.heappush(self._again, task)
        self.count += 1

    @property
    def again_last(self) -> list[int]:
        """The tasks that run again after all others, in the order of their ends."""
        return list(self._again or ()) if self.runs_again_last else []

    def run_last(self, tasks: list[int]) -> None:
        """Put these of the waiting tasks after all others, in this order."""
        self.runs_again_last = True
        self._again = tasks or None

    def tried(self) -> list[int]:
        """The tasks that were taken at least once, in ascending order."""
        return list(range(self._fresh))

    def set_tried(self, tasks: list[int]) -> None:
        """These have been tried before, and wait to run again; called before any is taken."""
        self._fresh = len(tasks)
        self._again = tasks or None

    def take_tasks(self, first: int, most: int) -> int:
        """Remove those of up to `most` tasks from `first` on that wait to run again, after
        `set_tried`; returns how many.
        """
        again = self._again
        if again is None:
            return 0
        start = bisect_left(again, first)
        end = bisect_left(again, first + most)
        del again[start:end]  # what is sorted is a heap, too
        self.count -= end - start
        return end - start

    def clear(self) -> None:
        """Remove all waiting tasks: the job has ended."""
        self._fresh = self.tasks
        self._again = None
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

    def __init__(self, rack_of: dict[NodeId, str]) -> None:
        self.rack_of = rack_of
        self.by_node: dict[NodeId, dict[LocatedTasks, TasksThere]] = {}
        self.by_rack: dict[str, dict[LocatedTasks, TasksThere]] = {}

    def is_near_data(self, node_id: NodeId) -> bool:
        """Whether a task waits that has input on the node and was never tried."""
        there = self.by_node.get(node_id)
        while there:
            pending = next(iter(there))
            if pending.has_fresh(there[pending]):
                return True
            del there[pending]
        return False


class TasksThere:
    """A phase's tasks with input in one place: their numbers, packed, and how many are behind.

    A list would hold each number as an object of its own, which is cold when its turn comes.
    """

    __slots__ = ("_end", "_last", "_next", "_numbers", "_writer")

    def __init__(self) -> None:
        self._writer: BytesWriter | None = BytesWriter()
        self._last: i64 = -1
        self._numbers = b""
        self._next: i64 = 0
        self._end: i64 = 0

    def add(self, task: i64) -> None:
        """Add a task, which comes after those that are there; twice is as once."""
        if task != self._last and self._writer is not None:
            write_i32_le(self._writer, i32(task))
            self._last = task

    def close(self) -> TasksThere:
        """No task is added any more."""
        if self._writer is not None:
            self._numbers = self._writer.getvalue()
            self._end = len(self._numbers)
            self._writer = None
        return self

    def first(self, is_fresh: list[bool]) -> i64:
        """The first that waits and was never tried; -1 if there is none."""
        while self._next < self._end:
            task = i64(read_i32_le(self._numbers, self._next))
            if is_fresh[task]:
                return task
            self._next += _NUMBER_BYTES
        return -1


class _OnNode:
    """A phase's tasks with input on one node, and on its rack, if that is known."""

    __slots__ = ("on_rack", "tasks")

    def __init__(self, on_rack: TasksThere | None) -> None:
        self.tasks = TasksThere()
        self.on_rack = on_rack


class LocatedTasks(PendingTasks):
    """Waiting tasks whose input lies on known nodes.

    The tasks of a node or rack are never searched for one that was taken by another way: it is
    passed over when its turn comes. A task that runs again does so wherever there is room, so that
    it is listed nowhere again.
    """

    is_placed = True

    __slots__ = (
        "_around", "_first_there", "_is_fresh", "_locations", "_node_ids", "_placeless", "_racks",
        "_there",
    )  # fmt: skip

    def __init__(
        self, tasks: int, locations: Sequence[tuple[NodeId, ...]], around: Surroundings
    ) -> None:
        super().__init__(tasks)
        self._locations = locations
        self._around = around
        self._is_fresh = [True] * tasks  # never tried before
        self._placeless = TasksThere()
        # The node that was asked about last, and the first task there: a policy asks up to three
        # times before it starts that task.
        self._there: NodeId | None = None
        self._first_there = 0
        by_node: dict[NodeId, _OnNode] = {}
        by_rack: dict[str, TasksThere] = {}
        for task in range(tasks):
            self._enter(task, by_node, by_rack)
        self._node_ids = tuple(by_node)
        for node_id, on_node in by_node.items():
            around.by_node.setdefault(node_id, {})[self] = on_node.tasks.close()
        self._racks = tuple(by_rack)
        for rack, on_rack in by_rack.items():
            around.by_rack.setdefault(rack, {})[self] = on_rack.close()
        self._placeless.close()

    def _enter(
        self, task: int, by_node: dict[NodeId, _OnNode], by_rack: dict[str, TasksThere]
    ) -> None:
        places = self._locations[task]
        if not places:
            self._placeless.add(task)
        for node_id in places:
            on_node = by_node.get(node_id)
            if on_node is None:
                on_node = by_node[node_id] = self._on_node(node_id, by_rack)
            on_node.tasks.add(task)
            if on_node.on_rack is not None:
                on_node.on_rack.add(task)

    def _on_node(self, node_id: NodeId, by_rack: dict[str, TasksThere]) -> _OnNode:
        rack = self._around.rack_of.get(node_id)
        return _OnNode(None if rack is None else by_rack.setdefault(rack, TasksThere()))

    @property
    def locations(self) -> Sequence[tuple[NodeId, ...]]:
        """For each task the nodes that hold its input."""
        return self._locations

    def tried(self) -> list[int]:
        return [task for task in range(self.tasks) if not self._is_fresh[task]]

    def set_tried(self, tasks: list[int]) -> None:
        self._again = tasks or None
        for task in tasks:
            self._is_fresh[task] = False

    def node_ids(self) -> tuple[NodeId, ...]:
        """The nodes that hold input of any of its tasks, also of those that have started."""
        return self._node_ids

    def is_in_rack(self, rack: str) -> bool:
        """Whether a task may wait that has input in the rack."""
        there = self._around.by_rack.get(rack)
        return there is not None and self in there

    def has_fresh(self, tasks: TasksThere) -> bool:
        """Whether one of these, which are on a node or rack, waits and was never tried."""
        return tasks.first(self._is_fresh) >= 0

    def _first_on(self, node_id: NodeId) -> int:
        """The first task on a node; -1 if there is none."""
        task = self._first_there
        if node_id is self._there and self._is_fresh[task]:
            return task
        task = self._first_of(self._around.by_node.get(node_id))
        if task >= 0:
            self._there, self._first_there = node_id, task
        return task

    def _first_of(self, there: dict[LocatedTasks, TasksThere] | None) -> int:
        """The first task on a node or rack, given what lies there."""
        tasks = None if there is None else there.get(self)
        if there is None or tasks is None:
            return -1
        task = tasks.first(self._is_fresh)
        if task < 0:
            del there[self]
        return task

    def nearest(self, node_id: NodeId, rack: str) -> Locality | None:
        if self._again or not self.count:
            return None  # what failed before runs wherever there is room
        return self._find(node_id, rack)[1]

    def is_within(self, node_id: NodeId, rack: str, level: Locality) -> bool:
        if level is _ANY:
            return True
        if self._first_on(node_id) >= 0:
            return True
        if level is _RACK and self._first_of(self._around.by_rack.get(rack)) >= 0:
            return True
        # What failed before, or has no place, runs wherever there is room.
        return bool(self._again) or self.has_fresh(self._placeless)

    def _find(self, node_id: NodeId, rack: str) -> tuple[int, Locality | None]:
        """The nearest untried task and its distance. Call only if there is one."""
        task = self._first_on(node_id)
        if task >= 0:
            return task, _NODE
        task = self._first_of(self._around.by_rack.get(rack))
        if task >= 0:
            return task, _RACK
        task = self._placeless.first(self._is_fresh)
        if task >= 0:
            return task, None
        task = self._first()
        return task, self.locality_of(task, node_id, rack)

    def locality_of(self, task: int, node_id: NodeId, rack: str) -> Locality | None:
        places = self._locations[task]
        if not places:
            return None
        if node_id in places:
            return _NODE
        for place in places:
            if self._around.rack_of.get(place) == rack:
                return _RACK
        return _ANY

    def take_nearest(self, node_id: NodeId, rack: str) -> tuple[int, Locality | None]:
        if self._again:
            task = super().take_one()
            return task, self.locality_of(task, node_id, rack)
        found = self._find(node_id, rack)
        self._is_fresh[found[0]] = False
        self.count -= 1
        return found

    def _first(self) -> int:
        """The first task that was never tried, of which there is one."""
        is_fresh, task = self._is_fresh, self._fresh
        while not is_fresh[task]:
            task += 1
        self._fresh = task
        return task

    def take_one(self) -> int:
        if not self._again:
            self._is_fresh[self._first()] = False
        return super().take_one()

    def take_run(self, most: int) -> tuple[int, int]:
        return self.take_one(), 1

    def clear(self) -> None:
        super().clear()
        self._there = None
        around = self._around
        for node_id in self._node_ids:
            around.by_node[node_id].pop(self, None)
        for rack in self._racks:
            around.by_rack[rack].pop(self, None)
        self._placeless = TasksThere()
