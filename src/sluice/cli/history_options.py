"""Options of the commands that answer from past runs: which runs, which machines, which prices."""

from __future__ import annotations

from typing import Annotated

import typer

from sluice.cli import completion

MACHINES = "Machines and prices"

RunsFromLog = Annotated[
    list[str] | None,
    typer.Option(
        "--from-log",
        metavar="PATH",
        show_default=False,
        help="Use the runs in this log, or folder of logs; repeatable.",
        rich_help_panel="Instead of FILE",
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        show_default=False,
        help="Profile store: a path or postgresql://... (default: SLUICE_STORE, else your own).",
    ),
]
ProfileOrAll = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        show_default=False,
        autocompletion=completion.profile_names,
        help="One profile; default: all.",
    ),
]
Level = Annotated[
    float, typer.Option(metavar="SHARE", help="Level of the prediction intervals, e.g. 0.9.")
]
VmType = Annotated[
    str | None,
    typer.Option(
        metavar="TYPE",
        autocompletion=completion.vm_types,
        show_default=False,
        help="Type of the VMs, from the price list.",
        rich_help_panel=MACHINES,
    ),
]
Prices = Annotated[
    str | None,
    typer.Option(
        metavar="PRICES",
        show_default=False,
        help='Price list of VM types; "example" is a list shipped with Sluice.',
        rich_help_panel=MACHINES,
    ),
]
RentTerm = Annotated[
    str,
    typer.Option(
        "--rent",
        metavar="TERM",
        autocompletion=completion.one_of("reserved", "on-demand", "spot"),
        help="Rental term: reserved, on-demand or spot.",
        rich_help_panel=MACHINES,
    ),
]
LogFormat = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        autocompletion=completion.log_formats,
        help="Log format: auto, jhist, rumen, sls, spark, swim, swf, batsim or sluice.",
    ),
]
LogSet = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        show_default=False,
        help="Set an option of a format; profile='regex -> name' names profiles; repeatable.",
    ),
]
