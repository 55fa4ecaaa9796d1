"""The rules handing out whole units, one at a time: what a scheduler of equal tasks does.

Each unit goes to the member whose key is least; ties go to the smaller allocation for its weight
in this step, then to the earlier member. A heap makes that O(log n) a unit.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence

from sluice.planning.sharing.problem import Number, SharingProblem
from sluice.planning.sharing.rules import Rule, StaticRule, counted

Level = Callable[[int, int], Number]  # of a member that has received so many units in this step


def hand_out(
    supply: int, wanted: Sequence[int], weights: Sequence[Number], level: Level
) -> list[int]:
    """Units for each member. level: rises with the units that the member has received."""
    given = [0] * len(wanted)
    heap = [(level(i, 0), weights[i] * 0, i) for i, units in enumerate(wanted) if units > 0]
    heapq.heapify(heap)
    while supply > 0 and heap:
        _, _, i = heap[0]
        given[i] += 1
        supply -= 1
        if given[i] < wanted[i]:
            heapq.heapreplace(heap, (level(i, given[i]), given[i] / weights[i], i))
        else:
            heapq.heappop(heap)
    return given


class _WholeRule:
    """What the rules share."""

    def __init__(self, problem: SharingProblem) -> None:
        self._problem = problem
        self._weights = problem.weights
        self._used: list[Number] = [problem.capacity * 0] * len(problem.names)

    def _level(self, member: int, units: int) -> Number:
        raise AssertionError("a rule defines _level()")

    def divide(self, demands: Sequence[Number]) -> list[Number]:
        wanted = [int(demand) for demand in demands]
        given = hand_out(int(self._problem.capacity), wanted, self._weights, self._level)
        for member, units in enumerate(given):
            self._count(member, units)
        return [self._problem.capacity * 0 + units for units in given]

    def _count(self, member: int, units: int) -> None:
        self._used[member] += units

    def memory(self) -> Mapping[str, Sequence[Number]]:
        return {}


class WholeMemorylessRule(_WholeRule):
    """MLRF in whole units."""

    def _level(self, member: int, units: int) -> Number:
        return units / self._weights[member]


class WholeLongTermRule(_WholeRule):
    """LTRF in whole units, with its discount and without PAR."""

    def __init__(self, problem: SharingProblem) -> None:
        super().__init__(problem)
        self._shares = problem.shares
        self._price = problem.number(problem.options.discount_price)

    def _level(self, member: int, units: int) -> Number:
        zero = self._used[member] * 0
        gain = counted(zero + units, self._shares[member], self._price)
        return (self._used[member] + gain) / self._weights[member]

    def _count(self, member: int, units: int) -> None:
        zero = self._used[member] * 0
        self._used[member] += counted(zero + units, self._shares[member], self._price)


class WholeDecayRule(_WholeRule):
    """Decayed use in whole units."""

    def divide(self, demands: Sequence[Number]) -> list[Number]:
        kept = 0.5 ** (1 / self._problem.options.half_life_steps)
        self._used = [used * kept for used in self._used]
        return super().divide(demands)

    def _level(self, member: int, units: int) -> Number:
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
