"""Queues that change while jobs are in them."""

from __future__ import annotations

from sluice.core.entries import PoolEntry
from sluice.core.protocols import TaskPolicy
from sluice.core.state import ClusterState
from sluice.model.queues import Pool


def change_queues(state: ClusterState, tasks: TaskPolicy, pools: tuple[Pool, ...]) -> None:
    """Give pools their new values, add the new ones, and let the task policy know."""
    for pool in pools:
        entry = state.pools.get(pool.pool_id)
        if entry is None:
            entry = state.pools[pool.pool_id] = PoolEntry(pool, len(state.pools))
        entry.pool, entry.is_declared = pool, True
    tasks.queues_changed(state)
