"""What the verbs are given: a workload or where it stands, and settings over those of its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sluice import bootstrap
from sluice.ingest.settings import Settings, resolve_settings
from sluice.ingest.workload import load_workload
from sluice.model.workload import Workload

Source = str | Path | Workload
_KINDS = ("tasks", "release", "admission")

GivenSettings = Mapping[str, object] | Sequence[str]


def workload_of(source: Source) -> Workload:
    """The workload, with the lengths of profiles that its jobs name, out of the profile store.

    Raises InvalidInput where a job names a profile that is not stored.
    """
    return bootstrap.with_profiles(read_workload(source))


def read_workload(source: Source) -> Workload:
    """The workload as it stands, read where it is a path ("-" for standard input)."""
    return source if isinstance(source, Workload) else load_workload(str(source))


def settings_of(workload: Workload, settings: GivenSettings = ()) -> Settings:
    """The settings of the file with these over them. Raises InvalidInput."""
    policies = [name for kind in _KINDS for name in bootstrap.policy_names(kind)]
    return resolve_settings(workload.settings, settings, policies=policies)
