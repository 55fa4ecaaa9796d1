"""The numbers of a chart as tables, for readers who do not see it and for those who copy them.

The columns are those that the chart shows under the pointer: each view names them in its tooltip,
with titles, so that no chart declares them twice.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sluice.reporting.charts.names import title_text
from sluice.reporting.formatting import count, visible

ROWS_MAX = 200  # of one view; a page has the chart itself for more

Columns = list[tuple[str, str]]  # field, title


def numbers_of(spec: Mapping[str, Any]) -> str:
    """Closed HTML details with a table for each view of a specification; "" without any."""
    tables = list(_tables(spec, [], []))
    if not tables:
        return ""
    return f"<details><summary>The same numbers as tables</summary>{''.join(tables)}</details>"


def _tables(view: Mapping[str, Any], columns: Columns, rows: Sequence[Any]) -> Iterator[str]:
    """Tables of a view and of those in it, which inherit its tooltip and data."""
    title = title_text(view)
    columns = _columns(view) or columns
    own = view.get("data", {}).get("values")
    rows = own if isinstance(own, list) else rows
    inner = [*view.get("vconcat", ()), *view.get("hconcat", ())]
    layers = [layer for layer in view.get("layer", ()) if isinstance(layer, Mapping)]
    for one in inner:
        yield from _tables(one, columns, rows)
    if inner:
        return
    for layer in layers or [view]:
        found = _columns(layer) or columns
        its = layer.get("data", {}).get("values")
        its = its if isinstance(its, list) else rows
        if found and its and any(field in row for row in its for field, _ in found):
            yield _table(title, found, its)
            return


def _columns(view: Mapping[str, Any]) -> Columns:
    tooltip = view.get("encoding", {}).get("tooltip")
    if not isinstance(tooltip, list):
        return []
    return [
        (one["field"], str(one.get("title", one["field"]))) for one in tooltip if "field" in one
    ]


def _table(title: str, columns: Columns, rows: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(f"<th>{_cell(name)}</th>" for _, name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(row.get(field))}</td>' for field, _ in columns)}</tr>"
        for row in rows[:ROWS_MAX]
    )
    more = len(rows) - ROWS_MAX
    rest = f"<p>and {count(more)} more</p>" if more > 0 else ""
    caption = f"<caption>{_cell(title)}</caption>" if title else ""
    return f'<div class="scroll"><table>{caption}<tr>{head}</tr>{body}</table></div>{rest}'


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = f"{value:,.6g}" if isinstance(value, float) else str(value)
    return html.escape(visible(text))
