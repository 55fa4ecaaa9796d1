"""What indexes over the state implement, so that they are kept up to date."""

from __future__ import annotations

from typing import Protocol

from mypy_extensions import mypyc_attr

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


@mypyc_attr(allow_interpreted_subclasses=True)
class AttemptIndex:
    """An observer of attempts to derive from: calls of it are direct, at a tenth of the price."""

    def began(self, attempt: Attempt) -> None:
        """As `AttemptObserver`."""

    def all_progressed(self, attempts: list[Attempt]) -> None:
        """Attempts have reported their progress: `attempt.progress`."""

    def ended(self, attempt: Attempt) -> None:
        """As `AttemptObserver`."""
