"""The agent actor of a Ray node: it starts a node server there, and waits for its end."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sluice.engines.cluster.node_servers import NodeServerProcess
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.engines.local.scratch_lock import ScratchLock
from sluice.model.errors import SluiceError

PREFIX = "sluice-node-"


class AgentActor:
    """The object in the actor. `wait` occupies one of its threads, so it needs more than one.

    settings: of the node server; without `scratch` it gets a temporary folder of this machine.
    import_path, env: of the driver, if it is on this machine; else empty.
    """

    def __init__(
        self, settings: Mapping[str, Any], import_path: list[str], env: Mapping[str, str]
    ) -> None:
        sys.path[:0] = [entry for entry in import_path if entry not in sys.path]
        made = ServerSettings(**settings)
        self._temporary = ""
        if not made.scratch:
            remove_left_folders()
            self._temporary = tempfile.mkdtemp(prefix=PREFIX)
            made = replace(made, scratch=self._temporary, scratch_is_temporary=True)
        self._server = NodeServerProcess(made, env or _own_env())

    def address(self) -> tuple[str, int]:
        """Where the node server listens."""
        return self._server.address

    def wait(self) -> str:
        """Wait for the end of the node server; returns how it ended."""
        ended = self._server.wait()
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)
        return ended

    def end(self) -> None:
        """End the node server, with all that runs there. `wait` returns then."""
        self._server.ask_to_end()


def remove_left_folders() -> None:
    """Remove the temporary folders of node servers of this machine that died with their raylet."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if not _is_own(folder) or not (folder / "lock").exists():
            continue  # another user's, or about to be used
        lock = ScratchLock(folder)
        with contextlib.suppress(OSError, SluiceError):  # a node server, or another user, has it
            lock.take()
            shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def _is_own(folder: Path) -> bool:
    """Whether it is a folder of this user: anybody may put anything there under such a name."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _own_env() -> dict[str, str]:
    """The environment of the node, without what Ray sets for its workers."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
