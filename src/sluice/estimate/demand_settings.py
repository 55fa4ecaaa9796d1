"""Task demands stored in the configuration of the run that measured them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sluice.model.history import PastRun
from sluice.model.job import Demand
from sluice.model.resources import RESOURCE_NAMES, Resources

_KEY = "demand"
_RATES = ("cpu", "io", "network")


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
            return Demand(work=Resources.named(amounts))
    return Demand()


def within_nodes(demand: Demand, capacities: Sequence[Resources]) -> Demand:
    """Return a measured demand, its cpu, io and network at most the largest of the capacities.

    A task that could use more of these than a node has only works more slowly there. It cannot work
    with less memory, so memory stays as measured.

    >>> within_nodes(Demand(work=Resources(cpu=80, memory=60)), [Resources(cpu=50, memory=50)]).work
    Resources(cpu=50, io=0.0, memory=60, network=0.0, other=())
    """
    most = {name: max((getattr(one, name) for one in capacities), default=0.0) for name in _RATES}
    work = {name: min(getattr(demand.work, name), limit) for name, limit in most.items() if limit}
    return replace(demand, work=replace(demand.work, **work))
