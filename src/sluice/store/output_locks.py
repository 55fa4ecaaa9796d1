"""The locks on outputs: one run or job at a time writes to a place, from its start to its end.

Two runs of one workload file have the same outputs. Without a lock both would do all their work,
and only the commit would show that one of them did it for nothing. The same is true of an output
inside another one. All runs of a user lock bytes of one file in /tmp, whichever state folders they
have, so that a file next to each output is not needed. Those of a state folder, and its service,
lock the same bytes of a file in it, for machines where /tmp is private to a process or taken by
another user. Nothing is left to remove. The kernel releases the locks with their holder.

The byte of an output is locked for writing, and the bytes of all folders around it for reading:
many outputs can be in a folder that is not an output itself.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sluice.model.errors import InvalidInput
from sluice.store.database import store_errors
from sluice.store.private import open_private_file

FILE_NAME = "outputs.lock"
# Not the TMPDIR, which clusters set for each job.
MACHINE_FOLDER = Path("/tmp")  # noqa: S108  # the file is opened as `open_private_file` says
_FLOCK = "hhqqi4x"  # struct flock: type, whence, start, length, process (0 for these locks)


class OutputLocks:
    """Held from construction to `release`, or each from `hold` to `let_go`."""

    def __init__(self, runs: Path, outputs: Iterable[str] = ()) -> None:
        """Lock the outputs for one run.

        runs: the folder of runs.  outputs: folders, which need not exist.
        Raises InvalidInput if another run or job holds one of them, or has one in or around it.
        """
        self._path = runs / FILE_NAME
        self._held: set[str] = set()
        self._around: Counter[str] = Counter()  # folders, and how many outputs they are around
        with store_errors(self._path):
            self._files = [open_private_file(self._path, os.O_RDWR)]
        with suppress(OSError):
            self._files.append(_file_of_user())
        try:
            for output in outputs:
                self.hold(output)
        except BaseException:
            self.release()
            raise

    def hold(self, output: str) -> None:
        """Lock one output more. Raises InvalidInput as the constructor does."""
        place, around = _places_of(output)
        if place in self._held:
            return
        # Locks of one open file are never in each other's way.
        if place in self._around:
            raise _taken(f"output {output!r} is around that of another job")
        for folder in around:
            if folder in self._held:
                raise _inside(output, folder)
        self._held.add(place)
        self._around.update(around)
        try:
            self._lock(output, place, around)
        except BaseException:
            self.let_go(output)
            raise

    def _lock(self, output: str, place: str, around: Iterable[str]) -> None:
        if not self._is_locked(place, fcntl.F_WRLCK):
            raise _taken(f"output {output!r} is that of another run or job, or around it")
        for folder in around:
            if not self._is_locked(folder, fcntl.F_RDLCK):
                raise _inside(output, folder)

    def let_go(self, output: str) -> None:
        """Release the lock on one output; one that is not held is ignored."""
        place, around = _places_of(output)
        if place not in self._held:
            return
        self._held.remove(place)
        self._around.subtract(around)
        self._around = +self._around
        for folder in {place, *around} - self._around.keys() - self._held:
            self._is_locked(folder, fcntl.F_UNLCK)

    def _is_locked(self, place: str, kind: int) -> bool:
        """Set the lock on the byte of a place; False if another one is in its way."""
        request = struct.pack(_FLOCK, kind, os.SEEK_SET, _byte_of(place), 1, 0)
        with store_errors(self._path):
            try:
                for file in self._files:
                    # A lock of the open file: one of the process would let it lock a byte twice.
                    fcntl.fcntl(file, fcntl.F_OFD_SETLK, request)
            except BlockingIOError:
                return False
        return True

    def release(self) -> None:
        """Release all locks; a second call does nothing."""
        while self._files:
            os.close(self._files.pop())


def _file_of_user() -> int:
    path = MACHINE_FOLDER / f"sluice-outputs-{os.geteuid()}.lock"
    file = open_private_file(path, os.O_RDWR)
    # systemd-tmpfiles removes no old file on which a process has such a lock.
    fcntl.flock(file, fcntl.LOCK_SH)
    return file


def _places_of(output: str) -> tuple[str, list[str]]:
    """The folder, whichever links lead to it, and the folders around it."""
    place = os.path.realpath(output)
    return place, [str(folder) for folder in Path(place).parents]


def _byte_of(place: str) -> int:
    digest = hashlib.sha256(os.fsencode(place)).digest()
    return int.from_bytes(digest[:8]) >> 2  # far enough from the end that a length can be added


def _inside(output: str, folder: str) -> InvalidInput:
    return _taken(f"output {output!r} is inside {folder!r}, the output of another run or job")


def _taken(what: str) -> InvalidInput:
    return InvalidInput(
        f"{what}, which has not ended",
        where="run.output",
        hint="wait until it has ended (`sluice runs` and `sluice jobs` list it), or give another"
        " output",
    )
