"""The worlds of the ablation: how busy the cluster is, and whether tasks slow each other down.

Source: loop spec, section 3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from sluice.bootstrap.settings import declarations
from sluice.ingest.workload import parse_workload
from sluice.model.workload import Workload
from sluice.reproductions.loop.day import Day

WORLDS: Final[Mapping[str, Day]] = MappingProxyType(
    {
        "free-low": Day(load=0.5),
        "free-high": Day(load=0.9),
        "mix-low": Day(load=0.4, contention="shared"),
        "mix-high": Day(load=0.7, contention="shared"),
    }
)


def workload_of(world: str, seed: int) -> Workload:
    """The jobs of a world that a seed draws."""
    day = replace(WORLDS[world], seed=seed)
    return parse_workload(
        json.dumps(day.document()), source=f"{world}, seed {seed}", declarations=declarations()
    )
