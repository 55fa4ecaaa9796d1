"""Arguments of the verbs: a workload or its path, and settings that override its own."""

from __future__ import annotations

import json
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from sluice.api.mistaken_files import naming_other_files
from sluice.api.options.argument_types import GivenSettings, Source
from sluice.bootstrap.policy_classes import ChosenPolicy
from sluice.bootstrap.preparation.facts import ON_MESSAGE, WORKLOAD
from sluice.bootstrap.preparation.pipeline import Goal
from sluice.bootstrap.preparation.steps import prepared
from sluice.bootstrap.settings import declarations, resolved_settings
from sluice.ingest.builder import WorkloadBuilder
from sluice.ingest.document import Document, read_document
from sluice.ingest.reading import SourceText, read_text
from sluice.ingest.settings import Settings
from sluice.ingest.workload import parse_workload as parsed_workload
from sluice.model.arguments import checked_arguments
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload


@dataclass(frozen=True, kw_only=True)
class RunOrSource:
    """A recorded run, or a workload to simulate."""

    source: Source | None = None
    run_id: str | None = None


def workload_of(source: Source, on_message: Callable[[str], None] = lambda _: None) -> Workload:
    """The workload, with the lengths of the profiles that its jobs name, or of their own past runs.

    on_message: called with a note if a job's own runs cannot be read; it has no lengths then.
    Raises InvalidInput if a job names a profile that is not stored.
    """
    given = {WORKLOAD: read_workload(source), ON_MESSAGE: on_message}
    return prepared(Goal.LENGTHS, given)[WORKLOAD]


def read_workload(source: Source) -> Workload:
    """The workload itself, or read from its path ("-" for standard input), or of a table."""
    if isinstance(source, Workload):
        return source
    if isinstance(source, str | Path):
        return load_workload(source)
    if isinstance(source, Mapping) and (not source or "jobs" in source or "version" in source):
        return parse_workload(document_text(source))
    from sluice.api.tables import load_table

    return load_table(source)


def document_text(document: Mapping[Any, Any]) -> str:
    """A document in JSON. Numbers of other libraries (numpy, decimal) are written as numbers.

    Raises InvalidInput for a value that no file could have.
    """
    try:
        return json.dumps(document, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"it cannot be written as a file: {error}", where="the given workload",
                           hint="give text, numbers, lists and dicts") from error  # fmt: skip


def _plain(value: object) -> object:
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real | Decimal):
        return float(value)
    if hasattr(value, "tolist"):  # an array, or a number of numpy
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{value!r:.60} is of the type {type(value).__name__}")


def documented(source: Source) -> tuple[Document | None, Workload]:
    """The document of a source, where it has one, and its workload, its settings not checked."""
    if not isinstance(source, str | Path):
        return None, read_workload(source)
    from sluice.api.tables import tabled

    text = read_text(str(source))
    with naming_other_files(text):
        table = tabled(text)
        if table is not None:
            return None, table
        document = read_document(text.content, source=text.name)
        return document, WorkloadBuilder(document, text.folder).workload()


@checked_arguments
def load_workload(source: str | Path) -> Workload:
    """The workload in a file, or on standard input for "-".

    Raises InvalidInput, which names file, line, field and id, and how to fix it.
    """
    return workload_in(read_text(str(source)))


def workload_in(text: SourceText) -> Workload:
    """The workload in a text that was read. Raises InvalidInput as `load_workload` does."""
    from sluice.api.tables import tabled

    with naming_other_files(text):
        return tabled(text) or parse_workload(text.content, source=text.name, folder=text.folder)


@checked_arguments
def parse_workload(
    content: bytes | str, *, source: str = "workload", folder: str = "."
) -> Workload:
    """The workload in YAML or JSON text, its settings checked.

    source: its name in messages.  folder: where relative paths in it start.
    Raises InvalidInput as `load_workload` does.

    >>> text = "{version: 1, jobs: [{id: a, maps: {tasks: 2, avg_s: 3}}]}"
    >>> parse_workload(text).jobs[0].tasks
    2
    """
    return parsed_workload(content, source=source, folder=folder, declarations=declarations())


def settings_of(
    workload: Workload, settings: GivenSettings = (), chosen: Sequence[ChosenPolicy] = ()
) -> Settings:
    """The settings of the file, overridden by these. chosen: the policies of this call.

    Raises InvalidInput.
    """
    return resolved_settings(workload.settings, settings, chosen)
