"""How an attempt at real work ends badly."""

from __future__ import annotations

from collections.abc import Iterable

from sluice.model.errors import SluiceError


class WorkFailed(SluiceError):
    """An attempt could not do its work.

    blames: (phase position, task) of earlier tasks whose output is missing or broken; running
    this attempt again is of no use before those have run again.
    """

    def __init__(self, message: str, blames: Iterable[tuple[int, int]] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.blames = list(blames)

    def __str__(self) -> str:
        return self.message


class PermanentFailure(WorkFailed):
    """A failure that every further attempt would meet too, so the job fails at once."""

    is_permanent = True
