"""Settings that only one policy knows. They are always written with its name before them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from sluice.ingest.setting import Setting, SettingKind, declared, number, setting_of, whole


@dataclass(frozen=True, kw_only=True)
class MrOrderSettings:
    """MROrder's. Source: ordering spec, section 6."""

    policy: str = declared(
        SettingKind.CHOICE,
        "ati",
        "when a round is held: at fixed times, at adaptive ones, or at so many waiting jobs",
        choices=("fti", "ati", "pnj"),
    )
    interval_s: float = number(10.0, "seconds between rounds, or the least of them", above=0.0)
    jobs_min: int = whole(2, "waiting jobs that call for a round (pnj)", low=1, high=1e6)
    jobs_max: int | None = whole(None, "the most jobs that a round releases", low=1, high=1e6)
    exact_jobs_max: int = whole(7, "up to so many jobs the best order is searched", low=1, high=10)
    objective: str = declared(
        SettingKind.CHOICE, "makespan", "what a round minimises", choices=("makespan", "tct")
    )


@dataclass(frozen=True, kw_only=True)
class OnDemandSettings:
    """Release on demand's. Source: ordering spec, section 10.5."""

    objective: str = declared(
        SettingKind.CHOICE,
        "makespan",
        "what the rank of waiting jobs serves",
        choices=("makespan", "tct"),
    )


@dataclass(frozen=True, kw_only=True)
class CapacitySettings:
    """Admission under deadlines. Source: capacity spec, sections 3 and 4.3."""

    interval_s: float = number(10.0, "seconds between rounds; 0 decides whenever anything happens")
    bound: str = declared(
        SettingKind.CHOICE,
        "up",
        "how long jobs are taken to be; up keeps every promise",
        choices=("low", "avg", "up"),
    )
    without_deadline: str = declared(
        SettingKind.CHOICE,
        "take",
        "what to do with jobs that have no deadline, or lengths that nobody knows",
        choices=("take", "refuse"),
    )
    reserved_vm_usd: float | None = number(
        None, "dollars for a VM and the hour, else those under `prices`; none takes what fits"
    )
    vm_containers: int | None = whole(
        None, "containers of one VM; none for as many as a node has", low=1
    )
    penalty_usd: float | None = number(
        None, "dollars for refusing a job of weight 1 without penalty_usd; none for ten rents"
    )


OWN_SETTINGS: Mapping[str, Mapping[str, Setting]] = MappingProxyType(
    {
        policy: {one.name: setting_of(one) for one in fields(settings)}
        for policy, settings in (
            ("capacity", CapacitySettings),
            ("mrorder", MrOrderSettings),
            ("on-demand", OnDemandSettings),
        )
    }
)
