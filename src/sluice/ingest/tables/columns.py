"""Which column of a table is what: by its name and its unit, or as the user says.

A header such as `duration (min)`, `runtime_h` or `memGB` is a name and a unit. A column that is not
recognised is left out, and two that could be the same are an error until the user chooses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

TIME_UNITS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("ms", "millis", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
}
BYTE_UNITS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("b", "byte", "bytes"), 1.0),
    **{f"{letter}b": 1000.0**power for power, letter in enumerate("kmgt", start=1)},
    **{f"{letter}ib": 1024.0**power for power, letter in enumerate("kmgt", start=1)},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing that a column may hold. names: words of headers, without units.

    units: what its numbers may be counted in, with the factor to the unit that is kept.
    """

    key: str
    names: tuple[str, ...]
    units: Mapping[str, float] | None = None
    is_required: bool = False

    @property
    def joined(self) -> list[str]:
        """The names without blanks, as headers are compared: `vCPUs` is one word or two."""
        return [name.replace(" ", "") for name in self.names]


JOB_FIELDS: Final = (
    Field(key="name", names=("name", "job", "job name", "id", "job id", "application", "app"),
          is_required=True),
    Field(key="tasks", names=("tasks", "n tasks", "num tasks", "number of tasks", "task count",
          "ntasks", "instances", "instance num"), is_required=True),
    Field(key="seconds", names=("", "duration", "runtime", "run time", "time", "length", "elapsed",
          "avg", "mean", "average", "task", "per task", "task duration", "task time",
          "task runtime", "avg duration", "mean duration"), units=TIME_UNITS, is_required=True),
    Field(key="stage", names=("stage", "phase", "step", "stage name")),
    Field(key="cpus", names=("cpus", "cpu", "vcpus", "vcpu", "cores", "vcores", "num cpus")),
    Field(key="memory_bytes", names=("memory", "mem", "ram"), units=BYTE_UNITS),
    Field(key="deadline_s", names=("deadline", "due", "due in", "sla"), units=TIME_UNITS),
    Field(key="submitted_at_s", names=("submitted", "submitted at", "submission", "submit",
          "submit time", "submission time", "arrival", "arrival time", "arrived"),
          units=TIME_UNITS),
    Field(key="queue", names=("queue", "pool", "partition", "queue name")),
    Field(key="user", names=("user", "owner", "username", "user name", "customer", "tenant")),
    Field(key="weight", names=("weight",)),
    Field(key="after", names=("after", "depends on", "dependencies", "depends", "parents",
          "deps")),
)  # fmt: skip
PRICE_FIELDS: Final = (
    Field(key="type", names=("type", "vm type", "instance type", "instance", "name", "id",
          "machine type", "machine", "vm"), is_required=True),
    Field(key="cpus", names=("cpus", "cpu", "vcpus", "vcpu", "cores", "vcores"), is_required=True),
    Field(key="memory_bytes", names=("memory", "mem", "ram"), units=BYTE_UNITS),
    Field(key="hour_usd", names=("hour usd", "usd hour", "usd per hour", "price", "price usd",
          "usd", "cost", "hourly", "hourly price", "price per hour", "on demand", "hourly usd",
          "price hour", "hour price", "on demand hour usd", "cost per hour", "usd h"),
          is_required=True),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column that is read. place: its number, from 0.  factor: to the unit that is kept."""

    key: str
    header: str
    place: int
    factor: float = 1.0

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
        return Column(
            key=field.key, header=chosen, place=headers.index(chosen), factor=factor or 1.0
        )
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
    return Column(key=field.key, header=header, place=place, factor=factor)


def _rank(header: str, field: Field) -> int:
    """How surely a header means a field; lower is surer: its key itself, then the earlier names."""
    if header.strip().lower() == field.key:
        return -1
    name, _ = _unit(_words(header), field)
    return field.joined.index(name) if name in field.joined else len(field.names)


def _factor(header: str, field: Field) -> float | None:
    """The factor of a header's unit if it means the field, else None."""
    if header.strip().lower() == field.key:
        return 1.0
    name, factor = _unit(_words(header), field)
    if name not in field.joined or (not name and factor is None):
        return None
    return factor or 1.0


def _unit(words: list[str], field: Field) -> tuple[str, float | None]:
    """The name without blanks and unit, and the unit's factor; None without one."""
    units = field.units or {}
    # `MiB` is two words by its capitals, so the longest end is tried first.
    for length in (3, 2, 1):
        if len(words) >= length and (unit := "".join(words[-length:])) in units:
            name = words[:-length]
            if name and name[-1] in {"in", "per"}:
                name = name[:-1]
            return "".join(name), units[unit]
    if words and words[0] in units:  # seconds per task
        return "".join(words[1:]), units[words[0]]
    return "".join(words), None


def _words(header: str) -> list[str]:
    """The words of a header in lower case: `taskDuration (min)` has three."""
    found = [word.lower() for word in _WORD.findall(header)]
    joined = "".join(found)
    return [joined] if joined in BYTE_UNITS or joined in TIME_UNITS else found
