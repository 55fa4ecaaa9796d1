"""Settings of runs on a YARN cluster."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.model.settings import SettingKind, SettingsGroup, declared, number, whole


@dataclass(frozen=True, kw_only=True)
class YarnSettings(SettingsGroup):
    """Which containers to ask for, and what they are to the scheduler."""

    yarn_queue: str = declared(
        SettingKind.TEXT,
        "default",
        "queue of the YARN application that runs the jobs",
        reason="the queues of a YARN cluster are those of the site",
    )
    yarn_user: str = declared(
        SettingKind.TEXT,
        "",
        "user of the YARN application; without it that of this process",
        reason="the users of a YARN cluster are those of the site",
    )
    yarn_python: str = declared(
        SettingKind.TEXT,
        "",
        "Python with Sluice on each node of a YARN cluster; without it the path of this one",
        reason="where Python is on the nodes differs by site",
    )
    yarn_nodes: int | None = whole(
        None,
        "nodes of a YARN cluster to begin with; all by default",
        low=1,
        high=100_000,
        reason="a shared YARN cluster is not all for one application",
    )
    yarn_memory_mb: int | None = whole(
        None,
        "mebibytes of the container on each YARN node; by default what is free but 256",
        low=64,
        high=2.0**40,
        reason="a shared YARN cluster is not all for one application",
    )
    yarn_vcores: int | None = whole(
        None,
        "processors of the container on each YARN node; by default what is free but one",
        low=1,
        high=100_000,
        reason="a shared YARN cluster is not all for one application",
    )
    yarn_map_slots_per_vcore: float = number(
        1.0, "map slots of a YARN node for each processor of its container"
    )
    yarn_containers_per_vcore: float = number(
        0.0,
        "containers for tasks of any kind of a YARN node for each processor of its container",
        reason="for tasks in containers, such as those of `yarn-like`",
    )
    yarn_reduce_slots_per_vcore: float = number(
        1.0, "reduce slots of a YARN node for each processor of its container"
    )
