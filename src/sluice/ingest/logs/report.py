"""The results of an importer: runs, notes, and a report of what was skipped on the way.

Every importer is a module of this room with three names, see `Importer`. It reports each line
that it had to leave out (`Report.skip`), says in `notes` what it chose where the log is silent, and
raises InvalidInput if nothing in the log can be used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from sluice.ingest.logs.limits import Limits
from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun
from sluice.model.workload import Workload

SKIPPED_MAX = 1000
_WHY_CHARACTERS_MAX = 200
Record = TypeVar("Record")
Found = TypeVar("Found")


class Unreadable(Exception):
    """A record that cannot be used: the importer skips it, and reports the text of the error."""


class Skipped(NamedTuple):
    """A part that could not be used, and why. line: counts from 1; 0 if it is not about a line."""

    line: int
    why: str


class Report:
    """Collects the skipped parts of one log: keeps the first SKIPPED_MAX in full, and counts all.

    >>> report = Report()
    >>> report.skip(3, "no JSON")
    >>> report.part("events_2").skip(1, "cut off")
    >>> report.skipped
    (Skipped(line=3, why='no JSON'), Skipped(line=1, why='events_2: cut off'))
    """

    def __init__(self) -> None:
        self._skipped: list[Skipped] = []
        self._count = 0

    def skip(self, line: int, why: str) -> None:
        """Note that this line was left out."""
        self._count += 1
        if len(self._skipped) < SKIPPED_MAX:
            self._skipped.append(Skipped(line, _one_line(why)))

    @contextmanager
    def skipping(self, line: int) -> Iterator[None]:
        """Within it, what is refused ends the block, and is noted as left out with this line."""
        try:
            yield
        except Unreadable as error:
            self.skip(line, str(error))
        except InvalidInput as error:
            self.skip(line, error.what)

    def part(self, name: str) -> Report:
        """The report of one file of a log with several files; it adds the file's name."""
        return _Part(self, name)

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The first SKIPPED_MAX, in the order of their coming."""
        return tuple(self._skipped)

    @property
    def skipped_count(self) -> int:
        """All of them."""
        return self._count


def each_read(
    records: Iterable[Record], read: Callable[[Record], Found], report: Report, name: str
) -> Iterator[Found]:
    """Yield what `read` finds in each record. One that it refuses is reported with its number.

    name: of a record, as in "object number 3".
    """
    for number, record in enumerate(records, start=1):
        try:
            yield read(record)
        except Unreadable as error:
            report.skip(0, f"{name} number {number}: {error}")
        except InvalidInput as error:
            report.skip(0, f"{name} number {number}: {error.what}")


def nothing_found(path: Path | str, report: Report, what: str, *, hint: str) -> InvalidInput:
    """The refusal of a log that holds none of what it should, with the first reason."""
    why = f" ({report.skipped[0].why})" if report.skipped else ""
    return InvalidInput(f"it holds no {what}{why}", where=str(path), hint=hint)


def nothing_in_lines(path: Path | str, report: Report, what: str, *, hint: str) -> InvalidInput:
    """The refusal as by `nothing_found`, whose reason names its line."""
    why = "".join(f" (line {line}: {why})" for line, why in report.skipped[:1])
    return InvalidInput(f"it holds no {what}{why}", where=str(path), hint=hint)


class _Part(Report):
    def __init__(self, whole: Report, name: str) -> None:
        super().__init__()
        self._whole = whole
        self._name = name

    def skip(self, line: int, why: str) -> None:
        super().skip(line, why)
        self._whole.skip(line, f"{self._name}: {why}")


def _one_line(text: str) -> str:
    """Text that fits a line of a terminal, with control characters of a broken log made visible."""
    shown = "".join(one if one.isprintable() else repr(one)[1:-1] for one in text[:1000])
    return shown if len(shown) <= _WHY_CHARACTERS_MAX else f"{shown[:_WHY_CHARACTERS_MAX]}..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """All that one log holds.

    notes: what the format lacks and the value used instead, one sentence each.
    workload: of formats that are workloads themselves (swim, swf, batsim, sls-synth): what they
        hold are submissions to replay. Its cluster may be None.
    """

    runs: tuple[PastRun, ...] = ()
    notes: tuple[str, ...] = ()
    workload: Workload | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRead:
    """The runs of one log, its path, and what was skipped.

    format: None if it is not known.
    is_log: False for a file of a folder that is of no known format: nothing was expected of it.
    skipped: the first SKIPPED_MAX; skipped_count: of how many.  Else as `Contents`.
    """

    path: str
    format: str | None
    runs: tuple[PastRun, ...]
    skipped: tuple[Skipped, ...] = ()
    skipped_count: int = 0
    notes: tuple[str, ...] = ()
    workload: Workload | None = None
    is_log: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOptions:
    """For a format that contains everything."""


class Importer(Protocol):
    """A module of this room that reads one format.

    FORMAT: its name, as `--format` takes it.
    Options: a frozen dataclass whose fields are made by `sluice.model.settings.declared`; NoOptions
        where there is nothing to choose.
    """

    FORMAT: str
    Options: type[Any]

    def recognises(self, path: Path, head: bytes) -> bool:
        """Whether a file is of this format. head: its first bytes, unpacked; it may end anywhere.

        Asked of folders too, with an empty head, where the format keeps a log in several files.
        """

    def read(self, path: Path, report: Report, options: Any, limits: Limits) -> Contents:  # noqa: ANN401  # each format has its own
        """Return what the log holds.

        options: an `Options`. Raises InvalidInput where that is nothing.
        """
