"""The options that say where an answer goes: `--trace` and `--plot`."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.api.options.fields import option

FILES = "Files"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunFiles:
    """The files of a run or a simulation."""

    trace: str | None = option(
        "Write one line for each attempt of each task.", metavar="OUT.jsonl", panel=FILES
    )
    plot: str | None = option(
        "Write a chart; .html, .png, .svg or .json. KINDS: charts to draw, such as utility,slots.",
        metavar="[KINDS=]OUT", panel=FILES, completes="charts",
    )  # fmt: skip
