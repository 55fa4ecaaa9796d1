"""What commands take: a workload or its file, settings over those of the file, and policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sluice import bootstrap
from sluice.bootstrap.policy_classes import ChosenPolicy
from sluice.ingest.reading import read_source, source_folder, source_name
from sluice.ingest.settings import Settings
from sluice.ingest.workload import parse_workload as parsed_workload
from sluice.model.workload import Workload

Source = str | Path | Workload

GivenSettings = Mapping[str, object] | Sequence[str]


def workload_of(source: Source) -> Workload:
    """The workload, with the lengths of the profiles that its jobs name, from the profile store.

    Raises InvalidInput if a job names a profile that is not stored.
    """
    return bootstrap.with_profiles(read_workload(source))


def read_workload(source: Source) -> Workload:
    """The workload itself, read if it is a path ("-" for standard input)."""
    return source if isinstance(source, Workload) else load_workload(str(source))


def load_workload(source: str) -> Workload:
    """The workload in a file, or on standard input for "-".

    Raises InvalidInput, which names file, line, field and id, and how to fix it.
    """
    return parse_workload(
        read_source(source), source=source_name(source), folder=source_folder(source)
    )


def parse_workload(
    content: bytes | str, *, source: str = "workload", folder: str = "."
) -> Workload:
    """The workload in YAML or JSON text, its settings checked.

    source: what messages call it.  folder: where relative paths in it start.
    Raises InvalidInput as `load_workload` does.

    >>> text = "{version: 1, jobs: [{id: a, maps: {tasks: 2, avg_s: 3}}]}"
    >>> parse_workload(text).jobs[0].tasks
    2
    """
    return parsed_workload(
        content, source=source, folder=folder, declarations=bootstrap.declarations()
    )


def settings_of(
    workload: Workload,
    settings: GivenSettings = (),
    chosen: Sequence[ChosenPolicy] = (),
) -> Settings:
    """The settings of the file with these over them. chosen: the policies of this call.

    Raises InvalidInput.
    """
    return bootstrap.resolved_settings(workload.settings, settings, chosen)
