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
class ProgressObserver:
    """An observer of attempts that is also called at each report.

    There are many of those, so this is a class to derive from: calls of it are direct.
    """

    def began(self, attempt: Attempt) -> None:
        """As `AttemptObserver`."""

    def progressed(self, attempt: Attempt) -> None:
        """The attempt has reported its progress: `attempt.progress`."""

    def ended(self, attempt: Attempt) -> None:
        """As `AttemptObserver`."""
