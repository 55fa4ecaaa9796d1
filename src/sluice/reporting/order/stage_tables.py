"""The answer of an order of stages in a sentence, and a row for each stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluice.reporting.formatting import counted, duration, duration_tight, shortened
from sluice.reporting.order.stages import StageOrderResult
from sluice.reporting.order.tables import JOBS_MAX
from sluice.reporting.table_style import NAME_LETTERS_MAX, left_out, plain_table, plain_text

if TYPE_CHECKING:
    from rich.table import Table

_ROUNDING = 1e-9


def stage_answer(result: StageOrderResult) -> str:
    """When the last stage ends, what the order of the file takes, and how far it is from proved."""
    stages = counted(len(result.order), "stage")
    before_s = max(end_s for _, end_s in result.times_before.values())
    ours_s = result.makespan_s
    gain = "as in the order of the file"
    if abs(before_s - ours_s) > _ROUNDING * before_s:
        word = "less" if ours_s < before_s else "more"
        gain = (
            f"{abs(1 - ours_s / before_s):.1%} {word} than in the order of the file"
            f" ({duration(before_s)})"
        )
    proof = "no order is shorter (proved)"
    if not result.is_proved:
        above = f"{ours_s / result.lower_s - 1:.1%}"
        proof = f"no order takes less than {duration(result.lower_s)}, {above} below"
    return f"{stages} end after {duration(ours_s)}, {gain}; {proof}."


def stage_table(result: StageOrderResult) -> Table:
    """One row for each stage, first in line first."""
    shown = result.order[:JOBS_MAX]
    table = plain_table(
        left_out(len(result.order) - len(shown)),
        names=("", "stage"),
        numbers=("starts", "ends", "was"),
    )
    for position, name in enumerate(shown, start=1):
        start_s, end_s = result.times[name]
        table.add_row(
            plain_text(str(position), "dim"),
            plain_text(shortened(name, NAME_LETTERS_MAX), "bold"),
            duration_tight(start_s),
            duration_tight(end_s),
            plain_text(duration_tight(result.times_before[name][1]), "dim"),
        )
    return table
