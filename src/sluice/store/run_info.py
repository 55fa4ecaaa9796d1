"""One run as its folder shows it, readable or not."""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from sluice.model.errors import SluiceError, StoreCorrupt
from sluice.store.database import StoreUnavailable, store_errors
from sluice.store.head import FILE_NAME as HEAD_NAME
from sluice.store.rows import FILE_NAME, EntryKind, RunHeader, header_and_end, opened
from sluice.store.run_counter import run_order
from sluice.store.run_record import RECORD_NAME, RunIdentity, RunRecord

LOCKS = Path("/proc/locks")
_FLOCK, _PID, _FILE = 1, 4, 5  # columns of a line there


class RunState(Enum):
    """How far a run is. FAILED: it finished, and a job of it did not succeed."""

    FINISHED = "finished"
    FAILED = "failed"
    UNFINISHED = "unfinished"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """A run whose journal can be read."""

    folder: Path
    header: RunHeader
    is_finished: bool

    @property
    def run_id(self) -> str:
        return self.folder.name

    @property
    def identity(self) -> RunIdentity:
        """The workload that it runs."""
        return RunIdentity.of(self.header)

    @property
    def order(self) -> tuple[int, str]:
        """Runs sort by this, oldest first."""
        return run_order(self.run_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableRun:
    """A run whose journal is damaged, of another version, or not ours to read.

    record: what its `run.json` says; None if that cannot be read either.
    """

    folder: Path
    record: RunRecord | None
    why: str
    is_forbidden: bool = False

    @property
    def run_id(self) -> str:
        return self.folder.name

    @property
    def identity(self) -> RunIdentity | None:
        """The workload that it runs; None if unknown."""
        return self.record.identity if self.record else None

    @property
    def order(self) -> tuple[int, str]:
        """See `RunInfo.order`."""
        return run_order(self.run_id)

    def unreadable(self) -> SluiceError:
        """The error for a user who asks for this run."""
        kind = StoreUnavailable if self.is_forbidden else StoreCorrupt
        return kind(f"Run {self.run_id} cannot be read. {self.why}")

    def unresumable(self) -> SluiceError:
        """The error for a user who wants to resume it."""
        kind = StoreUnavailable if self.is_forbidden else StoreCorrupt
        why = self.why
        if self.record is None:
            why += (
                f" {self.folder / RECORD_NAME} cannot be read either, so the run may be of any"
                " workload."
            )
        return kind(_cannot_resume(self.run_id, why))


def cannot_resume(run_id: str, why: str) -> StoreCorrupt:
    """The error for a run that should be resumed and is damaged: why, and what to do instead."""
    return StoreCorrupt(_cannot_resume(run_id, why))


def _cannot_resume(run_id: str, why: str) -> str:
    return (
        f"Run {run_id} cannot be resumed. {why} Run the file without --resume to start again, or"
        f" remove the run with `sluice runs clean {run_id}`."
    )


def info_of(folder: Path) -> RunInfo | UnreadableRun:
    """Return what the folder of a run shows.

    It reads the first and the last row of the journal only.
    """
    try:
        header, end = header_and_end(folder)
    except (SluiceError, OSError, ValueError) as error:
        # ValueError: text in the file's own schema that is not UTF-8.
        return UnreadableRun(
            folder=folder,
            record=RunRecord.read(folder),
            why=_why(folder, error),
            is_forbidden=isinstance(error, StoreUnavailable | OSError),
        )
    return RunInfo(folder=folder, header=header, is_finished=end is EntryKind.FINISHED)


def _why(folder: Path, error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or folder}: {error.strerror or error}."
    return str(error)


def has_journal(folder: Path) -> bool:
    """Whether the run began: one that died before its journal was made did not."""
    try:
        (folder / FILE_NAME).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # it cannot be looked at; that is another user's run
    return True


def job_counts(folder: Path) -> tuple[int, int]:
    """(jobs of the run, jobs that ended without success). Raises SluiceError."""
    path = folder / FILE_NAME
    count = "SELECT count(*) FROM rows WHERE kind = ?"
    with closing(opened(path)) as connection, store_errors(path):
        jobs, failed = (
            connection.execute(count, (kind.value,)).fetchone()[0]
            for kind in (EntryKind.PREPARED, EntryKind.ABORTED)
        )
    return jobs, failed


def driver_of(folder: Path) -> int | None:
    """The process that drives the run now, as the kernel lists it; None if there is none.

    Trying the lock would show it, too, but could make a process that starts just then give up.
    The kernel's list comes in parts, and lacks some locks if others are released meanwhile: of 300
    that change it lacked one in each hundredth reading. So the process that the file names is asked
    about, too.
    """
    path = folder / "lock"
    try:
        inode = path.stat().st_ino
        holder = _locking(inode, LOCKS.read_text("ascii"))
    except (OSError, ValueError):
        return None
    if holder is None:
        with suppress(OSError, ValueError):  # it has ended, or the file was made by another program
            for one in Path("/proc", str(int(path.read_text("ascii"))), "fdinfo").iterdir():
                holder = holder or _locking(inode, one.read_text("ascii"))
    return holder


def _locking(inode: int, locks: str) -> int | None:
    """The process that has locked a file. locks: as the kernel lists them."""
    for line in locks.splitlines():
        words = line.removeprefix("lock:").split()
        is_flock = len(words) > _FILE and words[_FLOCK] == "FLOCK"
        if is_flock and words[_FILE].rpartition(":")[2] == str(inode):
            return int(words[_PID])
    return None


def silent_s(folder: Path) -> float:
    """Seconds since a run that is driven now wrote its last row; 0 for any other run."""
    if driver_of(folder) is None:
        return 0.0
    try:
        return max(0.0, time.time() - (folder / HEAD_NAME).stat().st_mtime)
    except OSError:  # it was written by an older release, or has just been removed
        return 0.0


def folder_bytes(path: Path) -> int:
    """Sizes of all files in a folder, or of one file; what cannot be looked at counts as 0."""
    if not path.is_dir():
        return _file_bytes(path)
    return sum(
        _file_bytes(Path(parent, name)) for parent, _, names in os.walk(path) for name in names
    )


def _file_bytes(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
