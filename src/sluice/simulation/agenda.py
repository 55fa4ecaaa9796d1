"""Future events, in the order in which they happen.

Ties break by (at_s, rank, running number), never by set or hash order: tasks that end at an
instant end before jobs arrive at it. Source: ordering spec, section 3 (order of events).
"""

from __future__ import annotations

import heapq
from enum import IntEnum
from typing import Any


class Rank(IntEnum):
    """Order of events at one instant."""

    TASK = 0
    NODE = 1
    SUBMISSION = 2
    HEARTBEAT = 3
    WAKE = 4


TASK_RANK, NODE_RANK, SUBMISSION_RANK, HEARTBEAT_RANK, WAKE_RANK = (int(rank) for rank in Rank)


class Agenda:
    """A heap of (at_s, rank, number, item)."""

    __slots__ = ("_added", "heap")

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, int, Any]] = []
        self._added = 0

    def add(self, at_s: float, rank: int, item: object) -> None:
        """Add an event at an instant; the driver interprets `item`."""
        self._added = number = self._added + 1
        heapq.heappush(self.heap, (at_s, rank, number, item))
