"""The parts that the routes share, kept in the state of the app."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from sluice.service.backend import Backend
from sluice.service.calculations import Calculations
from sluice.service.events import Events
from sluice.service.metrics import Metrics
from sluice.service.principals import Access
from sluice.service.problem import Problem
from sluice.service.quotes import Quotes
from sluice.service.tenants import Tenants


@dataclass(frozen=True, kw_only=True)
class Context:
    """The parts of one web process. shared_user: whether tenants' commands run as one account."""

    backend: Backend
    access: Access
    events: Events
    metrics: Metrics
    calculations: Calculations
    quotes: Quotes
    tenants: Tenants
    shared_user: bool

    # --- cursors ------------------------------------------------------------------------------

    def cursor(self, place: str, of: str) -> str:
        """A place in a list, as clients give it back. of: which list, with its filters."""
        signed = f"{of}\n{place}".encode()
        return f"{place}.{self.access.store.signature(signed)}"

    def place(self, cursor: str | None, of: str) -> str | None:
        """The place of a cursor. Raises Problem for one that this list has not given."""
        if cursor is None:
            return None
        place, _, _ = cursor.rpartition(".")
        if not place or self.cursor(place, of) != cursor:
            raise Problem(422, "the cursor is not one of this list", where="cursor",
                          hint="give `next` of the answer before, or leave it out")  # fmt: skip
        return place


def _context(request: Request) -> Context:
    found: Context = request.app.state.context
    return found


Given = Annotated[Context, Depends(_context)]
