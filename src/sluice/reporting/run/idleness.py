"""Idle time of slots during a run.

A slot is idle when no attempt runs in it between the first submission and the last finish. Time
in which a node was down counts as idle, because the state does not record when nodes join or leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from sluice.core.entries import Attempt
from sluice.model.slot_kind import SlotKind
from sluice.reporting.run.trace import slot_indexes


@dataclass(frozen=True, slots=True, kw_only=True)
class Idleness:
    """Idle time of one node's slots of one kind. idle_share: of slots times the run's length.

    longest_s, longest_from_s, longest_slot: the longest uninterrupted idle time of one slot.
    """

    node: str
    kind: str
    slots: int
    idle_s: float
    idle_share: float
    longest_s: float
    longest_from_s: float
    longest_slot: int

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        return asdict(self)


class _SlotGroup:
    """Slots of one kind on one node. Attempts are added in the order of their end."""

    def __init__(self, slots: int, starts_at_s: float) -> None:
        self.free_from_s = [starts_at_s] * slots
        self.idle_s = 0.0
        self.longest = (0.0, starts_at_s, 0)  # length, start, slot

    def hold(self, slot: int, from_s: float, to_s: float) -> None:
        """Add a busy time. The busy times of one slot come in order and do not overlap."""
        free_from_s = self.free_from_s[slot]
        gap_s = from_s - free_from_s
        if gap_s > 0:
            self.idle_s += gap_s
            if gap_s > self.longest[0]:
                self.longest = (gap_s, free_from_s, slot)
        self.free_from_s[slot] = max(free_from_s, to_s)


def idleness(
    attempts: Iterable[Attempt],
    nodes: Iterable[tuple[str, Mapping[SlotKind, int]]],
    starts_at_s: float,
    ends_at_s: float,
) -> tuple[Idleness, ...]:
    """A row for each node and kind of slot.

    attempts: in the order of their end.  nodes: each node's slots of the kinds in use.
    """
    groups = {
        (node, kind): _SlotGroup(slots, starts_at_s)
        for node, kinds in nodes
        for kind, slots in kinds.items()
    }
    for attempt in attempts:
        group = groups[attempt.node.node_id, attempt.launch.slot_kind]
        # Attempts that outlive the last job are outside of the run.
        from_s, to_s = min(attempt.started_at_s, ends_at_s), min(attempt.finished_at_s, ends_at_s)
        for slot in slot_indexes(attempt.launch.slots):
            group.hold(slot, from_s, to_s)
    rows = []
    for (node, kind), group in groups.items():
        for slot in range(len(group.free_from_s)):
            group.hold(slot, ends_at_s, ends_at_s)
        rows.append(_row(node, kind, group, ends_at_s - starts_at_s))
    return tuple(rows)


def _row(node: str, kind: SlotKind, group: _SlotGroup, span_s: float) -> Idleness:
    slots = len(group.free_from_s)
    longest_s, longest_from_s, longest_slot = group.longest
    return Idleness(
        node=node,
        kind=kind.value,
        slots=slots,
        idle_s=group.idle_s,
        idle_share=group.idle_s / (slots * span_s) if slots and span_s else 0.0,
        longest_s=longest_s,
        longest_from_s=longest_from_s,
        longest_slot=longest_slot,
    )
