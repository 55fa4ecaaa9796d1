"""The lock that lets one process at a time drive a run; the kernel releases it with its holder."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from sluice.model.errors import EngineUnavailable
from sluice.store.database import store_errors
from sluice.store.private import open_private_file


class RunLock:
    """Held from construction to `release`. Raises EngineUnavailable if another process holds it."""

    def __init__(self, folder: Path) -> None:
        self._path = path = folder / "lock"
        with store_errors(path):
            # The descriptor is not inheritable: tasks that outlive their driver cannot keep the
            # lock. The file is private: another user who can open it can lock it.
            self._file = open_private_file(path, os.O_RDWR)
        try:
            # `flock`, not `lockf`, which would let the same process lock twice.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._file, 20).decode("ascii", "replace").strip()
            self.release()
            raise EngineUnavailable(
                f"run {folder.name} is being driven by process {holder or 'unknown'}."
                " Wait for it to end, or stop it; then resume."
            ) from error
        with store_errors(path):
            os.truncate(self._file, 0)
            os.write(self._file, f"{os.getpid()}\n".encode())

    @property
    def is_in_place(self) -> bool:
        """Whether others who want it find it. If the folder is gone, they lock another file."""
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._file))
        except OSError:
            return False

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
