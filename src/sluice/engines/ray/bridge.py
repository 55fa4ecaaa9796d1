"""The bridge: the process that uses Ray for a run. JSON lines over a socket of the file system.

It takes these commands from the driver, and goes on without one for `grace_s`:

* `serve` with a node and the settings of its node server: keep an agent actor there from now on.
* `again` with a node and an address: replace the node server there; its agent has failed.
* `release` with a node: its agent actor ends, and so does the raylet of an embedded cluster.
* `provision` with a number of processors: ask Ray's autoscaler for so many in all.
* `raylet` with a name: start one in an embedded cluster, for a rented node, unless it is there.
* `stop`: end the actors, an embedded cluster, and the bridge itself.

It reports `node` and `left`, `serving` with an address and `unserved`, `listed` after the first
look at the cluster, and `fault` before it ends for a fault. A driver that connects later gets all
that holds then.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import shutil
import signal
import socket
import sys
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sluice.engines.agent import kernel
from sluice.engines.agent.channel import Channel, parsed
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.engines.ray.agent_actor import AgentActor
from sluice.engines.ray.embedded_cluster import LOOPBACK, NODE_LABEL, EmbeddedCluster

BRIDGE_NAME = "sluice-ray"
LOOK_S = 0.5  # between two looks at Ray's list of nodes
TURN_S = 0.05  # answers of actors are looked for this often
TRIES_MAX = 5  # of node servers that ended, on each node
TRY_AGAIN_S = 0.5
END_S = 10.0  # for the node servers to end what they have started


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeSettings:
    """The facts that a bridge needs to know.

    root: a private folder for it alone; removed at its end.  address: of a Ray cluster; None for an
    embedded one, with a raylet for each label of `raylets`.  namespace: of the run's actors.
    import_path, env: for node servers of an embedded cluster, which are on the driver's machine.
    listen_fd: a socket that listens for drivers; -1 to list the nodes once, on standard output.
    """

    root: str
    address: str | None
    raylets: list[str]
    namespace: str
    grace_s: float
    import_path: list[str]
    env: dict[str, str]
    listen_fd: int = -1


@dataclass(slots=True)
class Served:
    """An agent actor. address: None until it says where its node server listens.

    end_by_s: when to kill one that was asked to end.
    """

    actor: Any
    said_address: Any
    said_end: Any
    address: tuple[str, int] | None = None
    end_by_s: float = math.inf


class Bridge:
    """Serves one run."""

    def __init__(self, settings: BridgeSettings) -> None:
        import ray

        self._ray: Any = ray
        self._settings = settings
        self._listener = socket.socket(fileno=settings.listen_fd)
        self._driver: Channel | None = None
        self._alone_since_s = self._looked_at_s = time.monotonic()
        self._cluster: EmbeddedCluster | None = None
        self._nodes: dict[str, dict[str, Any]] = {}
        self._is_listed = False
        self._wanted: dict[str, ServerSettings] = {}
        self._served: dict[str, Served] = {}
        self._leaving: dict[str, Served] = {}  # of nodes that are given back
        self._removed: set[str] = set()  # nodes whose raylets end
        self._tries: Counter[str] = Counter()
        self._try_at_s: dict[str, float] = {}
        self._has_request = self._is_over = False

    def run(self) -> None:
        """Serve until the end; then nothing of it is left."""
        try:
            if self._settings.address is None:
                self._cluster = EmbeddedCluster(Path(self._settings.root))
                self._cluster.add_nodes(self._settings.raylets)
            connect(self._ray, self._settings, self._cluster)
            signal.signal(signal.SIGTERM, lambda *_: self._finish())
            while not self._is_over:
                self._turn()
        except Exception as error:  # noqa: BLE001  # of whatever kind, the driver is to know
            traceback.print_exc()
            self._await_driver()
            self._report("fault", why=fault_of(error))
        finally:
            self._end()

    def _finish(self) -> None:
        self._is_over = True

    def _turn(self) -> None:
        self._hear_driver(TURN_S)
        if self._cluster is not None:
            self._cluster.check()
            self._cluster.reap()
        now_s = time.monotonic()
        if not self._is_listed or now_s >= self._looked_at_s + LOOK_S:
            self._looked_at_s = now_s
            self._look_at_nodes()
        self._serve_nodes(now_s)
        self._hear_actors()
        if self._driver is None and now_s > self._alone_since_s + self._settings.grace_s:
            self._finish()

    # --- the driver -------------------------------------------------------------------------------

    def _await_driver(self) -> None:
        if self._driver is None and select.select([self._listener], [], [], 1.0)[0]:
            self._accept()

    def _hear_driver(self, wait_s: float) -> None:
        driver = self._driver
        watched: list[Any] = [self._listener]
        if driver is not None:
            watched.append(driver.read_fd)
        if self._listener in select.select(watched, [], [], wait_s)[0]:
            self._accept()
        if driver is not None and driver is self._driver:
            for line in driver.lines():
                self._obey(parsed(line))
            driver.flush()
            if driver.is_at_end:
                self._part()

    def _accept(self) -> None:
        """A driver that connects is the newest one of the run: no other process can."""
        accepted, _ = self._listener.accept()
        self._part()
        descriptor = accepted.detach()
        self._driver = Channel(descriptor, os.dup(descriptor))
        for node in self._nodes.values():
            self._report("node", **node)
        for node_id, served in self._served.items():
            if served.address is not None:
                self._report("serving", id=node_id, address=served.address)
        if self._is_listed:
            self._report("listed")

    def _part(self) -> None:
        if self._driver is not None:
            self._driver.close()
            self._driver = None
        self._alone_since_s = time.monotonic()

    def _obey(self, command: Mapping[str, Any]) -> None:
        match command.get("do"):
            case "serve":
                self._wanted[command["id"]] = ServerSettings(**command["settings"])
            case "again":
                served = self._served.get(command["id"])
                if served is not None and served.address == tuple(command["address"]):
                    self._ray.kill(served.actor)
            case "release":
                self._release(command["id"])
            case "provision":
                self._request(command["cpus"])
            case "raylet" if self._cluster is not None:
                self._cluster.add_nodes([command["name"]])
            case "stop":
                self._finish()

    def _request(self, cpus: int) -> None:
        """Ask Ray's autoscaler for so many processors in all, in place of the last request."""
        from ray.autoscaler.sdk import request_resources

        request_resources(num_cpus=cpus)
        self._has_request = cpus > 0

    def _release(self, node_id: str) -> None:
        """Leave a node to others; it may be served again later."""
        self._wanted.pop(node_id, None)
        self._tries.pop(node_id, None)
        served = self._served.pop(node_id, None)
        if served is not None:
            served.actor.end.remote()
            served.end_by_s = time.monotonic() + END_S
            self._leaving[node_id] = served
        elif node_id not in self._leaving:
            self._remove_raylet(node_id)

    def _remove_raylet(self, node_id: str) -> None:
        """End the raylet of a node, if it is ours. Ray notices that a while later."""
        node = self._nodes.get(node_id)
        if self._cluster is not None and node is not None and node_id not in self._removed:
            self._removed.add(node_id)
            self._cluster.remove_node(node["labels"][NODE_LABEL])

    def _report(self, name: str, **details: object) -> None:
        if self._driver is not None:
            self._driver.send({"report": name, **details})
            self._driver.flush()

    # --- nodes and actors -------------------------------------------------------------------------

    def _look_at_nodes(self) -> None:
        found = nodes_of(self._ray)
        self._removed &= found.keys()
        seen = {node_id: node for node_id, node in found.items() if node_id not in self._removed}
        for node_id in self._nodes.keys() - seen.keys():
            del self._nodes[node_id]
            self._served.pop(node_id, None)
            self._leaving.pop(node_id, None)
            self._report("left", id=node_id, why="Ray counts the node as dead")
        for node_id in seen.keys() - self._nodes.keys():
            self._nodes[node_id] = seen[node_id]
            self._report("node", **seen[node_id])
        # All of an embedded cluster come up together; the first jobs are to see all of them.
        if not self._is_listed and len(seen) >= len(self._settings.raylets):
            self._is_listed = True
            self._report("listed")

    def _serve_nodes(self, now_s: float) -> None:
        for node_id, settings in self._wanted.items():
            node = self._nodes.get(node_id)
            is_due = now_s >= self._try_at_s.get(node_id, 0.0) and self._tries[node_id] < TRIES_MAX
            is_busy = node_id in self._served or node_id in self._leaving
            if node is not None and not is_busy and is_due:
                self._tries[node_id] += 1
                self._served[node_id] = self._start_actor(node, settings)

    def _start_actor(self, node: Mapping[str, Any], settings: ServerSettings) -> Served:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        made = replace(settings, host=node["address"], data_host=node["address"])
        actor = (
            self._ray.remote(AgentActor)
            .options(
                name=f"agent-{node['id']}",
                lifetime="detached",
                get_if_exists=True,  # the one of a bridge that was killed
                num_cpus=node["resources"]["CPU"],
                max_restarts=0,
                max_task_retries=0,
                max_concurrency=3,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["id"], soft=False),
            )
            .remote(asdict(made), self._settings.import_path, self._settings.env)
        )
        return Served(actor, actor.address.remote(), actor.wait.remote())

    def _hear_actors(self) -> None:
        waiting = [one.said_end for one in (*self._served.values(), *self._leaving.values())]
        waiting += [one.said_address for one in self._served.values() if one.address is None]
        if not waiting:
            return
        # One question for all nodes: it is asked at every turn.
        answered = set(self._ray.wait(waiting, num_returns=len(waiting), timeout=0)[0])
        for node_id, served in list(self._served.items()):
            if served.address is None and served.said_address in answered:
                with contextlib.suppress(self._ray.exceptions.RayError):  # `wait` fails as well
                    served.address = tuple(self._ray.get(served.said_address))
                    self._report("serving", id=node_id, address=served.address)
            if served.said_end in answered:
                self._actor_ended(node_id, served)
        for node_id, served in list(self._leaving.items()):
            if served.said_end in answered or time.monotonic() >= served.end_by_s:
                del self._leaving[node_id]
                self._drop(node_id, served)
                self._remove_raylet(node_id)

    def _actor_ended(self, node_id: str, served: Served) -> None:
        try:
            why = self._ray.get(served.said_end)
        except self._ray.exceptions.RayError as error:
            why = f"its agent actor ended: {fault_of(error)}"
        del self._served[node_id]
        self._drop(node_id, served)
        self._report("unserved", id=node_id, why=why)

    def _drop(self, node_id: str, served: Served) -> None:
        with contextlib.suppress(Exception):  # it is dead already
            self._ray.kill(served.actor)
        self._try_at_s[node_id] = time.monotonic() + TRY_AGAIN_S

    # --- the end ----------------------------------------------------------------------------------

    def _end(self) -> None:
        with contextlib.suppress(Exception):  # whatever it is, their leases end the node servers
            self._end_actors()
        with contextlib.suppress(Exception):
            if self._has_request:  # or the nodes would be kept for ever
                self._request(0)
            self._ray.shutdown()
        if self._cluster is not None:
            self._cluster.end()
        self._listener.close()
        shutil.rmtree(self._settings.root, ignore_errors=True)
        if self._driver is not None:
            self._driver.close()

    def _end_actors(self) -> None:
        served = [*self._served.values(), *self._leaving.values()]
        for one in served:
            one.actor.end.remote()
        if served:
            ends = [one.said_end for one in served]
            self._ray.wait(ends, num_returns=len(ends), timeout=END_S)
        for one in served:
            self._ray.kill(one.actor)


