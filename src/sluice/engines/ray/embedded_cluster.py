"""A Ray cluster on this machine: a head without processors, and a raylet for each node."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

OBJECT_STORE_BYTES = 80_000_000  # nothing goes through it; Ray takes no less than 75 MiB
NODE_LABEL = "sluice-node"  # the number of a node of an embedded cluster
RAYLETS_AT_ONCE = 4  # that start; each waits for two interpreters, and Ray for no raylet over 30 s


class EmbeddedCluster:
    """root: a folder with a short path, for all files of Ray. The processes are our children.

    The raylets start in threads: each waits longer than it works. `check` tells how that went.
    """

    def __init__(self, root: Path) -> None:
        from ray.cluster_utils import Cluster

        self._folder = root / "ray"
        self._folder.mkdir(exist_ok=True)  # it notes the address of its newest cluster here
        self._pool = ThreadPoolExecutor(RAYLETS_AT_ONCE, thread_name_prefix="raylet")
        self._starts: list[Future[object]] = []
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

    def add_nodes(self, nodes: int) -> None:
        """Begin to start a raylet for each node.

        Each has one processor, for its agent actor: Ray starts a worker for each beforehand.
        """
        for number in range(nodes):
            start = self._pool.submit(
                self._cluster.add_node,
                wait=False,
                num_cpus=1,
                object_store_memory=OBJECT_STORE_BYTES,
                labels={NODE_LABEL: str(number)},
                # Of two that start together, Ray would give both the same name.
                raylet_socket_name=str(self._folder / f"raylet-{number}"),
                plasma_store_socket_name=str(self._folder / f"store-{number}"),
            )
            self._starts.append(start)

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
