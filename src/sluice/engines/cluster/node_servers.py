"""Node servers as children of this process, one for each (virtual) node of this machine.

For users who start the node server of one machine, and for clusters that tests make. Each gets a
socket that listens already: the port is known at once, and connections wait in the socket until the
server is up. It gets the token through a pipe, because others can read a command line. When that
pipe ends its starter is gone, and the node server ends all that runs, and itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from sluice.engines.agent.attempts import tail
from sluice.engines.cluster.remote_agent import Address
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.engines.local.agents import node_folder, sweep
from sluice.model.cluster import Node
from sluice.model.ids import NodeId
from sluice.store.private import make_private_folder, open_private_file

END_S = 10.0  # for a node server to end what it has started, and itself

# As for the agent: the server imports from the folders that this process imports from.
BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from sluice.engines.cluster.node_server import main; main()"
)


class NodeServerProcess:
    """A node server that this process has started. It listens as its settings say."""

    def __init__(self, settings: ServerSettings, env: Mapping[str, str] | None = None) -> None:
        self._env = env  # None for that of this process
        scratch = Path(settings.scratch)
        make_private_folder(scratch)
        self._errors = scratch / "node-server.log"
        self._errors.unlink(missing_ok=True)
        self._folder = node_folder(Node(node_id=NodeId(settings.node_id)), scratch)
        with socket.create_server((settings.host, settings.port)) as listener:
            host, port = listener.getsockname()
            self.address: Address = (host, port)
            self._process = self._start(replace(settings, listen_fd=listener.fileno()))

    @property
    def pid(self) -> int:
        """The process id of the node server."""
        return self._process.pid

    def wait(self) -> str:
        """Wait for its end; returns how it ended."""
        self._process.wait()
        return self.ended()

    def ended(self) -> str:
        """How it ended; "" if it has not."""
        code = self._process.poll()
        if code is None:
            return ""
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        return f"its node server ended: {how}\n{tail(self._errors)}".rstrip()

    def ask_to_end(self) -> None:
        """Let it end what it has started, and itself; `end` waits for that."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def end(self) -> None:
        """End it, and everything that it started."""
        self.ask_to_end()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:  # it is frozen
            self._process.kill()
            self._process.wait()
        sweep(self._folder)

    def kill(self) -> None:
        """End it at once, and then everything that it started."""
        self._process.kill()
        self.end()

    def _start(self, settings: ServerSettings) -> subprocess.Popen[bytes]:
        assert settings.listen_fd is not None
        path = json.dumps([str(entry) for entry in sys.path])
        with os.fdopen(open_private_file(self._errors, os.O_WRONLY | os.O_APPEND), "ab") as errors:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", BOOT, path],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=self._env,
                pass_fds=(settings.listen_fd,),
                start_new_session=True,  # Ctrl-C at the terminal does not reach it
            )
        assert process.stdin is not None
        # Smaller than a pipe, so that this never waits.
        process.stdin.write(json.dumps(asdict(settings)).encode() + b"\n")
        process.stdin.flush()
        return process
