"""New pool sizes from the jobs that were seen, and whether the change pays.

Each observed job would be best run by its optimal configuration. The types share the units of all
pools as these configurations use them. Source: Cura, spec section 4 (9) to (13), section 5.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from sluice.model.vm_pools import ReconfigureRule
from sluice.planning.pools.packing import servers_needed
from sluice.planning.pools.problem import Option

_ROUNDING = 1e-9


class Observation(NamedTuple):
    """A job that arrived in a window: the configuration it used, and its optimal one."""

    used: Option
    optimal: Option


class Resize(NamedTuple):
    """New sizes, and the figures of the decision."""

    sizes: tuple[int, ...]
    observed_server_s: float
    estimated_server_s: float
    benefit_server_s: float
    change_server_s: float
    pays: bool


class PoolShape(NamedTuple):
    """Present pools. servers: that the VMs must fit on."""

    sizes: Sequence[int]
    units: Sequence[float]
    server_units: float
    servers: int


def resize(seen: Sequence[Observation], shape: PoolShape, rule: ReconfigureRule) -> Resize | None:
    """The decision at the end of a window; None if no job was observed in it."""
    shares = _shares([one.optimal for one in seen], shape.units, is_weighted=rule.weighted)
    if shares is None:
        return None
    sizes = rounded_sizes(shares, shape)
    if rule.keeps_largest:
        largest = [0] * len(sizes)
        for one in seen:
            largest[one.optimal.pool] = max(largest[one.optimal.pool], one.optimal.vms)
        sizes = _with_floors(sizes, largest, shape)
    observed = math.fsum(one.used.cost_server_s for one in seen)
    estimated = math.fsum(one.optimal.cost_server_s for one in seen)
    change = math.fsum(
        abs(new - old) * rule.change_server_s(units, shape.server_units)
        for new, old, units in zip(sizes, shape.sizes, shape.units, strict=True)
    )
    benefit = observed - estimated
    return Resize(
        sizes=tuple(sizes),
        observed_server_s=observed,
        estimated_server_s=estimated,
        benefit_server_s=benefit,
        change_server_s=change,
        pays=benefit > 0 and benefit >= rule.beta * change,
    )


def _shares(
    optimal: Sequence[Option], units: Sequence[float], *, is_weighted: bool
) -> list[float] | None:
    """Share of the units that each type should get (9). Not weighted: of VM-seconds, as printed."""
    use = [0.0] * len(units)
    for one in optimal:
        use[one.pool] += one.run_s * one.vms * (units[one.pool] if is_weighted else 1.0)
    total = math.fsum(use)
    return [one / total for one in use] if total > 0 else None


def wanted_sizes(shares: Sequence[float], shape: PoolShape) -> list[float]:
    """VMs of each type before rounding (10)."""
    total = math.fsum(vms * units for vms, units in zip(shape.sizes, shape.units, strict=True))
    return [share * total / units for share, units in zip(shares, shape.units, strict=True)]


def rounded_sizes(shares: Sequence[float], shape: PoolShape) -> list[int]:
    """Whole VMs of each type that fit on the servers. Source: spec 5.4 (E15)."""
    wanted = wanted_sizes(shares, shape)
    sizes = [math.floor(one + _ROUNDING) for one in wanted]
    total = math.fsum(vms * units for vms, units in zip(shape.sizes, shape.units, strict=True))
    while True:
        left = total - math.fsum(vms * units for vms, units in zip(sizes, shape.units, strict=True))
        fits = [
            pool
            for pool, units in enumerate(shape.units)
            if units <= left + _ROUNDING and wanted[pool] - sizes[pool] > _ROUNDING
        ]
        if not fits:
            break
        sizes[max(fits, key=lambda pool: (wanted[pool] - sizes[pool], -pool))] += 1
    while sum(sizes) and servers_needed(sizes, shape.units, shape.server_units) > shape.servers:
        some = [pool for pool, vms in enumerate(sizes) if vms]
        sizes[min(some, key=lambda pool: (_loss(wanted, sizes, shape, pool), pool))] -= 1
    return sizes


def _loss(wanted: Sequence[float], sizes: Sequence[int], shape: PoolShape, pool: int) -> float:
    """Units that a type lacks, compared with what it wants, after one VM less."""
    return (wanted[pool] - sizes[pool] + 1) * shape.units[pool]


def _with_floors(sizes: Sequence[int], floors: Sequence[int], shape: PoolShape) -> list[int]:
    """No type below its floor, as far as types above theirs can give (5.4, optional floor)."""
    found = list(sizes)
    units = shape.units
    free = math.fsum(a * b for a, b in zip(shape.sizes, units, strict=True)) - math.fsum(
        a * b for a, b in zip(found, units, strict=True)
    )
    for pool, floor in enumerate(floors):
        while found[pool] < floor:
            while free + _ROUNDING < units[pool]:
                above = [
                    other
                    for other, vms in enumerate(found)
                    if other != pool and vms > floors[other]
                ]
                if not above:
                    return found
                giver = max(above, key=lambda k: ((found[k] - floors[k]) * units[k], -k))
                found[giver] -= 1
                free += units[giver]
            if free + _ROUNDING < units[pool]:
                return found
            free -= units[pool]
            found[pool] += 1
    return found
