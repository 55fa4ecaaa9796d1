"""The fairness ledger: who paid for what, who used it, who lent and who borrowed, over time.

Between two changes every tenant's use is constant. What a tenant leaves idle of its share while
others run more than theirs is lent to them: what is borrowed at an instant is divided among the
lenders in proportion to what they leave idle, so that lent and borrowed units are always equal.
Source: ltyarn spec, sections 4 and 5.5, and erratum E1 for the two fairness degrees.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sluice.model.members import Member
from sluice.planning.sharing.fairness import (
    benefit,
    fairness_degree,
    jain_index,
    lorenz_curve,
    loss,
)
from sluice.planning.sharing.use_curves import Numbers, TaskUse, UseCurve, static_curve

CELLS_MAX = 4_000_000  # tenants times instants; a finer history is averaged over a grid
_PERIODS = 12
_NICE_S = (1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0, 21600.0, 86400.0, 604800.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantPeriod:
    """One tenant in one period. All amounts are container-seconds.

    entitled: share times the length.  owed: lent minus borrowed since the beginning.
    fairness, fairness_observed: accumulated use since the beginning, against use on a fixed share,
    and against min(demand, share) as it was; None where that is 0.
    """

    entitled: float
    used: float
    lent: float
    borrowed: float
    owed: float
    fairness: float | None
    fairness_observed: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPeriod:
    """One period: its tenants, and how fair it had been by its end."""

    started_at_s: float
    ended_at_s: float
    tenants: Mapping[str, TenantPeriod]
    benefit: float
    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """All periods. shares: containers that each tenant paid for.

    total: the whole time as one period.  jain: Jain's index of use by share.
    lorenz: the part of all use that the least served k tenants had, by use for their share.
    """

    shares: Mapping[str, float]
    capacity: float
    periods: tuple[LedgerPeriod, ...]
    total: LedgerPeriod
    jain: float | None
    lorenz: tuple[float, ...]


def shares_of(weights: Mapping[str, float], capacity: float) -> dict[str, float]:
    """Containers by tenant, equation (2).

    >>> shares_of({"a": 3, "b": 1}, 8.0)
    {'a': 6.0, 'b': 2.0}
    """
    total = math.fsum(weights.values())
    return {name: capacity * weight / total for name, weight in weights.items()}


def ledger_of(
    tasks: Sequence[TaskUse],
    weights: Mapping[str, float],
    capacity: float,
    *,
    ends_at_s: float | None = None,
    period_s: float | None = None,
) -> Ledger:
    """The ledger of tasks that ran on containers.

    weights: of all tenants, also of those without tasks.  capacity: containers.
    ends_at_s: by default the last end.  period_s: by default some twelfth of the whole.

    >>> tasks = [TaskUse("a", 0, 0, 10, 2.0), TaskUse("b", 10, 10, 20, 2.0)]
    >>> found = ledger_of(tasks, {"a": 1, "b": 1}, 2.0, period_s=10)
    >>> [period.tenants["b"].owed for period in found.periods]
    [10.0, 0.0]
    """
    shares = shares_of(weights, capacity)
    by_tenant: dict[str, list[TaskUse]] = {name: [] for name in weights}
    for task in tasks:
        by_tenant[task.tenant].append(task)
    last_s = max((task.finished_at_s for task in tasks), default=0.0)
    end_s = last_s if ends_at_s is None else ends_at_s
    length_s = period_s or nice_period_s(end_s)
    count = max(1, math.ceil(end_s / length_s - 1e-9))
    edges_s = np.minimum(np.arange(count + 1) * length_s, end_s)
    books = _Books(by_tenant, shares, end_s)
    periods = tuple(books.period(edges_s[k], edges_s[k + 1]) for k in range(count))
    total = books.period(0.0, end_s)
    served = [total.tenants[name].used / shares[name] for name in shares]
    return Ledger(
        shares=shares,
        capacity=capacity,
        periods=periods,
        total=total,
        jain=jain_index(served),
        lorenz=tuple(lorenz_curve(served)),
    )


def nice_period_s(end_s: float) -> float:
    """A round length of which about twelve fill a time.

    >>> nice_period_s(5648.0), nice_period_s(40 * 86400.0)
    (600.0, 604800.0)
    """
    return next((nice_s for nice_s in _NICE_S if nice_s * _PERIODS >= end_s), max(end_s / 52, 1.0))


class _Books:
    """Curves of all tenants, and what was lent and borrowed between them."""

    def __init__(
        self, tasks: Mapping[str, Sequence[TaskUse]], shares: Mapping[str, float], end_s: float
    ) -> None:
        self._shares = shares
        self._used = {
            name: UseCurve.of_spans((t.started_at_s, t.finished_at_s, t.units) for t in mine)
            for name, mine in tasks.items()
        }
        self._static = {name: static_curve(mine, shares[name]) for name, mine in tasks.items()}
        wanted = {
            name: UseCurve.of_spans((t.ready_at_s, t.finished_at_s, t.units) for t in mine)
            for name, mine in tasks.items()
        }
        self._observed = {
            name: UseCurve(curve.times_s, np.minimum(curve.levels, shares[name]))
            for name, curve in wanted.items()
        }
        self._lend(end_s)

    def _lend(self, end_s: float) -> None:
        """Lent and borrowed units of each tenant over time."""
        edges_s = self._edges(end_s)
        names = list(self._shares)
        use = np.array([self._used[name].means(edges_s) for name in names])
        share = np.array([[self._shares[name]] for name in names])
        idle, over = np.maximum(share - use, 0.0), np.maximum(use - share, 0.0)
        idle_total = idle.sum(axis=0)
        part = np.divide(
            over.sum(axis=0), idle_total, out=np.zeros_like(idle_total), where=idle_total > 0
        )
        # Where nodes were lost, or shares are rounded, more may run than shares add up to.
        lent = idle * np.minimum(part, 1.0)
        self._lent = {name: UseCurve(edges_s, lent[k]) for k, name in enumerate(names)}
        self._borrowed = {name: UseCurve(edges_s, over[k]) for k, name in enumerate(names)}

    def _edges(self, end_s: float) -> Numbers:
        times = [curve.times_s for curve in self._used.values()]
        edges_s = np.unique(np.concatenate([*times, [0.0, end_s]]))
        if len(edges_s) * len(self._shares) > CELLS_MAX:
            edges_s = np.linspace(0.0, edges_s[-1], CELLS_MAX // len(self._shares) + 1)
        return edges_s

    def period(self, start_s: float, end_s: float) -> LedgerPeriod:
        """The period between two instants; degrees and debts count from the beginning."""
        rows = {name: self._row(name, start_s, end_s) for name in self._shares}
        degrees = [row.fairness for row in rows.values()]
        return LedgerPeriod(
            started_at_s=float(start_s),
            ended_at_s=float(end_s),
            tenants=rows,
            benefit=float(benefit(degrees)),
            loss=float(loss(degrees)),
        )

    def _row(self, name: str, start_s: float, end_s: float) -> TenantPeriod:
        def between(curve: UseCurve) -> float:
            before, after = curve.integral(np.array([start_s, end_s]))
            return float(after - before)

        def until(curve: UseCurve) -> float:
            return float(curve.integral(end_s))

        used = until(self._used[name])
        degrees = [
            fairness_degree(used, until(curves[name])) for curves in (self._static, self._observed)
        ]
        return TenantPeriod(
            entitled=self._shares[name] * float(end_s - start_s),
            used=between(self._used[name]),
            lent=between(self._lent[name]),
            borrowed=between(self._borrowed[name]),
            owed=until(self._lent[name]) - until(self._borrowed[name]),
            fairness=None if degrees[0] is None else float(degrees[0]),
            fairness_observed=None if degrees[1] is None else float(degrees[1]),
        )


def demand_members(
    tasks: Sequence[TaskUse], weights: Mapping[str, float], edges_s: Sequence[float]
) -> tuple[Member, ...]:
    """The tenants as members of a sharing problem, whose steps are the cells between the edges.

    A step's demand is the work that became ready in it, as mean units over the cell.
    """
    edges = np.array(edges_s)
    demands = {name: np.zeros(len(edges) - 1) for name in weights}
    for task in tasks:
        cell = int(np.searchsorted(edges, task.ready_at_s, side="right")) - 1
        cell = min(max(cell, 0), len(edges) - 2)
        work = task.units * (task.finished_at_s - task.started_at_s)
        demands[task.tenant][cell] += work / (edges[cell + 1] - edges[cell])
    return tuple(
        Member(
            member_id=name,
            weight=weight,
            demands=tuple(round(float(units), 6) for units in demands[name]),
        )
        for name, weight in weights.items()
    )
