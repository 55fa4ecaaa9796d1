"""Tables of jobs and of prices: files, data frames, lists of dicts, dicts of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sluice.api.mistaken_files import naming_other_files
from sluice.bootstrap.settings import declarations
from sluice.core.garbage_collector import paused_collector
from sluice.ingest.job_lines import are_job_lines
from sluice.ingest.reading import SourceText, read_text
from sluice.ingest.tables.job_rows import NEEDS
from sluice.ingest.tables.jobs import jobs_document
from sluice.ingest.tables.rows import SUFFIXES, Table, is_table, read_table, table_of
from sluice.ingest.workload import workload_of
from sluice.model.arguments import checked_arguments
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """The options of a table. columns: headers by key.  containers: slots of the cluster."""

    columns: Mapping[str, str] = field(default_factory=dict)
    containers: int | None = None


@checked_arguments
def load_table(
    table: object,
    *,
    columns: Mapping[str, str] | None = None,
    containers: int | None = None,
    on_message: Callable[[str], None] = lambda _: None,
) -> Workload:
    """The workload of a table of jobs: one row for each job, or for each stage of one.

    table: a CSV, TSV or Parquet file, a data frame, a list of dicts, or a dict of columns.
    columns: the column of each key that is not recognised by its name, `{"tasks": "n"}`.
    containers: slots of the cluster; by default as many as the largest stage has tasks.
    on_message: called with a sentence on the columns, and on the cluster.
    Raises InvalidInput naming line and column.

    >>> rows = [{"job": "etl", "tasks": 4, "minutes": 2}, {"job": "ads", "tasks": 2, "minutes": 1}]
    >>> [(job.job_id, job.tasks) for job in load_table(rows, on_message=print).jobs]
    table: name=job, tasks=tasks, seconds=minutes x 60
    the cluster has 4 containers, as many as the largest stage has tasks
    [('etl', 4), ('ads', 2)]
    """
    if containers is not None and containers < 1:
        raise InvalidInput(f"containers is {containers}", where="containers", hint="give 1 or more")
    options = TableOptions(columns=columns or {}, containers=containers)
    if isinstance(table, str | Path):
        return load_table_text(read_text(str(table)), options, on_message)
    return _workload(table_of(table), options, on_message)


def tabled(text: SourceText) -> Workload | None:
    """The workload of a text that is a table; None for any other."""
    if not holds_table(text):
        return None
    return load_table_text(text, TableOptions(), lambda _: None)


def load_table_text(
    text: SourceText, options: TableOptions, on_message: Callable[[str], None]
) -> Workload:
    """The workload of a table that was read. Raises InvalidInput as `load_table` does."""
    with naming_other_files(text):
        return _workload(read_table(text.content, text.name), options, on_message, text.folder)


@paused_collector()  # a search through all rows at every 700 new objects: 18 % of 100,000 rows
def _workload(
    table: Table, options: TableOptions, on_message: Callable[[str], None], folder: str = "."
) -> Workload:
    found = jobs_document(table, options.columns, options.containers)
    for note in found.notes:
        on_message(note)
    return workload_of(found.document, folder, declarations())


def table_document(
    file: str, options: TableOptions, on_message: Callable[[str], None]
) -> dict[str, Any]:
    """The document of a workload file with the jobs of a table. Raises InvalidInput."""
    text = read_text(file)
    with naming_other_files(text):
        table = read_table(text.content, text.name)
        found = jobs_document(table, options.columns, options.containers)
    for note in found.notes:
        on_message(note)
    workload_of(found.document, text.folder, declarations())
    return found.value


def holds_table(text: SourceText, options: TableOptions | None = None) -> bool:
    """Whether a text is a table, by its first line or by the name of its file.

    options: columns that a user names are in its first line, where others are not recognised.
    """
    if is_table(text.content):
        return True
    head = text.content.lstrip().partition(b"\n")[0].decode("utf-8", "replace")
    if options and options.columns and all(one in head for one in options.columns.values()):
        return True
    if not text.name.lower().endswith(SUFFIXES):
        return False
    return not are_job_lines(text.content.decode("utf-8", "replace"))


def needs_of(workload: Workload) -> dict[str, float]:
    """Return what the largest task needs of a VM, of what a table of prices may hold."""
    found: dict[str, float] = {}
    for job in workload.jobs:
        for phase in job.phases:
            for name, amount in phase.demand.work.other:
                if name in NEEDS and amount > found.get(name, 0.0):
                    found[name] = amount
    return found
