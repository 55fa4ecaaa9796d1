"""The flags that several verbs share, each said once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

import typer

from sluice.model.errors import InvalidInput

_POLICIES, _WHAT_IF, _FILES = "Policies", "What if", "Files"
_LOGS = "Instead of FILE"
_SEED_MAX = 2**64 - 1


def whole(flag: str, *, low: int = 0, high: int = 10**6) -> Callable[[object], int]:
    """Reads a whole number. What it returns raises InvalidInput naming the flag.

    >>> whole("--nodes", low=1)("3")
    3
    """

    def read(given: object) -> int:
        text = str(given)  # a default comes as it is
        # int() would also take 1_000 and digits of other scripts; and 5000 digits are too many.
        is_plain = text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 20  # noqa: PLR2004  # as many as the largest has
        number = int(text) if is_plain else None
        if number is None or not low <= number <= high:
            raise InvalidInput(
                f"{text[:80]!r} is no whole number from {low} to {high}",
                where=flag,
                hint=f"give one, such as {max(low, 1)}",
            )
        return number

    return read


def instant(flag: str) -> Callable[[str], float]:
    """Reads seconds since the start of the workload. What it returns raises InvalidInput."""

    def read(text: str) -> float:
        try:
            at_s = float(text)
        except ValueError:
            at_s = math.nan
        if not 0 <= at_s < math.inf:
            raise InvalidInput(
                f"{text[:80]!r} is no instant", where=flag, hint="give seconds, 0 or more"
            )
        return at_s

    return read


File = Annotated[
    str,
    typer.Argument(metavar="FILE", show_default=False, help="Workload, YAML or JSON; - for stdin."),
]
FileOrLog = Annotated[
    str | None,
    typer.Argument(metavar="FILE", show_default=False, help="Workload, YAML or JSON; - for stdin."),
]
FromLog = Annotated[
    list[str] | None,
    typer.Option(
        "--from-log",
        metavar="PATH",
        show_default=False,
        help="A log, or a folder of logs, to be run again; may be repeated.",
        rich_help_panel=_LOGS,
    ),
]
FromLogFormat = Annotated[
    str | None,
    typer.Option(
        "--from-log-format",
        metavar="NAME",
        show_default=False,
        help="Its format; else told by its content.",
        rich_help_panel=_LOGS,
    ),
]
FromLogSet = Annotated[
    list[str] | None,
    typer.Option(
        "--from-log-set",
        metavar="KEY=VALUE",
        show_default=False,
        help="Choose what it does not on_message, such as map_slots=40; may be repeated.",
        rich_help_panel=_LOGS,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

Tasks = Annotated[
    str,
    typer.Option(metavar="NAME", help="Which task goes where.", rich_help_panel=_POLICIES),
]
Release = Annotated[
    str,
    typer.Option(metavar="NAME", help="Which waiting job is next.", rich_help_panel=_POLICIES),
]
Admission = Annotated[
    str,
    typer.Option(metavar="NAME", help="Which jobs are taken.", rich_help_panel=_POLICIES),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        show_default=False,
        help="Change a setting, such as jitter=0.15; may be repeated.",
        rich_help_panel=_WHAT_IF,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Of the random numbers.",
        parser=whole("--seed", high=_SEED_MAX),
        rich_help_panel=_WHAT_IF,
    ),
]
LengthsFrom = Annotated[
    str | None,
    typer.Option(
        metavar="TRACE.jsonl",
        help="Take task lengths from this trace.",
        show_default=False,
        rich_help_panel=_WHAT_IF,
    ),
]
Trace = Annotated[
    str | None,
    typer.Option(
        metavar="OUT.jsonl",
        help="Write a line for each attempt of each task.",
        show_default=False,
        rich_help_panel=_FILES,
    ),
]
Plot = Annotated[
    str | None,
    typer.Option(
        metavar="OUT",
        help="Write a chart: .html, .png, .svg or .json.",
        show_default=False,
        rich_help_panel=_FILES,
    ),
]

Nodes = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        parser=whole("--nodes", low=1),
        show_default=False,
        help="Virtual nodes on this machine.",
    ),
]
MapSlots = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        parser=whole("--map-slots", low=1),
        show_default=False,
        help="Map slots of each.",
    ),
]
ReduceSlots = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        parser=whole("--reduce-slots"),
        show_default=False,
        help="Reduce slots of each.",
    ),
]
Seeds = Annotated[
    int,
    typer.Option(
        metavar="N", parser=whole("--seeds", low=1), help="Runs of each, with seeds 0 to N-1."
    ),
]

# Of `why` and `story`, where None tells that a flag was not given: most go with --file alone.
Run = Annotated[
    str | None,
    typer.Option(metavar="RUN_ID", show_default=False, help="Of this run, not of the newest."),
]
OfFile = Annotated[
    str | None,
    typer.Option("--file", metavar="FILE", show_default=False, help="Of a simulation of FILE."),
]
AtS = Annotated[
    float | None,
    typer.Option(
        "--at-s",
        metavar="T",
        parser=instant("--at-s"),
        show_default=False,
        help="As of T seconds.",
    ),
]
TasksOrNone = Annotated[
    str | None,
    typer.Option(
        "--tasks",
        metavar="NAME",
        show_default=False,
        help="Which task goes where; else fifo.",
        rich_help_panel="With --file",
    ),
]
ReleaseOrNone = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="NAME",
        show_default=False,
        help="Which waiting job is next; else input.",
        rich_help_panel="With --file",
    ),
]
AdmissionOrNone = Annotated[
    str | None,
    typer.Option(
        "--admission",
        metavar="NAME",
        show_default=False,
        help="Which jobs are taken; else all.",
        rich_help_panel="With --file",
    ),
]
SetOrNone = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        show_default=False,
        help="Change a setting; may be repeated.",
        rich_help_panel="With --file",
    ),
]
SeedOrNone = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        parser=whole("--seed", high=_SEED_MAX),
        show_default=False,
        help="Of the random numbers; else 0.",
        rich_help_panel="With --file",
    ),
]
