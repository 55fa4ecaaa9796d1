"""A Ray cluster on this machine: a head without processors, and a raylet for each node."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

OBJECT_STORE_BYTES = 80_000_000  # nothing goes through it; Ray takes no less than 75 MiB
NODE_LABEL = "sluice-node"  # the number of a node of an embedded cluster


class EmbeddedCluster:
    """root: a folder with a short path, for all files of Ray. The processes are our children."""

    def __init__(self, root: Path) -> None:
        from ray.cluster_utils import Cluster

        (root / "ray").mkdir(exist_ok=True)  # it notes the address of its newest cluster here
        self._cluster: Any = Cluster(
            initialize_head=True,
            shutdown_at_exit=False,
            head_node_args={
                "num_cpus": 0,
                "include_dashboard": False,
                "object_store_memory": OBJECT_STORE_BYTES,
                "temp_dir": str(root / "ray"),
            },
        )

    @property
    def address(self) -> str:
        """Where its head is."""
        return str(self._cluster.address)

    def add_nodes(self, nodes: int) -> None:
        """Start a raylet for each node.

        Each has one processor, for its agent actor: Ray starts a worker for each beforehand.
        """
        for number in range(nodes):
            self._cluster.add_node(
                wait=False,
                num_cpus=1,
                object_store_memory=OBJECT_STORE_BYTES,
                labels={NODE_LABEL: str(number)},
            )

    def reap(self) -> None:
        """Collect what has ended. A worker takes a raylet for alive until it is collected."""
        for node in self._nodes():
            for processes in node.all_processes.values():
                for one in processes:
                    one.process.poll()

    def end(self) -> None:
        """End all its processes; `kill_all_processes` waits for them."""
        for node in self._nodes():
            with contextlib.suppress(Exception):  # whatever Ray says, the sweep ends the rest
                node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)

    def _nodes(self) -> list[Any]:
        head = self._cluster.head_node
        return [*self._cluster.worker_nodes, *([] if head is None else [head])]
