"""Kinds of slots: what a task takes on a node."""

from __future__ import annotations

from enum import Enum


class SlotKind(Enum):
    """Kind of slot that a task needs. A typed slot takes one kind of task, a container any."""

    MAP = "map"
    REDUCE = "reduce"
    CONTAINER = "container"

    # Members are singletons, so hashing by identity is correct. Enum's own hash runs Python code,
    # and its cost is visible in the core, which looks up slot kinds for every event.
    __hash__ = object.__hash__
