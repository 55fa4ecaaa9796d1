"""Quotes that may still be accepted: what was promised to whom, for a minute.

Nothing of a quote is kept in the journal; who accepts one gets a promise of its own, which must lie
within the quote. Source: service spec, section 5, "Quote then submit".
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sluice.service.problem import Problem
from sluice.store.service.access import Principal

VALID_S = 60
KEPT_MAX = 10_000
Values = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class KeptQuote:
    """A quote for one job. deadline_at: that was asked for.  until_s: by the monotonic clock."""

    tenant: str
    job: Values
    deadline_at: datetime | None
    promise: Mapping[str, Any]
    until_s: float

    def accepted(self, offer: int | None) -> Values:
        """Return what is asked for: the quoted deadline, or the change of an offer.

        Raises Problem.
        """
        if offer is None:
            return {} if self.deadline_at is None else {"deadline_at": self.deadline_at}
        offers: Sequence[Mapping[str, Any]] = self.promise.get("counter_offers", [])
        if offer >= len(offers):
            raise Problem(422, f"the quote has {len(offers)} offers", where="offer",
                          hint="count from 0")  # fmt: skip
        change = offers[offer]["change"]
        if "deadline_s" in change:
            return {"deadline_at": datetime.now(UTC) + timedelta(seconds=change["deadline_s"])}
        if "queue" in change:
            return {"queue": str(change["queue"]), **self.accepted(None)}
        raise Problem(422, "more nodes are not a job's to have", where="offer",
                      hint="ask an operator for them, or take another offer")  # fmt: skip

    def check(self, now: Mapping[str, Any]) -> None:
        """Raise Problem 409 where the expected end has moved out of what was quoted.

        now: what would be promised to what was quoted.
        """
        quoted: Mapping[str, Any] = self.promise.get("ends_at") or {}
        low, high = quoted.get("low"), quoted.get("high")
        end = (now.get("ends_at") or {}).get("expected")
        if low and high and end and not low <= end <= high:
            raise Problem(409, f"the job would now end at {end}, and was quoted {low} to {high}",
                          where="quote_id", hint="ask for another quote")  # fmt: skip


class Quotes:
    """The quotes of one web process."""

    def __init__(self) -> None:
        self._known: dict[str, KeptQuote] = {}

    def keep(
        self,
        who: Principal,
        jobs: Sequence[Values],
        deadline_at: datetime | None,
        promise: Mapping[str, Any],
    ) -> str:
        """The id of a new quote; one for several jobs cannot be accepted as one."""
        quote_id = f"quote-{secrets.token_hex(8)}"
        now_s = time.monotonic()
        if len(self._known) >= KEPT_MAX:
            self._known = {name: one for name, one in self._known.items() if one.until_s > now_s}
        if len(jobs) == 1 and len(self._known) < KEPT_MAX:
            self._known[quote_id] = KeptQuote(
                tenant=who.tenant, job=jobs[0], deadline_at=deadline_at, promise=promise,
                until_s=now_s + VALID_S,
            )  # fmt: skip
        return quote_id

    def find(self, who: Principal, quote_id: str, job: Values) -> KeptQuote:
        """Raises Problem 409 for one that is over, another tenant's, or for another job."""
        found = self._known.get(quote_id)
        is_over = found is None or found.until_s < time.monotonic()
        if found is None or is_over or found.tenant != who.tenant:
            raise Problem(409, "the quote is not known, or older than a minute", where="quote_id",
                          hint="ask for another one")  # fmt: skip
        if found.job != job:
            raise Problem(409, "the quote is for another job", where="quote_id",
                          hint="submit the job as it was quoted")  # fmt: skip
        return found
