"""The one family of errors, so that callers need one `except`.

`InvalidInput` is for the caller to fix, `Infeasible` is a true "no", `EngineUnavailable` means try
again, and `StoreCorrupt` stops and keeps the evidence.
"""

from __future__ import annotations


class SluiceError(Exception):
    """Base of everything that Sluice raises on purpose."""


class InvalidInput(SluiceError):
    """Outside data that cannot be used: what is wrong, where, and a hint how to fix it."""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what, where, hint)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        hint = f" {self.hint[:1].upper()}{self.hint[1:]}" if self.hint else ""
        return f"{head}.{hint}" if hint.endswith(("?", ".")) else f"{head}.{hint and hint + '.'}"

    def within(self, place: str) -> InvalidInput:
        """The same error, with an outer place in front of `where`."""
        where = f"{place}, {self.where}" if self.where else place
        return InvalidInput(self.what, where=where, hint=self.hint)


class Infeasible(SluiceError):
    """The request cannot be met: a true "no"."""


class EngineUnavailable(SluiceError):
    """An engine did not answer or could not start; trying again may help."""


class StoreCorrupt(SluiceError):
    """The journal or a store contradicts itself; nothing is repaired silently."""
