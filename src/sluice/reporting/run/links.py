"""Bytes that real tasks moved over each link between nodes, and how far apart the nodes are.

Nodes that share a disk move nothing that could be measured. An attempt counts wherever it ended
well: its input from the driver or from other nodes, its map output from them, and the part file
that it sent to the driver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sluice.core.entries import Attempt
from sluice.model.cluster import Cluster, Locality
from sluice.reporting.formatting import size


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The bytes that attempts of one node moved between it and another node.

    node: where the attempts ran.  peer: the other node; "driver" for the driver's machine; the
    node itself for map output that its own reduces read.  locality: of the two.
    """

    node: str
    peer: str
    locality: Locality
    moved_bytes: int

    def document(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "node": self.node,
            "peer": self.peer,
            "locality": self.locality.name.lower(),
            "moved_bytes": self.moved_bytes,
        }


def links(attempts: Iterable[Attempt], cluster: Cluster) -> tuple[Link, ...]:
    """The links of a run, in order of their names; none if nothing was measured."""
    moved: Counter[tuple[str, str]] = Counter()
    for attempt in attempts:
        if attempt.usage is not None:
            for peer, count in attempt.usage.fetched:
                moved[attempt.node.node_id, peer] += count
    racks: dict[str, str] = {node.node_id: node.rack for node in cluster.nodes}
    return tuple(
        Link(node=node, peer=peer, locality=_locality(node, peer, racks), moved_bytes=count)
        for (node, peer), count in sorted(moved.items())
    )


def _locality(node: str, peer: str, racks: dict[str, str]) -> Locality:
    if node == peer:
        return Locality.NODE
    is_near = node in racks and peer in racks and racks[node] == racks[peer]
    return Locality.RACK if is_near else Locality.ANY


def moved_bytes(moved: Iterable[Link]) -> dict[str, int]:
    """The bytes that moved, by how near the two ends are: node, rack, or any."""
    total = {level.name.lower(): 0 for level in Locality}
    for link in moved:
        total[link.locality.name.lower()] += link.moved_bytes
    return total


def moved_text(by_level: dict[str, Any]) -> str:
    """One line of the bytes by level.

    >>> moved_text({"node": 10, "rack": 0, "any": 2000})
    'data moved: 10 B on the same node, 0 B within racks, 2.0 KiB further'
    """
    near, rack, far = (size(by_level[name]) for name in ("node", "rack", "any"))
    return f"data moved: {near} on the same node, {rack} within racks, {far} further"
