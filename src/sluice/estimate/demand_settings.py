"""A task's demand, kept with the run that told it, as settings of its configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sluice.model.history import PastRun
from sluice.model.job import Demand
from sluice.model.resources import RESOURCE_NAMES, Resources

_KEY = "demand"


def demand_settings(demand: Mapping[str, Resources]) -> dict[str, str]:
    """Settings that tell what a task of each phase takes.

    >>> demand_settings({"map": Resources(cpu=25)})["demand.map.cpu"]
    '25'
    """
    return {
        f"{_KEY}.{phase}.{name}": f"{amount:.6g}"
        for phase, task in demand.items()
        for name, amount in zip(RESOURCE_NAMES, task.amounts(), strict=True)
    }


def demand_from_runs(runs: Iterable[PastRun], phase: str) -> Demand:
    """What a task of a phase takes, by the first of the runs that tells it; nothing if none does.

    runs: newest first, so that the last time in the sandbox counts.
    """
    keys = {name: f"{_KEY}.{phase}.{name}" for name in RESOURCE_NAMES}
    for run in runs:
        # Whatever another system calls so is none of ours.
        if run.source == "sluice" and set(keys.values()) <= run.configuration.keys():
            amounts = {name: float(run.configuration[key]) for name, key in keys.items()}
            return Demand(work=Resources(**amounts))
    return Demand()
