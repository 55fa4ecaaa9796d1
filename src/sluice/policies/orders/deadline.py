"""Earliest deadline first; jobs without a deadline come last, in the order of their submission."""

from __future__ import annotations

import math
from typing import ClassVar

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.reasons import Reason, ReasonCode
from sluice.policies.job_order import Key
from sluice.policies.orders.candidate_order import RankedJobs


class EarliestDeadline(RankedJobs):
    """Jobs by the instant of their deadline."""

    name: ClassVar[str] = "deadline"
    remembers = ()

    def key(self, job: JobEntry) -> Key:
        at_s = job.job.deadline_at_s
        return (math.inf if at_s is None else at_s, job.seniority)

    def start_reason(self, phase: PhaseEntry) -> Reason:
        at_s = phase.job.job.deadline_at_s
        if at_s is None:
            return super().start_reason(phase)
        return Reason(ReasonCode.EARLIEST_DEADLINE, (("at_s", at_s),))
