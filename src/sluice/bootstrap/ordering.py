"""MROrder put together: its rounds are a policy, its ordering engine is a planner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sluice.planning.ordering.batch_orderer import BatchOrderer
from sluice.policies.mrorder import MrOrder
from sluice.policies.rounds import AdaptiveTimes, EnoughJobs, FixedTimes, Timing


class MrOrderMaker:
    """Makes the policy out of settings."""

    @staticmethod
    def build(settings: Mapping[str, Any]) -> MrOrder:
        """From the settings of a workload file, `mrorder.*`."""
        return MrOrder(
            engine=BatchOrderer(settings["objective"], settings["exact_jobs_max"]),
            timing=_timing(settings),
            jobs_max=settings["jobs_max"],
        )


def _timing(settings: Mapping[str, Any]) -> Timing:
    timings: dict[str, Callable[[], Timing]] = {
        "fti": lambda: FixedTimes(settings["interval_s"]),
        "ati": lambda: AdaptiveTimes(settings["interval_s"]),
        "pnj": lambda: EnoughJobs(settings["jobs_min"]),
    }
    return timings[settings["policy"]]()
