"""Imported logs and stored profiles: documents, rows and exported files.

The rows of a log are described by `LOG_COLUMNS`, from which document, table and frame follow. The
rows of an exported profile are one for each phase of each run, with the columns of `COLUMNS` in
every kind of file; they are written as they are read, so that a store of any size can be exported.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from sluice.ingest.logs.report import LogRead, Skipped
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase
from sluice.reporting.columns import Column, column_document, column_frame
from sluice.reporting.document_html import NotebookView
from sluice.reporting.extras import DataFrame, data_frame, required
from sluice.reporting.formatting import NOTHING, count, size
from sluice.reporting.table_style import name_cell
from sluice.store.profiles.retention import Forgotten
from sluice.store.profiles.rows import StoredRun
from sluice.store.profiles.statistics import QUANTILES, LengthStatistics
from sluice.store.profiles.writing import Added
from sluice.store.whole_file import whole_file

EXPORT_ENDINGS = (".csv", ".parquet")
_ROWS_AT_ONCE = 10_000  # of a group of rows in a Parquet file
SIZES_ONLY = frozenset({"swim", "squeue"})  # formats without measured lengths
_SIZES_NOTE = (
    "The format has sizes only. Its jobs can be replayed with the lengths above (--from-log), but"
    " without measured lengths there are no profiles."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedLog:
    """One log, and how many of its runs were new, more complete than stored, or known.

    jobs: its runs, or its jobs if it is a workload.  tasks: those that ended well; 0 if the format
    has none.  shuffle_bytes: fetched bytes.  is_read: whether anything in it was usable.
    format: None if it is not known.
    is_log: False for a file in a folder that is of no known format.
    failed: runs that failed, or whose end is not in the log.
    """

    path: str
    format: str | None
    jobs: int
    tasks: int
    input_bytes: int
    shuffle_bytes: int
    output_bytes: int
    skipped: tuple[Skipped, ...]
    skipped_count: int
    notes: tuple[str, ...]
    added: Added
    is_read: bool = True
    is_log: bool = True
    failed: int = 0

    @classmethod
    def of(cls, read: LogRead, added: Added, refused: tuple[Skipped, ...] = ()) -> ImportedLog:
        """The entry of a log that was read. refused: runs that the store did not accept."""
        phases = [phase for run in read.runs for phase in run.phases]
        submitted = 0 if read.workload is None else len(read.workload.jobs)
        is_sized = read.format in SIZES_ONLY
        return cls(
            path=read.path,
            format=read.format,
            jobs=len(read.runs) or submitted,
            tasks=0 if is_sized else sum(phase.tasks for phase in phases),
            input_bytes=sum(phase.input_bytes for phase in phases),
            shuffle_bytes=sum(phase.shuffle_read_bytes for phase in phases),
            output_bytes=sum(phase.output_bytes for phase in phases),
            skipped=(*read.skipped, *refused),
            skipped_count=read.skipped_count + len(refused),
            notes=(*read.notes, _SIZES_NOTE) if is_sized else read.notes,
            added=added,
            is_read=bool(read.runs) or read.workload is not None,
            is_log=read.is_log,
            failed=sum(not run.succeeded for run in read.runs),
        )

    @classmethod
    def unread(cls, path: str, error: InvalidInput) -> ImportedLog:
        """The entry of a log with nothing usable."""
        return cls(
            path=path, format=None, jobs=0, tasks=0, input_bytes=0, shuffle_bytes=0,
            output_bytes=0, skipped=(Skipped(0, error.what),), skipped_count=1, notes=(),
            added=Added(), is_read=False,
        )  # fmt: skip

    def document(self) -> dict[str, object]:
        """The entry in the JSON document of `import`."""
        return column_document(LOG_COLUMNS, self)


def _style(log: ImportedLog) -> str:
    return "" if log.is_read or not log.is_log else "red"


def _skipped(log: ImportedLog) -> list[dict[str, object]]:
    return [skipped._asdict() for skipped in log.skipped]


LOG_COLUMNS: Sequence[Column[ImportedLog]] = (
    Column("path", "log", lambda path: name_cell(PurePath(path).name or path), is_left=True),
    Column("format", "format", style=_style, is_left=True),
    Column("jobs", "jobs", count),
    Column("tasks", "tasks", lambda tasks: count(tasks) if tasks else NOTHING),
    Column("input_bytes", "input", lambda held: size(held) if held else NOTHING),
    Column("shuffle_bytes"),
    Column("output_bytes"),
    Column("skipped", of=_skipped, in_frame=False),
    Column("skipped_count"),
    Column("notes", of=lambda log: list(log.notes), in_frame=False),
    Column("new", "new", count, lambda log: log.added.new),
    Column("replaced", "longer", count, lambda log: log.added.replaced),
    Column("known", "known", count, lambda log: log.added.known),
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Imported(NotebookView):
    """Logs in the order of reading. store: the URL of the profile store."""

    logs: tuple[ImportedLog, ...]
    store: str

    @property
    def is_whole(self) -> bool:
        """Whether all logs were usable; files of a folder that are not logs do not count."""
        return all(log.is_read or not log.is_log for log in self.logs)

    def document(self) -> dict[str, object]:
        """The one JSON document of `import`."""
        return {"files": [log.document() for log in self.logs], "store": self.store}

    def to_frame(self) -> DataFrame:
        """One row for each log. Raises MissingExtra without pandas."""
        return column_frame(LOG_COLUMNS, self.logs)


# Columns of the run, of the phase, and of statistics over the lengths of its tasks.
_RUN_TEXTS = ("profile", "run_id", "source")
_RUN_FACTS = ("submitted_at_s", "elapsed_s", "queue", "machine_type")
_PHASE_COUNTS = (
    "tasks", "failed", "input_bytes", "output_bytes", "shuffle_read_bytes", "shuffle_write_bytes",
    "input_records", "output_records", "rss_bytes_max",
)  # fmt: skip
_PHASE_NUMBERS = ("avg_s", "max_s", "cpu_s")
_SPREAD = ("min_s", "sd_s", "skewness")
_TEXTS = frozenset({*_RUN_TEXTS, "queue", "machine_type", "phase", "kind"})
COLUMNS = (
    *_RUN_TEXTS, "succeeded", *_RUN_FACTS, "learned_at_s", "phase", "kind", *_PHASE_COUNTS,
    *_PHASE_NUMBERS, *_SPREAD, *(f"p{percent}_s" for percent in QUANTILES),
)  # fmt: skip


class Row(NamedTuple):
    """A phase of a stored run. The phase is None for a run in which no task ended well."""

    stored: StoredRun
    phase: PastPhase | None
    lengths: LengthStatistics | None

    def cells(self) -> dict[str, object]:
        """The cells of the row, by the names in COLUMNS."""
        run, phase = self.stored.run, self.phase
        row: dict[str, object] = dict.fromkeys(COLUMNS)
        row |= {name: getattr(run, name) for name in (*_RUN_TEXTS, "succeeded", *_RUN_FACTS)}
        row["learned_at_s"] = self.stored.learned_at_s
        if phase is not None:
            row |= {"phase": phase.name, "kind": phase.kind}
            row |= {name: getattr(phase, name) for name in (*_PHASE_COUNTS, *_PHASE_NUMBERS)}
        return row | _spread(self.lengths)


def _spread(lengths: LengthStatistics | None) -> dict[str, object]:
    if lengths is None:
        return {}
    fields = {name: getattr(lengths, name) for name in _SPREAD}
    return fields | {f"p{percent}_s": each_s for percent, each_s in lengths.quantiles_s.items()}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StoredProfiles(NotebookView):
    """Profiles by name, in the order of their names; their runs oldest first.

    profiles: the newest runs of each, or all of them; of very many profiles, the last ones by
        name have no runs here.  run_counts: how many the store has of each.
    forgotten: deleted profiles or runs.  store: the URL of the profile store.
    """

    profiles: Mapping[str, tuple[StoredRun, ...]]
    run_counts: Mapping[str, int]
    store: str
    forgotten: tuple[Forgotten, ...] = ()

    def document(self) -> dict[str, object]:
        """The one JSON document of `profiles`."""
        gone = [
            {"profile": each.profile, "source": each.source, "id": each.run_id}
            for each in self.forgotten
        ]
        return {
            "profiles": {
                name: {
                    "runs_total": self.run_counts[name],
                    "runs": [_run_document(stored) for stored in runs],
                }
                for name, runs in self.profiles.items()
            },
            "store": self.store,
            **({"forgotten": gone} if gone else {}),
        }

    def rows(self) -> Iterator[Row]:
        """A row for each phase of each run; one row for a run without phases."""
        return _rows(stored for runs in self.profiles.values() for stored in runs)

    def to_frame(self) -> DataFrame:
        """One row for each phase of each run. Raises MissingExtra without pandas."""
        return data_frame([row.cells() for row in self.rows()], columns=COLUMNS)

    def export(self, path: str | Path) -> None:
        """Write the rows as .csv or .parquet, by the path's ending. Raises as `export_runs`."""
        export_runs(path, (stored for runs in self.profiles.values() for stored in runs))


