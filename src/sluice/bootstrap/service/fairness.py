"""Who was entitled to what, used, lent, borrowed and is owed, over weeks and restarts of a service.

The holders of shares are the queues of the file; without queues they are the tenants, all alike.
Source: service spec, section 6 (`GET /v1/fairness`), and ltyarn spec, sections 4 and 5.5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sluice.bootstrap.service.futures import instant
from sluice.bootstrap.service.promises import slot_hour_usd
from sluice.bootstrap.service.replica import Replica, replayed_chain
from sluice.bootstrap.service.views import OTHER_TENANT
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.model.slot_kind import SlotKind
from sluice.planning.sharing.ledger import Ledger, LedgerPeriod, TenantPeriod, ledger_of
from sluice.planning.sharing.use_curves import TaskUse
from sluice.reporting.fairness.tenants import tenant_use
from sluice.store.service.segments import chains

PERIODS_MAX = 1000
WEEK_S = 7 * 86400.0
HALF_LIFE_S = WEEK_S  # after which the rule with decay has forgotten half of a debt
HOUR_S = 3600.0
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class FairnessQuestion:
    """The question about fairness. start, end: RFC 3339; by default the 13 weeks until now.

    period_s: length of a period; by default a day, or the whole if that is shorter.
    tenant: who asks; only what its jobs hold is named. None for all.
    """

    start: str | None = None
    end: str | None = None
    period_s: float | None = None
    tenant: str | None = None


@dataclass(frozen=True, slots=True)
class _Use:
    """The tasks of a span on the wall clock, the shares, and who may see each of them."""

    tasks: tuple[TaskUse, ...]
    weights: dict[str, float]
    containers: float
    visible: frozenset[str]

    def later(self, by_s: float) -> _Use:
        """Return the same with a span that begins later, before the first task."""
        tasks = (
            TaskUse(name, max(0.0, ready - by_s), start - by_s, end - by_s, units)
            for name, ready, start, end, units in self.tasks
        )
        return replace(self, tasks=tuple(tasks))


def fairness_of(replica: Replica, question: FairnessQuestion) -> Row:
    """The ledger of the service, out of all segments of its journal.

    Raises InvalidInput for a span without work, or of too many periods.
    """
    now_s = replica.wall_s(replica.now_s)
    to_s = now_s if question.end is None else min(now_s, _seconds(question.end))
    from_s = to_s - 13 * WEEK_S if question.start is None else _seconds(question.start)
    if not from_s < to_s:
        raise InvalidInput("the span ends before it begins", where="to", hint="give a later one")
    replicas = list(_replicas(replica))
    use = _use_between(replicas, from_s, to_s, question.tenant)
    if not use.tasks:
        raise InvalidInput("no task ran in this span", where="from", hint="give a longer span")
    # By default what came before the first task is of no interest. Before the service began, there
    # was nothing that a share could be of.
    first_s, asked_s = min(task.started_at_s for task in use.tasks), to_s - from_s
    if question.start is None:
        asked_s -= first_s
    else:
        began_s = min(one.wall_s(0.0) for one in replicas) - from_s
        first_s = min(first_s, max(0.0, began_s))
    from_s, use = from_s + first_s, use.later(first_s)
    period_s = question.period_s or min(86400.0, asked_s)
    if asked_s / period_s > PERIODS_MAX:
        raise InvalidInput(
            f"these would be {asked_s / period_s:,.0f} periods",
            where="period_s",
            hint=f"give a length that makes at most {PERIODS_MAX}",
        )
    period_s = min(period_s, to_s - from_s)
    ledger = ledger_of(
        use.tasks, use.weights, use.containers, ends_at_s=to_s - from_s, period_s=period_s
    )
    return _document(replica, ledger, use, from_s)


def _replicas(newest: Replica) -> Iterable[Replica]:
    for chain in chains(newest.segment.parent):
        yield newest if newest.newest in chain else replayed_chain(chain[0])


def _use_between(
    replicas: Iterable[Replica], from_s: float, to_s: float, tenant: str | None
) -> _Use:
    tasks: list[TaskUse] = []
    weights: dict[str, float] = {}
    containers, visible = 1.0, set[str]()
    for replica in replicas:
        state = replica.state
        nodes = Cluster(nodes=tuple(entry.node for entry in state.nodes.values()))
        pools = replica.config.workload.pools
        attempts = [*state.closed, *state.running.values()]
        found = tenant_use(attempts, state.jobs.values(), pools, nodes, state.now_s)
        owners = {
            str(known.submitted.job.pool): (
                str(known.submitted.job.pool) if pools else known.workload.tenant
            )
            for known in replica.jobs.values()
        }
        visible |= {
            owners[str(known.submitted.job.pool)]
            for known in replica.jobs.values()
            if tenant in {None, known.workload.tenant}
        }
        weights |= found.weights if pools else dict.fromkeys(owners.values(), 1.0)
        if tenant is None:  # also a queue that no job was in
            visible |= weights.keys()
        containers = max(1.0, float(nodes.slots(SlotKind.CONTAINER) or len(nodes.nodes)))
        tasks += _on_the_wall(replica, found.tasks, owners, from_s, to_s)
    return _Use(tuple(tasks), weights, containers, frozenset(visible))


def _on_the_wall(
    replica: Replica, tasks: Sequence[TaskUse], owners: dict[str, str], from_s: float, to_s: float
) -> Iterable[TaskUse]:
    """The tasks as far as they ran in the span, seconds since its start."""
    for name, ready_s, start_s, end_s, units in tasks:
        times = [replica.wall_s(each) for each in (ready_s, start_s, end_s)]
        ready, start, end = (min(max(each, from_s), to_s) - from_s for each in times)
        if end > start:
            yield TaskUse(owners.get(name, name), ready, start, end, units)


def _document(replica: Replica, ledger: Ledger, use: _Use, from_s: float) -> Row:
    workload = replica.config.workload
    vm = workload.vm or replica.config.cluster.nodes[0]
    slots = vm.containers or vm.map_slots + vm.reduce_slots
    container_usd = slot_hour_usd(workload.prices, slots)
    decayed = _decayed(ledger)
    rows = {
        name: _row(total, container_usd)
        | {
            "share": ledger.shares[name],
            "owed": {
                "long_term": total.owed / HOUR_S,
                "decay": decayed[name] / HOUR_S,
                "fair": 0.0,  # it remembers nothing
            },
        }
        for name, total in ledger.total.tenants.items()
    }
    return {
        "rule": replica.scheduler.policies.tasks.name,
        "holders": "queues" if workload.pools else "tenants",
        "containers": ledger.capacity,
        "container_hour_usd": container_usd,
        "from": instant(from_s + ledger.total.started_at_s),
        "to": instant(from_s + ledger.total.ended_at_s),
        "jain": ledger.jain,
        "shares": _named(rows, use.visible),
        "periods": [
            {
                "from": instant(from_s + period.started_at_s),
                "to": instant(from_s + period.ended_at_s),
                "shares": _named(_rows(period, container_usd), use.visible),
            }
            for period in ledger.periods
        ],
    }


def _rows(period: LedgerPeriod, container_usd: float | None) -> dict[str, Row]:
    return {
        name: {**_row(one, container_usd), "owed": {"long_term": one.owed / HOUR_S}}
        for name, one in period.tenants.items()
    }


def _row(one: TenantPeriod, container_usd: float | None) -> Row:
    """Container-hours; and US dollars, where the file has prices."""
    return {
        "entitled": one.entitled / HOUR_S,
        "used": one.used / HOUR_S,
        "lent": one.lent / HOUR_S,
        "borrowed": one.borrowed / HOUR_S,
        "used_usd": None if container_usd is None else one.used / HOUR_S * container_usd,
    }


def _decayed(ledger: Ledger) -> dict[str, float]:
    """Return what is owed to each holder if a debt halves every week, container-seconds."""
    end_s = ledger.total.ended_at_s
    owed = dict.fromkeys(ledger.shares, 0.0)
    for period in ledger.periods:
        kept = math.pow(0.5, (end_s - period.ended_at_s) / HALF_LIFE_S)
        for name, one in period.tenants.items():
            owed[name] += kept * (one.lent - one.borrowed)
    return owed


def _named(rows: dict[str, Row], visible: frozenset[str]) -> dict[str, Row]:
    """The rows that the asker may see; the others as one."""
    hidden = [row for name, row in rows.items() if name not in visible]
    shown = {name: row for name, row in rows.items() if name in visible}
    return shown if not hidden else {**shown, OTHER_TENANT: _sum_of(hidden)}


def _sum_of(rows: Sequence[Row]) -> Row:
    total: Row = {}
    for key, value in rows[0].items():
        if isinstance(value, dict):
            total[key] = _sum_of([row[key] for row in rows])
        else:
            total[key] = None if value is None else sum(row[key] for row in rows)
    return total


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
