"""The facts known of few attempts of a simulation, though of each real one that has ended."""

from __future__ import annotations

from sluice.core.reasons import Reason
from sluice.model.attempts import Usage
from sluice.model.resources import Resources


class _Facts:
    """The values themselves, as attributes that are described below."""

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.outputs: tuple[str, ...] = ()
        self.detail = ""
        self.kill_reason: Reason | None = None
        self.is_undone = False
        self.undone_why = ""
        self.reserved: Resources | None = None


class RareFacts:
    """A base of attempts. Nearly all of a simulation have none of these, and pay for one field."""

    _facts: _Facts | None = None

    def _noted(self) -> _Facts:
        """Where a value is set."""
        if self._facts is None:
            self._facts = _Facts()
        return self._facts

    @property
    def usage(self) -> Usage | None:
        """Return what it used, as its node measured it."""
        return None if self._facts is None else self._facts.usage

    @usage.setter
    def usage(self, value: Usage | None) -> None:
        self._noted().usage = value

    @property
    def outputs(self) -> tuple[str, ...]:
        """Where its outputs are."""
        return () if self._facts is None else self._facts.outputs

    @outputs.setter
    def outputs(self, value: tuple[str, ...]) -> None:
        self._noted().outputs = value

    @property
    def detail(self) -> str:
        """Why it ended without success; empty if that is not known."""
        return "" if self._facts is None else self._facts.detail

    @detail.setter
    def detail(self, value: str) -> None:
        self._noted().detail = value

    @property
    def kill_reason(self) -> Reason | None:
        """Why it was asked to end."""
        return None if self._facts is None else self._facts.kill_reason

    @kill_reason.setter
    def kill_reason(self, value: Reason | None) -> None:
        self._noted().kill_reason = value

    @property
    def is_undone(self) -> bool:
        """Whether it was done, and its output is lost."""
        return self._facts is not None and self._facts.is_undone

    @property
    def undone_why(self) -> str:
        """With which node its output was lost, or who could not read it."""
        return "" if self._facts is None else self._facts.undone_why

    def undo(self, why: str) -> None:
        """It was done, and its output is lost."""
        facts = self._noted()
        facts.is_undone, facts.undone_why = True, why

    @property
    def reserved(self) -> Resources | None:
        """The resources of its node that are reserved for it."""
        return None if self._facts is None else self._facts.reserved

    @reserved.setter
    def reserved(self, value: Resources | None) -> None:
        self._noted().reserved = value

    def drop_measures(self) -> None:
        """Let go of what was measured, and of where its outputs are; often that was all."""
        facts = self._facts
        if facts is None:
            return
        facts.usage, facts.outputs = None, ()
        if not (facts.detail or facts.kill_reason or facts.is_undone or facts.reserved):
            self._facts = None

    @property
    def has_facts(self) -> bool:
        """Whether any of these were set."""
        return self._facts is not None
