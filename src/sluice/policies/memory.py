"""What the parts of a policy remember, as one document: see `Policy.saved`.

A part that decorates another saves what is inside, and its own facts next to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Memory = Mapping[str, Any]
NOTHING: Final[Memory] = {}


def joined(**parts: Memory | None) -> dict[str, Any] | None:
    """The parts that remember something, by name; None if one of them cannot be saved."""
    if any(part is None for part in parts.values()):
        return None
    return {name: part for name, part in parts.items() if part}


def part_of(saved: Memory, name: str) -> Memory:
    """The memory of one part."""
    found: Memory = saved.get(name, NOTHING)
    return found
