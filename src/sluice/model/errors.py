"""The errors that Sluice raises; all of them derive from `SluiceError`.

The caller can fix `InvalidInput`. `Infeasible` is a true "no". After `EngineUnavailable` a retry
may help. After `StoreCorrupt` Sluice stops and leaves the files as they are.
"""

from __future__ import annotations


def sentence(text: str) -> str:
    """The text with a period, unless it has one: it may end with the message of an error.

    >>> sentence("the store cannot be read: no room. Make some."), sentence("seed has no effect")
    ('the store cannot be read: no room. Make some.', 'seed has no effect.')
    """
    return text if text.endswith((".", "?", "!")) else f"{text}."


class SluiceError(Exception):
    """Base class of all errors that Sluice raises."""


class InvalidInput(SluiceError):
    """Input that cannot be used. what: the fault.  where: its place.  hint: how to fix it."""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what, where, hint)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        head = sentence(f"{self.where}: {self.what}" if self.where else self.what)
        return f"{head} {sentence(self.hint[:1].upper() + self.hint[1:])}" if self.hint else head

    def within(self, place: str) -> InvalidInput:
        """Return the same error with an outer place added in front of `where`."""
        where = f"{place}, {self.where}" if self.where else place
        return InvalidInput(self.what, where=where, hint=self.hint)


def wrong_value(name: str, value: object, where: str, hint: str) -> InvalidInput:
    """The error that a field has a value that it cannot have."""
    return InvalidInput(f"{name} is {value}", where=where, hint=hint)


def unreadable(path: object, error: OSError | ValueError) -> InvalidInput:
    """The error that a file cannot be read; a ValueError is of a path with a NUL character."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return InvalidInput(f"it cannot be read: {reason}", where=str(path), hint="check the path")


class Infeasible(SluiceError):
    """The request has no solution: a true "no"."""


class EngineUnavailable(SluiceError):
    """An engine did not answer or could not start; a retry may help."""


class StoreCorrupt(SluiceError):
    """The journal or a store contradicts itself; Sluice never repairs it silently."""
