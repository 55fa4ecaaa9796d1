"""The record of machines that are rented and given back while jobs run."""

from __future__ import annotations

from typing import Final, NamedTuple

from sluice.core.entries import NodeEntry
from sluice.core.reasons import Reason
from sluice.model.ids import NodeId
from sluice.model.slot_kind import SlotKind

_CONTAINER: Final = SlotKind.CONTAINER


class MachineChange(NamedTuple):
    """A change to the rented machines. what: rented, joined, unneeded, kept or returned.

    node_id: "" for `rented`, because the driver names the node.  nodes: how many.
    """

    at_s: float
    what: str
    node_id: str
    nodes: int
    reason: Reason


class MachineRecord:
    """Part of the state. to_come: nodes that are rented and have not joined.  leaving: nodes that
    get no more work and are given back when nothing needs them.  cordoned: nodes to which an
    operator lets no more work go.  kept_free: containers for jobs that wait for rented nodes.
    changes: so far, in order, but for what was forgotten.  returned: nodes that were given back;
    the next one that is rented may have the name of one of them.
    """

    def __init__(self) -> None:
        self.to_come = 0
        self.kept_free = 0
        self.leaving: dict[NodeId, NodeEntry] = {}
        self.cordoned: dict[NodeId, NodeEntry] = {}
        self.changes: list[MachineChange] = []
        self.returned: set[NodeId] = set()

    def note(self, change: MachineChange) -> None:
        """Append a change."""
        self.changes.append(change)
        if change.what == "returned":
            self.returned.add(NodeId(change.node_id))
        elif change.what == "joined":
            self.returned.discard(NodeId(change.node_id))

    def present(self) -> list[MachineChange]:
        """How each rented node that is there came and how it is, and why others are to come."""
        found: list[MachineChange] = []
        left, known, gone = self.to_come, set[str](), set[str]()
        for one in reversed(self.changes):
            if one.what == "rented":
                if left > 0:  # nodes join in the order of the requests for them
                    found.append(one)
                left -= one.nodes
            elif one.what == "returned":
                gone.add(one.node_id)  # what is before is about another node of this name
            elif one.node_id not in gone and (one.what == "joined" or one.node_id not in known):
                known.add(one.node_id)
                found.append(one)
        return found[::-1]

    def forget(self) -> None:
        """Know only what is needed to go on."""
        self.changes = self.present()

    @property
    def withheld(self) -> int:
        """Containers that count as spare for no job: those kept free, and all of the nodes that
        get no more work.
        """
        idle = self.leaving | self.cordoned if self.cordoned else self.leaving
        return self.kept_free + sum([one.slots(_CONTAINER) for one in idle.values() if one.is_up])
