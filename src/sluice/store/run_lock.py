"""One driver a run: a lock that the kernel gives back when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from sluice.model.errors import EngineUnavailable
from sluice.store.database import told_clearly


class RunLock:
    """Held from construction to `release`. Raises EngineUnavailable where another holds it."""

    def __init__(self, folder: Path) -> None:
        path = folder / "lock"
        with told_clearly(path):
            # Python opens files so that programs started later do not inherit them: tasks that
            # outlive their driver cannot keep the lock.
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            # `flock`, not `lockf`: that one would let the same process lock twice.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._file, 20).decode("ascii", "replace").strip()
            self.release()
            raise EngineUnavailable(
                f"run {folder.name} is being driven by process {holder or 'unknown'}."
                " Wait for it to end, or stop it; then resume."
            ) from error
        with told_clearly(path):
            os.truncate(self._file, 0)
            os.write(self._file, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Give it back; a second time does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
