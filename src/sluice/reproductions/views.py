"""A reproduction as text: each experiment as a table, with its explanation below."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sluice.reporting.formatting import NOTHING
from sluice.reproductions.runner import Cell, Experiment, ExperimentList, Reproduction

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def views(reproduction: Reproduction) -> Iterator[RenderableType]:
    """The title, each experiment with its explanation, then experiments that are not run here."""
    from rich.padding import Padding
    from rich.text import Text

    yield Text(reproduction.title, style="bold")
    for experiment in reproduction.experiments:
        yield Text(f"\n{experiment.title} ({experiment.name})", style="bold cyan")
        yield Text(experiment.setup, style="dim")
        yield _table(experiment)
        yield Padding(Text(experiment.why), (0, 0, 0, 2), expand=False)
    if reproduction.left_out:
        yield Text("\nNot run here", style="bold cyan")
        for name, reason in reproduction.left_out.items():
            yield Padding(Text(f"{name}: {reason}"), (0, 0, 0, 2), expand=False)


def list_views(listed: ExperimentList) -> Iterator[RenderableType]:
    """A table for each evaluation: its experiments, a line on each, and its minutes."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    widest = max(len(entry.name) for entry in listed.entries)
    for name, title in listed.titles.items():
        yield Text(f"\n{name}: {title}", style="bold")
        table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False)
        table.add_column("experiment", no_wrap=True, min_width=widest)
        table.add_column("what it shows", overflow="fold")
        table.add_column("minutes", justify="right", no_wrap=True)
        for entry in listed.of(name):
            table.add_row(entry.name, entry.about, _minutes(entry.minutes))
        yield table
    yield Text("\nMinutes on one core, with the default number of seeds.")


def _minutes(minutes: float | None) -> str:
    """Rounded up, because a wait that is longer than announced is the worse surprise.

    >>> _minutes(0.02), _minutes(1.26), _minutes(12.3)
    ('< 0.1', '1.3', '13')
    """
    if minutes is None:
        return NOTHING
    if minutes < 0.1:  # noqa: PLR2004  # the least that is shown
        return "< 0.1"
    is_small = minutes < 10  # noqa: PLR2004  # two digits
    return f"{math.ceil(minutes * 10) / 10:.1f}" if is_small else str(math.ceil(minutes))


def _table(experiment: Experiment) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False)
    for column in experiment.columns:
        cells = [row.get(column) for row in experiment.rows]
        is_number = any(isinstance(cell, int | float) for cell in cells)
        table.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for row in experiment.rows:
        table.add_row(*(_shown(row.get(column)) for column in experiment.columns))
    return table


def _shown(cell: Cell) -> str:
    """A number with three significant digits, without an exponent if it is readable."""
    if cell is None:
        return NOTHING
    if isinstance(cell, bool | str | int):
        return str(cell)
    if cell == 0 or 0.001 <= abs(cell) < 1e6:  # noqa: PLR2004  # readable without an exponent
        decimals = max(0, 3 - len(str(int(abs(cell)))))
        return f"{cell:.{decimals if abs(cell) >= 0.1 else 4}f}"  # noqa: PLR2004  # as above
    return f"{cell:.3g}"
