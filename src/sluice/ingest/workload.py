"""The one way in for workload files: bytes, limits, parse, shape, model value."""

from __future__ import annotations

from sluice.ingest.builder import WorkloadBuilder
from sluice.ingest.document import read_document
from sluice.ingest.reading import SourceText, read_text
from sluice.model.workload import Workload


def load_workload(source: str) -> Workload:
    """The workload in a file, or on standard input for "-".

    Raises InvalidInput, which names file, line, field and id, and how to fix it.
    """
    return workload_in(read_text(source))


def workload_in(text: SourceText) -> Workload:
    """The workload in a text that was read. Raises InvalidInput as `load_workload` does."""
    return parse_workload(text.content, source=text.name, folder=text.folder)


def parse_workload(
    content: bytes | str, *, source: str = "workload", folder: str = "."
) -> Workload:
    """The workload in YAML or JSON text.

    source: its name in messages.  folder: where relative paths in it start.
    Raises InvalidInput as `load_workload` does.

    >>> text = "{version: 1, jobs: [{id: a, maps: {tasks: 2, avg_s: 3}}]}"
    >>> parse_workload(text).jobs[0].tasks
    2
    """
    return WorkloadBuilder(read_document(content, source=source), folder).workload()
