"""Where answers go: results to stdout, other messages to stderr.

Everything for people passes through `console` or `talk`, which escape what a terminal could obey:
ids, names and a task's stderr are data. JSON documents stay exact.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TextIO

from sluice.reporting.formatting import visible
from sluice.reporting.table_style import PIPED_WIDTH, UNLIMITED

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType


_WIDTH_MIN = 20  # below it nothing can be laid out, whatever COLUMNS says
# Signs of our tables for a terminal that has no others.
_PLAIN_SIGNS = str.maketrans("·▒█…–−±", ".=#~--~")  # the signs as tables have them


def print_document(document: Mapping[str, object]) -> None:
    """Write the one JSON document of a verb to stdout, numbers unrounded, with its provenance."""
    from sluice.cli.provenance import current_provenance
    from sluice.core.garbage_collector import paused_collector

    provenance = current_provenance()
    known = {} if provenance is None else {"provenance": provenance.document()}
    with paused_collector():  # a search through all that was simulated takes longer than to print
        sys.stdout.write(json.dumps({**document, **known}, allow_nan=False) + "\n")


def print_answer(
    document: Callable[[], Mapping[str, object]],
    views: Callable[[], Iterable[RenderableType]],
    *,
    as_json: bool,
) -> None:
    """Write the one JSON document of a verb, or what people read."""
    if as_json:
        print_document(document())
    else:
        print_views(*views())


def print_schema(schema: Mapping[str, object]) -> None:
    """Write a JSON Schema to stdout, as files have it."""
    sys.stdout.write(json.dumps(schema, indent=2) + "\n")


def console(*, stderr: bool = False) -> Console:
    """Stdout, or stderr, for people. Ids are printed as they are: no markup, no highlights."""
    from rich.console import Console
    from rich.segment import Segment

    class VisibleConsole(Console):
        """Escapes texts after Rich has laid them out; Rich's own control codes stay."""

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterator[Segment]:
            has_signs = self.encoding.lower().startswith("utf")
            for segment in super().render(renderable, options):
                text, style, control = segment
                shown = visible(text) if has_signs else _plain(visible(text), self.encoding)
                yield segment if control else Segment(shown, style)

    stream = sys.stderr if stderr else sys.stdout
    # What is piped is not cut, unless COLUMNS says how wide the reader is.
    is_limited = stream.isatty() or "COLUMNS" in os.environ
    width = None if is_limited else UNLIMITED
    made = VisibleConsole(file=stream, width=width, highlight=False, markup=False, emoji=False)
    made.width = max(made.width, _WIDTH_MIN)
    return made


def _plain(text: str, encoding: str) -> str:
    """The text with a "?" for each column of what the encoding lacks: tables stay aligned.

    >>> _plain("µ · 漢 …", "ascii")
    '? . ?? ~'
    """
    from rich.cells import cell_len

    text = text.translate(_PLAIN_SIGNS)
    if text.isascii():
        return text
    return "".join(
        letter if letter.encode(encoding, "ignore") else "?" * cell_len(letter) for letter in text
    )


def print_views(*views: RenderableType) -> None:
    """Write tables and texts to stdout, one below the other; texts have lines in a pipe too."""
    out = console()
    is_piped = out.width >= UNLIMITED
    for view in views:
        if is_piped and _has_words(view):
            longest = out.measure(view).minimum  # of its words, which are never broken
            out.print(view, width=max(PIPED_WIDTH, longest))
        else:
            out.print(view)


def _has_words(view: RenderableType) -> bool:
    """Whether a view may be broken between words. Lines of a text that are indented keep theirs.

    Tables of `plain_table` fit themselves to a pipe.
    """
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    if isinstance(view, str):
        return "\n" not in view and view == view.strip()
    return isinstance(view, Text | Padding) or type(view) is Table


def talk(sentence: str) -> None:
    """Write a message to stderr. Where stderr is full or its reader gone, the command goes on."""
    shown = visible(sentence)
    try:
        if sys.stderr.isatty():
            shown = wrapped(shown, shutil.get_terminal_size((PIPED_WIDTH, 0)).columns)
        sys.stderr.write(f"{shown}\n")
        sys.stderr.flush()
    except OSError:
        abandon(sys.stderr)


def wrapped(text: str, width: int) -> str:
    """The text with lines of at most `width` columns, broken between words.

    Words stay whole, and so do lines with a command to copy: the terminal breaks these itself,
    without a new line in what is copied.

    >>> print(wrapped("note: one of a, b, c", 15))
    note: one of a,
    b, c
    """
    folded = textwrap.TextWrapper(
        width=max(width, 1),
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    return "\n".join(
        line if ": sluice " in line or len(line) <= width else folded.fill(line)
        for line in text.split("\n")
    )


def abandon(stream: TextIO) -> None:
    """Discard all further output to a stream, also at the end of the interpreter."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return  # it is not a file: nothing will be flushed to it