def connect(ray: Any, settings: BridgeSettings, cluster: EmbeddedCluster | None = None) -> None:  # noqa: ANN401  # a module
    """Connect with the cluster that is embedded, or has an address. Raises what Ray raises."""
    ray.init(
        address=settings.address if cluster is None else cluster.address,
        namespace=settings.namespace,
        log_to_driver=False,
        logging_level="ERROR",
    )


def nodes_of(ray: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401  # a module
    """The living nodes with processors, by Ray's id.

    Those of an embedded cluster have the loopback address: no other machine is to reach them.
    """
    return {
        node["NodeID"]: {
            "id": node["NodeID"],
            "host": node["NodeManagerHostname"],
            "address": LOOPBACK
            if NODE_LABEL in (node.get("Labels") or {})
            else node["NodeManagerAddress"],
            "resources": node["Resources"],
            "labels": node.get("Labels") or {},
        }
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
    }


def fault_of(error: BaseException) -> str:
    """The first line of what Ray says, which may be many."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def main() -> None:
    """Serve as the JSON object in the first line of standard input says."""
    kernel.name_process(BRIDGE_NAME)
    settings = BridgeSettings(**json.loads(sys.stdin.buffer.readline()))
    # Ray writes to both; what it writes to the output must not be taken for an answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if settings.listen_fd >= 0:
        Bridge(settings).run()
        return
    import ray

    try:
        connect(ray, settings)
        answer.write(json.dumps({"nodes": list(nodes_of(ray).values())}))
    except Exception as error:  # noqa: BLE001  # of whatever kind, the driver is to know
        answer.write(json.dumps({"fault": fault_of(error)}))
    answer.flush()


if __name__ == "__main__":
    main()
