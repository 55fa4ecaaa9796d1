"""Nodes that are rented and given back while jobs run: what the pool policy decides.

A node is rented with `Provision`; it counts when the driver reports that it has joined. A node that
is given back gets no more work. What runs on it goes on, and its outputs stay while a job needs
them. Then comes `Release`, and the driver takes the node away. A node that is needed again before
that is kept, because this is faster and cheaper than to rent another.

None of its containers count as spare, not even those in use: a job that has a promise and a task
there is owed a container elsewhere as soon as that task ends.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from sluice.core.commands import Provision, Release, Wake
from sluice.core.entries import NodeEntry
from sluice.core.faults.node_faults import keep_cordon
from sluice.core.offers import Decisions
from sluice.core.protocols import PoolPolicy, Reservation
from sluice.core.reasons import Reason
from sluice.core.record.machine_record import MachineChange
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind

_LEAVES: Final = "it is given back"
_CONTAINER: Final = SlotKind.CONTAINER


class RentedNodes:
    """Carries out what the pool policy decides. resting: the nodes that get no work for now."""

    def __init__(
        self,
        policy: PoolPolicy,
        state: ClusterState,
        decisions: Decisions,
        resting: dict[NodeEntry, None],
    ) -> None:
        # Whether the policy ever changes the machines; a decision need not ask one that does not.
        self._may_change = type(policy).reserve is not PoolPolicy.reserve
        self._policy = policy
        self._state = state
        self._decisions = decisions
        self._resting = resting
        self.awaited: deque[Reason] = deque()  # why each node that has not joined was rented
        self.leaving: dict[NodeEntry, Reason] = {}
        self.wake_at_s = -1.0  # the last wake-up that was asked for

    def decide(self) -> None:
        """Ask the policy, and give back the nodes that are no longer in use."""
        if not self._may_change:
            return
        state = self._state
        for one in self._policy.reserve(state.waiting_jobs(), state, state.now_s):
            if one.nodes > 0:
                self._rent(one)
            elif one.nodes < 0:
                self._give_back(one)
        state.machines.kept_free = self._policy.kept_free(state)
        for node in [one for one in self.leaving if self._is_unused(one)]:
            reason = self.leaving.pop(node)
            self._note("returned", node, reason)
            self._decisions.add(Release(node.node_id, reason))
        wake_at_s = self._policy.wake_at_s(state, state.now_s)
        if wake_at_s is not None and wake_at_s != self.wake_at_s and wake_at_s > state.now_s:
            self.wake_at_s = wake_at_s
            self._decisions.add(Wake(wake_at_s))

    def joined(self, node: NodeEntry, known: NodeEntry | None) -> None:
        """A node has joined. known: the entry of the node that had its name before.

        That node is back, unless it was given back: then another one has its name.
        """
        is_another = node.node_id in self._state.machines.returned
        if known is not None and not is_another:
            if known.cordon:
                keep_cordon(node, known.cordon, self._resting)
                self._state.machines.cordoned[node.node_id] = node
        elif self.awaited:
            self._state.machines.to_come = len(self.awaited) - 1
            self._note("joined", node, self.awaited.popleft())

    def lost(self, node: NodeEntry) -> None:
        """A node is gone, given back or not."""
        self.leaving.pop(node, None)
        self._state.machines.leaving.pop(node.node_id, None)

    def _rent(self, wanted: Reservation) -> None:
        nodes = wanted.nodes
        for node in list(reversed(self.leaving)):  # the last one has the most work left
            if nodes and node.node.vm_type == wanted.vm_type:
                nodes -= 1
                del self.leaving[node]
                del self._state.machines.leaving[node.node_id]
                keep_cordon(node, "", self._resting)
                self._note("kept", node, wanted.reason)
        if not nodes:
            return
        self.awaited.extend([wanted.reason] * nodes)
        self._state.machines.to_come = len(self.awaited)
        self._state.machines.note(
            MachineChange(self._state.now_s, "rented", "", nodes, wanted.reason)
        )
        self._decisions.add(Provision(wanted.vm_type, nodes, wanted.reason))

    def _give_back(self, surplus: Reservation) -> None:
        """Give the nodes with the least work no more; of equals the one that joined last."""
        state = self._state
        staying = [
            node
            for node in state.nodes.values()
            if node.is_up and not node.cordon and node.node.vm_type == surplus.vm_type
            if not surplus.node_ids or node.node_id in surplus.node_ids
        ]
        staying.sort(key=lambda node: (node.used(_CONTAINER), -node.index))
        for node in staying[: -surplus.nodes]:
            self.leaving[node] = surplus.reason
            state.machines.leaving[node.node_id] = node
            keep_cordon(node, _LEAVES, self._resting)
            self._note("unneeded", node, surplus.reason)

    def _is_unused(self, node: NodeEntry) -> bool:
        """Whether nothing runs on the node and no job needs an output that is there."""
        if any(node.used(kind) for kind in SlotKind):
            return False
        log = self._state.closed
        phases = [log.phase_of(row) for row in node.done]
        return all(phase is None or phase.job.has_ended for phase in phases)

    def _note(self, what: str, node: NodeEntry, reason: Reason) -> None:
        self._state.machines.note(MachineChange(self._state.now_s, what, node.node_id, 1, reason))
