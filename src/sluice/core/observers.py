"""What indexes over the state implement, so that they are kept up to date."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sluice.core.entries import Attempt, PhaseEntry


class Observer(Protocol):
    """Keeps an index over the state up to date; policies attach theirs."""

    def touch(self, phase: PhaseEntry) -> None:
        """The phase's waiting or running count, or whether it may start, has changed."""


class AttemptObserver(Protocol):
    """Called for each attempt; for policies that need attempts, not just their number."""

    def began(self, attempt: Attempt) -> None:
        """It runs from now on."""

    def ended(self, attempt: Attempt) -> None:
        """It has ended: `attempt.state` says how."""


@runtime_checkable
class ProgressObserver(AttemptObserver, Protocol):
    """An observer of attempts that is also called at each report, of which there are many."""

    def progressed(self, attempt: Attempt) -> None:
        """It has reported its progress: `attempt.progress`."""
