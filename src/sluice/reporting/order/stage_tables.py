"""The answer of an order of stages in a sentence, and a row for each stage or job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluice.reporting.columns import column_table
from sluice.reporting.formatting import counted, duration
from sluice.reporting.order.flow_shops import FlowShopResult
from sluice.reporting.order.stages import StageTimesResult
from sluice.reporting.order.tables import JOBS_MAX

if TYPE_CHECKING:
    from rich.table import Table

_ROUNDING = 1e-9


def stage_answer(result: StageTimesResult) -> str:
    """When the last stage ends, what the order of the file takes, and how far it is from proved."""
    if isinstance(result, FlowShopResult):
        chain = counted(len(result.problem.columns), "stage")
        what = f"{counted(len(result.order), 'job')} pass {chain} in"
    else:
        what = f"{counted(len(result.order), 'stage')} end after"
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
    return f"{what} {duration(ours_s)}, {gain}; {proof}."


def stage_table(result: StageTimesResult) -> Table:
    """One row for each stage, or job of a flow shop, first in line first."""
    return column_table(result.columns(), result.order, rows_max=JOBS_MAX)
