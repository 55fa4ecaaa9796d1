"""The table of the sizes that were tried."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sluice.reporting.formatting import count, counted, duration, duration_tight, money, share
from sluice.reporting.size.result import ClusterSize
from sluice.reporting.table_style import framed, plain_table, plain_text

if TYPE_CHECKING:
    from rich.console import RenderableType


def views(result: ClusterSize) -> Iterator[RenderableType]:
    """The answer, the curve, and notes."""
    yield framed("size", _answer(result))
    has_cost = any(point.cost_usd is not None for point in result.points)
    table = plain_table("* the smallest that does" if result.answer is not None else "")
    heads = ["nodes", "slots", "deadlines met", "interval", "night takes"]
    for head in heads + (["cost"] if has_cost else []):
        table.add_column(head, justify="right", no_wrap=True)
    for point in result.points:
        star = " *" if point == result.answer else ""
        cells = [
            count(point.nodes) + star,
            count(point.slots),
            share(point.probability),
            f"{share(point.low)}–{share(point.high)}",
            duration_tight(point.span_s),
        ]
        table.add_row(*map(plain_text, cells + ([money(point.cost_usd)] if has_cost else [])))
    yield table
    for note in result.notes:
        yield plain_text(f"note: {note}")


def _answer(result: ClusterSize) -> list[tuple[str, str]]:
    answer, wanted = result.answer, share(result.probability_wanted)
    if answer is None:
        most = result.points[-1]
        return [
            ("answer", f"no size up to {counted(most.nodes, 'node')} meets the deadlines"),
            ("wanted", f"{wanted}; {share(most.probability)} with the largest"),
        ]
    kind = "" if result.vm_type is None else f" ({result.vm_type})"
    interval = f"95 % interval {share(answer.low)} to {share(answer.high)}"
    met = f"{share(answer.probability)} of {answer.draws} nights ({interval}); wanted {wanted}"
    rows = [
        ("answer", f"{counted(answer.nodes, 'node')}{kind}, {counted(answer.slots, 'slot')}"),
        ("deadlines met", met),
        ("a night takes", f"{duration(answer.span_s)} on average"),
    ]
    if answer.cost_usd is not None:
        rows.append(("a night costs", f"{money(answer.cost_usd)} on average"))
    if result.next_node_usd is not None:
        rows.append(("one more node", f"{money(result.next_node_usd)} a night"))
    return rows
