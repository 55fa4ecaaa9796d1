"""A workload written as a file, so that it can be kept, changed by hand and given to any verb."""

from __future__ import annotations

from pathlib import Path

from sluice.ingest.reading import source_folder
from sluice.model.workload import Workload
from sluice.reporting.exports.workload_document import workload_document
from sluice.reporting.exports.workload_text import moved, workload_text


def write_workload(path: str | Path, workload: Workload, *, comment: str = "") -> None:
    """Write it as YAML, or as JSON where the name ends so; paths of `run` are told from there.

    comment: what stands at the head of YAML.
    Raises InvalidInput for a job of many stages, which no file can tell.
    """
    Path(path).write_text(
        workload_file_text(workload, path=str(path), comment=comment), encoding="utf-8"
    )


def workload_file_text(workload: Workload, *, path: str, comment: str = "") -> str:
    """What `write_workload` writes there."""
    document = moved(workload_document(workload), folder=workload.folder, to=source_folder(path))
    return workload_text(document, name=path, comment=comment)
