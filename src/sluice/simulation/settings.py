"""Settings of the simulated world, each declared once.

Sources: RAS spec, section 10 (contention; calibrated there, so publish the sensitivity with any
result that rests on it); dynamicmr spec, sections 3 and 10 (locality, stragglers).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sluice.core.settings import HeartbeatSettings, ShuffleSettings, TimeoutSettings
from sluice.model.settings import SettingKind, check_pause, declared, number, share, whole, word


@dataclass(frozen=True, kw_only=True)
class SimulationSettings(HeartbeatSettings, TimeoutSettings, ShuffleSettings):
    """How the simulated world behaves."""

    contention: str = word(
        "none", "whether tasks on one node slow each other down", "none", "shared"
    )
    kappa_cpu: float = number(
        0.1, "capacity lost as cpu is over-committed", high=1000.0, needs="contention=shared"
    )
    kappa_io: float = number(
        0.5, "capacity lost as io is over-committed (seeks)", high=1000.0, needs="contention=shared"
    )
    kappa_network: float = number(
        0.0, "capacity lost as the network is", high=1000.0, needs="contention=shared"
    )
    kappa_memory: float = number(
        2.0, "speed lost as memory is (thrashing)", high=1000.0, needs="contention=shared"
    )
    peak: float = number(
        1.25,
        "the most a task's speed exceeds that of its profile",
        above=0.0,
        needs="contention=shared",
    )
    thread_cpu: float = number(
        50.0, "the most cpu that one task can use, percent", above=0.0, needs="contention=shared"
    )
    fetch_bytes_per_s: float = number(
        20e6, "the most that one reduce fetches", above=0.0, needs="contention=shared"
    )
    nic_bytes_per_s: float = number(
        110e6, "what a node's network card carries", above=0.0, needs="contention=shared"
    )
    jitter: float = number(0.0, "0.15: each task's length is 15 % off at most", below=1.0)
    spread: str = declared(
        SettingKind.CHOICE,
        "fixed",
        "how task lengths are distributed; their mean stays that of the profile",
        choices=("fixed", "exponential", "lognormal", "gamma"),
    )
    spread_cv: float = number(
        0.5,
        "coefficient of variation of that",
        above=0.0,
        high=100.0,
        needs="spread=lognormal|gamma",
    )
    p_slow: float = share(0.0, "chance that an attempt is slow")
    slow_factor: tuple[float, float] = declared(
        SettingKind.SPAN,
        (3.0, 6.0),
        "how many times longer a slow attempt takes",
        low=1.0,
        needs="p_slow",
    )
    p_hang: float = share(0.0, "chance that an attempt never ends by itself")
    hang_at: tuple[float, float] = declared(
        SettingKind.SPAN,
        (0.0, 0.0),
        "progress at which such an attempt stops, as a share of the whole",
        high=1.0,
        needs="p_hang",
        reason="a task that stops late looks healthy: the hard case for copies",
    )
    p_slow_node: float = share(
        0.0,
        "chance that a node is slow, and all that runs on it",
        reason="slow nodes are what LATE's slow_node is for",
    )
    slow_node_factor: float = number(
        1.5,
        "how many times longer it takes there",
        low=1.0,
        needs="p_slow_node",
        reason="goes with p_slow_node",
    )
    replicas: int = whole(3, "nodes that hold each block of input", low=1, high=1000)
    rack_factor: float = number(
        1.3,
        "length of a map whose input is in its rack",
        low=1.0,
        reason="depends on the network of the site",
    )
    remote_factor: float = number(
        1.6,
        "length of a map whose input is in another",
        low=1.0,
        reason="depends on the network of the site",
    )
    node_mtbf_s: float | None = number(None, "mean seconds until a node fails", above=0.0)
    node_repair_s: float | None = number(
        None,
        "mean seconds until it is back",
        above=0.0,
        needs="node_mtbf_s",
        reason="depends on the machines of the site",
    )
    node_timeout_s: float = number(
        600.0,
        "seconds without a report after which a node counts as lost",
        above=0.0,
        needs="node_mtbf_s",
        reason="yarn.nm.liveness-monitor.expiry-interval-ms of the site",
    )
    task_failure: float = share(0.0, "chance that an attempt fails")

    def __post_init__(self) -> None:
        check_pause("heartbeat_s", self.heartbeat_s)

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
    def is_random(self) -> bool:
        """Whether a workload may take other times under another seed."""
        return self.tells_tasks_apart or self.node_mtbf_s is not None

    @property
    def failure_rate_per_s(self) -> float:
        """Failures of one node per second; 0 for never."""
        return (
            0.0
            if self.node_mtbf_s is None or math.isinf(self.node_mtbf_s)
            else 1 / self.node_mtbf_s
        )
