"""The slots that release and admission may count on, as the task policy uses them.

Where any slot takes any task (containers, resources, lent slots) all slots add up; otherwise maps
and reduces have their own. Nothing else counts slots for a release. Source: loop spec, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sluice.core.entries import JobEntry, NodeEntry
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind

_MAP = SlotKind.MAP
_REDUCE = SlotKind.REDUCE
_CONTAINER = SlotKind.CONTAINER


def widths(state: ClusterState) -> tuple[int, int]:
    """How many maps and how many reduces may run side by side, at least 1 each."""
    if has_any_slot(state):
        slots = max(1, state.slots[_CONTAINER])
        return slots, slots
    return max(1, state.slots[_MAP]), max(1, state.slots[_REDUCE])


def has_any_slot(state: ClusterState) -> bool:
    """Whether any slot takes any task: by the task policy, or because no node has typed slots."""
    return state.has_any_slot or not (state.slots[_MAP] or state.slots[_REDUCE])


def slots_busy(state: ClusterState, kind: SlotKind) -> Reason:
    """The reason of a task whose turn it is: all slots of a kind are busy."""
    return Reason(ReasonCode.SLOTS_BUSY, (("slots", state.slots[kind]), ("kind", kind.value)))


def idle_slots(node: NodeEntry) -> int:
    """Free slots of a node, of whatever kind; many where its resources alone limit it."""
    if not node.slots(_CONTAINER):
        return node.free[_CONTAINER]
    typed = sum(math.ceil(node.used(kind) / node.units[kind]) for kind in (_MAP, _REDUCE))
    return node.slots(_CONTAINER) - typed - node.used(_CONTAINER)


def early_tasks(state: ClusterState) -> int:
    """Tasks that run while phases that they read from are not done: they may wait for these."""
    return sum(
        phase.running
        for job in state.active.values()
        for phase in job.phases
        if phase.running and not phase.has_inputs
    )


def owed_jobs(state: ClusterState) -> list[JobEntry]:
    """The active jobs below their promise, the one with the smallest part of it first."""
    owed = [job for job in state.promises.values() if job.is_owed and job.release_seq >= 0]
    return sorted(owed, key=lambda job: (job.running / job.promised, job.release_seq))


def owed_release(waiting: Sequence[JobEntry], state: ClusterState) -> list[JobEntry]:
    """Jobs to release at once, so that no tenant is held back below its share of the slots.

    A tenant is a pool that the workload declares; its share counts those with jobs that wait or
    run, by weight. What it has released and not finished counts as its use. With one tenant there
    is nothing to share.
    """
    pools = {entry.pool: 0 for entry in waiting if entry.pool.is_declared}
    for job in state.active.values():
        if not job.pool.is_declared:
            continue
        open_tasks = job.running + sum(p.pending.count for p in job.phases if p.is_open)
        pools[job.pool] = pools.get(job.pool, 0) + open_tasks
    if len(pools) <= 1:
        return []
    weights = math.fsum(pool.pool.weight for pool in pools)
    slots = state.slots[_CONTAINER]
    owed = []
    for entry in waiting:
        if entry.pool in pools and pools[entry.pool] < slots * entry.pool.pool.weight / weights:
            owed.append(entry)
            first = [phase.tasks for phase in entry.job.phases if not phase.after]
            pools[entry.pool] += sum(first)
    return owed
