"""What the parts of a policy remember, as one document: see `Policy.saved`.

A part that decorates another saves what is inside, and its own facts next to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from sluice.core.protocols import Policy
from sluice.core.state import ClusterState

Memory = Mapping[str, Any]
NOTHING: Final[Memory] = {}


class Around(Protocol):
    """A policy around another, `inner`.

    memory: what it remembers besides what is inside.  remember: takes that back.
    """

    @property
    def inner(self) -> Policy: ...

    def memory(self) -> Memory | None: ...

    def remember(self, own: Memory, state: ClusterState) -> None: ...


def saved_around(policy: Around) -> Memory | None:
    """What a policy and the one inside remember; None if one of them cannot be saved."""
    inner, own = policy.inner.saved(), policy.memory()
    if inner is None or own is None:
        return None
    return {name: part for name, part in (("inner", inner), ("own", own)) if part}


def restore_around(policy: Around, saved: Memory, state: ClusterState) -> None:
    """Let both remember again what `saved_around` returned."""
    policy.inner.restored(_part(saved, "inner"), state)
    policy.remember(_part(saved, "own"), state)


def _part(saved: Memory, name: str) -> Memory:
    found: Memory = saved.get(name, NOTHING)
    return found
