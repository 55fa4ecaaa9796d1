"""Settings of real runs. Source: engines spec, section 8 (limits of real attempts)."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.core.settings import TimeoutSettings
from sluice.engines.base import Limits
from sluice.model.settings import SettingKind, declared, number, whole, word


@dataclass(frozen=True, kw_only=True)
class TaskLimitSettings(TimeoutSettings):
    """Limits of each attempt and node. An attempt that exceeds a limit is ended and has failed."""

    task_wall_s: float | None = number(
        None, "seconds after which a real attempt is ended", above=0.0
    )
    task_output_bytes_max: int | None = whole(
        None, "bytes that a real attempt may write", low=1, high=2.0**60
    )
    task_memory_bytes_max: int | None = whole(
        None, "bytes of memory that a real attempt may use", low=1, high=2.0**60
    )

    node_lease_s: float | None = number(
        10.0,
        "seconds without a heartbeat after which a node of a real run is lost",
        above=0.0,
        may_be_none=True,
    )
    node_limits: str = word(
        "auto",
        "hold the tasks of a real run to the cpu and memory of their node where cgroup v2 allows"
        " it, or never",
        "auto",
        "off",
    )

    reattach_s: float = number(
        60.0, "seconds that the nodes of a Ray cluster go on without a driver, for --resume"
    )
    ray_map_slots_per_cpu: float = number(1.0, "map slots of a Ray node for each of its processors")
    ray_reduce_slots_per_cpu: float = number(
        1.0, "reduce slots of a Ray node for each of its processors"
    )
    ray_rack_label: str = declared(
        SettingKind.TEXT, "rack", "label of a Ray node that names its rack"
    )
    ray_type_label: str = declared(
        SettingKind.TEXT,
        "",
        "label of a Ray node that names its VM type; without it nodes have none",
    )

    def limits(self) -> Limits:
        """The limits as the driver takes them."""
        return Limits(
            idle_s=self.task_timeout_s,
            wall_s=self.task_wall_s,
            output_bytes=self.task_output_bytes_max,
            memory_bytes=self.task_memory_bytes_max,
        )
