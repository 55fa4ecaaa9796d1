"""The answer of `sluice` without a command: its commands by what they are for, and its version.

Typer draws the help of each command. To import it, and all commands, takes four times as much CPU
time as to print this page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sluice.cli.panels import DESCRIPTION, EPILOG, OPTIONS, PANELS, SUMMARIES, USAGE
from sluice.reporting.table_style import UNLIMITED

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.panel import Panel
    from rich.table import Table

_NAME = "bold cyan"
_PIPED_WIDTH = 80  # columns in a pipe, as Typer has them for the help of commands


def print_overview() -> None:
    """Write the usage, the options, and a panel of commands for each part of the help."""
    from rich.padding import Padding
    from rich.text import Text

    from sluice.cli.answers import console

    out = console()
    out.width = out.width if out.width < UNLIMITED else _PIPED_WIDTH
    out.print(Padding(Text(USAGE, style="bold"), 1))
    out.print(Padding(Text(DESCRIPTION), (0, 1, 1, 1)))
    out.print(_panel("Options", _options()))
    for title, names in PANELS.items():
        out.print(_panel(title, _commands(names)))
    out.print(Padding(Text(EPILOG), 1))


def print_version() -> None:
    """Print the version."""
    import sluice

    sys.stdout.write(f"sluice {sluice.__version__}\n")


def _options() -> Table:
    """Long names, short names and help of options that take no value."""
    table = _table()
    for _ in ("long", "short"):
        table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for long, short, text in OPTIONS:
        table.add_row(_named(long), _named(short, "bold green"), text)
    return table


def _commands(names: Iterable[str]) -> Table:
    """Names and summaries. The longest name of any panel gives the width, so that all line up."""
    table = _table()
    table.add_column(no_wrap=True, width=max(map(len, SUMMARIES)))
    table.add_column(ratio=1)
    for name in names:
        table.add_row(_named(name), SUMMARIES[name])
    return table


def _named(name: str, style: str = _NAME) -> RenderableType:
    from rich.text import Text

    return Text(name, style=style)


def _table() -> Table:
    from rich.table import Table

    return Table(show_header=False, expand=True, box=None, pad_edge=False, padding=(0, 1))


def _panel(title: str, table: Table) -> Panel:
    from rich.panel import Panel

    return Panel(table, border_style="dim", title=title, title_align="left")
