"""The fields of a job that a user may change before its first task starts: queue, weight, deadline,
hold, labels.

The job leaves its line and comes again with the new values, so that no policy needs to know of
changes; among jobs that arrived together it keeps its place, as its instant of submission stays.
Source: service spec, section 6, `PATCH /v1/jobs/{id}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from sluice.model.errors import InvalidInput
from sluice.model.ids import PoolId
from sluice.model.job import Job
from sluice.store.service.submissions import JobChange, SubmittedJob

VERSION = "If-Match"  # where a refusal says that another change came first
_CHANGEABLE = frozenset({"queue", "weight", "deadline_s", "hold", "labels"})


@dataclass(frozen=True, kw_only=True)
class WantedChange:
    """A change that a user asks for.

    given: what changes; `deadline_s` counts from now, and None takes the deadline away.
    by: the user.  version: how often the user has seen it changed; None if that does not matter.
    check: raises InvalidInput for a job that the cluster cannot take.
    """

    given: Mapping[str, Any]
    by: str
    version: int | None
    check: Callable[[Job], None]

    @classmethod
    def of(cls, message: Mapping[str, Any], check: Callable[[Job], None]) -> Self:
        """Read a message with `changes`, `by` and `version`. Raises InvalidInput."""
        given = dict(message["changes"])
        unknown = sorted(given.keys() - _CHANGEABLE)
        if unknown:
            raise InvalidInput(
                f"{unknown[0]!r:.60} of a job cannot be changed",
                where=unknown[0],
                hint=f"change {', '.join(sorted(_CHANGEABLE))}",
            )
        return cls(given=given, by=str(message["by"]), version=message.get("version"), check=check)

    def made_on(self, known: SubmittedJob, now_s: float) -> JobChange:
        """The change of a job at an instant of the segment's clock. Raises InvalidInput."""
        if self.version is not None and self.version != known.version:
            raise InvalidInput(
                f"the job was changed {known.version} times, and not {self.version}",
                where=VERSION,
                hint="look at it again",
            )
        job = replace(known.job, **self._values(now_s))
        if job.pool != known.job.pool:
            self.check(job)
        return JobChange(
            job=job,
            labels=self.given.get("labels", known.labels),
            held_by=self._held_by(known),
            by=self.by,
            what=self._what(known),
            at_s=now_s,
        )

    def _values(self, now_s: float) -> dict[str, Any]:
        """The new values of fields of the job."""
        values: dict[str, Any] = {}
        if "queue" in self.given:
            values["pool"] = PoolId(self.given["queue"])
        if "weight" in self.given:
            values["weight"] = float(self.given["weight"])
        if "deadline_s" in self.given:
            deadline_s = self.given["deadline_s"]
            values["deadline_at_s"] = None if deadline_s is None else now_s + deadline_s
        return values

    def _held_by(self, known: SubmittedJob) -> str:
        if "hold" not in self.given:
            return known.held_by
        return (known.held_by or self.by) if self.given["hold"] else ""

    def _what(self, known: SubmittedJob) -> str:
        """The changes as one phrase."""
        given, said = self.given, []
        if "hold" in given and bool(given["hold"]) != bool(known.held_by):
            said.append("held" if given["hold"] else "not held any more")
        if "queue" in given:
            said.append(f"moved from queue {known.job.pool} to {given['queue']}")
        if "weight" in given:
            said.append(f"weight {known.job.weight:g} becomes {float(given['weight']):g}")
        if "deadline_s" in given:
            gone = given["deadline_s"] is None
            said.append("deadline taken away" if gone else "a new deadline")
        if "labels" in given:
            said.append("labels")
        return f"{', '.join(said) or 'nothing'}, by {self.by}"


def is_too_late(state: str) -> InvalidInput:
    """The error for a change of a job in this state."""
    return InvalidInput(
        f"the job is {state}, and only a job that has started nothing can be changed",
        where="state",
        hint="kill it and submit it again" if state == "running" else "submit it again",
    )
