"""How many tasks of either kind a cluster runs side by side, as release policies reckon with it."""

from __future__ import annotations

from sluice.core.state import ClusterState
from sluice.model.job import SlotKind


def widths(state: ClusterState) -> tuple[int, int]:
    """Map slots and reduce slots, at least 1 each. Containers without a type count as both."""
    if has_containers_only(state):
        containers = max(1, state.slots[SlotKind.CONTAINER])
        return containers, containers
    return max(1, state.slots[SlotKind.MAP]), max(1, state.slots[SlotKind.REDUCE])


def has_containers_only(state: ClusterState) -> bool:
    """Whether no node that is up has a slot of either kind."""
    return not (state.slots[SlotKind.MAP] or state.slots[SlotKind.REDUCE])
