"""Undominated plans of any graph of jobs, one integer program for each plan.

A program takes one choice for each block, so that the last block ends by a given time, at the least
cost. Between two known plans the next program asks for the time in the middle, the widest gap
first. So a short frontier is found whole, and of a long one `PLANS_MAX` plans, spread over it; each
of them is optimal for its time. Deadlines of single jobs and a cap on VMs are further rows of the
program. Source: De, Dunne, Ghosh, Wells, *The discrete time-cost tradeoff problem revisited*,
European Journal of Operational Research 1995.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sluice.planning.pareto.precedence import Precedence
from sluice.planning.pareto.rounding import is_below

PLANS_MAX = 200
CHOICES_MAX = 200  # of one block; more make a program of minutes
_NODES_MAX = 100_000  # limit on search nodes instead of time, so that results are repeatable
_TOLERANCE = 1e-9
_NEAR = (
    1e-7  # plans of which the times differ by less are taken for one: solvers are not more exact
)


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The choices of one block. times_s, usd, vms: of each choice.  latest_s: when it must end."""

    times_s: Sequence[float]
    usd: Sequence[float]
    vms: Sequence[int]
    latest_s: float = math.inf


@dataclass(frozen=True, kw_only=True)
class GraphProgram:
    """Blocks, which of them wait for which, and sets of blocks of which `vms_max` VMs are a cap."""

    blocks: Sequence[Choices]
    precedence: Precedence
    at_once: Sequence[tuple[int, ...]] = ()
    vms_max: int | None = None


class _Found(NamedTuple):
    """A plan: its time, its cost, and the choice of each block."""

    makespan_s: float
    usd: float
    chosen: tuple[int, ...]


def sweep(program: GraphProgram) -> tuple[list[tuple[int, ...]], bool]:
    """Find undominated plans, the fastest and the cheapest among them.

    Returns the choice of each block, and whether there may be more plans. Some may be slower than
    another for their cost.
    """
    solver = _Solver(program, _makespan_s(program, [_slowest(block) for block in program.blocks]))
    quickest = solver.fastest()
    if quickest is None:
        return [], False

    def cheapest(until_s: float) -> _Found:
        chosen = solver.cheapest(until_s) or quickest
        usd = math.fsum(block.usd[at] for block, at in zip(program.blocks, chosen, strict=True))
        return _Found(_makespan_s(program, chosen), usd, chosen)

    ends = cheapest(_makespan_s(program, quickest)), cheapest(math.inf)
    found = [*ends, *_between(*ends, cheapest)]
    return [one.chosen for one in found], len(found) - len(ends) == PLANS_MAX


def _between(
    fastest: _Found, slowest: _Found, cheapest: Callable[[float], _Found]
) -> Iterator[_Found]:
    """Yield at most `PLANS_MAX` plans between two."""
    gaps: list[tuple[float, float, _Found, _Found]] = []

    def push(from_s: float, fast: _Found, slow: _Found) -> None:
        """All plans that end by `from_s` cost as much as `fast` at least."""
        if is_below(slow.usd, fast.usd) and slow.makespan_s - from_s > slow.makespan_s * _NEAR:
            heapq.heappush(gaps, (from_s - slow.makespan_s, from_s, fast, slow))

    push(fastest.makespan_s, fastest, slowest)
    plans = 0
    while gaps and plans < PLANS_MAX:
        _, from_s, fast, slow = heapq.heappop(gaps)
        middle_s = (from_s + slow.makespan_s) / 2
        found = cheapest(middle_s)
        if not is_below(found.usd, fast.usd):
            # Nothing in the first half: ask for all that is faster than the slow one.
            middle_s = slow.makespan_s * (1 - _NEAR)
            found = cheapest(middle_s)
            if not is_below(found.usd, fast.usd):
                continue
        yield found
        plans += 1
        push(from_s, fast, found)
        push(middle_s, found, slow)


def _slowest(block: Choices) -> int:
    return max(range(len(block.times_s)), key=lambda at: block.times_s[at])


def _makespan_s(program: GraphProgram, chosen: Sequence[int]) -> float:
    times_s = [block.times_s[at] for block, at in zip(program.blocks, chosen, strict=True)]
    return max(program.precedence.ends_s(times_s))


