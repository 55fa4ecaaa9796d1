"""Settings of pools of VMs at task level."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.model.settings import (
    PAUSE_S_MIN,
    SettingKind,
    SettingsGroup,
    declared,
    flag,
    number,
    whole,
    word,
)

_RESIZES = "vm_reconfigure"
_DOWN = "vm_power_down_s"


@dataclass(frozen=True, kw_only=True)
class VmPoolSettings(SettingsGroup):
    """How the planner decides. Those of a change of pools come from `reconfigure` of a file."""

    vm_rule: str = word(
        "vm-aware",
        "how jobs get VMs (vm-pools): compared with each other, or each its own optimum",
        "vm-aware",
        "instant-opt",
    )
    vm_boot_s: float = number(0.0, "seconds that VMs boot for each job (vm-pools)")
    vm_tick_s: float = number(
        0.0,
        "planned times are whole ticks; 0 for exact (vm-pools)",
        reason="Cura plans in ticks of 1 s; this repeats such a plan",
    )
    vm_window_s: float | None = number(
        None,
        "longest reservation window in seconds (vm-pools)",
        above=0.0,
        reason="the window bound of Cura; comes from `vm_pools` of a file",
    )
    vm_service: str = word(
        "delayed",
        "whether jobs may wait for VMs after their arrival (vm-pools)",
        "delayed",
        "immediate",
    )
    vm_power_down_s: float | None = number(
        None, "seconds that a server is not needed before it is shut down (vm-pools)"
    )
    vm_power_up_s: float = number(
        60.0,
        "seconds until a server is up (vm-pools)",
        needs=_DOWN,
        reason="belongs to the servers; its cost depends on them",
    )
    vm_reconfigure: bool = flag("change the pool sizes where that saves enough (vm-pools)")
    vm_servers: int | None = whole(
        None,
        "servers under the pools; none for those they take",
        low=1,
        needs=_RESIZES,
        reason="belongs to the site; comes from `vm_pools` of a file",
    )
    vm_server_units: float | None = number(
        None,
        "resource units of a server (vm-pools)",
        above=0.0,
        reason="belongs to the site; comes from `vm_pools` of a file",
    )
    vm_check_s: float = number(
        600.0,
        "seconds between checks of the pools (vm-pools)",
        low=PAUSE_S_MIN,
        needs=_RESIZES,
        reason="the reconfiguration window of Cura; comes from `reconfigure` of a file",
    )
    vm_beta: float = number(
        1.5,
        "a change saves that many times its cost (vm-pools)",
        above=1.0,
        needs=_RESIZES,
        reason="the beta of Cura; comes from `reconfigure` of a file",
    )
    vm_change_server_s: float | None = number(
        None, "server-seconds that a VM costs to start or stop (vm-pools)", needs=_RESIZES
    )
    vm_weighted: bool = declared(
        SettingKind.FLAG, default=True, meaning="shares of units, not of VMs (vm-pools)",
        needs=_RESIZES,
    reason="Cura's formula as printed counts VMs, the corrected one units")  # fmt: skip
    vm_keep_largest: bool = flag(
        "keep VMs for the largest cluster that a job wanted (vm-pools)",
        needs=_RESIZES,
        reason="Cura's pool manager does not say which; comes from `reconfigure` of a file",
    )
