"""The worlds on which advice is made, and others on which it is judged.

Rules, thresholds and the single best preset of `advise` were chosen on twelve training worlds. The
twelve held-out worlds come from wider ranges, have fewer nodes, other shares of the tenants' work
and at times fewer tenants. Only `sluice reproduce loop --experiment advise` uses them. Source: loop
spec, section 5.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Final

from sluice.reproductions.loop.day import TENANTS, Day, Range

WORLDS_EACH: Final = 12
_HOURS = 0.5
_CONTENDED_LOAD = 0.75  # of a load where tasks have their nodes to themselves


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldRanges:
    """The ranges of the worlds of one kind. has_other_tenants: other shares of the work."""

    nodes: int
    load: Range
    cv: Range
    stragglers: Range
    deadlines: Range
    has_other_tenants: bool


RANGES: Final[Mapping[str, WorldRanges]] = MappingProxyType(
    {
        "training": WorldRanges(
            nodes=6, load=(0.4, 0.9), cv=(0.3, 0.8), stragglers=(0.01, 0.05), deadlines=(0.8, 1.5),
            has_other_tenants=False,
        ),
        "held-out": WorldRanges(
            nodes=4, load=(0.3, 1.05), cv=(0.2, 1.1), stragglers=(0.0, 0.08), deadlines=(0.6, 2.0),
            has_other_tenants=True,
        ),
    }
)  # fmt: skip


@cache
def advice_world(kind: str, number: int) -> Day:
    """A world by its kind, training or held-out, and its number. Two in four are contended."""
    ranges = RANGES[kind]
    draw = random.Random(f"{kind}/{number}")
    contention = "shared" if number % 2 else "none"
    load = draw.uniform(*ranges.load)
    made = Day(
        load=round(load * (_CONTENDED_LOAD if number % 2 else 1.0), 2),
        contention=contention,
        hours=_HOURS,
        nodes=ranges.nodes,
        dags=0.3 if number % 4 >= 2 else 0.0,  # noqa: PLR2004  # half of either
        stragglers=round(draw.uniform(*ranges.stragglers), 3),
        cv=round(draw.uniform(*ranges.cv), 2),
        deadlines=round(draw.uniform(*ranges.deadlines), 2),
    )
    return _with_other_tenants(made, draw) if ranges.has_other_tenants else made


def _with_other_tenants(day: Day, draw: random.Random) -> Day:
    """Give each tenant another share of the work; in one of three worlds one tenant is absent."""
    kept = list(TENANTS)
    if draw.random() < 1 / 3:
        del kept[draw.randrange(len(kept))]
    sizes = [draw.gammavariate(2.0, 1.0) for _ in kept]  # Dirichlet's shares
    total = math.fsum(sizes)
    tenants = (
        replace(tenant, work=size / total, weight=draw.randint(1, 4))
        for tenant, size in zip(kept, sizes, strict=True)
    )
    return replace(day, tenants=tuple(tenants))
