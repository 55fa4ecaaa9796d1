"""The backfilling of Zhang et al., which is not EASY.

The job at the head gets an instant when it has no room: when enough processors are free by the
limits of what runs. That instant is computed once, however early jobs end. Until the head starts,
after each event, a job behind it starts if it has room and its limit ends before that instant.
EASY computes the instant again at each decision, lets a job end at it, and lets a job of any length
start on processors that the head will not need.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Sequence

from sluice.reproductions.backfill.logs import RigidJob
from sluice.reproductions.backfill.schedules import Starts


def greedy_starts(jobs: Sequence[RigidJob], processors: int) -> Starts:
    """When each job starts under that rule, first come first served.

    jobs: in the order of their submission. At one instant, submissions come before ends.
    """
    machine = _Machine(jobs, processors)
    while machine.has_more:
        if not machine.waiting:
            machine.advance()
            continue
        head = machine.waiting.pop(0)
        until_s = machine.room_at_s(head.processors)
        while head.processors > machine.free:
            for one in list(machine.waiting):
                if one.processors <= machine.free and machine.now_s + one.limit_s < until_s:
                    machine.waiting.remove(one)
                    machine.start(one)
            machine.advance()
        machine.start(head)
    return machine.starts


class _Machine:
    """Processors, jobs that wait, run or are to come, and the clock."""

    def __init__(self, jobs: Sequence[RigidJob], processors: int) -> None:
        self.free = processors
        self.now_s: float = 0
        self.waiting: list[RigidJob] = []
        self.starts: dict[int, float] = {}
        self._to_come = deque(jobs)
        self._running: list[tuple[float, int, RigidJob]] = []  # by their ends

    @property
    def has_more(self) -> bool:
        return bool(self.waiting or self._to_come)

    def start(self, job: RigidJob) -> None:
        self.starts[job.job] = self.now_s
        self.free -= job.processors
        heapq.heappush(self._running, (self.now_s + job.run_s, len(self.starts), job))

    def advance(self) -> None:
        """Go to the next event: one job comes or ends."""
        ends_at_s = self._running[0][0] if self._running else math.inf
        if self._to_come and self._to_come[0].submitted_at_s <= ends_at_s:
            job = self._to_come.popleft()
            self.now_s = max(self.now_s, job.submitted_at_s)
            self.waiting.append(job)
        else:
            self.now_s = ends_at_s
            self.free += heapq.heappop(self._running)[-1].processors

    def room_at_s(self, processors: int) -> float:
        """When so many processors are free by the limits of the jobs that run."""
        free, at_s = self.free, self.now_s
        by_limit = sorted((self.starts[one.job] + one.limit_s, one) for *_, one in self._running)
        for ends_at_s, one in by_limit:
            if free >= processors:
                break
            free, at_s = free + one.processors, ends_at_s
        return at_s
