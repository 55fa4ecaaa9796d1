"""How many jobs of each class to take, and how many VMs to rent for them."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.api.options.argument_types import Source
from sluice.api.options.calls import called_with
from sluice.api.options.planning import CapacityOptions
from sluice.api.sources import workload_of
from sluice.bootstrap.forecasts.class_forecasts import class_forecasts
from sluice.bootstrap.simulations.simulation import log_replays
from sluice.estimate.bounds import Bound
from sluice.ingest.suggestions import known_choice
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload
from sluice.planning.capacity.plan import UnreachableDeadlines, plan_capacity
from sluice.reporting.capacity.result import CapacityResult, UnreachableResult
from sluice.reporting.prediction.result import JobPrediction, PredictionReport
from sluice.reporting.run.outcomes import JobReplay


@dataclass(frozen=True)
class CapacityCall(CapacityOptions):
    """Arguments of `capacity`."""

    source: Source


@called_with(CapacityCall)
def capacity(given: CapacityCall) -> CapacityResult | UnreachableResult:
    """The cheapest jobs and VMs that meet every deadline, for the classes of a workload.

    bound: low, avg or up, how long jobs are taken to be; up makes deadlines hard. For a class that
    names a profile these are the ends of the forecast's interval, and the prediction.
    integer: in whole jobs, VMs and containers.
    `status` of the result is "infeasible_deadline" where no capacity meets some deadline.
    Raises InvalidInput naming class and field.

    >>> import sluice
    >>> workload = sluice.parse_workload(
    ...     '''{version: 1, prices: {on_demand_vm_usd: 20, reserved_vm_usd: 8, reserved_vms: 13},
    ...     classes: [{id: q1, penalty_usd: 30, jobs_min: 3, jobs_max: 10, vms_per_job: 2}]}'''
    ... )
    >>> capacity(workload).document()["objective_usd"]
    -91.0
    >>> capacity(workload, integer=True).document()["objective_usd"]
    -86.0
    """
    bound = known_choice("--bound", given.bound, Bound)
    workload = workload_of(given.source)
    if workload.is_from_logs and not workload.classes:
        raise InvalidInput(
            "classes is missing",
            where=workload.source,
            hint="give penalty_usd by --from-log-set: the jobs of each profile are then a class",
        )
    forecasts = class_forecasts(workload, bound)
    answer = plan_capacity(
        workload.classes,
        workload.capacity_prices,
        bound=bound,
        is_whole=given.integer,
        source=workload.source,
        known={class_id: found.need for class_id, found in forecasts.items()},
    )
    if isinstance(answer, UnreachableDeadlines):
        return UnreachableResult(answer)
    deadlines_s = {one.class_id: one.deadline_s for one in workload.classes}
    return CapacityResult(
        answer,
        replays=_replays(workload),
        forecasts=PredictionReport(
            jobs=tuple(
                JobPrediction(
                    job_id=class_id, forecast=found.forecast, deadline_s=deadlines_s[class_id]
                )
                for class_id, found in forecasts.items()
            )
        ),
    )


def _replays(workload: Workload) -> dict[str, list[JobReplay]] | None:
    """Recorded and replayed times of the jobs in logs, by class."""
    replays = log_replays(workload)
    if replays is None:
        return None
    by_class: dict[str, list[JobReplay]] = {}
    for job_id, found in replays.items():
        by_class.setdefault(workload.recorded[job_id].profile, []).append(found)
    return by_class
