"""The runs in one state folder: numbered by a counter, found again by their workload.

A run is a folder `runs/<run id>/` with a journal in it. Old finished runs are removed. Unfinished
runs, and those whose journal is damaged, are removed only if the user asks for it. A run that
cannot be read (damaged, of another version, another user's) never prevents work on the others.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

from sluice.model.errors import InvalidInput, SluiceError
from sluice.store.database import store_errors
from sluice.store.home import RUNS_FOLDER, check_state_folder, make_state_folder, state_folder
from sluice.store.journal import Journal, Prepared
from sluice.store.output_locks import OutputLocks
from sluice.store.private import make_private_folder
from sluice.store.rows import RunHeader
from sluice.store.run_counter import (
    counter_lock,
    home_id,
    is_run_id,
    next_number,
    run_id,
    run_order,
)
from sluice.store.run_info import RunInfo, UnreadableRun, has_journal, info_of, job_counts
from sluice.store.run_lock import RunLock
from sluice.store.run_record import RunIdentity, RunRecord

FINISHED_RUNS_KEPT = 50

OnMessage = Callable[[str], None]


class Runs:
    """All runs of one state folder, by default the account's own."""

    def __init__(self, home: Path | None = None) -> None:
        self._home = home or state_folder()
        check_state_folder(self._home)
        self.folder = self._home / RUNS_FOLDER

    def new_id(self) -> str:
        """An id for a run that needs to know it before its journal is made."""
        self.make_folder()
        with next_number(self.folder) as (number, _):
            return run_id(number)

    def create(
        self,
        header: RunHeader,
        prepared: Prepared | None = None,
        *,
        staging: Iterable[str] = (),
        reserved_id: str | None = None,
    ) -> Journal:
        """The journal of a new run, as `Journal.create`; old finished runs are removed.

        staging: folders outside the state folder that the run may leave behind.
        reserved_id: of `new_id`; by default the run gets its id now.
        """
        self._drop_old()
        self.make_folder()
        with self._numbered(reserved_id) as (name, home):
            folder = self.folder / name
            record = RunRecord(
                home=home,
                run_id=folder.name,
                identity=RunIdentity.of(header),
                started_at=header.started_at,
                staging=tuple(staging),
            )
            with store_errors(folder):
                make_private_folder(folder)
                record.write(folder)
            return Journal.create(folder, header, prepared)

    def make_folder(self) -> None:
        """Make the state folder, and in it the folder of runs. Raises StoreUnavailable."""
        with store_errors(self.folder):
            make_state_folder(self._home)
            make_private_folder(self.folder)

    @contextmanager
    def _numbered(self, reserved_id: str | None) -> Iterator[tuple[str, str]]:
        """The id of a new run and that of the state folder, with the lock of the counter held."""
        if reserved_id is None:
            with next_number(self.folder) as (number, home):
                yield run_id(number), home
        else:
            with counter_lock(self.folder):
                yield reserved_id, home_id(self.folder) or ""

    def locked_outputs(self, outputs: Iterable[str]) -> OutputLocks:
        """Locks on folders that a run writes to. Raises InvalidInput if another run does."""
        self.make_folder()
        return OutputLocks(self.folder, outputs)

    def reopened(self, run: RunInfo, on_message: OnMessage = lambda _: None) -> Journal:
        """The journal of a run that was left, locked, to be read and continued."""
        return Journal.reopened(run.folder, on_message)

    # --- finding ------------------------------------------------------------------------------

    def listed(self) -> tuple[RunInfo | UnreadableRun, ...]:
        """Every run, oldest first, readable or not."""
        return tuple(map(info_of, self.folders()))

    def all(self) -> tuple[RunInfo, ...]:
        """Every run that can be read, oldest first."""
        return tuple(run for run in self.listed() if isinstance(run, RunInfo))

    def newest(self) -> Iterator[RunInfo]:
        """Every run that can be read, newest first."""
        for folder in reversed(self.folders()):
            run = info_of(folder)
            if isinstance(run, RunInfo):
                yield run

    def latest(self, on_message: OnMessage = lambda _: None) -> RunInfo | None:
        """The newest run that can be read.

        on_message: called for each newer run that cannot be read.
        """
        for folder in reversed(self.folders()):
            run = info_of(folder)
            if isinstance(run, RunInfo):
                return run
            on_message(f"run {run.run_id} is skipped: {run.why}")
        return None

    def find(self, name: str) -> RunInfo | UnreadableRun | None:
        """A run by its id, or by its number as the id writes it: `run-000042`."""
        for folder in self.folders():
            if folder.name == name or (name and folder.name.rpartition("-")[0] == name):
                return info_of(folder)
        return None

    def resumable(
        self, identity: RunIdentity, on_message: OnMessage = lambda _: None
    ) -> RunInfo | None:
        """The run of this workload that `--resume` is about; None if there is none.

        The newest unfinished one, unless a later run succeeded. Then, or if all are finished, the
        newest finished one.
        on_message: called for an unfinished run that is not resumed because a later one succeeded,
        and for runs that cannot be read and could be of this workload.
        Raises StoreCorrupt or StoreUnavailable if a newer run of this workload cannot be read, or
        if only a damaged run may be of it, and InvalidInput if the file has another text than an
        unfinished run of it.
        """
        runs = list(self._runs_of(identity.source))
        same = [run for run in runs if run.identity == identity]
        readable = [run for run in same if isinstance(run, RunInfo)]
        unfinished = [run for run in readable if not run.is_finished]
        found = next(reversed(unfinished or readable), None)
        later = next((run for run in _newer(readable, found) if _has_succeeded(run)), None)
        if found and later:
            on_message(_superseded(found, later))
            found = later
        for run in reversed(same):
            if isinstance(run, UnreadableRun) and (found is None or run.order > found.order):
                raise run.unresumable()
        for run in reversed(runs):
            if isinstance(run, UnreadableRun) and run.identity is None:
                if found is None and run.folder.stat().st_uid == os.geteuid():
                    # It may be this workload's: to begin again could do all of its work twice.
                    raise run.unresumable()
                on_message(f"run {run.run_id} is skipped: {run.why}")
        if found is None:
            _check_text(runs, identity)
        return found

    def _runs_of(self, source: str) -> Iterator[RunInfo | UnreadableRun]:
        """Runs of a file, oldest first, with those of which the file is unknown."""
        for folder in self.folders():
            record = RunRecord.read(folder)
            if record is None or record.identity.source == source:
                run = info_of(folder)
                if run.identity is None or run.identity.source == source:
                    yield run

    def folders(self) -> list[Path]:
        """The folders of all runs that began, oldest first."""
        return [folder for folder in self.run_folders() if has_journal(folder)]

    def run_folders(self) -> list[Path]:
        """The folders of all runs, oldest first, with those that died before they began."""
        if not self.folder.is_dir():
            return []
        with store_errors(self.folder):
            inside = [path for path in self.folder.iterdir() if is_run_id(path.name)]
        return sorted(inside, key=lambda path: run_order(path.name))

    # --- removing -----------------------------------------------------------------------------

    def _drop_old(self) -> None:
        runs = [run for run in self.all() if run.is_finished]
        for run in runs[:-FINISHED_RUNS_KEPT]:
            # One that cannot be removed now, or is just being read, stays until the next time.
            with suppress(SluiceError, OSError):
                lock = RunLock(run.folder)
                try:
                    shutil.rmtree(run.folder)
                finally:
                    lock.release()


