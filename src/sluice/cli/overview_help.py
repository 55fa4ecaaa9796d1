"""The help of `sluice` as a whole: its commands by what they are for.

Typer draws the help of each command. Its module for that imports parsers of Markdown and of source
code, which take as much CPU time as all else that this page needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sluice.cli.panels import PANELS
from sluice.reporting.table_style import UNLIMITED

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.panel import Panel
    from rich.table import Table

_NAME = "bold cyan"
_PIPED_WIDTH = 80  # columns in a pipe, as Typer has them for the help of commands


def print_overview(group: Any, context: Any) -> None:  # noqa: ANN401  # click's types, or Typer's copies of them, by Typer's version
    """Write the usage, the options, and a panel of commands for each part of the help."""
    from rich.padding import Padding
    from rich.text import Text

    from sluice.cli.answers import console

    out = console()
    out.width = out.width if out.width < UNLIMITED else _PIPED_WIDTH
    out.print(Padding(Text(group.get_usage(context), style="bold"), 1))
    out.print(Padding(Text(" ".join(group.help.split())), (0, 1, 1, 1)))
    out.print(_panel("Options", _options(group.get_params(context))))
    width = max(map(len, group.commands))
    for title, names in PANELS.items():
        commands = [(name, group.get_command(context, name).help or "") for name in names]
        out.print(_panel(title, _commands(commands, width)))
    out.print(Padding(Text(group.epilog), 1))


def _options(options: Iterable[Any]) -> Table:
    """Long names, short names and help of options that take no value."""
    table = _table()
    for _ in ("long", "short"):
        table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for option in options:
        long = ",".join(name for name in option.opts if name.startswith("--"))
        short = ",".join(name for name in option.opts if not name.startswith("--"))
        table.add_row(_named(long), _named(short, "bold green"), option.help)
    return table


def _commands(commands: Sequence[tuple[str, str]], width: int) -> Table:
    """Names and summaries. width: of the longest name of any panel, so that panels line up."""
    table = _table()
    table.add_column(no_wrap=True, width=width)
    table.add_column(ratio=1)
    for name, text in commands:
        table.add_row(_named(name), text.split("\n\n")[0])
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
