"""The methods that indexes over the state implement, so that they are kept up to date."""

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
        """See `AttemptObserver`."""

    def all_progressed(self, attempts: list[Attempt]) -> None:
        """Attempts have reported their progress: `attempt.progress`."""

    def ended(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""


class AttemptWatchers:
    """All observers of attempts, in the order of their registration by kind."""

    def __init__(self) -> None:
        self.are_there = False
        self._observers: tuple[AttemptObserver, ...] = ()
        self._indexes: tuple[AttemptIndex, ...] = ()

    def add(self, observer: AttemptObserver) -> None:
        """Call the observer from now on."""
        self.are_there = True
        if isinstance(observer, AttemptIndex):
            self._indexes = (*self._indexes, observer)
        else:
            self._observers = (*self._observers, observer)

    def began(self, attempt: Attempt) -> None:
        """The attempt runs."""
        for observer in self._observers:
            observer.began(attempt)
        for index in self._indexes:
            index.began(attempt)

    def progressed(self, attempts: list[Attempt]) -> None:
        """The progress of these attempts has been recorded."""
        for index in self._indexes:
            index.all_progressed(attempts)

    def ended(self, attempt: Attempt) -> None:
        """The attempt has ended."""
        for observer in self._observers:
            observer.ended(attempt)
        for index in self._indexes:
            index.ended(attempt)
