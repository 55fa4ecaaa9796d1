"""The runs under one state folder: named to sort by their start, found again, in time dropped.

A run is a folder `runs/<run id>/` with its journal in it. Runs that did not finish are never
dropped, nor are those whose journal is damaged.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sluice.model.errors import InvalidInput, StoreCorrupt
from sluice.store.database import told_clearly
from sluice.store.home import (
    RUNS_FOLDER,
    check_state_folder,
    make_state_folder,
    state_folder,
)
from sluice.store.journal import Journal, Prepared
from sluice.store.private import make_private_folder
from sluice.store.rows import FILE_NAME, EntryKind, RunHeader, header_and_end

FINISHED_RUNS_KEPT = 50

_RUN_ID = re.compile(r"\d{8}T\d{6}\.\d{6}Z-[0-9a-f]{6}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """One run as its folder tells it."""

    folder: Path
    header: RunHeader
    is_finished: bool

    @property
    def run_id(self) -> str:
        return self.folder.name

    def is_of(self, source: str, sha256: str) -> bool:
        """Whether it runs this very workload: the same file with the same text."""
        return (self.header.source, self.header.sha256) == (source, sha256)


class Runs:
    """All runs of one state folder, by default the account's own."""

    def __init__(self, home: Path | None = None) -> None:
        self._home = home or state_folder()
        check_state_folder(self._home)
        self._folder = self._home / RUNS_FOLDER

    def create(self, header: RunHeader, prepared: Prepared | None = None) -> Journal:
        """The journal of a new run, as `Journal.create`; old finished runs are dropped."""
        self._drop_old()
        folder = self._folder / _run_id(datetime.now(UTC))
        with told_clearly(folder):
            make_state_folder(self._home)
            make_private_folder(folder)
        return Journal.create(folder, header, prepared)

    def reopened(self, run: RunInfo) -> Journal:
        """The journal of a run that was left, locked, to be read and continued."""
        return Journal.reopened(run.folder)

    def all(self) -> tuple[RunInfo, ...]:
        """Every run, oldest first. Raises StoreCorrupt, naming it, where one cannot be read."""
        return tuple(_info(folder) for folder in self._folders())

    def newest(self) -> Iterator[RunInfo]:
        """Every run that can be read, newest first; a damaged one is passed over."""
        for folder in reversed(self._folders()):
            with suppress(StoreCorrupt, InvalidInput):
                yield _info(folder)

    def latest(self) -> RunInfo | None:
        """The run that started last."""
        folders = self._folders()
        return _info(folders[-1]) if folders else None

    def latest_unfinished(self, source: str, sha256: str) -> RunInfo | None:
        """The last run of this workload that did not finish."""
        found = [run for run in self.all() if run.is_of(source, sha256) and not run.is_finished]
        return found[-1] if found else None

    def resumable(self, source: str, sha256: str) -> RunInfo | None:
        """What `--resume` is about: the last run of this workload, finished or not; None for none.

        Raises InvalidInput where the file's text changed under a run that did not finish: that
        run cannot be continued, and starting anew is for the user to say.
        """
        runs = self.all()
        same = [run for run in runs if run.is_of(source, sha256)]
        if same:
            return same[-1]
        changed = [run for run in runs if run.header.source == source and not run.is_finished]
        if changed and source != "-":
            raise InvalidInput(
                f"the file has changed since run {changed[-1].run_id}, which did not finish",
                where=source,
                hint="put its text back to resume, or run it without --resume to start anew",
            )
        return None

    def _folders(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        with told_clearly(self._folder):
            inside = sorted(path for path in self._folder.iterdir() if _RUN_ID.fullmatch(path.name))
        # A run that died before its journal was made never began.
        return [folder for folder in inside if (folder / FILE_NAME).exists()]

    def _drop_old(self) -> None:
        finished = [folder for folder in self._folders() if _is_finished(folder)]
        for folder in finished[:-FINISHED_RUNS_KEPT]:
            with told_clearly(folder):
                shutil.rmtree(folder)


def _run_id(now: datetime) -> str:
    # The random part tells apart what two processes start in the same microsecond.
    return f"{now:%Y%m%dT%H%M%S.%f}Z-{secrets.token_hex(3)}"


def _info(folder: Path) -> RunInfo:
    header, end = header_and_end(folder)
    return RunInfo(folder=folder, header=header, is_finished=end is EntryKind.FINISHED)


def _is_finished(folder: Path) -> bool:
    try:
        return _info(folder).is_finished
    except (InvalidInput, StoreCorrupt):
        return False  # evidence, or another release's
