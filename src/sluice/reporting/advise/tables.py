"""Advice in a sentence, and its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluice.estimate.paired_difference import PairedDifference
from sluice.reporting.advise.result import Advice
from sluice.reporting.formatting import NOTHING, counted
from sluice.reporting.table_style import plain_table

if TYPE_CHECKING:
    from rich.table import Table

_SHOWN = ("bill_usd", "deadlines_met", "response_s", "wait_s_p95", "makespan_s", "fairness_worst")
_SHARES = ("load", "peak_load", "deadline_share", "small_share", "reduce_share", "cv", "stragglers",
           "over_commitment", "dag_share")  # fmt: skip


def advice_sentence(advice: Advice) -> str:
    """Return what to run, and what it gains over *fair*."""
    days = counted(advice.days, "day")
    if advice.abstained:
        return (
            f"Run fair: of {len(advice.tried)} combinations none is clearly better for the"
            f" {_words(advice.objective)} on {days} drawn from this history."
        )
    gain = advice.difference.get(advice.objective)
    text = "" if gain is None else f", {_words(advice.objective)} {_interval(gain)}"
    return f"Run {advice.scheduler}: against fair{text}, on {days} drawn from this history."


def difference_table(advice: Advice) -> Table:
    """The chosen combination against *fair*, and what each of its parts adds to the others."""
    names = [name for name in _SHOWN if name in advice.difference]
    table = plain_table(
        "* excludes 0; a part's row is what it adds to the others",
        names=("",),
        numbers=[_words(name) for name in names],
    )
    table.add_row("all, against fair", *(_interval(advice.difference[name]) for name in names))
    for part in advice.parts:
        cells = (part.adds.get(name) for name in names)
        table.add_row(part.part, *(NOTHING if one is None else _interval(one) for one in cells))
    return table


def features_line(advice: Advice) -> str:
    """The history in one line."""
    found = advice.features
    words = [f"{found['jobs']} jobs", f"{found['tasks']} tasks", f"{found['hours']:.1f} h"]
    for name in _SHARES:
        value = found[name]
        if value:
            words.append(f"{name.replace('_', ' ')} {value:.2g}")
    return f"The history: {', '.join(words)}; {counted(int(found['tenants'] or 0), 'tenant')}."


def _interval(one: PairedDifference) -> str:
    star = " *" if one.is_clear else ""
    if one.high is None:
        return f"{one.mean:+.3g}{star}"
    return f"{one.mean:+.3g} ± {one.high - one.mean:.2g}{star}"


def _words(measure: str) -> str:
    return {"bill_usd": "bill, $", "deadlines_met": "deadlines met", "response_s": "response, s",
            "wait_s_p95": "wait p95, s", "makespan_s": "makespan, s",
            "fairness_worst": "worst share"}.get(measure, measure)  # fmt: skip
