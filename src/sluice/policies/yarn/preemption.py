"""Taking containers back from queues above their share: what both schedulers of YARN have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sluice.core.entries import Attempt, PhaseEntry
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.attempts import AttemptKey
from sluice.policies.yarn.applications import Host
from sluice.policies.yarn.queues import Application, YarnQueue


class Preemption:
    """None at all, unless a subclass takes containers back."""

    def saved(self) -> dict[str, Any]:
        """All that the running tasks do not show, as JSON values."""
        return {}

    def restored(self, saved: Mapping[str, Any]) -> None:
        """Take it back, once applications and running tasks are known."""

    def submitted(self, app: Application, now_s: float) -> None:
        """An application has come."""

    def began(self, attempt: Attempt, app: Application) -> None:
        """A task runs."""

    def ended(self, attempt: Attempt, app: Application) -> bool:
        """A task has ended. Returns whether YARN no longer counts it, although its node does."""
        return False

    def update(self, now_s: float) -> None:
        """The fair scheduler has looked at demands and fair shares."""

    def owed(self, host: Host) -> Iterator[Application]:
        """Applications for which containers of a node were taken back, once for each of them."""
        return iter(())

    def granted(self, app: Application, host: Host) -> None:
        """An application has got a container."""

    def wake_at_s(self, now_s: float) -> float | None:
        """The next instant at which a task may have to end."""
        return None

    def kills(
        self, now_s: float, over: Sequence[tuple[Application, PhaseEntry | None, bool]]
    ) -> Iterator[tuple[AttemptKey, Reason]]:
        """Tasks that end now.

        over: tasks and masters that have ended, which nodes will report, and whether they are done.
        """
        return iter(())


def reason_of(leaf: YarnQueue) -> Reason:
    """The reason for the end of a task. leaf: the queue that is named."""
    path = leaf.queue.path if leaf.queue is not None else ""
    return Reason(ReasonCode.PREEMPTED, (("queue", path),))
