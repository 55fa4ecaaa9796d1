"""The table of `whatif`: one row for each queue, before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sluice.reporting.compare.result import MeasureSpread
from sluice.reporting.formatting import NOTHING, counted, duration_tight, hundredths, share, tenths
from sluice.reporting.table_style import name_cell, plain_table, plain_text
from sluice.reporting.whatif.result import QueueEffect, WhatIf

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_Spreads = Mapping[str, MeasureSpread | None]
_COLUMNS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("wait p50", "wait_s_p50", duration_tight),
    ("p95", "wait_s_p95", duration_tight),
    ("p99", "wait_s_p99", duration_tight),
    ("slowdown p95", "slowdown_p95", hundredths),
    ("in use", "utilisation", share),
)


def queues_table(found: WhatIf) -> Table:
    """Waits, slowdowns and use of each queue, old above new."""
    has_old = any(queue.old is not None for queue in found.queues.values())
    how = "resampled by blocks of time" if found.is_resampled else "as it was"
    has_due = any(
        _due(spreads) for queue in found.queues.values() for spreads in (queue.old, queue.new)
    )
    table = plain_table(
        f"{counted(found.containers, 'container')}, {counted(found.seeds, 'seed')}, history {how};"
        " in use: of the guarantee",
        names=("queue",),
        numbers=("", "jobs", *(head for head, _, _ in _COLUMNS), *(["met"] if has_due else [])),
    )
    for name, queue in found.queues.items():
        sides = (("old", queue.old), ("new", queue.new)) if has_old else (("new", queue.new),)
        for place, (side, spreads) in enumerate(sides):
            cells = [_text(spreads, measure, text) for _, measure, text in _COLUMNS]
            cells += [_due(spreads) or NOTHING] if has_due else []
            label = name if place == 0 else ""
            jobs = _text(spreads, "jobs", tenths)
            table.add_row(name_cell(label), *(side if has_old else "", jobs, *cells))
    return table


def _due(spreads: _Spreads | None) -> str:
    """The share of deadlines that were met; "" if no job has one."""
    if spreads is None:
        return ""
    met, due = spreads.get("deadlines_met"), spreads.get("deadlines")
    return share(met.mean / due.mean) if met and due and due.mean else ""


def effects_table(found: WhatIf) -> Table:
    """The differences of each queue with their intervals, and who wins and loses."""
    table = plain_table(
        "new minus old over the same seeds [95 % interval]",
        names=("queue",),
        numbers=("wait p95", "slowdown p95"),
    )
    table.add_column("", no_wrap=True)
    for name, queue in found.queues.items():
        waits = _interval(queue, "wait_s_p95", duration_tight)
        slowdowns = _interval(queue, "slowdown_p95", hundredths)
        table.add_row(name_cell(name), waits, slowdowns, _verdict(queue))
    return table


def _verdict(queue: QueueEffect) -> Text:
    style = {"wins": "bold green", "loses": "bold red", "mixed": "yellow"}.get(queue.verdict, "dim")
    return plain_text(queue.verdict or "no clear difference", style)


def _text(spreads: _Spreads | None, measure: str, text: Callable[[float], str]) -> str:
    one = None if spreads is None else spreads.get(measure)
    return NOTHING if one is None else text(one.mean)


def _interval(queue: QueueEffect, measure: str, text: Callable[[float], str]) -> str:
    one = queue.differences.get(measure)
    if one is None:
        return NOTHING
    sign = "+" if one.mean > 0 else ""
    if one.low is None or one.high is None:
        return f"{sign}{text(one.mean)}"
    return f"{sign}{text(one.mean)} [{text(one.low)}, {text(one.high)}]"
