"""The promise for a job before it is submitted: start, end, cost, deadline, and what would help.

Its fields are those of the promise record. Source: service spec, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.core.reasons import Reason
from sluice.reporting.document_html import NotebookView
from sluice.reporting.documents import document_of
from sluice.reporting.eta.result import JobEta, When


def instant_after(as_of: str, seconds: float) -> str:
    """ISO 8601 of an instant that many seconds after another.

    >>> instant_after("2026-01-05T08:00:00Z", 90.4)
    '2026-01-05T08:01:30Z'
    """
    later = datetime.fromisoformat(as_of) + timedelta(seconds=seconds)
    return later.isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterOffer:
    """A change that helps, and its simulated outcome.

    kind: later_deadline, shorter_limit, fewer_slots or more_vms.  change: field and new value.
    ends_in_s: expected end, seconds after the list was made.
    more_usd: additional cost in dollars; None if no price is known.
    """

    kind: str
    change: tuple[str, float]
    ends_in_s: float
    deadline_probability: float | None
    more_usd: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Quote(NotebookView):
    """The start, end and cost that a job may expect of a queue.

    decision: accepted, accepted_without_promise (why_not says why), or refused.
    cost_usd: of its slots while it holds them; None without a price.
    offers: the cheapest first, valid until that instant.
    replications: number of simulated futures.
    """

    promise_id: str
    tenant: str
    as_of: str
    decision: str
    why_not: str | None
    job: JobEta
    starts_at: tuple[str | None, str | None, str | None]
    ends_at: tuple[str | None, str | None, str | None]
    level: float
    cost_usd: When | None
    deadline_s: float | None
    deadline_at: str | None
    deadline_probability: float | None
    offers: tuple[CounterOffer, ...]
    valid_until: str
    replications: int
    notes: tuple[str, ...]

    def document(self) -> dict[str, object]:
        """The one JSON document of `quote`."""
        names = ("expected", "low", "high")
        eta = self.job.document(self.level)
        reason = self.job.reason if isinstance(self.job.reason, Reason) else None
        return {
            **document_of(self, "promise_id job.job_id tenant made_at=as_of"),
            "as_of_seq": None,
            **document_of(self, "decision why_not"),
            "starts_at": dict(zip(names, self.starts_at, strict=True)),
            "ends_at": dict(zip(names, self.ends_at, strict=True)),
            **document_of(self, "job.starts_in_s job.ends_in_s level cost_usd"),
            "price_rule": None,
            **document_of(self, "deadline_at deadline_probability"),
            "deadline_guaranteed": False,
            "reason": None if reason is None else eta["reason"],
            "counter_offers": [
                {
                    "kind": offer.kind,
                    "change": {offer.change[0]: offer.change[1]},
                    "ends_in_s": offer.ends_in_s,
                    "ends_at": instant_after(self.as_of, offer.ends_in_s),
                    **document_of(offer, "deadline_probability cost_usd=more_usd"),
                    "valid_until": self.valid_until,
                }
                for offer in self.offers
            ],
            "basis": document_of(self, "job.runs alike_in=job.kind replications"),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"<Quote of {self.job.job_id!r}: {self.decision}>"
