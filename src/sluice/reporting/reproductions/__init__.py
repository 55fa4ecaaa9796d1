"""Published results, run again: what the paper says, what we measure, and why they differ.

A reproduction is one file and one line in this table.
"""

from __future__ import annotations

REPRODUCTIONS: dict[str, str] = {
    "capacity": "sluice.reporting.reproductions.capacity:EVALUATION",
    "dynamicmr": "sluice.reporting.reproductions.dynamicmr:EVALUATION",
    "ordering": "sluice.reporting.reproductions.ordering:EVALUATION",
    "pareto": "sluice.reporting.reproductions.pareto:EVALUATION",
}