class _Solver:
    """HiGHS with the program; times are in units of the slowest plan, so that numbers are small."""

    def __init__(self, program: GraphProgram, unit_s: float) -> None:
        import highspy

        self._program = program
        self._unit_s = unit_s
        self._solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # it has no types
        for name, setting in (
            ("output_flag", False),
            ("threads", 1),
            ("random_seed", 0),
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", 0.0),
            ("mip_feasibility_tolerance", _TOLERANCE),
            ("primal_feasibility_tolerance", _TOLERANCE),
            ("mip_max_nodes", _NODES_MAX),
        ):
            self._solver.setOptionValue(name, setting)
        self._usd: list[float] = []  # the cost of each column
        self._first: list[int] = []  # the column of the first choice of each block
        self._add_choices()
        self._starts = [self._column(0.0) for _ in program.blocks]
        self._makespan = self._column(0.0)
        self._add_ends()
        self._add_waits()
        self._add_cap()

    def cheapest(self, until_s: float) -> tuple[int, ...] | None:
        """The choices of the least cost that end in time; None if there are none."""
        return self._solved(self._usd, until_s / self._unit_s * (1 + _TOLERANCE))

    def fastest(self) -> tuple[int, ...] | None:
        """The choices that end first; None if none fit the cap and the deadlines."""
        import highspy

        costs = [0.0] * len(self._usd)
        costs[self._makespan] = 1.0
        return self._solved(costs, highspy.kHighsInf)

    def _solved(self, costs: Sequence[float], most: float) -> tuple[int, ...] | None:
        import highspy
        import numpy as np

        solver = self._solver
        for column, cost in enumerate(costs):
            solver.changeColCost(column, cost)
        solver.changeColBounds(self._makespan, 0.0, most)
        solver.run()
        feasible = int(highspy.SolutionStatus.kSolutionStatusFeasible)
        if solver.getInfo().primal_solution_status != feasible:
            return None
        values = solver.getSolution().col_value
        return tuple(
            int(np.argmax(values[first : first + len(block.times_s)]))
            for first, block in zip(self._first, self._program.blocks, strict=True)
        )

    def _column(self, usd: float, *, is_choice: bool = False) -> int:
        import highspy

        self._solver.addVar(0.0, 1.0 if is_choice else highspy.kHighsInf)
        column = int(self._solver.getNumCol()) - 1
        self._usd.append(usd)
        if is_choice:
            self._solver.changeColIntegrality(column, highspy.HighsVarType.kInteger)
        return column

    def _row(self, least: float, most: float, terms: Sequence[tuple[int, float]]) -> None:
        columns, factors = [column for column, _ in terms], [factor for _, factor in terms]
        self._solver.addRow(least, most, len(columns), columns, factors)

    def _add_choices(self) -> None:
        largest = max(max(block.usd) for block in self._program.blocks) or 1.0
        for block in self._program.blocks:
            columns = [self._column(usd / largest, is_choice=True) for usd in block.usd]
            self._first.append(columns[0])
            self._row(1.0, 1.0, [(column, 1.0) for column in columns])

    def _times(self, place: int) -> list[tuple[int, float]]:
        first, block = self._first[place], self._program.blocks[place]
        return [(first + at, time_s / self._unit_s) for at, time_s in enumerate(block.times_s)]

    def _add_ends(self) -> None:
        import highspy

        none = -highspy.kHighsInf
        for place, block in enumerate(self._program.blocks):
            terms = [(self._starts[place], 1.0), *self._times(place)]
            self._row(none, 0.0, [*terms, (self._makespan, -1.0)])
            if block.latest_s < math.inf:
                self._row(none, block.latest_s / self._unit_s * (1 + _TOLERANCE), terms)

    def _add_waits(self) -> None:
        import highspy

        for place, waits in enumerate(self._program.precedence.before):
            for one in waits:
                spent = [(column, -length) for column, length in self._times(one)]
                terms = [(self._starts[place], 1.0), (self._starts[one], -1.0), *spent]
                self._row(0.0, highspy.kHighsInf, terms)

    def _add_cap(self) -> None:
        import highspy

        if self._program.vms_max is None:
            return
        for places in self._program.at_once:
            terms = [
                (self._first[place] + at, float(vms))
                for place in places
                for at, vms in enumerate(self._program.blocks[place].vms)
            ]
            self._row(-highspy.kHighsInf, float(self._program.vms_max), terms)
