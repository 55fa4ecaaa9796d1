"""Published evaluations, run again: the figures of the paper, ours, and why they differ.

A reproduction is a folder with an `evaluation` module, and one line in this table. `runner` runs
it, `views` shows it in a terminal, and `charts` has all charts. Runs are simulated through
`api.simulate`, as users do. Other packages add theirs by entry points of the group
`sluice.evaluations`: the name, and an `Evaluation` of `runner`. Its title is its own.
"""

from __future__ import annotations

from sluice.ingest.entry_points import all_names

GROUP = "sluice.evaluations"

REPRODUCTIONS: dict[str, str] = {
    "backfill": "sluice.reproductions.backfill.evaluation:EVALUATION",
    "capacity": "sluice.reproductions.capacity.evaluation:EVALUATION",
    "cura": "sluice.reproductions.cura.evaluation:EVALUATION",
    "dynamicmr": "sluice.reproductions.dynamicmr.evaluation:EVALUATION",
    "loop": "sluice.reproductions.loop.evaluation:EVALUATION",
    "ltyarn": "sluice.reproductions.ltyarn.evaluation:EVALUATION",
    "ordering": "sluice.reproductions.ordering.evaluation:EVALUATION",
    "pareto": "sluice.reproductions.pareto.evaluation:EVALUATION",
    "ras": "sluice.reproductions.ras.evaluation:EVALUATION",
    "yarn": "sluice.reproductions.yarn.evaluation:EVALUATION",
}


def evaluation_names() -> tuple[str, ...]:
    """All evaluations, Sluice's own first."""
    return all_names(GROUP, REPRODUCTIONS)
