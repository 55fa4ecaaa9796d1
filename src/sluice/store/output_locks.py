"""The locks on outputs: one run at a time writes to a place, from its start to its end.

Two runs of one workload file have the same outputs. Without a lock both would do all their work,
and only the commit would show that one of them did it for nothing. All runs of a state folder lock
bytes of one file, so that nothing is left to remove. The kernel releases them with their holder.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from sluice.model.errors import InvalidInput
from sluice.store.database import store_errors
from sluice.store.private import open_private_file

FILE_NAME = "outputs.lock"
_FLOCK = "hhqqi4x"  # struct flock: type, whence, start, length, process (0 for these locks)


class OutputLocks:
    """Held from construction to `release`."""

    def __init__(self, runs: Path, outputs: Iterable[str]) -> None:
        """Lock the outputs for one run.

        runs: the folder of runs.  outputs: folders, which need not exist.
        Raises InvalidInput if another run holds one of them.
        """
        path = runs / FILE_NAME
        with store_errors(path):
            self._file = open_private_file(path, os.O_RDWR)
        try:
            for output in outputs:
                self._lock(output, path)
        except BaseException:
            self.release()
            raise

    def _lock(self, output: str, path: Path) -> None:
        request = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, _place_of(output), 1, 0)
        with store_errors(path):
            try:
                # A lock of the open file: one of the process would let it lock a byte twice.
                fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, request)
            except BlockingIOError as error:
                raise InvalidInput(
                    f"output {output!r} is that of another run, which has just begun or resumed",
                    where="run.output",
                    hint="wait until it has ended (`sluice runs` lists it), or give another output",
                ) from error

    def release(self) -> None:
        """Release the locks; a second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _place_of(output: str) -> int:
    """The byte of the file that is for this output, whichever links lead to it."""
    digest = hashlib.sha256(os.fsencode(os.path.realpath(output))).digest()
    return int.from_bytes(digest[:8]) >> 2  # far enough from the end that a length can be added
