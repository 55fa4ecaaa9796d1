"""A data server as a child of this process: of a node server, or of the driver."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys

from sluice.engines.data_plane.server import Served

END_S = 5.0
BACKLOG = 128

# As for the agent: it imports from the folders that this process imports from.
BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from sluice.engines.data_plane.server import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)


class DataServerProcess:
    """A running data server. It listens at `host`; `port` is known at once.

    wanted_port: 0 for any that is free. One that is given is where others look for it, so that
    another would not do.
    """

    def __init__(self, served: Served, host: str, wanted_port: int = 0) -> None:
        """Raises OSError."""
        with _listening(host, wanted_port) as listening:
            self.port: int = listening.getsockname()[1]
            self._process = self._start(listening)
        assert self._process.stdin is not None
        self._process.stdin.write(served.to_line())
        self._process.stdin.flush()

    @property
    def pid(self) -> int:
        """The process id of the data server."""
        return self._process.pid

    def ended(self) -> str:
        """How it ended; "" if it has not."""
        code = self._process.poll()
        if code is None:
            return ""
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        return f"its data server ended: {how}"

    def end(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:  # it is frozen
            self._process.kill()
            self._process.wait()

    @staticmethod
    def _start(listening: socket.socket) -> subprocess.Popen[bytes]:
        path = json.dumps([str(entry) for entry in sys.path])
        number = listening.fileno()
        return subprocess.Popen(
            [sys.executable, "-P", "-c", BOOT, path, str(number), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=(number,),
            start_new_session=True,  # Ctrl-C at the terminal does not reach it
        )


def _listening(host: str, wanted_port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, wanted_port), family=family, backlog=BACKLOG)
