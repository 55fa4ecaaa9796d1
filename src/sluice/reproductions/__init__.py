"""Published results, run again: what the paper says, what we measure, and why they differ.

A reproduction is one file and one line in this table.
"""

from __future__ import annotations

REPRODUCTIONS: dict[str, str] = {
    "capacity": "sluice.reproductions.capacity.evaluation:EVALUATION",
    "dynamicmr": "sluice.reproductions.dynamicmr.evaluation:EVALUATION",
    "ordering": "sluice.reproductions.ordering.evaluation:EVALUATION",
    "pareto": "sluice.reproductions.pareto.evaluation:EVALUATION",
}
