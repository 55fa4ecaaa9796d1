"""How tables look: one frame, one caption, text that is never read as markup."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sluice.reporting.formatting import count, visible

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text


def plain_table(caption: str) -> Table:
    """An empty table. caption: what stands below it; "" for nothing."""
    from rich import box
    from rich.table import Table

    return Table(
        box=box.SIMPLE_HEAD,
        header_style="dim",
        caption=caption or None,
        caption_justify="left",
        pad_edge=False,
        padding=(0, 1),
        collapse_padding=True,
    )


def plain_text(text: str, style: str = "") -> Text:
    """Text that is never read as markup, and that no terminal obeys: a job may be "[red]"."""
    from rich.text import Text

    # Here too, not only in the console: Rich drops some control characters, and measures widths.
    return Text(visible(text), style=style)


def left_out(rows: int) -> str:
    """A caption about rows that are not shown."""
    return f"and {count(rows)} more; --json tells all" if rows else ""


def framed(title: str, rows: Iterable[tuple[str, str]]) -> Panel:
    """Names and values in a frame."""
    from rich.panel import Panel
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for name, value in rows:
        grid.add_row(name, plain_text(value))
    return Panel(grid, title=title, title_align="left", border_style="dim", expand=False)
