"""The one way in for workload files: bytes, limits, parse, shape, model value."""

from __future__ import annotations

from sluice.core.garbage_collector import paused_collector
from sluice.ingest.builder import WorkloadBuilder
from sluice.ingest.document import Document, read_document
from sluice.ingest.settings import Declarations
from sluice.model.workload import Workload


def parse_workload(
    content: bytes | str,
    *,
    source: str = "workload",
    folder: str = ".",
    declarations: Declarations | None = None,
) -> Workload:
    """The workload in YAML or JSON text.

    source: its name in messages.  folder: where relative paths in it start.
    declarations: of the settings; None leaves them unchecked.
    Raises InvalidInput, which names file, line, field and id, and how to fix it.

    >>> text = "{version: 1, jobs: [{id: a, maps: {tasks: 2, avg_s: 3}}]}"
    >>> parse_workload(text).jobs[0].tasks
    2
    """
    return workload_of(read_document(content, source=source), folder, declarations)


def workload_of(
    document: Document, folder: str, declarations: Declarations | None = None
) -> Workload:
    """The workload in a document that was read, and may have been changed since.

    Raises InvalidInput as `parse_workload` does; lines are those of the document's text.
    """
    with paused_collector():
        return WorkloadBuilder(document, folder, declarations).workload()
