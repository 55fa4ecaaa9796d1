"""Whether waiting tasks of other jobs come before a copy: never in LATE, at times in `sepb`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sluice.core.entries import JobEntry
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import JobOrder


class CopyGate:
    """Plain LATE: tasks of other jobs do not matter. A class to derive from: calls are direct."""

    @property
    def number(self) -> str:
        """Its name among the cases."""
        return "LATE"

    def attach(self, state: ClusterState, line: JobOrder) -> None:
        """Called once before the first event."""

    def saved(self) -> list[Any]:
        """Return as JSON what it remembers and the state does not show; see `Policy.saved`."""
        return []

    def restored(self, saved: Sequence[Any]) -> None:
        """Remember again what `saved` returned."""

    def settle(self) -> None:
        """Apply the changes since the last call; called before each heartbeat."""

    def allows(self, job: JobEntry, kind: SlotKind) -> bool:
        """Whether a slow task of a kind may be copied in the job."""
        return True
