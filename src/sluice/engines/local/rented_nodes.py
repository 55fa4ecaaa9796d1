"""Virtual nodes that are rented and given back while a run goes on.

A rented node is like the first node of the run. Its agent starts `start_s` after it was asked for,
as a VM takes a while to boot, and it joins when the agent is up. One that is given back is gone at
once, with its agent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import count

from sluice.engines.agent_engine import NodeChange
from sluice.model.cluster import Node
from sluice.model.ids import NodeId


class RentedNodes:
    """Rented nodes of one engine. model: what they are like.  taken: names of other nodes."""

    def __init__(self, model: Node, taken: Collection[NodeId], start_s: float) -> None:
        self.nodes: dict[NodeId, Node] = {}  # those that were started, and not given back
        self._model = model
        self._taken = set(taken)
        self._start_s = start_s
        self._due: list[tuple[float, Node]] = []  # in order of their instants
        self._changes: list[NodeChange] = []

    @property
    def next_at_s(self) -> float:
        """When the next one boots, by `time.monotonic`; infinity for never."""
        return self._due[0][0] if self._due else math.inf

    def restore(self, nodes: Sequence[Node], taken: Collection[NodeId]) -> None:
        """The nodes that a former life of the run had rented. taken: names that are not free."""
        self._taken.update(taken)
        self.nodes |= {node.node_id: node for node in nodes}

    def rent(self, nodes: int) -> None:
        """Ask for more nodes."""
        at_s = time.monotonic() + self._start_s
        self._due += [(at_s, replace(self._model, node_id=self._next_id())) for _ in range(nodes)]

    def give_back(self, node_id: NodeId) -> None:
        """A node is not needed any more; may be repeated."""
        node = self.nodes.pop(node_id, None)
        if node is not None:
            self._taken.discard(node_id)
            self._changes.append(NodeChange(node=node, left="it was given back"))

    def tend(self, now_s: float) -> None:
        """Boot what is due."""
        while self._due and self._due[0][0] <= now_s:
            _, node = self._due.pop(0)
            self.nodes[node.node_id] = node
            self._changes.append(NodeChange(node=node))

    def changes(self) -> list[NodeChange]:
        """The nodes that came or went since the last call."""
        found, self._changes = self._changes, []
        return found

    def _next_id(self) -> NodeId:
        """The first free name of rented-1, rented-2 and so on.

        That of a node that was given back is free again: the names of a service that rents and
        gives back for months are as many as its nodes at a time.
        """
        names = (NodeId(f"rented-{number}") for number in count(1))
        name = next(one for one in names if one not in self._taken)
        self._taken.add(name)
        return name
