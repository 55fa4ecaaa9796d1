"""Smallest job first, by weight: an order of jobs for any room.

Source: Smith, "Various optimizers for single-stage production", Naval Research Logistics Quarterly,
1956: the least work for its weight first has the least weighted sum of completion times on one
machine.
"""

from dataclasses import dataclass

from sluice.core.entries import JobEntry
from sluice.model.settings import setting
from sluice.policies.job_order import Key
from sluice.policies.orders.candidate_order import RankedJobs


class WeightedSmallest(RankedJobs):
    """Jobs by tasks that have not ended / weight, ties by submission."""

    name = "weighted-smallest"

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """One setting: --set weighted-smallest.power=2."""

        power: float = setting(1.0, "what the weight is raised to", least=0, most=10)

    def key(self, job: JobEntry) -> Key:
        return (job.left / job.weight**self.settings.power, job.seniority)
