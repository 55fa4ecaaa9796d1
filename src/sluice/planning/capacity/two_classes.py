"""Closed-form solution for two classes: a table of 24 cells.

This special case needs no search, so tests use it to check the general solution. The row depends on
the penalty per VM of both classes compared with the two prices, the column on the number of
reserved VMs. Source: capacity spec, section 3.4.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice.planning.capacity.problem import CapacityProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """A cell of the table and its solution.

    row: 1 to 6.  column: "a" to "d".  jobs: of both classes, in the order of the problem.
    """

    row: int
    column: str
    jobs: tuple[float, float]
    reserved_vms: float
    on_demand_vms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Class:
    """One class: VMs per job, minimum and maximum jobs, and penalty per VM."""

    need: float
    low: float
    high: float
    worth: float

    @property
    def low_vms(self) -> float:
        return self.need * self.low

    @property
    def high_vms(self) -> float:
        return self.need * self.high


def two_class_solution(problem: CapacityProblem) -> TableCell:
    """Return the cell of a problem with two classes. On equal worth any order is optimal."""
    assert len(problem.penalty_usd) == 2, "the table has two classes"  # noqa: PLR2004  # its point
    both = [
        _Class(need=float(need), low=float(low), high=float(high), worth=float(worth))
        for need, low, high, worth in zip(
            problem.vms_per_job, problem.jobs_min, problem.jobs_max, problem.worth_usd, strict=True
        )
    ]
    swapped = both[0].worth > both[1].worth
    lesser, better = reversed(both) if swapped else both
    row, column = _row(problem, lesser, better), _column(problem, lesser, better)
    jobs, reserved, on_demand = _answer(row, column, lesser, better, problem.rent.reserved_vms)
    return TableCell(
        row=row,
        column=column,
        jobs=(jobs[1], jobs[0]) if swapped else jobs,
        reserved_vms=reserved,
        on_demand_vms=on_demand,
    )


_COLUMNS = "abcd"
_ROWS = {(0, 0): 1, (0, 1): 2, (0, 2): 3, (1, 1): 4, (1, 2): 5, (2, 2): 6}


def _row(problem: CapacityProblem, lesser: _Class, better: _Class) -> int:
    rent = problem.rent
    places = [
        (one.worth > rent.reserved_usd) + (one.worth >= rent.on_demand_usd)
        for one in (lesser, better)
    ]
    return _ROWS[places[0], places[1]]


def _column(problem: CapacityProblem, lesser: _Class, better: _Class) -> str:
    steps = (
        lesser.low_vms + better.low_vms,
        lesser.low_vms + better.high_vms,
        lesser.high_vms + better.high_vms,
    )
    return _COLUMNS[sum(problem.rent.reserved_vms >= step for step in steps)]


# Jobs of the class with less and of the class with more penalty per VM: the minimum, the maximum,
# or as many as fit the reserved VMs that the other class leaves.
_LOW, _UP, _REST = "low", "up", "rest"
_JOBS: dict[int, tuple[tuple[str, str], ...]] = {
    1: ((_LOW, _LOW), (_LOW, _LOW), (_LOW, _LOW), (_LOW, _LOW)),
    2: ((_LOW, _LOW), (_LOW, _REST), (_LOW, _UP), (_LOW, _UP)),
    3: ((_LOW, _UP), (_LOW, _UP), (_LOW, _UP), (_LOW, _UP)),
    4: ((_LOW, _LOW), (_LOW, _REST), (_REST, _UP), (_UP, _UP)),
    5: ((_LOW, _UP), (_LOW, _UP), (_REST, _UP), (_UP, _UP)),
    6: ((_UP, _UP), (_UP, _UP), (_UP, _UP), (_UP, _UP)),
}


def _answer(
    row: int, column: str, lesser: _Class, better: _Class, reserved: float
) -> tuple[tuple[float, float], float, float]:
    """Jobs of the lesser and of the better class, then reserved and on-demand VMs."""
    how = _JOBS[row][_COLUMNS.index(column)]
    jobs = (
        _jobs(how[0], lesser, reserved - better.high_vms),
        _jobs(how[1], better, reserved - lesser.low_vms),
    )
    if _REST in how:
        return jobs, reserved, 0.0
    vms = lesser.need * jobs[0] + better.need * jobs[1]
    return jobs, min(vms, reserved), max(0.0, vms - reserved)


def _jobs(how: str, one: _Class, left_vms: float) -> float:
    if how == _REST:
        return left_vms / one.need
    return one.low if how == _LOW else one.high
