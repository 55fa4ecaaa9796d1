"""The nodes of pools of VMs: which are free, which jobs have, and which are shut down."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from sluice.core.state import ClusterState
from sluice.policies.memory import fields_restored, fields_saved

_BY_TYPE = ("_free", "_on", "sizes", "units")


class VmNodes:
    """Nodes by VM type. A spare node is shut down at first.

    units: of one VM, by type.  sizes: VMs of each pool that are up and may stay.
    """

    def __init__(self) -> None:
        self.units: dict[str, float] = {}
        self.sizes: dict[str, int] = {}
        self._free: dict[str, list[int]] = {}  # indexes, ascending
        self._on: dict[str, int] = {}  # up, free or of a job
        self._off: set[int] = set()  # shut down
        self._places: dict[int, int] = {}  # of a node among those of its type, as they came
        self._of_type: dict[str, int] = {}
        self._node_changes = -1

    def saved(self) -> dict[str, Any]:
        """All that was counted, as JSON values."""
        return {
            **fields_saved(self, _BY_TYPE),
            "counted": self._node_changes,
            "off": sorted(self._off),
            "places": list(self._places.items()),
        }

    def restored(self, saved: Mapping[str, Any], state: ClusterState) -> None:
        """Take back what was saved."""
        fields_restored(self, _BY_TYPE, saved)
        self._node_changes, self._off = saved["counted"], set(saved["off"])
        self._places = dict(saved["places"])
        types = Counter(state.node_at[index].node.vm_type for index in self._places)
        self._of_type = {str(vm_type): count for vm_type, count in types.items()}

    def has_counted(self, state: ClusterState) -> bool:
        """Whether no node has come or gone since the last count."""
        return self._node_changes == state.node_changes

    def count(self, state: ClusterState, taken: Container[int]) -> Iterator[str]:
        """Count again; yields the types whose number of VMs has changed.

        taken: nodes that jobs have.
        """
        self._node_changes = state.node_changes
        for vm_type, indexes in self._nodes_on(state).items():
            self._free[vm_type] = [index for index in indexes if index not in taken]
            more = len(indexes) - self._on.get(vm_type, 0)
            self._on[vm_type] = len(indexes)
            if more or vm_type not in self.sizes:
                self.sizes[vm_type] = max(0, self.sizes.get(vm_type, 0) + more)
                yield vm_type

    def _nodes_on(self, state: ClusterState) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for entry in state.node_at:
            node = entry.node
            if not node.vm_type:
                continue
            here = found.setdefault(node.vm_type, [])
            self.units.setdefault(node.vm_type, node.vm_units)
            if entry.index not in self._places:
                place = self._of_type.get(node.vm_type, 0)
                self._places[entry.index], self._of_type[node.vm_type] = place, place + 1
                if node.vm_is_spare:
                    self._off.add(entry.index)
            if entry.is_up and entry.index not in self._off:
                here.append(entry.index)
        return found

    def places(self, indexes: Iterable[int]) -> list[int]:
        """Places of nodes among those of their type, from 0."""
        return [self._places[index] for index in indexes]

    def take(self, vm_type: str, vms: int) -> list[int]:
        """The first free nodes of a type."""
        free = self._free[vm_type]
        nodes, self._free[vm_type] = free[:vms], free[vms:]
        assert len(nodes) == vms, "the planner knows how many VMs there are"
        return nodes

    def give_back(self, vm_type: str, nodes: list[int]) -> None:
        """A job has ended; its nodes are free."""
        for index in nodes:
            insort(self._free[vm_type], index)

    def resize(self, vm_type: str, vms: int, state: ClusterState) -> bool:
        """Let a pool have that many VMs: shut down free ones, or start spare ones.

        VMs of jobs beyond that number are shut down when they are free and this is called again.
        Returns whether there are as many.
        """
        more, free = vms - self._on[vm_type], self._free[vm_type]
        if more < 0:
            gone = free[more:]
            del free[more:]
            self._off.update(gone)
            self._on[vm_type] -= len(gone)
        elif more:
            for index in sorted(self._off):
                node = state.node_at[index]
                if more and node.is_up and node.node.vm_type == vm_type:
                    more -= 1
                    self._off.remove(index)
                    self._on[vm_type] += 1
                    insort(free, index)
        self.sizes[vm_type] = min(vms, self._on[vm_type])
        return self.sizes[vm_type] == vms