def _newer(runs: Sequence[RunInfo], found: RunInfo | None) -> Iterator[RunInfo]:
    """The runs after the one that was found, newest first."""
    return takewhile(lambda run: run is not found, reversed(runs))


def _has_succeeded(run: RunInfo) -> bool:
    """Whether a run finished with all of its jobs done; False if its journal is damaged."""
    with suppress(SluiceError):
        return run.is_finished and not job_counts(run.folder)[1]
    return False


def _superseded(left: RunInfo, later: RunInfo) -> str:
    return (
        f"note: run {later.run_id} of the same file, started at {later.header.started_at}, has"
        f" finished since run {left.run_id} was interrupted, so there is nothing to resume."
        f" Remove the interrupted run with `sluice runs clean {left.run_id}`; or, to resume it,"
        f" remove the outputs and the later run with `sluice runs clean {later.run_id}`."
    )


def _check_text(runs: Iterable[RunInfo | UnreadableRun], identity: RunIdentity) -> None:
    """A run with another text cannot be continued; whether to start again is the user's choice."""
    changed = [run for run in runs if isinstance(run, RunInfo) and not run.is_finished]
    if changed and identity.source != "-":
        raise InvalidInput(
            f"the file has changed since run {changed[-1].run_id}, which did not finish",
            where=identity.source,
            hint="put its text back to resume, or run it without --resume to start again",
        )
