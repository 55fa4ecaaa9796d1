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
_WIDTH_S_MIN = 1.0  # clocks of two forecasts differ by less
Values = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class KeptQuote:
    """A quote for one job. until_s: by the monotonic clock.

    queue, deadline_at: that were asked for.
    """

    tenant: str
    job: Values
    queue: str | None
    deadline_at: datetime | None
    promise: Mapping[str, Any]
    until_s: float

    def accepted(self, offer: int | None) -> Values:
        """Return what is asked for: the quoted queue and deadline, or with the change of an offer.

        Raises Problem.
        """
        given = {"queue": self.queue, "deadline_at": self.deadline_at}
        asked: Values = {name: value for name, value in given.items() if value is not None}
        if offer is None:
            return asked
        offers: Sequence[Mapping[str, Any]] = self.promise.get("counter_offers", [])
        if offer >= len(offers):
            raise Problem(422, f"the quote has {len(offers)} offers", where="offer",
                          hint="count from 0")  # fmt: skip
        change = offers[offer]["change"]
        if "deadline_s" in change:
            return asked | {
                "deadline_at": datetime.now(UTC) + timedelta(seconds=change["deadline_s"])
            }
        if "queue" in change:
            return asked | {"queue": str(change["queue"])}
        raise Problem(422, "more nodes are not a job's to have", where="offer",
                      hint="ask an operator for them, or take another offer")  # fmt: skip

    def check(self, now: Mapping[str, Any]) -> None:
        """Raise Problem 409 where the job would end later than was quoted.

        An end later by the time since the quote, in which nothing was submitted, is as quoted; and
        so is one that has moved by no more than the interval's width.
        now: what would be promised to what was quoted.
        """
        quoted: Mapping[str, Any] = self.promise.get("ends_at") or {}
        low, high = quoted.get("low"), quoted.get("high")
        end = (now.get("ends_at") or {}).get("expected")
        if not (low and high and end):
            return
        width_s = max(_seconds(high) - _seconds(low), _WIDTH_S_MIN)
        waited_s = VALID_S - (self.until_s - time.monotonic())
        if _seconds(end) > _seconds(quoted["expected"]) + waited_s + width_s:
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
        queue: str | None,
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
                tenant=who.tenant, job=jobs[0], queue=queue, deadline_at=deadline_at,
                promise=promise, until_s=now_s + VALID_S,
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


def _seconds(instant: str) -> float:
    return datetime.fromisoformat(instant).timestamp()
