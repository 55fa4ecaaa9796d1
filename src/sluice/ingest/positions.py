"""Positions in a text: paths into a document, and the lines that they lead to."""

from __future__ import annotations

from typing import NamedTuple

from sluice.model.errors import InvalidInput

Path = tuple[str | int, ...]

DEPTH_MAX = 100


class Place(NamedTuple):
    """Line and column, both counted from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


def place_at(text: str, position: int) -> Place:
    """The line and column of a character.

    >>> place_at("a: 1" + chr(10) + "b: 2", 5)
    Place(line=2, column=1)
    """
    line_start = text.rfind("\n", 0, position) + 1
    return Place(text.count("\n", 0, position) + 1, position - line_start + 1)


class NotationError(Exception):
    """A text that is not a valid document: what is wrong, where, and a hint.

    is_syntax: the text breaks the notation's grammar, so that another notation may fit it.
    """

    def __init__(
        self, what: str, *, place: Place | None, hint: str, is_syntax: bool = False
    ) -> None:
        super().__init__(what)
        self.what = what
        self.place = place
        self.hint = hint
        self.is_syntax = is_syntax

    def with_source(self, source: str) -> InvalidInput:
        """The error as a complaint about a file."""
        where = source if self.place is None else f"{source} {self.place}"
        return InvalidInput(self.what, where=where, hint=self.hint)
