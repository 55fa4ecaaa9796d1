"""The settings of the core itself, whatever the policies decide."""

from __future__ import annotations

from dataclasses import dataclass

FAILURES_MAX = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Settings of the core itself.

    slowstart: share of a job's earlier tasks done before the next phase may start, 0 to 1.
    by_heartbeat: hand out work when a node reports, not at every tick.
    is_live: tasks are real processes, which begin their own work without asking; then slowstart
    holds for every policy.
    failures_max: a task that failed this often fails its job; kills and losses do not count.
    equal_failures_max: this many tasks that fail with the same exception at their first attempt
    fail their job, unless more tasks of the phase are done; None for never.
    node_faults_max: a node with this many faults in a row gets no more tasks.
    wall_s: an attempt that runs longer is killed, which is a failure; None for no limit.
    """

    slowstart: float = 1.0
    by_heartbeat: bool = False
    failures_max: int = FAILURES_MAX
    equal_failures_max: int | None = 3
    node_faults_max: int = 5
    wall_s: float | None = None
    is_live: bool = False
