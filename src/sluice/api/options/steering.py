"""The options of `steer` and `report`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.api.options.fields import option, switch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sluice.reporting.charts.chart import Chart


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SteerOptions:
    """Options of `steer`."""

    dry_run: bool = switch("Show what would be changed, and change nothing.")
    undo: str | Path = option(
        "File to write first: the plan that takes all back.", "steer-undo.yaml", metavar="FILE"
    )
    allocations: str | Path | None = option(
        "The Fair Scheduler's file, for a plan's queues (default: the ResourceManager's).",
        metavar="XML",
    )
    calls_per_s: float = option("The most calls a second.", 5.0, name="rate", metavar="N")
    user: str = option("As whom to ask, where YARN takes anybody's word.", "", metavar="NAME")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReportOptions:
    """Options of `report`."""

    charts: Sequence[str | Path | Chart] = option(
        "Add a chart that --plot FILE.json wrote; repeatable.",
        (), flag="--chart", metavar="FILE.json",
    )  # fmt: skip
    title: str | None = option("Title of the page.", metavar="TEXT")
