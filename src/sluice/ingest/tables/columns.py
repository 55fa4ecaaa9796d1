"""Which column of a table is what: by its name and its unit, or as the user says.

A header such as `duration (min)`, `runtime_h` or `memGB` is a name and a unit. A column that is not
recognised is left out, and two that could be the same are an error until the user chooses.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|%")

TIME_UNITS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("ns", "nanos", "nanoseconds"), 1e-9),
    **dict.fromkeys(("us", "micros", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "millis", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
    **dict.fromkeys(("mss", "mmss"), 60.0),  # of headers: `Duration (mm:ss)`
    **dict.fromkeys(("hmm", "hhmm"), 3600.0),
    **dict.fromkeys(("hmmss", "hhmmss"), 1.0),
}
BYTE_UNITS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("b", "byte", "bytes"), 1.0),
    **{f"{letter}b": 1000.0**power for power, letter in enumerate("kmgt", start=1)},
    **{f"{letter}ib": 1024.0**power for power, letter in enumerate("kmgt", start=1)},
    **{f"{letter}i": 1024.0**power for power, letter in enumerate("kmgt", start=1)},
}
_MEMORY_UNITS: Final[Mapping[str, float]] = {
    **BYTE_UNITS,
    # Of Slurm, Spark and Java, which mean 1024. No header has them: `m` is a minute there.
    **{letter: 1024.0**power for power, letter in enumerate("kmgt", start=1)},
}
CPU_UNITS: Final[Mapping[str, float]] = {
    "m": 1e-3,  # of Kubernetes
    **dict.fromkeys(("cpu", "cpus", "vcpu", "vcpus", "core", "cores"), 1.0),
}
HOUR_PRICE_UNITS: Final[Mapping[str, float]] = dict.fromkeys(
    ("hourly", "usd", "usd hourly", "/h", "/hr", "/hour", "per hour", "usd/h", "usd/hr",
     "usd/hour", "usd per hour"), 1.0)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing that a column may hold. names: words of headers, without units; surest first.

    words: any header that has one of them, and else only words of `with_words`, means it, too.
    sure: words of which a header without a unit has at least one; none where empty.
    units: what numbers of headers may be counted in, with the factor to the unit that is kept.
    cell_units: what numbers of cells may be counted in, where that is more.
    """

    key: str
    names: tuple[str, ...]
    words: frozenset[str] = frozenset()
    with_words: frozenset[str] = frozenset()
    sure: frozenset[str] = frozenset()
    units: Mapping[str, float] | None = None
    cell_units: Mapping[str, float] | None = None
    is_required: bool = False

    @property
    def joined(self) -> list[str]:
        """The names without blanks, as headers are compared: `vCPUs` is one word or two."""
        return [name.replace(" ", "") for name in self.names]

    def means(self, words: Collection[str]) -> bool:
        """Whether the words of a header, without its unit, mean it without being a name of it."""
        return not self.words.isdisjoint(words) and (self.words | self.with_words).issuperset(words)


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEED_WORDS: Final = _set("per each task required requested request requests req needed size of a")
_INSTANT_WORDS: Final = _set("at by on date timestamp ts utc")
_TIME_WORDS: Final = _INSTANT_WORDS | _set("in time")
JOB_FIELDS: Final = (
    Field(key="name", names=("name", "job", "job name", "id", "job id", "application", "app",
          "jobs", "pipeline", "workload", "query"), is_required=True),
    Field(key="tasks", names=("tasks", "n tasks", "num tasks", "number of tasks", "task count",
          "ntasks", "instances", "instance num"), words=_set("tasks"),
          with_words=_set("n no num number of count total"), is_required=True),
    Field(key="seconds", names=("", "duration", "runtime", "run time", "time", "length", "elapsed",
          "avg", "mean", "average", "task", "per task", "task duration", "task time",
          "task runtime", "avg duration", "mean duration", "avg task", "mean task",
          "average task", "avg per task", "mean per task", "average per task"),
          words=_set("duration dur runtime time length elapsed walltime wallclock"),
          with_words=_set("avg mean average task tasks per of a each one run exec execution taken "
                          "processing wall clock estimated expected est"),
          units=TIME_UNITS, is_required=True),
    Field(key="stage", names=("stage", "phase", "step", "stage name")),
    Field(key="cpus", names=("cpus", "cpu", "vcpus", "vcpu", "cores", "vcores", "num cpus"),
          words=_set("cpus cpu vcpus vcpu cores vcores"),
          with_words=_NEED_WORDS | _set("n num number count"), cell_units=CPU_UNITS),
    Field(key="memory_bytes", names=("memory", "mem", "ram"), words=_set("memory mem ram"),
          with_words=_NEED_WORDS | _set("max peak"), units=BYTE_UNITS,
          cell_units=_MEMORY_UNITS),
    Field(key="deadline_s", names=("deadline", "due", "due in", "sla"),
          words=_set("deadline due"), with_words=_TIME_WORDS, units=TIME_UNITS),
    Field(key="submitted_at_s", names=("submitted", "submitted at", "submission", "submit",
          "submit time", "submission time", "arrival", "arrival time", "arrived"),
          words=_set("submitted submission submit arrival arrived created creation"),
          with_words=_TIME_WORDS, units=TIME_UNITS),
    Field(key="queue", names=("queue", "pool", "partition", "queue name", "pool name",
          "partition name", "team", "team name", "project", "project name", "department",
          "namespace")),
    Field(key="user", names=("user", "owner", "username", "user name", "customer", "tenant",
          "user id", "owner name", "customer name", "tenant name")),
    Field(key="weight", names=("weight",)),
    Field(key="after", names=("after", "depends on", "dependencies", "depends", "parents",
          "deps", "upstream", "predecessors")),
)  # fmt: skip
_TASK_WORDS: Final = _set("tasks n no num number of count total")
_LENGTH_WORDS: Final = _set("time duration dur runtime length elapsed avg mean average")
_SECONDS_WORDS: Final = _LENGTH_WORDS | _set("in per task of a each one")
_MAP_WORDS: Final = _set("map maps mapper mappers")
_REDUCE_WORDS: Final = _set("reduce reduces reducer reducers")
# A row of a table with columns for maps and for reduces is a job of two phases.
_TWO_PHASES: Final = (
    Field(key="maps", names=("maps", "map tasks", "mappers", "map"), words=_MAP_WORDS,
          with_words=_TASK_WORDS, is_required=True),
    Field(key="map_seconds", names=("map time",), words=_MAP_WORDS,
          with_words=_SECONDS_WORDS, sure=_LENGTH_WORDS, units=TIME_UNITS, is_required=True),
    Field(key="reduces", names=("reduces", "reduce tasks", "reducers", "reduce"),
          words=_REDUCE_WORDS, with_words=_TASK_WORDS, is_required=True),
    Field(key="reduce_seconds", names=("reduce time",), words=_REDUCE_WORDS,
          with_words=_SECONDS_WORDS, sure=_LENGTH_WORDS, units=TIME_UNITS, is_required=True),
)  # fmt: skip
PRICE_FIELDS: Final = (
    Field(key="type", names=("type", "vm type", "instance type", "instance", "name", "id",
          "machine type", "machine", "vm", "sku", "vm size", "flavor", "api name"),
          is_required=True),
    Field(key="cpus", names=("cpus", "cpu", "vcpus", "vcpu", "cores", "vcores"),
          words=_set("cpus cpu vcpus vcpu cores vcores"), with_words=_set("n num number of count"),
          cell_units=CPU_UNITS, is_required=True),
    Field(key="memory_bytes", names=("memory", "mem", "ram"), words=_set("memory mem ram"),
          with_words=_set("instance vm machine size"), units=BYTE_UNITS,
          cell_units=_MEMORY_UNITS),
    Field(key="hour_usd", names=("hour usd", "usd hour", "usd per hour", "price", "price usd",
          "usd", "cost", "hourly", "hourly price", "price per hour", "on demand", "hourly usd",
          "price hour", "hour price", "on demand hour usd", "cost per hour", "usd h"),
          words=_set("usd price cost hourly demand"),
          with_words=_set("on demand linux per hour hr h rate instance vm machine"),
          cell_units=HOUR_PRICE_UNITS, is_required=True),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column that is read. place: its number, from 0.  factor: to the unit that is kept.

    units: what its cells may be counted in, where they say so.
    """

    key: str
    header: str
    place: int
    factor: float = 1.0
    units: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def holds_instants(self) -> bool:
        """Whether its header says that it holds instants, such as `due date`."""
        return not _INSTANT_WORDS.isdisjoint(_words(self.header))

    def __str__(self) -> str:
        times = "" if self.factor == 1 else f" x {self.factor:g}"
        return f"{self.key}={self.header}{times}"


def recognised(
    headers: Sequence[str], fields: Sequence[Field], chosen: Mapping[str, str], where: str
) -> list[Column]:
    """The columns of a table, in the order of the fields. chosen: headers by key, as a user says.

    Raises InvalidInput for a column that is missing, given twice or not known.
    """
    _check_chosen(headers, fields, chosen, where)
    found = []
    for field in fields:
        one = _column(headers, field, chosen.get(field.key), where)
        if one is not None:
            found.append(one)
        elif field.is_required:
            shown = ", ".join(headers)[:200]
            raise InvalidInput(
                f"no column is {field.key}; the table has {shown}",
                where=where,
                hint=f"name it {field.key}, or say which it is: --map {field.key}=COLUMN",
            )
    return found


def job_fields(headers: Sequence[str], chosen: Collection[str] = ()) -> tuple[Field, ...]:
    """The fields of a table of jobs: with maps and reduces where a column is for reduces.

    chosen: keys that the user names.
    """
    maps, _, reduces, _ = _TWO_PHASES
    if "reduces" not in chosen and not is_table_head(headers, _TWO_PHASES, (maps.key, reduces.key)):
        return JOB_FIELDS
    of_one = {"tasks", "seconds", "stage"}
    return (*(field for field in JOB_FIELDS if field.key not in of_one), *_TWO_PHASES)


def is_table_head(headers: Sequence[str], fields: Sequence[Field], sure: Sequence[str]) -> bool:
    """Whether these could be the headers of such a table: these keys are recognised."""
    needed = [field for field in fields if field.key in sure]
    return len(headers) > 1 and all(
        any(_factor(header, field) is not None for header in headers) for field in needed
    )


def _check_chosen(
    headers: Sequence[str], fields: Sequence[Field], chosen: Mapping[str, str], where: str
) -> None:
    keys = [field.key for field in fields]
    for key, header in chosen.items():
        if key not in keys:
            hint = suggestion(key, keys, f"use one of {', '.join(keys)}")
            raise InvalidInput(f"{key[:60]!r} is not a column", where="--map", hint=hint)
        if header not in headers:
            hint = suggestion(header, list(headers), f"use one of {', '.join(headers)[:200]}")
            raise InvalidInput(
                f"{where} has no column {header[:60]!r}", where=f"--map {key}", hint=hint
            )
    twice = [header for header in headers if header and headers.count(header) > 1]
    if twice:
        raise InvalidInput(
            f"the column {twice[0][:60]!r} is there twice", where=where, hint="rename one of them"
        )


def _column(headers: Sequence[str], field: Field, chosen: str | None, where: str) -> Column | None:
    if chosen is not None:
        factor = _unit(_words(chosen), field)[1]
        return _column_of(field, chosen, headers.index(chosen), factor or 1.0)
    matches = [
        (_rank(header, field), place, header, factor)
        for place, header in enumerate(headers)
        if (factor := _factor(header, field)) is not None
    ]
    if not matches:
        return None
    matches.sort()
    best = [one for one in matches if one[0] == matches[0][0]]
    if len(best) > 1:
        names = " or ".join(repr(header) for _, _, header, _ in best)
        raise InvalidInput(
            f"{field.key} could be {names}",
            where=where,
            hint=f"say which: --map {field.key}={best[0][2]}",
        )
    _, place, header, factor = best[0]
    return _column_of(field, header, place, factor)


def _column_of(field: Field, header: str, place: int, factor: float) -> Column:
    units = field.cell_units or field.units or {}
    return Column(key=field.key, header=header, place=place, factor=factor, units=units)


def _rank(header: str, field: Field) -> int:
    """How surely a header means a field; lower is surer: its key itself, then the earlier names."""
    if header.strip().lower() == field.key:
        return -1
    words, _ = _unit(_words(header), field)
    name = "".join(words)
    return field.joined.index(name) if name in field.joined else len(field.names) + len(words)


def _factor(header: str, field: Field) -> float | None:
    """The factor of a header's unit if it means the field, else None."""
    if header.strip().lower() == field.key:
        return 1.0
    words, factor = _unit(_words(header), field)
    # `ns` alone is a namespace rather than nanoseconds, and `US` a country.
    if not words and (factor is None or factor < TIME_UNITS["ms"]):
        return None
    if "".join(words) not in field.joined and not field.means(words):
        return None
    if field.sure and factor is None and field.sure.isdisjoint(words):
        return None
    return factor or 1.0


def _unit(words: list[str], field: Field) -> tuple[list[str], float | None]:
    """The words without the unit, and the unit's factor; None without one."""
    units = field.units or {}
    # `MiB` is two words by its capitals, so the longest end is tried first.
    for length in (3, 2, 1):
        if len(words) >= length and (unit := "".join(words[-length:])) in units:
            name = words[:-length]
            if name and name[-1] in {"in", "per"}:
                name = name[:-1]
            return name, units[unit]
    if words and words[0] in units:  # seconds per task
        return words[1:], units[words[0]]
    return words, None


def _words(header: str) -> list[str]:
    """The words of a header in lower case: `taskDuration (min)` has three."""
    found = [word.lower() for word in _WORD.findall(header)]
    joined = "".join(found)
    return [joined] if joined in BYTE_UNITS or joined in TIME_UNITS else found
