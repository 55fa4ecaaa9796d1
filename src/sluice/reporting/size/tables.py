"""The table of the sizes that were tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sluice.reporting.columns import Column, any_of, column_table
from sluice.reporting.formatting import count, counted, duration, duration_tight, money, share
from sluice.reporting.size.result import ClusterSize, SizePoint
from sluice.reporting.table_style import RenderableType, Table, framed, plain_text


def views(result: ClusterSize) -> Iterator[RenderableType]:
    """The answer in a sentence and a frame, the curve, and notes."""
    yield plain_text(size_sentence(result))
    yield framed("size", _answer(result))
    yield _points_table(result)
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
    if result.vm_type == "node of the file":
        kind = " of the file"
    cost = "" if answer.cost_usd is None else f", for {money(answer.cost_usd)} a night"
    return (
        f"{counted(answer.nodes, 'node')}{kind} met the deadlines in"
        f" {share(answer.probability)} of {counted(answer.draws, 'night')}{cost}."
    )


def _points_table(result: ClusterSize) -> Table:
    """The sizes that were tried, the smallest first."""
    points: Sequence[Column[SizePoint]] = (
        Column(
            "", "nodes",
            of=lambda point: count(point.nodes) + (" *" if point == result.answer else ""),
        ),
        Column("slots", "slots", count),
        Column("probability", "deadlines met", share),
        Column(
            "", "interval", of=lambda point: f"{share(point.low)}–{share(point.high)}"
        ),
        Column("span_s", "night takes", duration_tight),
        Column("cost_usd", "cost", money, is_shown=any_of("cost_usd")),
    )  # fmt: skip
    caption = "* the smallest that does" if result.answer is not None else ""
    return column_table(points, result.points, caption)


_TYPES: Sequence[Column[ClusterSize]] = (
    Column("", "nodes", count, lambda one: one.answer and one.answer.nodes),
    Column("", "slots", count, lambda one: one.answer and one.answer.slots),
    Column("", "deadlines met", share, lambda one: one.answer and one.answer.probability),
    Column("", "night takes", duration_tight, lambda one: one.answer and one.answer.span_s),
    Column("", "cost", money, lambda one: one.answer and one.answer.cost_usd),
)


def _types_table(sizes: Sequence[ClusterSize]) -> Table:
    """The smallest cluster of each type of VM, the cheapest first."""
    return column_table(_TYPES, {str(one.vm_type): one for one in sizes}, key="VM type")


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
