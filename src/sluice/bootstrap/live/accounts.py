"""Accounts of tenants over several runs: a run starts with what earlier runs have counted.

Nothing is stored twice. The journal of a run begins with what its queues had used before, and
replaying it gives what they had used at its end. A new run takes the accounts of each queue from
the newest recorded run that had this queue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sluice.bootstrap.history.profiles import OnMessage
from sluice.bootstrap.live.run_options import scheduler_part
from sluice.core.protocols import TaskPolicy
from sluice.core.scheduler import Scheduler
from sluice.model.errors import SluiceError
from sluice.model.ids import PoolId
from sluice.model.queues import Pool
from sluice.model.workload import Workload
from sluice.policies.ltyarn.policy import QueueTreePolicy
from sluice.store.run_info import RunInfo
from sluice.store.runs import Runs

Replay = Callable[[RunInfo], Scheduler]

_RUNS_MAX = 200  # looked at for queues that newer runs did not have


def with_accounts(
    workload: Workload, tasks: TaskPolicy, runs: Runs, replay: Replay, on_message: OnMessage
) -> Workload:
    """The workload whose queues start with what earlier runs have counted for them.

    tasks: the task policy of the new run; only some remember use beyond a run.
    replay: gives the scheduler of a recorded run at its end.
    """
    if not isinstance(tasks, QueueTreePolicy):
        return workload
    missing = set(tasks.remembered(workload.queues))
    found: dict[PoolId, float] = {}
    for run in list(reversed(runs.listed()))[:_RUNS_MAX]:
        if not missing:
            break
        if isinstance(run, RunInfo) and missing & _queues_of(run):
            used = _used_at_end(run, tasks, replay, on_message)
            found |= {name: used[name] for name in missing & used.keys()}
            missing -= used.keys()
    return replace(workload, pools=tuple(_with_use(pool, found) for pool in workload.pools))


def _queues_of(run: RunInfo) -> set[PoolId]:
    recorded: Any = run.header.settings.get("of_file", {})
    return {pool["pool_id"] for pool in recorded.get("pools", ()) if pool.get("queue")}


def _used_at_end(
    run: RunInfo, tasks: QueueTreePolicy, replay: Replay, on_message: OnMessage
) -> Mapping[PoolId, float]:
    """Container-seconds by queue at the end of a run, as they count now."""
    try:
        scheduler = replay(run)
    except (SluiceError, OSError) as error:
        on_message(f"The accounts of run {run.run_id} are not used: {error}")
        return {}
    policy = scheduler.policies.tasks
    if not isinstance(policy, QueueTreePolicy):
        return {}
    pools = [entry.pool for entry in scheduler.state.pools.values()]
    remembered = policy.remembered(tuple(pool.queue for pool in pools if pool.queue is not None))
    ended_s = scheduler.state.now_s
    kept = tasks.kept_after(max(0.0, _age_s(run.header.started_at) - ended_s))
    used = policy.used_container_s(ended_s)
    return {name: kept * used[name] for name in remembered}


def _age_s(started_at: str) -> float:
    """Seconds since a run began."""
    began = datetime.fromisoformat(started_at)
    return (datetime.now(UTC) - began).total_seconds()


def _with_use(pool: Pool, used: Mapping[PoolId, float]) -> Pool:
    if pool.queue is None or pool.pool_id not in used:
        return pool
    return replace(pool, queue=replace(pool.queue, used_before=used[pool.pool_id]))


def recorded_queues(workload: Workload, run: RunInfo) -> Workload:
    """The workload with the queues as the run's journal has them, for a run that is resumed."""
    if not workload.queues:
        return workload
    return replace(workload, pools=scheduler_part(run.header).pools)
