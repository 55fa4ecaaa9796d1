"""The runs that are recorded in a state folder, as `sluice runs` reports them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sluice.reporting.document_html import NotebookView
from sluice.reporting.documents import document_of
from sluice.reporting.extras import DataFrame, data_frame
from sluice.store.leftovers import Leftover
from sluice.store.run_info import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedJob:
    """One job of a recorded run.

    state: as `simulate` names it, or "not submitted".  reason: why it is in that state.
    output: its folder.  is_complete: whether the output is there, with `_SUCCESS` in it.
    """

    state: str
    reason: str
    output: str
    is_complete: bool
    started_at_s: float | None = None
    finished_at_s: float | None = None

    def document(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        names = "state reason started_at_s finished_at_s output output_complete=is_complete"
        return document_of(self, names)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetails:
    """The details that `show` adds.

    jobs: by id; None if the journal cannot be replayed.  staging: folders next to outputs.
    """

    jobs: Mapping[str, RecordedJob] | None
    policies: Mapping[str, str]
    settings: Mapping[str, object]
    staging: tuple[str, ...]

    def document(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return document_of(self, "policies settings staging jobs_by_id=jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """One run.

    file: the real path of its workload, "-" for standard input; None if unknown.
    folder: where relative paths in it start.  started_at: wall clock, ISO 8601.
    jobs: how many; None if unknown.  bytes: of its folder and its staging folders.
    path: its folder.  process: the one that drives it now.  problem: why it cannot be read.
    """

    id: str
    file: str | None
    folder: str | None
    started_at: str | None
    state: RunState
    jobs: int | None
    bytes: int
    path: str
    process: int | None = None
    problem: str | None = None
    details: RunDetails | None = None

    def document(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        names = "id file folder started_at state jobs bytes path process problem"
        return document_of(self, names) | (self.details.document() if self.details else {})


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecordedRuns(NotebookView):
    """Runs, oldest first, and what other runs left on the disk."""

    runs: tuple[RecordedRun, ...]
    leftovers: tuple[Leftover, ...] = ()

    def document(self) -> dict[str, object]:
        """The one JSON document of `runs list` and `runs show`."""
        return document_of(self, "runs leftovers")

    def to_frame(self) -> DataFrame:
        """One row for each run. Raises MissingExtra without pandas."""
        return data_frame([run.document() for run in self.runs])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CleanedRuns(NotebookView):
    """The runs that `runs clean` removed, or would remove.

    bytes: of everything in `runs` and `leftovers`.
    kept: (run id or path, reason) of everything that could not be removed.
    """

    runs: tuple[RecordedRun, ...]
    leftovers: tuple[Mapping[str, object], ...]
    bytes: int
    kept: tuple[tuple[str, str], ...]
    is_dry_run: bool

    def document(self) -> dict[str, object]:
        """The one JSON document of `runs clean`."""
        return {
            **document_of(self, "runs leftovers bytes"),
            "kept": [{"what": what, "why": why} for what, why in self.kept],
            "dry_run": self.is_dry_run,
        }
