"""The rules handing out whole units, one at a time: what a scheduler of equal tasks does.

With several resources they start whole tasks: DRF, and long-term DRF. Each unit goes to the member
whose key is least; ties go to the smaller allocation for its weight in this step, then to the
earlier member. A heap makes that O(log n) a unit.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from sluice.planning.sharing.problem import Number, SharingProblem
from sluice.planning.sharing.rules import Rule, StaticRule, counted

Level = Callable[[int, Number], Number]  # of a member that has received these units in this step

_TINY = Fraction(1, 10**9)


def hand_out(
    supply: int, wanted: Sequence[int], weights: Sequence[Number], level: Level
) -> list[int]:
    """Units for each member. level: rises with the units that the member has received."""
    return _start([supply], [(1,)] * len(wanted), wanted, weights, [1] * len(wanted), level)


def _start(
    room: Sequence[int],
    tasks: Sequence[Sequence[int]],
    wanted: Sequence[int],
    weights: Sequence[Number],
    sizes: Sequence[Number],
    level: Level,
) -> list[int]:
    """Tasks for each member. tasks: what one takes of each resource.  sizes: units of one."""
    free = list(room)
    given = [0] * len(wanted)
    heap = [(level(i, 0), weights[i] * 0, i) for i, count in enumerate(wanted) if count > 0]
    heapq.heapify(heap)
    while heap:
        _, _, i = heap[0]
        left = [room - need for room, need in zip(free, tasks[i], strict=True)]
        if min(left) < 0:
            heapq.heappop(heap)  # room only shrinks: its task does not fit later either
            continue
        free = left
        given[i] += 1
        if given[i] < wanted[i]:
            units = given[i] * sizes[i]
            heapq.heapreplace(heap, (level(i, units), units / weights[i], i))
        else:
            heapq.heappop(heap)
    return given


class _WholeRule:
    """The part that the rules have in common."""

    def __init__(self, problem: SharingProblem) -> None:
        self._problem = problem
        self._weights = problem.weights
        self._used: list[Number] = [problem.capacity * 0] * len(problem.names)
        self._sizes = problem.task_units
        self._room = problem.room or (int(problem.capacity),)
        self._tasks = problem.tasks or ((1,),) * len(problem.names)

    def _level(self, member: int, units: Number) -> Number:
        raise AssertionError("a rule defines _level()")

    def divide(self, demands: Sequence[Number]) -> list[Number]:
        # A sum of rounded parts may be a little below a whole number of tasks.
        wanted = [
            math.floor(demand / size + _TINY)
            for demand, size in zip(demands, self._sizes, strict=True)
        ]
        given = _start(self._room, self._tasks, wanted, self._weights, self._sizes, self._level)
        units: list[Number] = [count * size for count, size in zip(given, self._sizes, strict=True)]
        for member, received in enumerate(units):
            self._count(member, received)
        return units

    def _count(self, member: int, units: Number) -> None:
        self._used[member] += units

    def memory(self) -> Mapping[str, Sequence[Number]]:
        return {}


class WholeMemorylessRule(_WholeRule):
    """MLRF in whole units."""

    def _level(self, member: int, units: Number) -> Number:
        return units / self._weights[member]


class WholeLongTermRule(_WholeRule):
    """LTRF in whole units, with its discount and without PAR."""

    def __init__(self, problem: SharingProblem) -> None:
        super().__init__(problem)
        self._shares = problem.shares
        self._price = problem.number(problem.options.discount_price)

    def _level(self, member: int, units: Number) -> Number:
        zero = self._used[member] * 0
        gain = counted(zero + units, self._shares[member], self._price)
        return (self._used[member] + gain) / self._weights[member]

    def _count(self, member: int, units: Number) -> None:
        zero = self._used[member] * 0
        self._used[member] += counted(zero + units, self._shares[member], self._price)


class WholeDecayRule(_WholeRule):
    """Decayed use in whole units."""

    def divide(self, demands: Sequence[Number]) -> list[Number]:
        kept = 0.5 ** (1 / self._problem.options.half_life_steps)
        self._used = [used * kept for used in self._used]
        return super().divide(demands)

    def _level(self, member: int, units: Number) -> Number:
        return (self._used[member] + units) / self._weights[member]

    def memory(self) -> Mapping[str, Sequence[Number]]:
        return {"decayed": tuple(self._used)}


class WholeKarmaRule:
    """Karma as published: unit by unit, a donor's unit before a shared one."""

    def __init__(self, problem: SharingProblem) -> None:
        self._weights = problem.weights
        alpha = problem.number(problem.options.alpha)
        self._guaranteed = [int((1 - alpha) * share) for share in problem.shares]
        self._shared = int(problem.capacity) - sum(self._guaranteed)
        self._free = [alpha * share for share in problem.shares]
        given = problem.options.initial_credits
        most = problem.capacity * len(problem.demands) / min(problem.weights)
        start = most if given is None else problem.number(given)
        self._credits: list[Number] = [start * weight for weight in problem.weights]

    def divide(self, demands: Sequence[Number]) -> list[Number]:
        members = range(len(demands))
        given = [min(int(demands[i]), self._guaranteed[i]) for i in members]
        donated = [self._guaranteed[i] - given[i] for i in members]
        self._credits = [self._credits[i] + self._free[i] for i in members]
        # A unit costs 1 credit, so that less than 1 buys nothing.
        wanted = [min(int(demands[i]) - given[i], max(0, int(self._credits[i]))) for i in members]
        zero = self._credits[0] * 0
        richest = hand_out(
            self._shared + sum(donated),
            wanted,
            self._weights,
            lambda i, units: (units - self._credits[i]) / self._weights[i],
        )
        poorest = hand_out(
            min(sum(donated), sum(richest)),
            donated,
            self._weights,
            lambda i, units: (self._credits[i] + units) / self._weights[i],
        )
        for i in members:
            self._credits[i] += poorest[i] - richest[i]
        return [zero + given[i] + richest[i] for i in members]

    def memory(self) -> Mapping[str, Sequence[Number]]:
        return {"credits": tuple(self._credits)}


WHOLE_RULES: dict[str, Callable[[SharingProblem], Rule]] = {
    "static": StaticRule,
    "mlrf": WholeMemorylessRule,
    "ltrf": WholeLongTermRule,
    "karma": WholeKarmaRule,
    "decay": WholeDecayRule,
}
