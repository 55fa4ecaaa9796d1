"""Static typed slots: map slots for maps, reduce slots for reduces, shared fairly.

Starts the same tasks as `fair`, but lists a node's maps before its reduces: what DynamicMR does
when it lends nothing. Source: dynamicmr spec, section 5.6.
"""

from __future__ import annotations

from sluice.core.entries import NodeEntry
from sluice.model.job import SlotKind
from sluice.policies.fair import Fair


class StaticSlots(Fair):
    """Fair shares of each kind of slot by itself."""

    name = "static"

    def _next_kind(self, node: NodeEntry, room: dict[SlotKind, int]) -> SlotKind | None:
        return next((kind for kind in room if room[kind] > 0), None)
