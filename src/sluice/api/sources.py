"""Arguments of the verbs: a workload or its path, and settings that override its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sluice import bootstrap
from sluice.ingest.settings import Settings, resolve_settings
from sluice.ingest.workload import load_workload
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload

Source = str | Path | Workload
_KINDS = ("tasks", "release", "admission")

GivenSettings = Mapping[str, object] | Sequence[str]


def workload_of(source: Source) -> Workload:
    """The workload, with the lengths of the stored profiles that its jobs name.

    Raises InvalidInput if a job names a profile that is not stored.
    """
    return bootstrap.with_profiles(read_workload(source))


def read_workload(source: Source) -> Workload:
    """The workload itself, or read from its path ("-" for standard input)."""
    if isinstance(source, Workload):
        return source
    return load_workload(path_of(source))


def path_of(source: str | Path) -> str:
    """The path as text. Raises InvalidInput for a value that is not a path."""
    if isinstance(source, str | Path):
        return str(source)
    raise InvalidInput(
        f"{type(source).__name__} is not a workload",
        where="source",
        hint='give a path, "-" for standard input, or a Workload',
    )


def settings_of(workload: Workload, settings: GivenSettings = ()) -> Settings:
    """The settings of the file, overridden by these. Raises InvalidInput."""
    given: object = settings  # a caller without a type checker can pass anything
    if not isinstance(given, Mapping) and not (
        isinstance(given, Sequence) and all(isinstance(one, str) for one in given)
    ):
        raise InvalidInput(
            "settings are neither a mapping nor a list of texts",
            where="settings",
            hint='give {"jitter": 0.1} or ["jitter=0.1"]',
        )
    policies = [name for kind in _KINDS for name in bootstrap.policy_names(kind)]
    return resolve_settings(workload.settings, settings, policies=policies)
