"""Orders of jobs of which some wait for others: their instants, their bounds, and their kernels.

Theory of operation. A job is submitted when the jobs that it comes after have ended, the others at
the start. First in first out goes by this instant; an order decides among jobs that are submitted
at the same one. So a job never overtakes one that was there before it, as in `simulate --tasks
fifo`. Searches run the kernels of annealing and of enumeration with this model in place of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush
from types import FunctionType
from typing import Any

from sluice.model.errors import InvalidInput
from sluice.planning.ordering.bounds import SafeBounds, safe_bounds
from sluice.planning.ordering.compilation import Kernels, kernel_functions, plain_kernels
from sluice.planning.ordering.flow_outcome import OrderOutcome
from sluice.planning.ordering.loads import Loads
from sluice.planning.ordering.problem import OrderingProblem

TASKS_MAX = 1_000_000
_MAP, _REDUCE = 0, 1


class WaitingJobs:
    """The FIFO model of jobs that wait for each other, task by task.

    Raises InvalidInput for more than `TASKS_MAX` tasks.
    """

    def __init__(self, problem: OrderingProblem) -> None:
        tasks = sum(count for job in problem.jobs for count, _ in (*job.maps, *job.reduces))
        if tasks > TASKS_MAX:
            raise InvalidInput(
                f"they have {tasks:,} tasks, and jobs that wait for each other are ordered up to"
                f" {TASKS_MAX:,}",
                where="jobs",
                hint="leave out `after`, or use `sluice simulate`",
            )
        self.problem = problem
        self._followers: list[list[int]] = [[] for _ in problem.jobs]
        for job, before in enumerate(problem.after):
            for one in before:
                self._followers[one].append(job)
        self._lengths = [
            tuple(
                [length_s for tasks, length_s in runs for _ in range(tasks)]
                for runs in (job.maps, job.reduces)
            )
            for job in problem.jobs
        ]

    def outcome(self, order: Sequence[int]) -> OrderOutcome:
        """Evaluate an order, a permutation of the jobs."""
        return _Flow(self.problem, self._lengths, self._followers, order).outcome()

    def submissions(self, order: Sequence[int]) -> tuple[int, ...]:
        """The jobs in the order in which they are submitted, those at one instant as in `order`."""
        ended_s = self.outcome(order).ended_s
        rank = {job: place for place, job in enumerate(order)}

        def submission(job: int) -> tuple[float, int]:
            return max((ended_s[one] for one in self.problem.after[job]), default=0.0), rank[job]

        return tuple(sorted(order, key=submission))

    def kernels(self) -> Kernels:
        """The kernels that evaluate orders, with this model; those of the tree search are not."""

        def evaluate(_flow: object, order: Sequence[int]) -> tuple[float, float]:
            found = self.outcome(order)
            return found.makespan_s, found.total_completion_s

        functions = kernel_functions()
        names: dict[str, Any] = {}
        for name in ("anneal_steps", "evaluate_orders"):
            names |= functions[name].__globals__
        names["evaluate"] = evaluate
        copied = {
            name: FunctionType(functions[name].__code__, names, name)
            for name in ("anneal_steps", "evaluate_orders")
        }
        # Nothing faster is to be loaded for them.
        return replace(plain_kernels(), is_compiled=True, evaluate=evaluate, **copied)


class _Flow:
    """The jobs of one order, from the first task to the last."""

    def __init__(
        self,
        problem: OrderingProblem,
        lengths: Sequence[tuple[list[float], ...]],
        followers: Sequence[Sequence[int]],
        order: Sequence[int],
    ) -> None:
        jobs = range(len(lengths))
        self._lengths = lengths
        self._followers = followers
        self._rank = {job: place for place, job in enumerate(order)}
        self._blocked = [len(before) for before in problem.after]
        self._left = [[len(tasks) for tasks in phases] for phases in lengths]
        self._started = [[0, 0] for _ in jobs]
        self._free = [problem.map_slots, problem.reduce_slots]
        # By kind of slot the jobs that have tasks to start, by submission and order.
        self._ready: tuple[list[tuple[float, int, int]], ...] = ([], [])
        self._running: list[tuple[float, int, int]] = []
        self._submitted_s = [0.0 for _ in jobs]
        self._began_s: list[list[float | None]] = [[None, None] for _ in jobs]
        self._mapped_s: list[float | None] = [None for _ in jobs]
        self._ended_s = [0.0 for _ in jobs]
        for job in jobs:
            if not self._blocked[job]:
                self._submit(job, 0.0)

    def outcome(self) -> OrderOutcome:
        """Run all jobs."""
        self._start_tasks(0.0)
        while self._running:
            now_s = self._running[0][0]
            while self._running and self._running[0][0] == now_s:
                self._end_task(now_s)
            self._start_tasks(now_s)
        return OrderOutcome(
            makespan_s=max(self._ended_s),
            total_completion_s=math.fsum(self._ended_s),
            began_s=tuple(min(one for one in began if one is not None) for began in self._began_s),
            mapped_s=tuple(self._mapped_s),
            reducing_s=tuple(began[_REDUCE] for began in self._began_s),
            ended_s=tuple(self._ended_s),
        )

    def _submit(self, job: int, now_s: float) -> None:
        self._submitted_s[job] = now_s
        self._make_ready(job, _MAP if self._left[job][_MAP] else _REDUCE)

    def _make_ready(self, job: int, kind: int) -> None:
        heappush(self._ready[kind], (self._submitted_s[job], self._rank[job], job))

    def _start_tasks(self, now_s: float) -> None:
        for kind in (_MAP, _REDUCE):
            ready = self._ready[kind]
            while self._free[kind] and ready:
                job = ready[0][2]
                lengths, began_s = self._lengths[job][kind], self._began_s[job]
                number = self._started[job][kind]
                if not number:
                    began_s[kind] = now_s
                self._started[job][kind] += 1
                self._free[kind] -= 1
                heappush(self._running, (now_s + lengths[number], job, kind))
                if number + 1 == len(lengths):
                    heappop(ready)

    def _end_task(self, now_s: float) -> None:
        _, job, kind = heappop(self._running)
        self._free[kind] += 1
        self._left[job][kind] -= 1
        if self._left[job][kind]:
            return
        if kind == _MAP:
            self._mapped_s[job] = now_s
            if self._left[job][_REDUCE]:
                self._make_ready(job, _REDUCE)
                return
        self._ended_s[job] = now_s
        for follower in self._followers[job]:
            self._blocked[follower] -= 1
            if not self._blocked[follower]:
                self._submit(follower, now_s)


def bounds_of(problem: OrderingProblem, loads: Loads, order: Sequence[int]) -> SafeBounds:
    """The safe bounds for all orders and for this one.

    Where jobs wait, the lower ones are those without waiting and the longest path of jobs that each
    run alone. The upper one is Graham's: while a task that the last one waits for has not started,
    all slots of its kind are busy, and otherwise a task of that path runs (*Bounds on
    multiprocessing timing anomalies*, SIAM Journal on Applied Mathematics 1969).
    """
    free = safe_bounds(loads, order)
    if not problem.has_waiting:
        return free
    alone = [loads.map_span[job] + loads.reduce_span[job] for job in loads.jobs]
    longest = [loads.longest_map[job] + loads.longest_reduce[job] for job in loads.jobs]
    paths = problem.path_ends(alone)
    work = sum(map(loads.total, loads.jobs))
    slots = loads.map_slots * loads.reduce_slots
    upper_s = loads.shared_s(work + max(problem.path_ends(longest)) * slots)
    lower_s = max(free.makespan_lower_s, loads.s(max(paths)))
    return SafeBounds(
        makespan_lower_s=lower_s,
        makespan_upper_s=upper_s,
        tct_lower_s=max(free.tct_lower_s, loads.s(sum(paths))),
        makespan_upper_all_s=upper_s,
        mk_jr_excess=upper_s / lower_s - 1,
    )
