"""The options of `explain`."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.api.options.fields import option
from sluice.api.options.history import LogsRead, Stored


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class JobOfLog:
    """Which job of a log."""

    job: str | None = option("Job to explain, if there are several.", metavar="ID")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DiagnosisOptions(Stored, LogsRead, JobOfLog):
    """Of `explain`."""
