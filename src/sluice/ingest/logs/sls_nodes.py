"""The nodes of SLS: racks out of a node file, or so many alike.

A node may have memory and cores; then its slots are as many containers of 1 GB and 1 core as it
has room for, shared out as the options do for a node without entries. An `sls-runner.xml` next to
the file has the size of nodes and containers that SLS uses; then such a node has containers.
"""

from __future__ import annotations

from pathlib import Path

from sluice.ingest.logs.hadoop_values import Members, Unreadable, items, members, text, whole
from sluice.ingest.logs.report import Report
from sluice.ingest.logs.sls_options import Options
from sluice.ingest.scheduler_configs.capacity_scheduler import properties_of
from sluice.ingest.scheduler_configs.xml_elements import read_xml
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import NodeId

NODES_MAX = 100_000
_CONTAINER_MB = 1024  # SLS: yarn.sls.container.memory.mb, with 1 core
_NODE_MB, _NODE_CORES = 10240, 10  # SLS: yarn.sls.nm.memory.mb, yarn.sls.nm.vcores
_AMOUNT_MAX = 10**9
_RUNNER = {
    "nm.memory.mb": _NODE_MB,
    "nm.vcores": _NODE_CORES,
    "container.memory.mb": _CONTAINER_MB,
    "container.vcores": 1,
}


def node_containers(trace: Path) -> int | None:
    """Containers of a node, from the sls-runner.xml next to a trace; None without one.

    Raises InvalidInput where that file is not XML.
    """
    path = trace.with_name("sls-runner.xml")
    if not path.is_file():
        return None
    given = properties_of(read_xml(path.read_bytes(), str(path)), str(path))
    amounts = {
        key: whole(_number(given.get(f"yarn.sls.{key}")), _AMOUNT_MAX) or default
        for key, default in _RUNNER.items()
    }
    return min(
        amounts["nm.memory.mb"] // amounts["container.memory.mb"],
        amounts["nm.vcores"] // amounts["container.vcores"],
        20_000,
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() else None


class Racks:
    """The nodes, rack by rack."""

    def __init__(self, options: Options, containers: int | None = None) -> None:
        self._options = options
        self._containers = containers
        self._nodes: dict[str, Node] = {}

    def add(self, rack: Members, line: int, report: Report) -> None:
        """The nodes of a rack of a node file; those without a name are reported."""
        name = text(rack.get("rack")) or "rack-1"
        for index, one in enumerate(items(rack.get("nodes"))):
            fields = members(one)
            node_id = text(fields.get("node"))
            if not node_id:
                report.skip(line, f"rack {name!r}, node {index + 1}: it has no name")
            elif node_id in self._nodes:
                report.skip(line, f"node {node_id!r} is given twice")
            else:
                self._add(node_id, name, *self._slots(fields))

    def add_alike(self, nodes: int, nodes_per_rack: int) -> None:
        """Add nodes without entries of their own."""
        for index in range(nodes):
            rack = f"rack-{index // max(1, nodes_per_rack) + 1}"
            slots = self._options.node_map_slots, self._options.node_reduce_slots
            if self._containers is not None:
                slots = 0, 0
            self._add(f"node-{index + 1}", rack, *slots, containers=self._containers or 0)

    def _add(
        self, node_id: str, rack: str, map_slots: int, reduce_slots: int, containers: int = 0
    ) -> None:
        if len(self._nodes) == NODES_MAX:
            raise Unreadable(f"more than {NODES_MAX} nodes")
        self._nodes[node_id] = Node(
            node_id=NodeId(node_id),
            rack=rack,
            map_slots=map_slots,
            reduce_slots=reduce_slots,
            containers=containers,
        )

    def _slots(self, fields: Members) -> tuple[int, int]:
        """Map slots and reduce slots of a node."""
        options = self._options
        if "memory-mb" not in fields and "vcores" not in fields:
            return options.node_map_slots, options.node_reduce_slots
        memory_mb = whole(fields.get("memory-mb"), _AMOUNT_MAX) or _NODE_MB
        cores = whole(fields.get("vcores"), _AMOUNT_MAX) or _NODE_CORES
        containers = min(memory_mb // _CONTAINER_MB, cores, 20_000)
        all_slots = options.node_map_slots + options.node_reduce_slots
        map_slots = -(-containers * options.node_map_slots // all_slots) if all_slots else 0
        return map_slots, containers - map_slots

    def cluster(self) -> Cluster | None:
        """The cluster; None without a node. Racks are named, but slow no task down.

        SLS's tasks take equally long on every node.
        """
        return Cluster(nodes=tuple(self._nodes.values())) if self._nodes else None
