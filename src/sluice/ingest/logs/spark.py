"""Spark event logs, of Spark 1.4 to 4.x: one file, or a folder of rolled ones.

A line is one event in JSON. An application is a run, and each of its stages a phase: "map" where
it reads input, "reduce" where it reads a shuffle. A task counts where it ended well, its length is
from launch to finish, and bytes are those of tasks that ended well:

    input_bytes            Input Metrics, Bytes Read
    output_bytes           Output Metrics, Bytes Written
    shuffle_read_bytes     Shuffle Read Metrics, Remote + Local Bytes Read
    shuffle_write_bytes    Shuffle Write Metrics, Shuffle Bytes Written
    input_records, output_records   those of data and of the shuffle together

Spark rolls a log into a folder `eventlog_v2_<id>` of `events_<number>_<id>`; a file that ends in
`.compact` replaces all files up to its number. Other rollers give other names (Databricks:
`eventlog` and `eventlog-DATE.gz`): a folder of Spark's events in which one file alone has the
beginning of an application is one log, in the order of the instants in its files. Spark compresses
logs with zstd, lz4 (its own blocks), lzf or snappy; the latter two are refused by name. Nine lines
in ten are ends of tasks, so the kind of an event is read from the line's beginning, and only the
kinds that matter are parsed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_head, log_lines
from sluice.ingest.logs.report import Contents, NoOptions, Report, nothing_in_lines
from sluice.ingest.logs.spark_events import Application
from sluice.ingest.logs.spark_stages import Odd
from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun

FORMAT = "spark"
Options = NoOptions
RUNS_MAX = 10_000

_MARK = re.compile(rb'"Event"\s*:\s*"(SparkListener|org\.apache\.spark)')
_PLAIN_START = b'{"Event":"'
_ROLLED = re.compile(r"events_(\d{1,9})_.+")
_BEGINNING = re.compile(rb'"Event"\s*:\s*"SparkListener(LogStart|ApplicationStart)"')
_INSTANT = re.compile(rb'"(?:Timestamp|[A-Z][a-z]+ Time)"\s*:\s*(\d{12,14})\b')
_ENDINGS = re.compile(r"(\.inprogress|\.compact|\.(zstd|zst|lz4|gz|json|jsonl|txt|log))+$")


def recognises(path: Path, head: bytes) -> bool:
    """A file that holds an event of Spark's, or a folder of rolled ones."""
    if path.is_dir():
        return bool(_rolled(path) or _parts(path))
    return _MARK.search(head) is not None


def read(path: Path, report: Report, options: NoOptions, limits: Limits) -> Contents:  # noqa: ARG001  # there is nothing to choose
    """The applications in a log; nearly always one. Raises InvalidInput where there is none."""
    reader = _Reader(_title(path), report, limits)
    notes: list[str] = []
    if path.is_dir():
        files, notes = _files(path)
        for file in files:
            reader.read(file, report.part(file.name))
    else:
        reader.read(path, report)
    runs = reader.runs()
    if not runs:
        raise nothing_in_lines(
            path,
            report,
            "Spark stage with a task that ended well",
            hint="give an event log that Spark has written, as spark.eventLog.dir holds them",
        )
    return Contents(runs=runs, notes=tuple(notes))


def _title(path: Path) -> str:
    """The name of an application without one in its log: its file without endings."""
    return _ENDINGS.sub("", path.name.removeprefix("eventlog_v2_"))[:200] or "spark"


def _rolled(folder: Path) -> list[tuple[int, bool, Path]]:
    """Rolled files by number; of two of one number, the compacted one comes last."""
    found = []
    for file in folder.iterdir():
        match = _ROLLED.fullmatch(file.name)
        if match and file.is_file():
            found.append((int(match[1]), file.name.endswith(".compact"), file))
    return sorted(found)


def _parts(folder: Path) -> list[Path]:
    """The files of a log that another roller has split, in order; none if it is not one log.

    Reading ends at the second beginning, so that a folder of many logs costs two files.
    """
    parts: list[tuple[bool, int, Path]] = []
    for file in sorted(folder.iterdir()):
        if file.name.startswith((".", "_")):
            continue
        if file.is_dir() or file.is_symlink():
            return []
        try:
            head = log_head(file)
        except InvalidInput:
            return []
        begins = _BEGINNING.search(head) is not None
        if _MARK.search(head) is None or (begins and any(not later for later, _, _ in parts)):
            return []
        parts.append((not begins, _first_ms(head), file))
    is_one = len(parts) > 1 and any(not later for later, _, _ in parts)
    return [file for _, _, file in sorted(parts)] if is_one else []


def _first_ms(head: bytes) -> int:
    """The last instant of the first event that has one; a task's end comes after its launch."""
    found = (_INSTANT.findall(line) for line in head.splitlines())
    return max(map(int, next(filter(None, found), [b"0"])))


def _files(folder: Path) -> tuple[list[Path], list[str]]:
    """The rolled files that count, in their order, and what is to be said of them."""
    notes: list[str] = []
    found = _rolled(folder)
    if not found:
        return _parts(folder), notes
    first = 1
    compacted = [at for at, (_, is_compact, _) in enumerate(found) if is_compact]
    if compacted:
        found = found[compacted[-1] :]
        first = found[0][0]
        notes.append("Spark has compacted the log: jobs that had finished by then are left out.")
    if [number for number, _, _ in found] != list(range(first, first + len(found))):
        notes.append("Files of the rolled log are missing; their events are left out.")
    return [file for _, _, file in found], notes


class _Reader:
    """Applications, out of one file after the other."""

    def __init__(self, title: str, report: Report, limits: Limits) -> None:
        self._title = title
        self._limits = limits
        self._report = report
        self._runs: dict[str, PastRun] = {}
        self._kept = 0
        self._application = self._begin()

    def _begin(self) -> Application:
        return Application(max(0, self._limits.timeline_tasks_max - self._kept))

    def read(self, path: Path, report: Report) -> None:
        start = len(_PLAIN_START)
        for number, line in log_lines(path, report, self._limits):
            if line.startswith(_PLAIN_START):
                if line[start : line.find(b'"', start)] not in _READ:
                    continue
            elif line.isspace():
                continue
            try:
                self._take(orjson.loads(line))
            except orjson.JSONDecodeError as error:
                report.skip(number, f"no JSON: {error}")
            except Odd as error:
                report.skip(number, str(error))
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                report.skip(number, f"an event without a required field: {error!r}")

    def _take(self, event: Any) -> None:  # noqa: ANN401  # any JSON value
        kind = event["Event"]
        if self._application.is_followed_by(kind, event):
            self._end()
        self._application.take(kind, event)

    def _end(self) -> None:
        """Finish the current application and start the next."""
        run, odd = self._application.run(self._title)
        for why in odd:
            self._report.skip(0, why)
        if run is not None and run.run_id in self._runs:
            self._report.skip(0, f"{run.run_id} is given twice; the first counts")
        elif run is not None and len(self._runs) < RUNS_MAX:
            self._runs[run.run_id] = run
        elif run is not None:
            self._report.skip(0, f"more than {RUNS_MAX} applications in one file")
        self._kept += self._application.tasks_kept
        self._application = self._begin()

    def runs(self) -> tuple[PastRun, ...]:
        self._end()
        return tuple(self._runs.values())


_READ = frozenset(name.encode() for name in Application.READ)