def _rows(runs: Iterable[StoredRun]) -> Iterator[Row]:
    for stored in runs:
        yield from (
            Row(stored, *each) for each in zip(stored.run.phases, stored.lengths, strict=True)
        )
        if not stored.run.phases:
            yield Row(stored, None, None)


def export_runs(path: str | Path, runs: Iterable[StoredRun]) -> None:
    """Write a row for each phase of each run as .csv or .parquet, by the path's ending.

    Rows are written as the runs come, so a store of any size needs little memory.
    Raises InvalidInput for another ending, MissingExtra for Parquet without pyarrow.
    """
    check_export(path)
    rows = (row.cells() for row in _rows(runs))
    if Path(path).suffix.lower() == ".parquet":
        with whole_file(path) as draft:
            _write_parquet(draft, rows)
        return
    with whole_file(path) as draft, draft.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: as_text(cell) for name, cell in row.items()} for row in rows)


def as_text(cell: object) -> object:
    """A cell that no spreadsheet takes for a formula: names come from outside.

    Source: OWASP, "CSV Injection": a quote before what begins like a formula.

    >>> as_text("=HYPERLINK(1)"), as_text("wordcount"), as_text(-1.5)
    ("'=HYPERLINK(1)", 'wordcount', -1.5)
    """
    is_formula = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{cell}" if is_formula else cell


