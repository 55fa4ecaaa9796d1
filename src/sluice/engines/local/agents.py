"""The agent of one node of this machine, as the engine sees it: a process and a channel."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sluice.engines.agent import kernel
from sluice.engines.agent.attempts import tail
from sluice.engines.agent.channel import Channel, parsed
from sluice.engines.agent.poller import Poller
from sluice.engines.lease import Lease
from sluice.engines.local.enclosure import Enclosure
from sluice.engines.unix_users import UnixUser, modules_path
from sluice.model.cluster import Node
from sluice.store.private import make_private_folder, open_private_file

NODE_MARK = "SLUICE_NODE"
SWEEP_S = 30.0  # a process that was killed needs a processor to end
CLEAN_SEARCHES = 2

# The agent imports from the folders that this process imports from; `-P` leaves the working folder
# out. PYTHONPATH would do it too, but the user's commands inherit the agent's environment.
BOOT = (
    "import json, sys; {} json.loads(sys.argv[1]); "
    "from pathlib import Path; from sluice.engines.agent.__main__ import main; "
    "main(sys.argv[2], Path(sys.argv[3]))"
)


class LocalAgent:
    """A started agent. Its folder is named by a digest, because the user chooses the node's id.

    scratch: has the folder of the node.  user: as whom the agent and all that it starts run; then
    `scratch` is the folder of that user on the node.
    """

    def __init__(
        self, node: Node, scratch: Path, lease_s: float | None, *, user: UnixUser | None = None
    ) -> None:
        self.node = node
        self.is_up = False
        self.lease = Lease(lease_s)
        self._board: Poller | None = None
        self._user = user
        self._python = sys.executable if user is None else user.python
        self._folder = node_folder(node, scratch) if user is None else scratch
        make_private_folder(self._folder)
        # What the driver reads may not be where a customer could put a link to another file.
        self._errors = (self._folder if user is None else scratch.parent) / (
            "agent.log" if user is None else f"{scratch.name}.log"
        )
        self._errors.unlink(missing_ok=True)
        self._process = self._start()
        self._enclosure = Enclosure.around(self._process.pid, self._folder)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.channel = Channel(os.dup(self._process.stdout.fileno()), self._dup_of_input())
        self._process.stdin.close()
        self._process.stdout.close()
        if lease_s is not None:
            self.send({"do": "beat", "every_s": self.lease.beat_s})

    @property
    def is_at_end(self) -> bool:
        """Whether the agent has closed its output."""
        return self.channel.is_at_end

    @property
    def trouble(self) -> str:
        """Nothing: a pipe has no trouble of its own."""
        return ""

    @property
    def pid(self) -> int:
        """The process id of the agent."""
        return self._process.pid

    def watch(self, board: Poller, hear: Callable[[], None]) -> None:
        """Have `hear` called whenever reports may have arrived, or the agent is gone."""
        self._board = board
        board.watch(self.channel, hear)

    def reports(self) -> list[dict[str, Any]]:
        """The reports that have arrived; each is a sign of life."""
        lines = self.channel.lines()
        if lines:
            self.lease.renew()
        return [parsed(line) for line in lines]

    def ahead_s(self, now_s: float) -> float:
        """The agent has the clock of this machine."""
        return time.monotonic() - now_s

    def send(self, command: Mapping[str, Any]) -> None:
        """Send a command now, as far as the agent reads it; later turns send the rest."""
        self.channel.send(command)
        self.channel.flush()

    def end(self) -> str:
        """End the agent and every process that it started; returns how the agent ended."""
        if self._board is not None:
            self._board.close(self.channel)
        self.channel.close()
        self._process.kill()
        code = self._process.wait()
        if self._enclosure is not None:
            self._enclosure.end()
        sweep(self._folder)
        how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        return f"its agent ended: {how}\n{tail(self._errors)}".rstrip()

    def _start(self) -> subprocess.Popen[bytes]:
        path = json.dumps(modules_path(self._python))
        # Another Python keeps its own standard library.
        boot = BOOT.format("sys.path[:] =" if self._python == sys.executable else "sys.path +=")
        environment = os.environ if self._user is None else self._user.environment()
        own = {} if self._user is None else {"TMPDIR": str(self._folder / "tmp")}
        with os.fdopen(open_private_file(self._errors, os.O_WRONLY | os.O_APPEND), "ab") as errors:
            return subprocess.Popen(
                [self._python, "-P", "-c", boot, path, self.node.node_id, str(self._folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment | own | {NODE_MARK: str(self._folder)},
                cwd=None if self._user is None else self._folder,
                start_new_session=True,  # Ctrl-C at the terminal does not reach it
                **({} if self._user is None else self._user.process()),
            )

    def _dup_of_input(self) -> int:
        assert self._process.stdin is not None
        return os.dup(self._process.stdin.fileno())


def node_folder(node: Node, scratch: Path) -> Path:
    """The folder of a node's files; the same in every life of the engine."""
    return scratch / f"node-{hashlib.sha256(node.node_id.encode()).hexdigest()[:16]}"


def sweep(folder: Path) -> None:
    """End every process that was started for the node of this folder, in any life of the engine.

    They have its mark in the environment that they were started with. The search repeats until it
    finds none twice: a process may fork before it is ended, and one that forks and exits during
    the first search is found by neither its own number nor its child's.
    """
    give_up_at_s = time.monotonic() + SWEEP_S
    clean = 0
    while clean < CLEAN_SEARCHES and time.monotonic() < give_up_at_s:
        found = [pid for pid in kernel.all_pids() if _is_alive(pid, folder)]
        clean = 0 if found else clean + 1
        for pid in found:
            _kill(pid)
        if found:
            time.sleep(0.001)


def _is_alive(pid: int, folder: Path) -> bool:
    # A process that has ended and is not reaped has no environment.
    return pid != os.getpid() and kernel.has_mark(pid, f"{NODE_MARK}={folder}")


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
