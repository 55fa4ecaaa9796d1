"""The table of the sizes that were tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sluice.reporting.formatting import (
    NOTHING,
    count,
    counted,
    duration,
    duration_tight,
    money,
    share,
)
from sluice.reporting.size.result import ClusterSize
from sluice.reporting.table_style import framed, name_cell, plain_table, plain_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def views(result: ClusterSize) -> Iterator[RenderableType]:
    """The answer in a sentence and a frame, the curve, and notes."""
    yield plain_text(size_sentence(result))
    yield framed("size", _answer(result))
    has_cost = any(point.cost_usd is not None for point in result.points)
    heads = ["nodes", "slots", "deadlines met", "interval", "night takes"]
    table = plain_table(
        "* the smallest that does" if result.answer is not None else "",
        numbers=heads + (["cost"] if has_cost else []),
    )
    for point in result.points:
        star = " *" if point == result.answer else ""
        cells = [
            count(point.nodes) + star,
            count(point.slots),
            share(point.probability),
            f"{share(point.low)}–{share(point.high)}",
            duration_tight(point.span_s),
        ]
        table.add_row(*cells + ([money(point.cost_usd)] if has_cost else []))
    yield table
    if result.others:
        yield _types_table([result, *result.others])
    for note in result.notes:
        yield plain_text(f"note: {note}")


def size_sentence(result: ClusterSize) -> str:
    """The answer in one sentence; without an answer, its cause."""
    answer = result.answer
    if answer is None:
        most = counted(result.points[-1].nodes, "node")
        cause = "" if result.cause is None else f": {result.cause}"
        return f"No size up to {most} meets the deadlines{cause}."
    kind = "" if result.vm_type is None else f" of type {result.vm_type}"
    cost = "" if answer.cost_usd is None else f", for {money(answer.cost_usd)} a night"
    return (
        f"{counted(answer.nodes, 'node')}{kind} met the deadlines in"
        f" {share(answer.probability)} of {counted(answer.draws, 'night')}{cost}."
    )


def _types_table(sizes: Sequence[ClusterSize]) -> Table:
    """The smallest cluster of each type of VM, the cheapest first."""
    table = plain_table(
        "", names=("VM type",), numbers=("nodes", "slots", "deadlines met", "night takes", "cost")
    )
    for one in sizes:
        answer, cells = one.answer, [NOTHING] * 5
        if answer is not None:
            cells = [
                count(answer.nodes),
                count(answer.slots),
                share(answer.probability),
                duration_tight(answer.span_s),
                money(answer.cost_usd),
            ]
        table.add_row(name_cell(str(one.vm_type)), *cells)
    return table


def _answer(result: ClusterSize) -> list[tuple[str, str]]:
    answer, wanted = result.answer, share(result.probability_wanted)
    if answer is None:
        most = result.points[-1]
        return [
            ("answer", f"No cluster of up to {counted(most.nodes, 'node')} meets the deadlines"),
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
    if answer.reserved_vms:
        rows.append(("rented", f"{answer.reserved_vms} reserved, {answer.on_demand_vms} on demand"))
    if answer.cost_usd is not None:
        rows.append(("a night costs", f"{money(answer.cost_usd)} on average"))
    if result.next_node_usd is not None:
        rows.append(("one more node", f"{money(result.next_node_usd)} a night"))
    return rows
