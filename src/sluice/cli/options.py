"""The flags that several verbs share, each said once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

import typer

from sluice.model.errors import InvalidInput

_POLICIES, _WHAT_IF, _FILES = "Policies", "What if", "Files"

File = Annotated[
    str,
    typer.Argument(metavar="FILE", show_default=False, help="Workload, YAML or JSON; - for stdin."),
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
    int, typer.Option(metavar="N", help="Of the random numbers.", rich_help_panel=_WHAT_IF)
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

# Of `why` and `story`: None tells that a flag was not given, for each goes with --file alone.
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
    typer.Option("--at-s", metavar="T", min=0, show_default=False, help="At T seconds."),
]
TasksOrNone = Annotated[
    str | None,
    typer.Option(
        "--tasks",
        metavar="NAME",
        show_default="fifo",
        help="Which task goes where.",
        rich_help_panel="With --file",
    ),
]
ReleaseOrNone = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="NAME",
        show_default="input",
        help="Which waiting job is next.",
        rich_help_panel="With --file",
    ),
]
AdmissionOrNone = Annotated[
    str | None,
    typer.Option(
        "--admission",
        metavar="NAME",
        show_default="all",
        help="Which jobs are taken.",
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
        show_default="0",
        help="Of the random numbers.",
        rich_help_panel="With --file",
    ),
]


def subject_of(
    *, run: str | None, file: str | None, at_s: float | None, simulation: Mapping[str, object]
) -> dict[str, object]:
    """What `why` and `story` are about, as arguments of their verbs: a run, or a simulation.

    simulation: the flags that go with --file; those that were not given are None or empty.
    Raises InvalidInput where flags are given that do not go together.
    """
    given = {name: value for name, value in simulation.items() if value not in (None, [])}
    if file is not None and run is not None:
        raise InvalidInput(
            "it is given beside --file", where="--run", mend="ask about one of the two"
        )
    if at_s is not None and not math.isfinite(at_s):
        raise InvalidInput(f"{at_s} is no instant", where="--at-s", mend="give seconds, 0 or more")
    if file is None and (given or at_s is not None):
        first = next(iter(given), "at-s")
        raise InvalidInput(
            "it says how to simulate, and there is no --file",
            where=f"--{first}",
            mend="name the workload with --file, or ask about a run without it",
        )
    if file is None:
        return {"run_id": run}
    settings = given.pop("set", [])
    return {"source": file, "at_s": at_s, "settings": settings, **given}
