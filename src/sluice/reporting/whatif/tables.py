"""The table of `whatif`: one row for each queue, before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sluice.reporting.columns import Column, column_table
from sluice.reporting.compare.result import MeasureSpread
from sluice.reporting.formatting import (
    NOTHING,
    count,
    counted,
    duration,
    duration_tight,
    hundredths,
    share,
    visible,
)
from sluice.reporting.table_style import Table, name_cell, plain_table
from sluice.reporting.whatif.result import DECISIVE, QueueEffect, WhatIf

_Spreads = Mapping[str, MeasureSpread | None]
_COLUMNS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("wait p50", "wait_s_p50", duration_tight),
    ("p95", "wait_s_p95", duration_tight),
    ("p99", "wait_s_p99", duration_tight),
    ("slowdown p95", "slowdown_p95", hundredths),
    ("in use", "utilisation", share),
)


_NAMED_MAX = 3


def effects_sentence(found: WhatIf) -> str:
    """The answer in one sentence: which queues clearly gain and lose, and how much."""
    compared = [name for name, queue in found.queues.items() if queue.differences]
    if not compared:
        return _longest_wait(found)
    names = dict.fromkeys([*found.winners, *found.losers, *compared])
    clauses = [clause for name in names if (clause := _clause(name, found.queues[name]))]
    if not clauses:
        return "No queue clearly waits or runs longer or less than before."
    more = len(clauses) - _NAMED_MAX
    return (
        ", ".join(clauses[:_NAMED_MAX])
        + (f", and {counted(more, 'more change')}" if more > 0 else "")
        + "."
    )


def _longest_wait(found: WhatIf) -> str:
    waits = {
        name: wait.mean
        for name, queue in found.queues.items()
        if queue.new is not None and (wait := queue.new.get("wait_s_p95")) is not None
    }
    if not waits:
        return "No queue has a job that started."
    name = max(waits, key=waits.__getitem__)
    return f"{visible(name)} waits longest: {duration(waits[name])} at p95."


def _clause(name: str, queue: QueueEffect) -> str:
    """Return what is clearly different for one queue: its waits, else its slowdown.

    "" if neither is.
    """
    wait, slowdown = (queue.differences.get(measure) for measure in DECISIVE)
    if wait is not None and wait.is_clear:
        how = "less" if wait.mean < 0 else "longer"
        return f"{visible(name)} waits {duration(abs(wait.mean))} {how} at p95"
    before = None if queue.old is None else queue.old.get("slowdown_p95")
    if slowdown is not None and slowdown.is_clear and before is not None and before.mean:
        change = share(abs(slowdown.mean) / before.mean)
        how = "less time" if slowdown.mean < 0 else "longer"
        return f"{visible(name)}'s jobs take {change} {how} at p95"
    return ""


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
            # A mean over resampled histories, of which a fraction of a job is no news.
            jobs = _text(spreads, "jobs", lambda mean: count(round(mean)))
            table.add_row(name_cell(label), *(side if has_old else "", jobs, *cells))
    return table


def _due(spreads: _Spreads | None) -> str:
    """The share of deadlines that were met; "" if no job has one."""
    if spreads is None:
        return ""
    met, due = spreads.get("deadlines_met"), spreads.get("deadlines")
    return share(met.mean / due.mean) if met and due and due.mean else ""


_SEEDS = "new minus old over the same seeds [95 % interval]"
_VERDICTS = {"wins": "bold green", "loses": "bold red", "mixed": "yellow"}
_EFFECT: Sequence[Column[QueueEffect]] = (
    Column("", "wait p95", of=lambda queue: _interval(queue, "wait_s_p95", duration_tight)),
    Column("", "slowdown p95", of=lambda queue: _interval(queue, "slowdown_p95", hundredths)),
    Column(
        "", "", of=lambda queue: queue.verdict or "no clear difference",
        style=lambda queue: _VERDICTS.get(queue.verdict, "dim"), is_left=True,
    ),
)  # fmt: skip


def effects_table(found: WhatIf) -> Table:
    """The differences of each queue with their intervals, and who wins and loses."""
    return column_table(_EFFECT, found.queues, _SEEDS, key="queue")


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
