"""The tenants of a run and the tasks that they ran, from the state of the scheduler."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sluice.core.entries import Attempt, JobEntry
from sluice.model.cluster import Cluster
from sluice.model.ids import PoolId
from sluice.model.queues import Pool, inner_queues
from sluice.model.resources import NOTHING, Resources
from sluice.model.slot_kind import SlotKind
from sluice.planning.sharing.use_curves import TaskUse


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantUse:
    """The data from which a ledger is made.

    weights: part of the cluster that each tenant paid for, relative to the others.
    cpu_s: measured processor time by tenant; empty in a simulation.
    """

    tasks: tuple[TaskUse, ...]
    weights: Mapping[str, float]
    capacity: float
    cpu_s: Mapping[str, float]
    ends_at_s: float


def tenant_use(
    attempts: Iterable[Attempt],
    jobs: Iterable[JobEntry],
    pools: Iterable[Pool],
    cluster: Cluster,
    now_s: float,
) -> TenantUse:
    """The tenants of a run: its leaf queues, or its pools. pools: of the workload file.

    A task that still runs counts until now. Where no node has slots, a node counts as one container
    and a task as its dominant share of all nodes.
    """
    slots = cluster.slots(SlotKind.CONTAINER)
    total = NOTHING if slots else _sum_of(cluster)
    known = {pool.pool_id: pool for pool in pools}
    for job in jobs:
        known.setdefault(job.pool.pool_id, job.pool.pool)
    ready = _ReadyTimes()
    uses = []
    cpu_s: dict[str, float] = {}
    for attempt in attempts:
        tenant = str(attempt.phase.job.pool.pool_id)
        end_s = attempt.finished_at_s if math.isfinite(attempt.finished_at_s) else now_s
        units = attempt.tasks * _units(attempt, total, len(cluster.nodes))
        start_s = attempt.started_at_s
        ready_s = min(ready.of(attempt), start_s)
        uses.append(TaskUse(tenant, ready_s, start_s, max(start_s, end_s), units))
        if attempt.usage is not None:
            cpu_s[tenant] = cpu_s.get(tenant, 0.0) + attempt.usage.cpu_s
    return TenantUse(
        tasks=tuple(uses),
        weights=_weights(known),
        capacity=float(slots or len(cluster.nodes)),
        cpu_s=cpu_s,
        ends_at_s=max((use.finished_at_s for use in uses), default=now_s),
    )


def _sum_of(cluster: Cluster) -> Resources:
    total = NOTHING
    for node in cluster.nodes:
        total += node.capacity
    return total


def _units(attempt: Attempt, total: Resources, nodes: int) -> float:
    """Containers that one task counts for. total: of all nodes, where they have no slots."""
    phase = attempt.phase.phase
    have = dict(zip(total.names, total.amounts(), strict=True))
    wants = dict(zip(phase.demand.work.names, phase.demand.work.amounts(), strict=True))
    shares = [wants[name] / amount for name, amount in have.items() if amount and name in wants]
    dominant = max(shares, default=0.0)
    return dominant * nodes if dominant else phase.units


def joined(uses: Sequence[TenantUse]) -> TenantUse:
    """Several runs one after the other. Weights and containers are those of the newest run.

    A tenant that the newest run does not have keeps the weight of the last run that had it.
    """
    tasks: list[TaskUse] = []
    weights: dict[str, float] = {}
    cpu_s: dict[str, float] = {}
    offset_s = 0.0
    for use in uses:
        for name, ready_s, start_s, end_s, units in use.tasks:
            times = (ready_s + offset_s, start_s + offset_s, end_s + offset_s)
            tasks.append(TaskUse(name, *times, units))
        weights |= use.weights
        for name, one_s in use.cpu_s.items():
            cpu_s[name] = cpu_s.get(name, 0.0) + one_s
        offset_s += use.ends_at_s
    return TenantUse(
        tasks=tuple(tasks),
        weights=weights,
        capacity=uses[-1].capacity,
        cpu_s=cpu_s,
        ends_at_s=offset_s,
    )


class _ReadyTimes:
    """Since when a phase's tasks could have run: submission, or the end of earlier phases."""

    def __init__(self) -> None:
        self._ends: dict[tuple[JobEntry, int], float] = {}

    def of(self, attempt: Attempt) -> float:
        phase, job = attempt.phase, attempt.phase.job
        key = (job, phase.index)
        if math.isfinite(attempt.finished_at_s):
            self._ends[key] = max(self._ends.get(key, 0.0), attempt.finished_at_s)
        before = [self._ends.get((job, index), 0.0) for index in phase.phase.after]
        return max([job.submitted_at_s, *before])


def _weights(pools: Mapping[PoolId, Pool]) -> dict[str, float]:
    """The part of the whole that each leaf has; pools that are no queues are below the root."""
    queues = tuple(pool.queue for pool in pools.values() if pool.queue is not None)
    inner = inner_queues(queues)
    parents = {name: pool.queue.parent if pool.queue else None for name, pool in pools.items()}
    own = {name: pool.queue.weight if pool.queue else pool.weight for name, pool in pools.items()}
    siblings: dict[PoolId | None, float] = {}
    for name, parent in parents.items():
        siblings[parent] = siblings.get(parent, 0.0) + own[name]

    def part(name: PoolId | None) -> float:
        if name is None:
            return 1.0
        return part(parents[name]) * own[name] / siblings[parents[name]]

    return {str(name): part(name) for name in pools if name not in inner}
