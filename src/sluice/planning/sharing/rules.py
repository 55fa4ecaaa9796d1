"""The rules of sharing, one class each: who receives how much in one step.

A rule keeps what it has to remember between steps. `divide` is called once a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from sluice.planning.sharing.filling import Claim, fill, fill_several, level_at
from sluice.planning.sharing.problem import Number, SharingProblem


class Rule(Protocol):
    """A rule with its memory."""

    def divide(self, demands: Sequence[Number]) -> list[Number]:
        """Units for each member in this step."""

    def memory(self) -> Mapping[str, Sequence[Number]]:
        """Return what the rule remembers of each member after the step, by name."""


def _divided(
    problem: SharingProblem, needs: Sequence[Sequence[Number]], claims: list[Claim], price: Number
) -> list[Number]:
    """Units for each claim on the capacity, or on several resources."""
    if needs:
        return fill_several(claims, price, needs)
    return fill(problem.capacity, claims, price)


class StaticRule:
    """Each member its own share at most; what it leaves idle is wasted."""

    def __init__(self, problem: SharingProblem) -> None:
        self._shares = problem.shares

    def divide(self, demands: Sequence[Number]) -> list[Number]:
        return [min(d, share) for d, share in zip(demands, self._shares, strict=True)]

    def memory(self) -> Mapping[str, Sequence[Number]]:
        return {}


class MemorylessRule:
    """MLRF: weighted max-min of this step alone."""

    def __init__(self, problem: SharingProblem) -> None:
        self._problem = problem
        self._shares = problem.shares
        self._needs = problem.needs

    def divide(self, demands: Sequence[Number]) -> list[Number]:
        zero, one = demands[0] * 0, demands[0] * 0 + 1
        rows = zip(demands, self._problem.weights, self._shares, strict=True)
        claims = [Claim(demand, weight, zero, share) for demand, weight, share in rows]
        return _divided(self._problem, self._needs, claims, one)

    def memory(self) -> Mapping[str, Sequence[Number]]:
        return {}


class LongTermRule:
    """LTRF: the least counted use by weight comes first.

    A borrowed unit counts `discount_price`. With `charges_late` a member that is active for the
    first time after others starts at the greatest use by weight among the active ones (PAR).
    With `round_steps` a new round begins from nothing after that many steps.
    """

    def __init__(self, problem: SharingProblem) -> None:
        self._problem = problem
        self._shares = problem.shares
        self._needs = problem.needs
        self._price = problem.number(problem.options.discount_price)
        self._begin_round()

    def _begin_round(self) -> None:
        zero, members = self._problem.capacity * 0, len(self._problem.names)
        self._steps = 0  # of this round
        self._used: list[Number] = [zero] * members
        self._charges: list[Number | None] = [None] * members

    def divide(self, demands: Sequence[Number]) -> list[Number]:
        if self._steps == self._problem.options.round_steps:
            self._begin_round()
        self._steps += 1
        if self._problem.options.charges_late:
            self._charge_newcomers(demands)
        rows = zip(demands, self._problem.weights, self._used, self._shares, strict=True)
        given = _divided(self._problem, self._needs, [Claim(*row) for row in rows], self._price)
        for index, units in enumerate(given):
            self._used[index] += counted(units, self._shares[index], self._price)
        return given

    def _charge_newcomers(self, demands: Sequence[Number]) -> None:
        weights = self._problem.weights
        levels = [
            self._used[k] / weights[k]
            for k, demand in enumerate(demands)
            if demand and self._charges[k] is not None
        ]
        for k, demand in enumerate(demands):
            if demand and self._charges[k] is None:
                charge = weights[k] * max(levels) if levels else self._used[k] * 0
                self._charges[k] = charge
                self._used[k] += charge

    def memory(self) -> Mapping[str, Sequence[Number]]:
        if not self._problem.options.charges_late:
            return {}
        zero = self._problem.capacity * 0
        return {"phi": [zero if charge is None else charge for charge in self._charges]}


def counted(units: Number, share: Number, price: Number) -> Number:
    """Return what units count: fully up to the share, the price above it. Equation (7)."""
    return min(units, share) + price * max(units - share, units * 0)


class KarmaRule:
    """Karma: a guaranteed part for each member, the rest by credits.

    Each step a member receives alpha * share credits, pays 1 for each unit above its guaranteed
    part (1 - alpha) * share, and earns 1 for each unit of that part that another member used.
    Donated units are used before shared ones, from the poorest donor first; the richest borrower
    comes first. Rich and poor go by credits per weight, so that a member of weight 2 is treated as
    two of weight 1. This is the divisible form of the published algorithm.
    Source: Vuppalapati et al., "Karma: Resource Allocation for Dynamic Demands", OSDI 2023,
    algorithm 1; ltyarn spec, section 8.4.
    """

    def __init__(self, problem: SharingProblem) -> None:
        self._problem = problem
        alpha = problem.number(problem.options.alpha)
        self._guaranteed = [(1 - alpha) * share for share in problem.shares]
        self._shared = alpha * problem.capacity
        self._free = [alpha * share for share in problem.shares]
        given = problem.options.initial_credits
        # A member can spend at most the whole capacity in every step.
        most = problem.capacity * len(problem.demands) / min(problem.weights)
        start = most if given is None else problem.number(given)
        self._credits: list[Number] = [start * weight for weight in problem.weights]

    def divide(self, demands: Sequence[Number]) -> list[Number]:
        weights = self._problem.weights
        pairs = list(zip(demands, self._guaranteed, strict=True))
        given = [min(demand, guaranteed) for demand, guaranteed in pairs]
        donated = [guaranteed - min(demand, guaranteed) for demand, guaranteed in pairs]
        rows = zip(self._credits, self._free, strict=True)
        self._credits = [credit + free for credit, free in rows]
        # A borrower's base is minus its credits: the richest is filled first.
        borrowed = _filled(
            self._shared + sum(donated),
            [
                min(demand - own, max(credit, credit * 0))
                for demand, own, credit in zip(demands, given, self._credits, strict=True)
            ],
            weights,
            [-credit for credit in self._credits],
        )
        earned = _filled(min(sum(borrowed), sum(donated)), donated, weights, self._credits)
        for index, units in enumerate(borrowed):
            self._credits[index] += earned[index] - units
            given[index] += units
        return given

    def memory(self) -> Mapping[str, Sequence[Number]]:
        return {"credits": tuple(self._credits)}


def _filled(
    supply: Number, most: Sequence[Number], weights: Sequence[Number], bases: Sequence[Number]
) -> list[Number]:
    """The supply, divided so that base + amount by weight reaches one level."""
    if sum(most) <= supply:
        return list(most)
    rows = list(zip(most, weights, bases, strict=True))
    points = sorted({level for m, w, b in rows for level in (b / w, (b + m) / w)})

    def amounts(level: Number) -> list[Number]:
        return [min(m, max(level * w - b, m * 0)) for m, w, b in rows]

    return amounts(level_at(supply, points, lambda level: sum(amounts(level))))


class DecayRule:
    """The least decayed use by weight comes first; a step counts half after a half-life.

    As the fair-share of Slurm (`PriorityDecayHalfLife`) and of Kueue weigh past use.
    """

    def __init__(self, problem: SharingProblem) -> None:
        self._problem = problem
        self._needs = problem.needs
        self._kept = 0.5 ** (1 / problem.options.half_life_steps)
        self._used: list[Number] = [0.0] * len(problem.names)

    def divide(self, demands: Sequence[Number]) -> list[Number]:
        self._used = [used * self._kept for used in self._used]
        rows = zip(demands, self._problem.weights, self._used, demands, strict=True)
        given = _divided(self._problem, self._needs, [Claim(*row) for row in rows], 1.0)
        self._used = [used + units for used, units in zip(self._used, given, strict=True)]
        return given

    def memory(self) -> Mapping[str, Sequence[Number]]:
        return {"decayed": tuple(self._used)}


RULES: dict[str, Callable[[SharingProblem], Rule]] = {
    "static": StaticRule,
    "mlrf": MemorylessRule,
    "ltrf": LongTermRule,
    "karma": KarmaRule,
    "decay": DecayRule,
}
