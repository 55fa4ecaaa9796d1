"""The job with the fewest running tasks for its weight first, whatever its pool."""

from __future__ import annotations

from typing import ClassVar, Final

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.reasons import Reason, ReasonCode
from sluice.policies.job_order import Key
from sluice.policies.orders.candidate_order import RankedJobs

_FEWEST: Final = Reason(ReasonCode.CONTAINER_SHARE)


class FewestRunning(RankedJobs):
    """Jobs by running tasks / weight, ties by release: the order of `yarn-like`."""

    name: ClassVar[str] = "fewest"
    remembers = ()

    def key(self, job: JobEntry) -> Key:
        return (job.running / job.weight, job.release_seq)

    def start_reason(self, phase: PhaseEntry) -> Reason:
        return _FEWEST
