"""The options of `whatif`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.api.options.fields import count, like, option
from sluice.api.options.scheduling import ChosenScheduler

if TYPE_CHECKING:
    from sluice.api.options.argument_types import GivenSettings


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WhatIfOptions:
    """Options of `whatif`, but for the history and the configurations."""

    containers: int | None = count(
        "Containers of the cluster (default: those of the history).", low=1, high=10**7
    )
    seeds: int = count(
        "Simulations of each configuration; all but the first resample the history.", 10, low=1
    )
    settings: GivenSettings = like("settings", ChosenScheduler)
    suggest: str | None = option(
        "Search capacities for a goal, such as 'root.a.wait_s_p95<60'.",
        metavar="GOAL", panel="Queues",
    )  # fmt: skip
