"""Tables of an order: time lines of the jobs before and after, and the gain.

The time line of a job is drawn with signs, as wide as the terminal leaves room for: waiting, maps
and reduces are parts of it in proportion, each of at least one sign. The panel below compares the
order with that of the file and with the best lower bound, by formula or by the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sluice.planning.ordering.flow_outcome import OrderOutcome
from sluice.planning.ordering.objectives import Objective
from sluice.reporting.columns import column_table
from sluice.reporting.formatting import (
    columns,
    count,
    counted,
    distinguished,
    duration,
    duration_tight,
    shortened,
)
from sluice.reporting.order.flow_shops import FlowShopResult
from sluice.reporting.order.stages import StageTimesResult
from sluice.reporting.table_style import (
    NAME_LETTERS_MAX,
    PIPED_WIDTH,
    UNLIMITED,
    Panel,
    Table,
    Text,
    framed,
    left_out,
    plain_table,
    plain_text,
)

if TYPE_CHECKING:
    from sluice.reporting.order.result import OrderResult


JOBS_MAX = 50
POINTS_MAX = 12
WIDTH = 80
_NAME_MAX, _BAR_MIN, _BAR_MAX = 20, 6, 48
_HEADINGS = ("ends", "was", "may end")
_TAKEN = 12  # columns of a row without name, bars and times
_GAP = 2  # between columns
_PARTS = {"waiting": ("·", "dim"), "maps": ("▒", "blue"), "reduces": ("█", "yellow")}


def order_table(result: OrderResult, *, width: int = WIDTH) -> Table:
    """One row for each job in the new order, with its time line before and after.

    width: of the terminal.
    """
    shown = result.answer.best.order[:JOBS_MAX]
    longest = max(columns(result.problem.jobs[job].name) for job in shown)
    # Bars shrink before names do.
    room = longest if width >= UNLIMITED else min(longest, NAME_LETTERS_MAX)
    names = distinguished([result.problem.jobs[job].name for job in shown], room)
    times = {job: _times(result, job) for job in shown}
    headings = _HEADINGS if result.forecasts else _HEADINGS[:2]
    taken = _TAKEN + sum(
        _GAP + max(map(len, column)) for column in zip(headings, *times.values(), strict=True)
    )
    bar = max(_BAR_MIN, min(_BAR_MAX, (min(width, PIPED_WIDTH) - taken - room) // 2))
    span_s = max(result.before.makespan_s, result.makespan_s)
    table = plain_table(_caption(span_s, len(result.order) - len(shown)), numbers=("",))
    for name in ("job", "before", "after"):
        table.add_column(name, no_wrap=True)
    for name in headings:
        table.add_column(name, justify="right", no_wrap=True)
    for position, (job, name) in enumerate(zip(shown, names, strict=True)):
        ends, was, *may_end = times[job]
        table.add_row(
            plain_text(str(position + 1), "dim"),
            plain_text(name, "bold"),
            _line(result.before, job, span_s, bar),
            _line(result.outcome, job, span_s, bar),
            ends,
            plain_text(was, "dim"),
            *may_end,
        )
    return table


def _times(result: OrderResult, job: int) -> tuple[str, ...]:
    """When a job ends, when it did before, and when it may end if any job has a forecast."""
    ends = (result.outcome.ended_s[job], result.before.ended_s[job])
    may_end = (result.may_end(job),) if result.forecasts else ()
    return (*map(duration_tight, ends), *may_end)


def _caption(span_s: float, hidden: int) -> str:
    legend = "  ".join(f"{sign} {part}" for part, (sign, _) in _PARTS.items())
    scale = f"{legend}; a line is {duration(span_s)} long"
    return "\n".join(part for part in (scale, left_out(hidden)) if part)


def _line(outcome: OrderOutcome, job: int, span_s: float, columns: int) -> Text:
    """The time line of a job. Each part, however short, has at least one column."""
    began_s, ended_s = outcome.began_s[job], outcome.ended_s[job]
    mapped_s, reducing_s = outcome.mapped_s[job], outcome.reducing_s[job]
    signs = ["waiting"] * max(1, min(columns, round(ended_s / span_s * columns)))
    if mapped_s is not None:
        _fill(signs, "maps", _first(began_s, span_s, columns), mapped_s / span_s * columns)
    if reducing_s is not None:
        _fill(signs, "reduces", _first(reducing_s, span_s, columns), len(signs))
    text = plain_text("")
    for part in signs:
        text.append(*_PARTS[part])
    return text


def _first(at_s: float, span_s: float, columns: int) -> int:
    return min(columns - 1, round(at_s / span_s * columns))


def _fill(signs: list[str], part: str, first: int, end: float) -> None:
    """Mark columns; at least one of them."""
    first = min(first, len(signs) - 1)
    for column in range(first, max(first + 1, min(len(signs), round(end)))):
        signs[column] = part


def order_sentence(result: OrderResult) -> str:
    """The answer in one sentence: what was to be made small, and whether less can be had."""
    jobs, objective = counted(len(result.order), "job"), result.answer.objective
    ends = f"{jobs} {'ends' if len(result.order) == 1 else 'end'} after"
    parts = {
        Objective.MAKESPAN: f"{ends} {_measure(result, 'makespan')}",
        Objective.TCT: f"Total completion of {jobs}: {_measure(result, 'total_completion')}",
    }
    found = "; ".join(parts.values()) if objective is Objective.BOTH else parts[objective]
    return f"{found}; {'no order is better (proved)' if result.answer.is_proved else 'not proved'}."


def order_panel(result: OrderResult) -> Panel:
    """The result, compared with the order of the file and with lower bounds."""
    rows = [
        ("makespan", _measure(result, "makespan")),
        ("total completion", _measure(result, "total_completion")),
        ("at least", _bounds(result)),
        ("method", _method(result)),
        ("search", _search(result)),
    ]
    return framed("order", rows)


def _measure(result: OrderResult, name: str) -> str:
    ours = getattr(result, f"{name}_s")
    before = getattr(result.before, f"{name}_s")
    gain = result.gain()[f"{name}_percent"]
    if ours == before:
        return f"{duration(ours)}, as in the order of the file"
    word = "better" if gain > 0 else "worse"
    return f"{duration(ours)}, {abs(gain):.1f} % {word} than the file's order ({duration(before)})"


def _bounds(result: OrderResult) -> str:
    """Bounds by formula, or by the search if it proved a better one."""
    makespan_s, total_s = result.bounds.makespan_lower_s, result.bounds.tct_lower_s
    proved = result.answer.lower
    if proved is not None and result.answer.objective is Objective.MAKESPAN:
        makespan_s = max(makespan_s, proved)
    if proved is not None and result.answer.objective is Objective.TCT:
        total_s = max(total_s, proved)
    return (
        f"makespan {duration(makespan_s)} ({_above(result.makespan_s, makespan_s)}),"
        f" total {duration(total_s)} ({_above(result.total_completion_s, total_s)})"
    )


def _above(value: float, lower: float) -> str:
    excess = (value / lower - 1) * 100
    return "reached" if excess <= 1e-7 else f"{excess:.1f} % above"  # noqa: PLR2004  # rounding


def _method(result: OrderResult) -> str:
    answer = result.answer
    method = answer.method.value
    if answer.picked is not answer.method:
        method += f" picked {answer.picked.value}"
    return f"{method}, {'proved optimal' if answer.is_proved else 'not proved optimal'}"


def _search(result: OrderResult) -> str:
    orders = "order" if result.evaluations == 1 else "orders"
    return f"{count(result.evaluations)} {orders} evaluated in {duration(result.search_s)}"


def frontier_table(result: OrderResult, *, points_max: int = POINTS_MAX) -> Table:
    """The Pareto-optimal orders of a sweep, picked evenly if there are many."""
    points = result.answer.frontier or ()
    rows = min(len(points), points_max)
    last = max(1, rows - 1)
    shown = [points[number * (len(points) - 1) // last] for number in range(rows)]
    table = plain_table(
        left_out(len(points) - rows), numbers=("makespan", "total completion"), texts=("order",)
    )
    for point in shown:
        style = "bold green" if point.order == result.answer.best.order else ""
        table.add_row(
            plain_text(duration(point.makespan_s), style),
            plain_text(duration(point.total_s), style),
            plain_text(_begins(result, point.order, WIDTH - _TAKEN - 6), style),
        )
    return table


def _begins(result: OrderResult, order: Sequence[int], room: int) -> str:
    """The first jobs of an order, as many as fit."""
    names = ""
    for number, job in enumerate(order):
        name = shortened(result.problem.jobs[job].name, _NAME_MAX)
        if number and len(names) + len(name) > room - 5:
            return f"{names}, ..."
        names = f"{names}, {name}" if names else name
    return names


# --- stages ---------------------------------------------------------------------------------------


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
