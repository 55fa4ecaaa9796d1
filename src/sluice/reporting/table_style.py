"""How tables look: one frame, one caption, text that is never read as markup.

The first column holds names, which are never broken. Where a table is too wide for the terminal,
its heads are broken, then its intervals go below their means; where that is not enough, each row
takes two lines, the name and then the rest. A terminal gets long names with their middle
left out, or what they differ in if that is the middle. In a pipe nothing is cut; only a name or a
row of numbers may be wider than 100 columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from sluice.reporting.formatting import columns, count, counted, distinguished, shortened, visible

if TYPE_CHECKING:
    import rich.panel
    import rich.text
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.measure import Measurement
    from rich.style import StyleType
    from rich.table import Column

# Types of Rich for annotations: Rich itself is imported when a table is made.
Panel: TypeAlias = "rich.panel.Panel"
RenderableType: TypeAlias = "rich.console.RenderableType"
Table: TypeAlias = "rich.table.Table"
Text: TypeAlias = "rich.text.Text"

UNLIMITED = 10_000  # columns of an output that is not a terminal
PIPED_WIDTH = 100  # columns of a table there; only what cannot be broken is wider
NAME_LETTERS_MAX = 40  # on a terminal
_INDENT = 2


class NameCell:
    """A name that a terminal gets shortened, or every output if `in_pipes`."""

    def __init__(self, name: str, style: str, short: str | None, *, in_pipes: bool = False) -> None:
        self.name = name
        self.short = shortened(visible(name), NAME_LETTERS_MAX) if short is None else short
        self._style = style
        self._in_pipes = in_pipes

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self._text(console)
        text.no_wrap = True
        yield text

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.measure import Measurement

        width = self._text(console).cell_len
        return Measurement(width, width)

    def __bool__(self) -> bool:
        return bool(self.name)

    def _text(self, console: Console) -> Text:
        is_cut = self._in_pipes or console.width < UNLIMITED
        return plain_text(self.short if is_cut else self.name, self._style)


def name_cell(name: str, style: str = "bold", short: str | None = None) -> NameCell:
    """A name for a column of a table. short: what a terminal gets (default: without its middle)."""
    return NameCell(name, style, short)


def short_name(name: str, style: str = "bold", width_max: int = NAME_LETTERS_MAX) -> NameCell:
    """A name without its middle where it takes over `width_max` columns, in pipes too."""
    return NameCell(name, style, shortened(visible(name), width_max), in_pipes=True)


def _keep_apart(table: Table) -> None:
    """Different names of a column become different texts: each was shortened on its own."""
    for column in table.columns:
        by_short: dict[str, list[NameCell]] = {}
        for cell in column.cells:
            if isinstance(cell, NameCell):
                by_short.setdefault(cell.short, []).append(cell)
        for short, alike in by_short.items():
            names = list(dict.fromkeys(visible(cell.name) for cell in alike))
            apart = dict(zip(names, distinguished(names, columns(short)), strict=True))
            for cell in alike if len(names) > 1 else ():
                cell.short = apart[visible(cell.name)]


def plain_table(
    caption: str,
    *,
    names: Iterable[str] = (),
    numbers: Iterable[str] = (),
    texts: Iterable[str] = (),
    rows: Iterable[Iterable[RenderableType]] = (),
) -> Table:
    """A table whose texts are never read as markup.

    caption: the text below it; "" for none.  names: heads of the first columns.
    numbers: heads of the columns after them, whose cells are aligned to the right.
    texts: heads of the last columns.  rows: the cells of each row.
    """
    from rich import box

    table: Table = _names_table()(
        box=box.SIMPLE_HEAD,
        header_style="dim",
        caption=caption or None,
        caption_justify="left",
        pad_edge=False,
        padding=(0, 1),
        collapse_padding=True,
    )
    for name in names:
        table.add_column(name, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for name in texts:
        table.add_column(name, no_wrap=True)
    for cells in rows:
        table.add_row(*cells)
    return table


@cache
def _names_table() -> type[Table]:
    """The class of tables, made when Rich is needed."""
    from rich.table import Table

    class NamesTable(Table):
        """A table that takes two lines a row where it is too wide."""

        def add_row(
            self,
            *cells: RenderableType | None,
            style: StyleType | None = None,
            end_section: bool = False,
        ) -> None:
            texts = (plain_text(cell) if isinstance(cell, str) else cell for cell in cells)
            super().add_row(*texts, style=style, end_section=end_section)

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            _keep_apart(self)
            is_piped = options.max_width >= UNLIMITED
            room = PIPED_WIDTH if is_piped else options.max_width
            if len(self.columns) == 1:
                yield from super().__rich_console__(console, options)
                return
            for found in _narrower(self.columns, console, options):
                if _width(found, console, options) <= room:
                    shown = copy(self)  # it may be printed again, elsewhere
                    shown.columns = found
                    yield from super(NamesTable, shown).__rich_console__(
                        console, options.update(max_width=room)
                    )
                    return
            yield from _in_two_lines(self, console, options)

    return NamesTable


def _narrower(
    table: Sequence[Column], console: Console, options: ConsoleOptions
) -> Iterator[list[Column]]:
    """The columns of a table as they are, with broken heads, and with broken intervals too."""
    yield list(table)
    intervals = [_with_broken_intervals(column) for column in table]
    for found in (table, intervals):
        widths = [_cells_width(column, console, options) for column in found]
        yield [_with_broken_head(one, width) for one, width in zip(found, widths, strict=True)]


def _with_broken_head(column: Column, cells_width: int) -> Column:
    """The column with its head in two lines of about the same length, if it is wider than cells."""
    from dataclasses import replace

    head = str(column.header)
    words = head.split(" ")
    halves = [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]
    if not halves or columns(head) <= cells_width:
        return column
    return replace(column, header="\n".join(min(halves, key=lambda two: max(map(columns, two)))))


def _with_broken_intervals(column: Column) -> Column:
    """The column with each `mean [low, high]` and `mean ± deviation` in two lines."""
    from dataclasses import replace

    from rich.text import Text

    cells = [cell.copy() if isinstance(cell, Text) else cell for cell in column.cells]
    for cell in cells:
        if isinstance(cell, Text):
            # As long as before, so that what is bold stays bold.
            cell.plain = cell.plain.replace(" [", "\n[").replace(" ± ", "\n± ")
    return replace(column, _cells=cells)


def _width(table: Sequence[Column], console: Console, options: ConsoleOptions) -> int:
    """Columns of the terminal that the columns of a table need if nothing is cut."""
    total = 0
    for column in table:
        head = str(column.header)
        parts = head.split("\n") if column.no_wrap else head.split() or [""]
        total += max(*map(columns, parts), _cells_width(column, console, options))
    # Between columns there are two blanks of padding, collapsed to one, and the edges of the box.
    return total + 2 * (len(table) - 1) + 2


def _cells_width(column: Column, console: Console, options: ConsoleOptions) -> int:
    from rich.measure import Measurement

    spans = [Measurement.get(console, options.update(width=UNLIMITED), one) for one in column.cells]
    return max((span.maximum if column.no_wrap else span.minimum for span in spans), default=0)


def _in_two_lines(table: Table, console: Console, options: ConsoleOptions) -> RenderResult:
    """Each row as a line with its name, and a line with its other cells."""
    from dataclasses import replace

    from rich.padding import Padding
    from rich.segment import Segment
    from rich.table import Table
    from rich.text import Text

    first, *others = table.columns
    second = list(others[0].cells)
    header, names = str(first.header), [[cell] for cell in first.cells]
    if not header and isinstance(names[0][0], Text):  # a number in front of the name
        header, others = str(others[0].header), others[1:]
        names = [[_on_one_line([cell, name])] for [cell], name in zip(names, second, strict=True)]
    elif len(others) > 1 and not all(first.cells):  # groups: pools, and in each the schedulers
        header, others = f"{header}, {others[0].header}", others[1:]
        below = [Padding(name, (0, 0, 0, _INDENT), expand=False) for name in second]
        names = [[*group, name] for group, name in zip(names, below, strict=True)]
    rest = Table(
        box=table.box, header_style=table.header_style, show_edge=False, pad_edge=False,
        padding=(0, 1), collapse_padding=True,
    )  # fmt: skip
    rest.columns = [
        replace(column, _index=place, no_wrap=True, overflow="ellipsis")
        for place, column in enumerate(others)
    ]
    rest.rows = [replace(row, end_section=False) for row in table.rows]
    room = options.update(width=options.max_width - _INDENT)
    head, rule, *rows = console.render_lines(rest, room, pad=False)
    yield ""
    yield Text.assemble((header, "dim"))
    for line, above in [(head, []), (rule, []), *zip(rows, names, strict=True)]:
        yield from filter(None, above)  # a further row of a group has no name of it
        yield from [Segment(" " * _INDENT), *line, Segment.line()]
    yield ""
    if table.caption:
        yield Text(str(table.caption), style="dim italic")


def _on_one_line(cells: Iterable[RenderableType]) -> Text:
    from rich.text import Text

    line = Text("  ").join(cell for cell in cells if isinstance(cell, Text))
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def plain_text(text: str, style: str = "") -> Text:
    """Text that is never read as markup, and that no terminal obeys: a job may be "[red]"."""
    from rich.text import Text

    # Here too, not only in the console: Rich drops some control characters, and measures widths.
    return Text(visible(text), style=style)


def left_out(rows: int, what: str = "") -> str:
    """A caption about rows that are not shown. what: one of them, such as "more pool"."""
    if not rows:
        return ""
    return f"and {counted(rows, what) if what else f'{count(rows)} more'}; --json has all"


def plain_grid(gap: int = 2) -> Table:
    """Columns without frame or heads, whose long texts are broken in a pipe too.

    gap: blanks between two columns.
    """
    return _grid().grid(padding=(0, gap))


@cache
def _grid() -> type[Table]:
    """The class of grids, made when Rich is needed."""
    from rich.table import Table

    class Grid(Table):
        """A table that a pipe gets in lines of `PIPED_WIDTH` columns."""

        def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
            return super().__rich_measure__(console, _readable(options))

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield from super().__rich_console__(console, _readable(options))

    return Grid


def _readable(options: ConsoleOptions) -> ConsoleOptions:
    """The width that a reader has in place of that of a pipe, without the frames around it."""
    room = PIPED_WIDTH - (UNLIMITED - options.max_width)
    return options.update(max_width=room) if room > 0 else options


def framed(title: str, rows: Iterable[tuple[str, str]]) -> Panel:
    """Names and values in a frame."""
    from rich.panel import Panel

    grid = plain_grid()
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for name, value in rows:
        grid.add_row(name, plain_text(value))
    # A title that is a word of markup is printed as it is, and the names of emoji are not loaded.
    return Panel(
        grid, title=plain_text(title), title_align="left", border_style="dim", expand=False
    )
