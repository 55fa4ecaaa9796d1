"""MROrder put together: its rounds are a policy, its ordering engine is a planner."""

from __future__ import annotations

from sluice.policies.release.mrorder import MrOrder
from sluice.policies.release.rounds import AdaptiveTimes, EnoughJobs, FixedTimes, Timing


class PlannedMrOrder(MrOrder):
    """MROrder with the ordering engine of the planner."""

    @classmethod
    def build(cls, settings: MrOrder.Settings) -> MrOrder:
        from sluice.planning.ordering.batch_orderer import BatchOrderer

        return cls(
            engine=BatchOrderer(settings.objective, settings.exact_jobs_max),
            timing=_timing(settings),
            jobs_max=settings.jobs_max,
        )


def _timing(settings: MrOrder.Settings) -> Timing:
    if settings.policy == "fti":
        return FixedTimes(settings.interval_s)
    if settings.policy == "ati":
        return AdaptiveTimes(settings.interval_s)
    return EnoughJobs(settings.jobs_min)
