"""The options that several commands share, each declared once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

import typer
from typer.models import OptionInfo

from sluice.cli import completion
from sluice.model.errors import InvalidInput
from sluice.model.settings import as_number

_POLICIES, _WHAT_IF, _FILES = "Policies", "Simulated conditions", "Files"
_LOGS = "Instead of FILE"
_SEED_MAX = 2**64 - 1


def whole(flag: str, *, low: int = 0, high: int = 10**6) -> Callable[[object], int]:
    """A parser of whole numbers. It raises InvalidInput, which names the option.

    >>> whole("--nodes", low=1)("3")
    3
    """

    def read(given: object) -> int:
        text = str(given)  # a default is not text
        # int() would also take 1_000 and digits of other scripts; and 5000 digits are too many.
        is_plain = text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 20  # noqa: PLR2004  # digits of the largest
        number = int(text) if is_plain else None
        if number is None or not low <= number <= high:
            raise InvalidInput(
                f"{text[:80]!r} is not a whole number from {low} to {high}",
                where=flag,
                hint=f"give one, such as {max(low, 1)}",
            )
        return number

    return read


def count(
    flag: str,
    text: str,
    *,
    low: int = 0,
    high: int = 10**6,
    panel: str | None = None,
    shows_default: bool = False,
) -> OptionInfo:
    """An option for a whole number. text: its help.  low, high: as for `whole`."""
    made: OptionInfo = typer.Option(
        flag,
        metavar="N",
        parser=whole(flag, low=low, high=high),
        show_default=shows_default,
        help=text,
        rich_help_panel=panel,
    )
    return made


def number(
    flag: str,
    *,
    above: float = -math.inf,
    low: float = -math.inf,
    high: float = math.inf,
    what: str = "a number",
    hint: str = "give a number",
) -> Callable[[object], float]:
    """A parser of finite numbers as people write them. It raises InvalidInput, with the option.

    above: as low, but without the end itself.  what: the thing asked for, after "is not".

    >>> number("--alpha")(".5")
    0.5
    """  # fmt: skip

    def read(given: object) -> float:
        text = str(given)  # a default is not text
        found = as_number(text)
        if found is None or not (low <= found <= high and above < found < math.inf):
            raise InvalidInput(f"{text[:80]!r} is not {what}", where=flag, hint=hint)
        return float(found)

    return read


def instant(
    flag: str, *, high: float = math.inf, hint: str = "give seconds, 0 or more"
) -> Callable[[object], float]:
    """A parser of seconds since the start of the workload, or of a length that may be 0."""
    return number(flag, low=0, high=high, what="a number of seconds", hint=hint)


File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", show_default=False, help="Workload file, YAML or JSON; - reads stdin."
    ),
]
FileOrLog = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE", show_default=False, help="Workload file, YAML or JSON; - reads stdin."
    ),
]
FromLog = Annotated[
    list[str] | None,
    typer.Option(
        "--from-log",
        metavar="PATH",
        show_default=False,
        help="Log, or folder of logs, to replay; repeatable.",
        rich_help_panel=_LOGS,
    ),
]
FromLogFormat = Annotated[
    str | None,
    typer.Option(
        "--from-log-format",
        autocompletion=completion.log_formats,
        metavar="NAME",
        show_default=False,
        help="Log format (default: detected).",
        rich_help_panel=_LOGS,
    ),
]
FromLogSet = Annotated[
    list[str] | None,
    typer.Option(
        "--from-log-set",
        metavar="KEY=VALUE",
        show_default=False,
        help="Set a value the log lacks, e.g. map_slots=40; repeatable.",
        rich_help_panel=_LOGS,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]

Tasks = Annotated[
    str,
    typer.Option(
        autocompletion=completion.task_policies,
        metavar="NAME",
        help="Task policy: a name, or FILE.py:Class.",
        rich_help_panel=_POLICIES,
    ),
]
Release = Annotated[
    str,
    typer.Option(
        autocompletion=completion.release_policies,
        metavar="NAME",
        help="Release policy: order of waiting jobs.",
        rich_help_panel=_POLICIES,
    ),
]
Admission = Annotated[
    str,
    typer.Option(
        autocompletion=completion.admission_policies,
        metavar="NAME",
        help="Admission policy: which jobs are accepted.",
        rich_help_panel=_POLICIES,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        autocompletion=completion.setting_values,
        metavar="KEY=VALUE",
        show_default=False,
        help="Change a setting, e.g. jitter=0.15; repeatable.",
        rich_help_panel=_WHAT_IF,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Seed for the random-number generator.",
        parser=whole("--seed", high=_SEED_MAX),
        rich_help_panel=_WHAT_IF,
    ),
]
LengthsFrom = Annotated[
    str | None,
    typer.Option(
        metavar="TRACE.jsonl",
        help="Read task lengths from this trace.",
        show_default=False,
        rich_help_panel=_WHAT_IF,
    ),
]
Trace = Annotated[
    str | None,
    typer.Option(
        metavar="OUT.jsonl",
        help="Write one line for each attempt of each task.",
        show_default=False,
        rich_help_panel=_FILES,
    ),
]
Plot = Annotated[
    str | None,
    typer.Option(
        metavar="OUT",
        help="Write a chart; .html, .png, .svg or .json.",
        show_default=False,
        rich_help_panel=_FILES,
    ),
]
RunPlot = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="[KINDS=]OUT",
        help=(
            "Write a chart; .html, .png, .svg or .json. KINDS: charts to draw, such as"
            " utility,slots."
        ),
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
        help="Number of virtual nodes on this machine.",
    ),
]
MapSlots = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        parser=whole("--map-slots", low=1),
        show_default=False,
        help="Map slots of each node.",
    ),
]
ReduceSlots = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        parser=whole("--reduce-slots"),
        show_default=False,
        help="Reduce slots of each node.",
    ),
]
Seeds = Annotated[
    int,
    typer.Option(
        metavar="N",
        parser=whole("--seeds", low=1),
        help="Simulations of each scheduler, with seeds 0 to N-1.",
    ),
]

Processes = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        parser=whole("--processes", low=1, high=1024),
        show_default=False,
        help="Processes that simulate at once (default: the cores, for long comparisons).",
    ),
]

# Options of `why` and `story`. None means not given: most are valid only with --file.
Run = Annotated[
    str | None,
    typer.Option(
        autocompletion=completion.run_ids,
        metavar="RUN_ID",
        show_default=False,
        help="Run to explain (default: the newest).",
    ),
]
OfFile = Annotated[
    str | None,
    typer.Option(
        "--file",
        metavar="FILE",
        show_default=False,
        help="Simulate FILE instead of reading a run.",
    ),
]
AtS = Annotated[
    float | None,
    typer.Option(
        "--at-s",
        metavar="T",
        parser=instant("--at-s"),
        show_default=False,
        help="Explain the state T seconds after the start.",
    ),
]
TasksOrNone = Annotated[
    str | None,
    typer.Option(
        "--tasks",
        autocompletion=completion.task_policies,
        metavar="NAME",
        show_default=False,
        help="Task policy (default: fifo).",
        rich_help_panel="With --file",
    ),
]
ReleaseOrNone = Annotated[
    str | None,
    typer.Option(
        "--release",
        autocompletion=completion.release_policies,
        metavar="NAME",
        show_default=False,
        help="Release policy (default: input).",
        rich_help_panel="With --file",
    ),
]
AdmissionOrNone = Annotated[
    str | None,
    typer.Option(
        "--admission",
        autocompletion=completion.admission_policies,
        metavar="NAME",
        show_default=False,
        help="Admission policy (default: all).",
        rich_help_panel="With --file",
    ),
]
SetOrNone = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        autocompletion=completion.setting_values,
        metavar="KEY=VALUE",
        show_default=False,
        help="Change a setting; repeatable.",
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
        help="Seed for the random-number generator (default: 0).",
        rich_help_panel="With --file",
    ),
]
