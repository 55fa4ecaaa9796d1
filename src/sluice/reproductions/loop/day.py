"""A made day of four tenants, as the document of a workload file.

Jobs of each tenant are drawn until its share of the work is reached; the work is `load` times what
all slots can do. Counts are log-uniform, lengths uniform for each job, and instants follow the
tenant's density over the day. The time alone, from which deadlines follow, is that of whole waves
on the empty cluster. Source: loop spec, section 3.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sluice.model.errors import wrong_value

MAP_SLOTS, REDUCE_SLOTS = 4, 2  # of a node
NODE_HOUR_USD = 0.30
_HOUR_S: Final = 3600.0
_SCAN_SHARE = 0.5  # of the maps of a graph, in each of its two scans
_JOIN_SHARE = 0.7  # of its reduces
Range = tuple[float, float]
Density = Callable[[float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """How the jobs of a tenant are drawn. work: share of all work.  density: over the day, 0 to 1.

    deadline: times the time alone; None for no deadlines.  penalty_usd: for each task-hour.
    map_demand, reduce_demand: cpu, io and memory of a task, in percent of a node.
    """

    name: str
    weight: int
    work: float
    maps: Range
    map_s: Range
    reduces: Range
    reduce_s: Range
    density: Density
    peak: float
    deadline: Range | None
    penalty_usd: float | None
    map_demand: tuple[int, int, int]
    reduce_demand: tuple[int, int, int]


def _night(at: float) -> float:
    return 1.6 if at < 0.3 else 0.5  # noqa: PLR2004  # the first 30 % of the day


def _midday(at: float) -> float:
    return 0.25 + math.exp(-0.5 * ((at - 0.5) / 0.17) ** 2)


def _even(at: float) -> float:  # noqa: ARG001  # as the others
    return 1.0


TENANTS: Final = (
    Tenant(
        name="etl", weight=3, work=0.35, maps=(24, 120), map_s=(18, 40), reduces=(4, 16),
        reduce_s=(30, 80), density=_night, peak=1.6, deadline=(2.5, 6), penalty_usd=2.0,
        map_demand=(12, 25, 12), reduce_demand=(10, 30, 20),
    ),
    Tenant(
        name="ads", weight=3, work=0.30, maps=(10, 60), map_s=(12, 30), reduces=(2, 8),
        reduce_s=(20, 50), density=_midday, peak=1.25, deadline=(2, 4), penalty_usd=4.0,
        map_demand=(25, 8, 12), reduce_demand=(20, 12, 18),
    ),
    Tenant(
        name="adhoc", weight=2, work=0.10, maps=(1, 10), map_s=(6, 15), reduces=(0, 2),
        reduce_s=(8, 20), density=_midday, peak=1.25, deadline=None, penalty_usd=None,
        map_demand=(15, 15, 8), reduce_demand=(12, 12, 10),
    ),
    Tenant(
        name="ml", weight=2, work=0.25, maps=(60, 240), map_s=(30, 60), reduces=(4, 10),
        reduce_s=(60, 120), density=_even, peak=1.0, deadline=None, penalty_usd=None,
        map_demand=(30, 4, 20), reduce_demand=(25, 8, 25),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """The settings that a day is drawn from. load: of all slots.  contention: none or shared.

    dags: share of jobs that are graphs.  stragglers: chance of a slow attempt.  cv: of lengths.
    deadlines: by which all deadlines are multiplied.  tenants: whose jobs they are.
    Raises InvalidInput.
    """

    seed: int = 0
    load: float = 0.7
    contention: str = "none"
    hours: float = 1.0
    nodes: int = 8
    dags: float = 0.0
    stragglers: float = 0.03
    cv: float = 0.5
    deadlines: float = 1.0
    tenants: tuple[Tenant, ...] = TENANTS

    def __post_init__(self) -> None:
        ranges = {
            "load": (0.01, 5.0),
            "hours": (0.1, 168.0),
            "nodes": (1, 1000),
            "dags": (0.0, 1.0),
            "stragglers": (0.0, 1.0),
            "cv": (0.0, 10.0),
            "deadlines": (0.1, 1000.0),
        }
        for name, (low, high) in ranges.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise wrong_value(name, value, f"--{name}", f"give {low:g} to {high:g}")
        if self.contention not in {"none", "shared"}:
            raise wrong_value("contention", self.contention, "--contention", "give none or shared")

    @property
    def span_s(self) -> float:
        """Its length."""
        return self.hours * _HOUR_S

    def document(self) -> dict[str, Any]:
        """The workload file."""
        draw = random.Random(self.seed)
        jobs = [job for tenant in self.tenants for job in self._jobs(tenant, draw)]
        settings: dict[str, object] = {"contention": self.contention}
        if self.cv:
            settings |= {"spread": "lognormal", "spread_cv": self.cv}
        if self.stragglers:
            settings |= {"p_slow": self.stragglers, "slow_factor": "3..6"}
        node = {"map_slots": MAP_SLOTS, "reduce_slots": REDUCE_SLOTS}
        return {
            "version": 1,
            "cluster": {"nodes": self.nodes, "node": node | {"cpu": 100, "io": 100, "memory": 100}},
            "prices": {"vm_hour_usd": NODE_HOUR_USD},
            "pools": [{"id": tenant.name, "weight": tenant.weight} for tenant in self.tenants],
            "jobs": sorted(jobs, key=lambda job: (job["submitted_at_s"], job["id"])),
            "settings": settings,
        }

    def _jobs(self, tenant: Tenant, draw: random.Random) -> list[dict[str, Any]]:
        slots = self.nodes * (MAP_SLOTS + REDUCE_SLOTS)
        left_s = self.load * tenant.work * slots * self.span_s
        found: list[dict[str, Any]] = []
        while left_s > 0:
            job, work_s = self._job(tenant, draw, len(found) + 1)
            if found and work_s > 2 * left_s:
                break  # nearer to its share without this one
            found.append(job)
            left_s -= work_s
        return found

    def _job(
        self, tenant: Tenant, draw: random.Random, number: int
    ) -> tuple[dict[str, Any], float]:
        maps, map_s = _log_uniform(tenant.maps, draw), round(draw.uniform(*tenant.map_s), 1)
        reduces = _log_uniform(tenant.reduces, draw)
        reduce_s = round(draw.uniform(*tenant.reduce_s), 1)
        at_s = round(_instant(tenant, draw) * self.span_s, 1)
        is_graph = draw.random() < self.dags and maps > 1 and reduces > 1
        factor = 0.0 if tenant.deadline is None else draw.uniform(*tenant.deadline)
        job: dict[str, Any] = {
            "id": f"{tenant.name}-{number}",
            "pool": tenant.name,
            "submitted_at_s": at_s,
        }
        if tenant.deadline is not None:
            alone_s = math.ceil(maps / (MAP_SLOTS * self.nodes)) * map_s
            alone_s += math.ceil(reduces / (REDUCE_SLOTS * self.nodes)) * reduce_s
            job["deadline_s"] = round(self.deadlines * factor * alone_s, 1)
        work_s = maps * map_s + reduces * reduce_s
        if tenant.penalty_usd is not None:
            job["penalty_usd"] = round(tenant.penalty_usd * work_s / _HOUR_S, 2)
        if is_graph:
            job["phases"] = _graph(tenant, maps, map_s, reduces, reduce_s)
            return job, work_s
        job["maps"] = {"tasks": maps, "avg_s": map_s}
        demand: dict[str, Mapping[str, int]] = {"map": _demand(tenant.map_demand)}
        if reduces:
            job["reduces"] = {"tasks": reduces, "avg_s": reduce_s}
            demand["reduce"] = _demand(tenant.reduce_demand)
        return job | {"demand": demand}, work_s


def _graph(
    tenant: Tenant, maps: int, map_s: float, reduces: int, reduce_s: float
) -> list[dict[str, Any]]:
    """Two scans, a join of them and an aggregate, with as many tasks as maps and reduces."""
    first = max(1, round(_SCAN_SHARE * maps))
    joins = min(reduces - 1, max(1, round(_JOIN_SHARE * reduces)))
    stages: tuple[tuple[str, int, float, list[str], tuple[int, int, int]], ...] = (
        ("scan-1", first, map_s, [], tenant.map_demand),
        ("scan-2", maps - first, map_s, [], tenant.map_demand),
        ("join", joins, reduce_s, ["scan-1", "scan-2"], tenant.reduce_demand),
        ("aggregate", reduces - joins, reduce_s, ["join"], tenant.reduce_demand),
    )
    return [
        {"name": name, "tasks": tasks, "avg_s": avg_s, "after": after, "demand": _demand(demand)}
        for name, tasks, avg_s, after, demand in stages
    ]


def _demand(amounts: tuple[int, int, int]) -> dict[str, int]:
    return dict(zip(("cpu", "io", "memory"), amounts, strict=True))


def _log_uniform(between: Range, draw: random.Random) -> int:
    """A whole number, as likely between 10 and 20 as between 20 and 40. 0 counts like any other."""
    low, high = between
    if not low:
        return draw.randint(0, int(high))
    return round(math.exp(draw.uniform(math.log(low), math.log(high))))


def _instant(tenant: Tenant, draw: random.Random) -> float:
    """A share of the day, by rejection from the tenant's density."""
    while True:
        at = draw.random()
        if draw.random() * tenant.peak <= tenant.density(at):
            return at
