"""The lock of a scratch folder: one engine, or one node server, works in it at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from sluice.model.errors import EngineUnavailable
from sluice.store.private import make_private_folder, open_private_file


class ScratchLock:
    """The kernel gives it back when the process that holds it ends, in whichever way."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._fd: int | None = None

    def take(self) -> None:
        """Make the folder and lock it. Raises EngineUnavailable if another process has it."""
        make_private_folder(self._scratch)
        self._fd = open_private_file(self._scratch / "lock", os.O_RDWR)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise EngineUnavailable(f"another engine works in {self._scratch}") from error

    def release(self) -> None:
        """Give it back; may be called again."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
