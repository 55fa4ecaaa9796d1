"""Task demands stored in the configuration of the run that measured them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sluice.model.history import PastRun
from sluice.model.job import Demand
from sluice.model.resources import RESOURCE_NAMES, Resources

_KEY = "demand"


def demand_settings(demand: Mapping[str, Resources]) -> dict[str, str]:
    """Return configuration settings for the demand of a task of each phase.

    >>> demand_settings({"map": Resources(cpu=25)})["demand.map.cpu"]
    '25'
    """
    return {
        f"{_KEY}.{phase}.{name}": f"{amount:.6g}"
        for phase, task in demand.items()
        for name, amount in zip(RESOURCE_NAMES, task.amounts(), strict=True)
    }


def demand_from_runs(runs: Iterable[PastRun], phase: str) -> Demand:
    """Return the demand of a task of a phase, from the first run that has it; else no demand.

    runs: newest first, so that the last sandbox run counts.
    """
    keys = {name: f"{_KEY}.{phase}.{name}" for name in RESOURCE_NAMES}
    for run in runs:
        # Another system may use the same configuration keys for something else.
        if run.source == "sluice" and set(keys.values()) <= run.configuration.keys():
            amounts = {name: float(run.configuration[key]) for name, key in keys.items()}
            return Demand(work=Resources(**amounts))
    return Demand()
