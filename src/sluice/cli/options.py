"""The options that several commands share, each declared once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated

import typer
from typer.models import ArgumentInfo, OptionInfo

from sluice.cli import completion
from sluice.model.errors import InvalidInput
from sluice.model.settings import as_number

_POLICIES, _WHAT_IF, _FILES = "Policies", "Simulated conditions", "Files"
_CLOCK = re.compile(r"(\d{1,5}):([0-5]\d)(?::([0-5]\d))?")
_LOGS = "Instead of FILE"
_WITH_FILE = "With --file"
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


def count(
    text: str,
    flag: str,
    *,
    low: int = 0,
    high: int = 10**6,
    panel: str | None = None,
    metavar: str = "N",
) -> OptionInfo:
    """An option for a whole number. low, high: as for `whole`.  Otherwise as `option`."""
    return option(text, flag, metavar=metavar, parser=whole(flag, low=low, high=high), panel=panel)


def choice(
    text: str, names: str, *, metavar: str | None = None, panel: str | None = None
) -> OptionInfo:
    """An option for one of a few names, as in "low|high", which a shell completes."""
    completes = completion.one_of(*names.split("|"))
    return option(text, metavar=metavar or names, completes=completes, panel=panel)


def policy(text: str, completes: Callable[..., object], *, panel: str = _POLICIES) -> OptionInfo:
    """An option for a policy. Otherwise as `option`."""
    return option(text, metavar="NAME", completes=completes, panel=panel)


def _setting(text: str, panel: str) -> OptionInfo:
    completes = completion.setting_values
    return option(text, "--set", metavar="KEY=VALUE", completes=completes, panel=panel)


def argument(
    text: str, *, metavar: str, completes: Callable[..., object] | None = None
) -> ArgumentInfo:
    """An argument. text: its help.  completes: as for `option`."""
    made: ArgumentInfo = typer.Argument(metavar=metavar, autocompletion=completes, help=text)
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


File = Annotated[str, argument("Workload file, YAML or JSON; - reads stdin.", metavar="FILE")]
FileOrLog = Annotated[
    str | None, argument("Workload file, YAML or JSON; - reads stdin.", metavar="FILE")
]
FromLog = Annotated[
    list[str] | None,
    option(
        "Log, or folder of logs, to replay; repeatable.", "--from-log", metavar="PATH", panel=_LOGS
    ),
]
FromLogFormat = Annotated[
    str | None,
    option(
        "Log format (default: detected).",
        "--from-log-format",
        metavar="NAME",
        completes=completion.log_formats,
        panel=_LOGS,
    ),
]
FromLogSet = Annotated[
    list[str] | None,
    option(
        "Set a value the log lacks, e.g. map_slots=40; repeatable.",
        metavar="KEY=VALUE",
        panel=_LOGS,
    ),
]
AsJson = Annotated[bool, option("Print one JSON document instead of tables.", "--json")]

Tasks = Annotated[
    str | None,
    policy(
        "Task policy: a name, or FILE.py:Class (default: as the file says, or fifo).",
        completion.task_policies,
    ),
]
Release = Annotated[
    str | None, policy("Release policy: order of waiting jobs.", completion.release_policies)
]
Admission = Annotated[
    str | None, policy("Admission policy: which jobs are accepted.", completion.admission_policies)
]
Set = Annotated[
    list[str] | None, _setting("Change a setting, e.g. jitter=0.15; repeatable.", _WHAT_IF)
]
Seed = Annotated[
    int, count("Seed for the random-number generator.", "--seed", high=_SEED_MAX, panel=_WHAT_IF)
]
LengthsFrom = Annotated[
    str | None, option("Read task lengths from this trace.", metavar="TRACE.jsonl", panel=_WHAT_IF)
]
Trace = Annotated[
    str | None,
    option("Write one line for each attempt of each task.", metavar="OUT.jsonl", panel=_FILES),
]
Plot = Annotated[
    str | None, option("Write a chart; .html, .png, .svg or .json.", metavar="OUT", panel=_FILES)
]
RunPlot = Annotated[
    str | None,
    option(
        "Write a chart; .html, .png, .svg or .json. KINDS: charts to draw, such as utility,slots.",
        "--plot",
        metavar="[KINDS=]OUT",
        panel=_FILES,
    ),
]

Nodes = Annotated[int | None, count("Number of virtual nodes on this machine.", "--nodes", low=1)]
MapSlots = Annotated[int | None, count("Map slots of each node.", "--map-slots", low=1)]
ReduceSlots = Annotated[int | None, count("Reduce slots of each node.", "--reduce-slots")]
Seeds = Annotated[
    int, count("Simulations of each scheduler, with seeds 0 to N-1.", "--seeds", low=1)
]

Processes = Annotated[
    int | None,
    count(
        "Processes that simulate at once (default: the cores, for long comparisons).",
        "--processes",
        low=1,
        high=1024,
    ),
]

# Options of `why` and `story`. None means not given: most are valid only with --file.
Run = Annotated[
    str | None,
    option("Run to explain (default: the newest).", metavar="RUN_ID", completes=completion.run_ids),
]
OfFile = Annotated[
    str | None, option("Simulate FILE instead of reading a run.", "--file", metavar="FILE")
]


def clock_or_seconds(flag: str) -> Callable[[object], float]:
    """A parser of an instant after the start: seconds, or hours and minutes (and seconds).

    >>> clock_or_seconds("--by")("90"), clock_or_seconds("--by")("18:00")
    (90.0, 64800.0)
    """
    seconds = number(
        flag, above=0, what="an instant", hint="give seconds from the start, or H:MM or H:MM:SS"
    )

    def read(given: object) -> float:
        found = _CLOCK.fullmatch(str(given).strip())
        if found is None:
            return seconds(given)
        hours, minutes, rest = (int(part or 0) for part in found.groups())
        return seconds(3600 * hours + 60 * minutes + rest)

    return read


AtS = Annotated[
    float | None,
    option(
        "Explain the state T seconds after the start.",
        "--at-s",
        metavar="T",
        parser=instant("--at-s"),
    ),
]
TasksOrNone = Annotated[
    str | None, policy("Task policy (default: fifo).", completion.task_policies, panel=_WITH_FILE)
]
ReleaseOrNone = Annotated[
    str | None,
    policy("Release policy (default: input).", completion.release_policies, panel=_WITH_FILE),
]
AdmissionOrNone = Annotated[
    str | None,
    policy("Admission policy (default: all).", completion.admission_policies, panel=_WITH_FILE),
]
SetOrNone = Annotated[list[str] | None, _setting("Change a setting; repeatable.", _WITH_FILE)]
SeedOrNone = Annotated[
    int | None,
    count(
        "Seed for the random-number generator (default: 0).",
        "--seed",
        high=_SEED_MAX,
        panel=_WITH_FILE,
    ),
]
