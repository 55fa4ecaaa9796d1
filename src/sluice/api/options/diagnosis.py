"""The options of `explain`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sluice.api.options.fields import option
from sluice.api.options.history import LogsRead, Stored
from sluice.model.queue_tree import QueueTree


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class JobOfLog:
    """Which job of a log."""

    job: str | None = option("Job to explain, if there are several.", metavar="ID")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DiagnosisOptions(Stored, LogsRead, JobOfLog):
    """Options of `explain`."""

    config: str | Path | QueueTree | None = option(
        "Also what would hold the job back in the queues of a scheduler's own configuration, as"
        " whatif reads it, with all jobs of the log.",
        metavar="FILE",
    )
