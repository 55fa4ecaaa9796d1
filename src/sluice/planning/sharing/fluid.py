"""A rule run over all steps of a problem, next to the static partition of the same demands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sluice.planning.sharing.fairness import benefit, fairness_degree, loss
from sluice.planning.sharing.problem import Number, SharingProblem
from sluice.planning.sharing.rules import RULES, Rule, counted
from sluice.planning.sharing.whole_units import WHOLE_RULES

DISCOUNTED = ("mlrf", "ltrf")  # rules whose count of borrowed units may have another price


@dataclass(frozen=True, slots=True)
class SharingStep:
    """One step; all tuples are by member. Units, and degrees that may be None.

    accumulated: real units so far.  counted: with the discount.  memory: what the rule remembers.
    fairness: against the static partition.  fairness_observed: against min(demand, share) as it
    occurred (erratum E1).
    """

    demand_new: tuple[Number, ...]
    demand_total: tuple[Number, ...]
    allocated: tuple[Number, ...]
    accumulated: tuple[Number, ...]
    counted: tuple[Number, ...]
    lent: tuple[Number, ...]
    fairness: tuple[Number | None, ...]
    fairness_observed: tuple[Number | None, ...]
    memory: dict[str, tuple[Number, ...]]

    @property
    def benefit(self) -> Number:
        """Psi, equation (4)."""
        return benefit(self.fairness)

    @property
    def loss(self) -> Number:
        """Omega, equation (5)."""
        return loss(self.fairness)


@dataclass(frozen=True, slots=True)
class SharingHistory:
    """All steps of a problem under its rule."""

    problem: SharingProblem
    steps: tuple[SharingStep, ...]


def share_out(problem: SharingProblem) -> SharingHistory:
    """The problem's steps under its rule. Source: ltyarn spec, sections 5.1 and 5.5.

    >>> from sluice.model.members import Member
    >>> from sluice.planning.sharing.problem import SharingOptions, sharing_problem
    >>> a = Member(member_id="A", demands=(40, 80, 160, 120))
    >>> b = Member(member_id="B", demands=(200, 120, 100, 100))
    >>> last = share_out(sharing_problem(200, [a, b], SharingOptions())).steps[-1]
    >>> [str(units) for units in last.accumulated], str(last.benefit)
    (['400', '400'], '1/4')
    """
    static = allocations(replace(problem, options=replace(problem.options, policy="static")))
    return SharingHistory(problem, tuple(_steps(problem, static)))


def allocations(
    problem: SharingProblem, remember: Callable[[Rule], None] | None = None
) -> list[list[Number]]:
    """Units by step and member. remember: called with the rule after each step."""
    options = problem.options
    rule = (WHOLE_RULES if options.is_whole else RULES)[options.policy](problem)
    left = [problem.capacity * 0] * len(problem.names)
    given_all = []
    for new in problem.demands:
        wanted = [old + more for old, more in zip(left, new, strict=True)]
        given = rule.divide(wanted)
        if options.keeps_leftovers:
            left = [want - got for want, got in zip(wanted, given, strict=True)]
        given_all.append(given)
        if remember is not None:
            remember(rule)
    return given_all


def _steps(problem: SharingProblem, static: list[list[Number]]) -> list[SharingStep]:
    members, shares, zero = range(len(problem.names)), problem.shares, problem.capacity * 0
    has_discount = problem.options.policy in DISCOUNTED
    price = problem.number(problem.options.discount_price if has_discount else 1)
    memories: list[dict[str, tuple[Number, ...]]] = []
    given_all = allocations(
        problem, lambda rule: memories.append({k: tuple(v) for k, v in rule.memory().items()})
    )
    left, used, counts = [zero for _ in members], [zero for _ in members], [zero for _ in members]
    entitled, observed = [zero for _ in members], [zero for _ in members]
    steps = []
    for t, given in enumerate(given_all):
        new = problem.demands[t]
        wanted = tuple(left[i] + new[i] for i in members)
        for i in members:
            used[i] += given[i]
            counts[i] += counted(given[i], shares[i], price)
            entitled[i] += static[t][i]
            observed[i] += min(wanted[i], shares[i])
            left[i] = wanted[i] - given[i] if problem.options.keeps_leftovers else zero
        steps.append(
            SharingStep(
                demand_new=new,
                demand_total=wanted,
                allocated=tuple(given),
                accumulated=tuple(used),
                counted=tuple(counts),
                lent=tuple(shares[i] - given[i] for i in members),
                fairness=tuple(fairness_degree(used[i], entitled[i]) for i in members),
                fairness_observed=tuple(fairness_degree(used[i], observed[i]) for i in members),
                memory=memories[t],
            )
        )
    return steps


def plain(number: Number | None) -> float | None:
    """A number for a document: the float nearest to a fraction."""
    return float(number) if isinstance(number, Fraction | int) else number
