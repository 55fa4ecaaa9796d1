"""How commands declare arguments and options of their own, and those that nearly all have.

Options that the Python function takes too are fields of the dataclasses of `api.options`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from typer.models import ArgumentInfo, OptionInfo

from sluice.cli import completion
from sluice.cli.outputs import FILES


def option(
    text: str,
    *flags: str,
    metavar: str | None = None,
    parser: Callable[[str], object] | None = None,
    completes: Callable[..., object] | None = None,
    panel: str | None = None,
) -> OptionInfo:
    """An option. text: its help.  flags: by default the parameter's name.

    parser: of the given text.  completes: the values that a shell offers.  panel: its part of the
    help. The help shows the default, unless it is None.
    """
    made: OptionInfo = typer.Option(
        *flags,
        metavar=metavar,
        parser=parser,
        autocompletion=completes,
        help=text,
        rich_help_panel=panel,
    )
    return made


def argument(
    text: str, *, metavar: str, completes: Callable[..., object] | None = None
) -> ArgumentInfo:
    """An argument. text: its help.  completes: as for `option`."""
    made: ArgumentInfo = typer.Argument(metavar=metavar, autocompletion=completes, help=text)
    return made


File = Annotated[str, argument("Workload file, YAML or JSON; - reads stdin.", metavar="FILE")]
FileOrLog = Annotated[
    str | None, argument("Workload file, YAML or JSON; - reads stdin.", metavar="FILE")
]
ProfileOrAll = Annotated[
    str | None,
    argument("One profile; default: all.", metavar="NAME", completes=completion.profile_names),
]
AsJson = Annotated[bool, option("Print one JSON document instead of tables.", "--json")]
Plot = Annotated[
    str | None, option("Write a chart; .html, .png, .svg or .json.", metavar="OUT", panel=FILES)
]
