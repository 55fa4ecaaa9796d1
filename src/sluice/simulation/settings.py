"""The simulator's knobs, with the defaults of the workload file's `settings:`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sluice.model.errors import InvalidInput

HEARTBEAT_S_MIN = 0.001  # below, a run would consist of heartbeats


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationSettings:
    """How the simulated world behaves. Lengths in seconds, chances 0 to 1.

    heartbeat_s: 0 refills a freed slot at once; above 0, nodes report at this interval, staggered.
    jitter: every task's length is uniform within +- this share of its profile.
    spread: "fixed", or the distribution that lengths are drawn from, of which `spread_cv` is the
    coefficient of variation; the mean stays that of the profile.
    p_slow, slow_factor: chance that an attempt is slow, and the range of how many times slower.
    p_slow_node, slow_node_factor: chance that a node is slow, and how many times longer all work
    takes there.
    p_hang: chance that an attempt never ends; it is ended after `task_timeout_s` without progress.
    replicas, rack_factor, remote_factor: copies of each input block, and how much longer a task
    takes when its input is in its rack, or elsewhere. On where the cluster has racks.
    node_mtbf_s, node_repair_s: mean time to a node's failure and of its repair; None for never.
    losses_max: a simulation ends with Infeasible if a task is lost with its node more often.
    task_failure: chance that an attempt fails, somewhere on its way.
    contention: "none", or "shared" for node resources shared by the tasks on a node.
    """

    heartbeat_s: float = 0.0
    jitter: float = 0.0
    spread: str = "fixed"
    spread_cv: float = 0.5
    p_slow: float = 0.0
    slow_factor: tuple[float, float] = (3.0, 6.0)
    p_hang: float = 0.0
    p_slow_node: float = 0.0
    slow_node_factor: float = 1.5
    task_timeout_s: float | None = 600.0
    node_timeout_s: float = 600.0
    replicas: int = 3
    rack_factor: float = 1.3
    remote_factor: float = 1.6
    node_mtbf_s: float | None = None
    node_repair_s: float | None = None
    losses_max: int = 1000
    task_failure: float = 0.0
    contention: str = "none"
    kappa_cpu: float = 0.1
    kappa_io: float = 0.5
    kappa_network: float = 0.0
    kappa_memory: float = 2.0
    peak: float = 1.25
    thread_cpu: float = 50.0
    fetch_bytes_per_s: float = 20e6
    nic_bytes_per_s: float = 110e6
    parallel_copies: int = 5

    def __post_init__(self) -> None:
        if 0 < self.heartbeat_s < HEARTBEAT_S_MIN:
            raise InvalidInput(
                f"heartbeat_s is {self.heartbeat_s}",
                where="settings",
                hint=f"give 0, or at least {HEARTBEAT_S_MIN}",
            )

    @property
    def tells_tasks_apart(self) -> bool:
        """Whether two tasks of one phase may end at different times though alike in profile."""
        return bool(
            self.jitter
            or self.spread != "fixed"
            or self.p_slow
            or self.p_hang
            or self.p_slow_node
            or self.task_failure
        )

    @property
    def failure_rate_per_s(self) -> float:
        """Failures of one node per second; 0 for never."""
        return (
            0.0
            if self.node_mtbf_s is None or math.isinf(self.node_mtbf_s)
            else 1 / self.node_mtbf_s
        )
