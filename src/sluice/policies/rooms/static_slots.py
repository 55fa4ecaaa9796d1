"""Static typed slots: map slots for maps, reduce slots for reduces, shared fairly.

Starts the same tasks as `fair`, but lists a node's maps before its reduces: what DynamicMR does
when it lends nothing. Source: dynamicmr spec, section 5.6.
"""

from __future__ import annotations

from typing import ClassVar

from mypy_extensions import mypyc_attr

from sluice.core.entries import NodeEntry
from sluice.policies.orders.fair import Fair


@mypyc_attr(allow_interpreted_subclasses=True)
class StaticSlots(Fair):
    """Fair shares of each kind of slot by itself."""

    name: ClassVar[str] = "static"

    def _is_map_next(self, node: NodeEntry) -> bool:
        return True