def check_export(path: str | Path) -> None:
    """Check the path, and raise what `StoredProfiles.export` would raise."""
    ending = Path(path).suffix.lower()
    if ending not in EXPORT_ENDINGS:
        raise InvalidInput(
            f"{path} does not say which kind of table to write",
            where="--export",
            hint=f"end the name in {' or '.join(EXPORT_ENDINGS)}",
        )
    if ending == ".parquet":
        required("pyarrow.parquet", extra="parquet", what="a table as Parquet")


def _write_parquet(path: Path, rows: Iterator[dict[str, object]]) -> None:
    """Every column with its type, even if all its values are unknown."""
    arrow = required("pyarrow", extra="parquet", what="a table as Parquet")
    parquet = required("pyarrow.parquet", extra="parquet", what="a table as Parquet")

    def kind(column: str) -> Any:  # noqa: ANN401  # pyarrow has no types
        if column in _TEXTS:
            return arrow.string()
        if column == "succeeded":
            return arrow.bool_()
        return arrow.int64() if column in _PHASE_COUNTS else arrow.float64()

    schema = arrow.schema([(column, kind(column)) for column in COLUMNS])
    with parquet.ParquetWriter(path, schema) as writer:
        while group := list(islice(rows, _ROWS_AT_ONCE)):
            writer.write_table(arrow.Table.from_pylist(group, schema=schema))


def _run_document(stored: StoredRun) -> dict[str, object]:
    run = stored.run
    return {
        "id": run.run_id,
        "source": run.source,
        "name": run.name or run.profile,
        "phases": [
            _phase_document(phase, lengths)
            for phase, lengths in zip(run.phases, stored.lengths, strict=True)
        ],
        "succeeded": run.succeeded,
        **{name: getattr(run, name) for name in _RUN_FACTS},
        "slots": dict(run.slots),
        "configuration": dict(run.configuration),
        "notes": list(run.notes),
        "log_digest": stored.log_digest,
        "learned_at_s": stored.learned_at_s,
    }


def _phase_document(phase: PastPhase, lengths: LengthStatistics | None) -> dict[str, object]:
    fields = {name: getattr(phase, name) for name in (*_PHASE_COUNTS, *_PHASE_NUMBERS)}
    return {
        "name": phase.name,
        "kind": phase.kind,
        **fields,
        "after": list(phase.after),
        "lengths": None if lengths is None else _lengths_document(lengths),
    }


def _lengths_document(lengths: LengthStatistics) -> dict[str, object]:
    fields = asdict(lengths)
    return fields | {
        "quantiles_s": {str(percent): s for percent, s in fields["quantiles_s"].items()}
    }
