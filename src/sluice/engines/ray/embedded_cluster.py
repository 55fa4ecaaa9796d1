"""A Ray cluster on this machine: a head without processors, and a raylet for each node."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

from sluice.engines.agent import kernel
from sluice.model.errors import InvalidInput

RAYLET_BYTES = 220_000_000  # of memory, as measured: a raylet, its agents and worker, and our agent
OBJECT_STORE_BYTES = 80_000_000  # nothing goes through it; Ray takes no less than 75 MiB
NODE_LABEL = "sluice-node"  # of a node of an embedded cluster: its number, or its name if rented
LOOPBACK = "127.0.0.1"  # where its node servers and data servers listen
RAYLETS_AT_ONCE = 4  # that start; each waits for two interpreters, and Ray for no raylet over 30 s
LOOK_S = 0.02


class EmbeddedCluster:
    """root: a folder with a short path, for all files of Ray. The processes are our children.

    Ray waits for each raylet, so they start in threads; `check` says how that went. Before it has
    forked a raylet, Ray looks for names of files that are free, and for modules to import, and
    neither is fit for two threads. So a raylet begins to start once the one before has a process.
    """

    def __init__(self, root: Path) -> None:
        from ray.cluster_utils import Cluster

        self._folder = root / "ray"
        self._folder.mkdir(exist_ok=True)  # it notes the address of its newest cluster here
        self._pool = ThreadPoolExecutor(1 + RAYLETS_AT_ONCE, thread_name_prefix="raylets")
        self._starts: list[Future[None]] = []
        self._numbers = count()
        self._in_turn = threading.Lock()
        self._by_label: dict[str, Any] = {}  # None for one that has not started
        self._cluster: Any = Cluster(
            initialize_head=True,
            shutdown_at_exit=False,
            head_node_args={
                "num_cpus": 0,
                "include_dashboard": False,
                "include_log_monitor": False,  # it would send what workers print to the driver
                "no_monitor": True,  # of an autoscaler
                "object_store_memory": OBJECT_STORE_BYTES,
                "temp_dir": str(self._folder),
            },
        )

    @property
    def address(self) -> str:
        """Where its head is."""
        return str(self._cluster.address)

    def add_nodes(self, labels: Sequence[str]) -> None:
        """Begin to start a raylet for each label that has none."""
        new = [label for label in labels if label not in self._by_label]
        self._by_label |= dict.fromkeys(new)
        self._starts.append(self._pool.submit(self._start_raylets, new))

    def remove_node(self, label: str) -> None:
        """Begin to end the raylet with a label; another may get that label at once."""
        node = self._by_label.pop(label, None)
        if node is not None:
            self._starts.append(self._pool.submit(self._cluster.remove_node, node))

    def _start_raylets(self, labels: Sequence[str]) -> None:
        with self._in_turn:
            for label in labels:
                socket = str(self._folder / f"raylet-{next(self._numbers)}")
                start = self._pool.submit(self._start_raylet, label, socket)
                self._starts.append(start)
                while not (start.done() or _is_in_a_command_line(socket)):
                    time.sleep(LOOK_S)

    def _start_raylet(self, label: str, socket: str) -> None:
        """With one processor, for its agent actor: Ray starts a worker for each beforehand."""
        self._by_label[label] = self._cluster.add_node(
            wait=False,
            num_cpus=1,
            object_store_memory=OBJECT_STORE_BYTES,
            labels={NODE_LABEL: label},
            raylet_socket_name=socket,  # names of its own: Ray looks for those that are there
            plasma_store_socket_name=f"{socket}-store",
        )

    def check(self) -> None:
        """Raise what Ray raised if a raylet could not be started."""
        done = [start for start in self._starts if start.done()]
        for start in done:
            self._starts.remove(start)
            start.result()

    def reap(self) -> None:
        """Collect what has ended. A worker takes a raylet for alive until it is collected."""
        for node in self._nodes():
            for processes in node.all_processes.values():
                for one in processes:
                    one.process.poll()

    def end(self) -> None:
        """End all its processes; `kill_all_processes` waits for them."""
        self._pool.shutdown(cancel_futures=True)
        for node in self._nodes():
            with contextlib.suppress(Exception):  # whatever Ray says, the sweep ends the rest
                node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)

    def _nodes(self) -> list[Any]:
        head = self._cluster.head_node
        return [*self._cluster.worker_nodes, *([] if head is None else [head])]


def check_room(raylets: int) -> None:
    """Raise InvalidInput if this machine has no memory for that many raylets."""
    found = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text("ascii"))
    free_bytes = int(found[1]) << 10 if found else 0
    if found and raylets * RAYLET_BYTES > free_bytes:
        raise InvalidInput(
            f"{raylets} raylets on this machine need {raylets * RAYLET_BYTES / 1e9:.1f} GB of"
            f" memory, and {free_bytes / 1e9:.1f} GB are free",
            where="--engine ray",
            hint=f"give at most --nodes {max(1, free_bytes // RAYLET_BYTES)}",
        )


def _is_in_a_command_line(words: str) -> bool:
    for pid in kernel.all_pids():
        with contextlib.suppress(OSError):  # it has ended
            if words.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                return True
    return False
