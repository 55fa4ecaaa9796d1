"""Run times of jobs on clusters of every VM type and size.

A job of a file with VM pools may list its predictions. A job that lists none gets them here: from
the stored runs of its profile, by the forecasts that every command uses, or from its own task
lengths, by a simulation of the job alone. Sizes are powers of two, their halves more, and the whole
pool. A size that is not faster than a smaller one of its type is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from sluice.bootstrap.preparation.vm_nodes import nodes_of_type, shape_of
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job, Prediction, VmRequest
from sluice.model.machines import VmShape
from sluice.model.vm_pools import UNKNOWN_S, VmPools, VmType
from sluice.model.workload import Workload

if TYPE_CHECKING:
    from sluice.estimate.job_forecasts import JobForecast, JobForecasts

    _Cell = tuple[VmType, int, JobForecast]

TimeAlone = Callable[[Job, Cluster], float | None]

_FASTER = 1 - 1e-9  # a size counts as faster below this part of the time of a smaller one


@dataclass(frozen=True, slots=True)
class GridWorkload:
    """A workload whose jobs all have predictions.

    forecasts: of the jobs that had none, by VM type and number of VMs.
    """

    workload: Workload
    forecasts: Mapping[JobId, Mapping[tuple[str, int], JobForecast]] = field(default_factory=dict)


def cluster_sizes(vms: int) -> list[int]:
    """Numbers of VMs to try in a pool of that many.

    >>> cluster_sizes(20)
    [1, 2, 3, 4, 6, 8, 12, 16, 20]
    """
    steps = [1, *(part << power for power in range(vms.bit_length()) for part in (2, 3))]
    return [*(step for step in steps if step < vms), *([vms] if vms else [])]


def with_grids(workload: Workload, time_alone_s: TimeAlone) -> GridWorkload:
    """The workload, with predictions for each job that lists none and could have some.

    time_alone_s: gives the time of a job alone on a cluster; None if it cannot run there.
    A job without profile, `run` and lengths is left as it is. The margin of a forecast is that of
    the file, or else the upper end of the forecast's interval. Raises InvalidInput that names job
    and field if a VM type has no slots, or nothing is known about the job.
    """
    pools = workload.vm_pools
    if pools is None or not pools.vm_types:
        return GridWorkload(workload)
    requests = [job for job in workload.jobs if job.vm_request is not None]
    wanted = [
        job
        for job in workload.jobs
        if not job.predictions and job.vm_request is None and _is_known(job)
    ]
    if not (wanted or requests):
        return GridWorkload(workload)
    by_name = [job for job in [*wanted, *requests] if not _has_lengths(job) and _is_known(job)]
    forecasts, names = _stored(by_name)
    made: dict[JobId, tuple[Prediction, ...]] = {
        job.job_id: (_of_request(job, workload, names, forecasts, time_alone_s),)
        for job in requests
    }
    found: dict[JobId, dict[tuple[str, int], JobForecast]] = {}
    by_phases: dict[object, tuple[Prediction, ...]] = {}
    for job in wanted:
        where = f"{workload.source}, job {job.job_id!r}"
        if _has_lengths(job):
            key = job.phases, job.driver_s
            if key not in by_phases:  # many jobs may be alike
                by_phases[key] = tuple(_simulated(job, pools.vm_types, where, time_alone_s))
            made[job.job_id] = by_phases[key]
        else:
            cells = list(_forecast(names[job.job_id], forecasts, pools.vm_types, where))
            made[job.job_id] = tuple(_faster(_margins(cells, pools)))
            found[job.job_id] = {(one.type_id, vms): cell for one, vms, cell in cells}
    jobs = (replace(job, predictions=made.get(job.job_id, job.predictions))
            for job in workload.jobs)  # fmt: skip
    return GridWorkload(replace(workload, jobs=tuple(jobs)), found)


def with_margins(workload: Workload) -> Workload:
    """The workload whose predictions have their margins, as a policy does not see the file's."""
    error = 0.0 if workload.vm_pools is None else workload.vm_pools.prediction_error
    if not error:
        return workload
    jobs = tuple(_with_margin(job, error) for job in workload.jobs)
    return replace(workload, jobs=jobs)


def _with_margin(job: Job, error: float) -> Job:
    predictions = tuple(
        replace(one, error=error if one.error is None else one.error) for one in job.predictions
    )
    return replace(job, predictions=predictions)


def _is_known(job: Job) -> bool:
    return job.profile is not None or job.run is not None or _has_lengths(job)


def _has_lengths(job: Job) -> bool:
    return bool(job.phases) and all(phase.lengths is not None for phase in job.phases)


# --- of jobs that name their cluster --------------------------------------------------------------


def _of_request(
    job: Job,
    workload: Workload,
    names: Mapping[JobId, str],
    forecasts: JobForecasts,
    time_alone_s: TimeAlone,
) -> Prediction:
    """How long a job runs on the cluster that it names.

    The user's limit comes first, so that no profile is needed. Then come its predictions, task
    lengths and past runs. Without any of them no other job may count on its end.
    """
    where, request = f"{workload.source}, job {job.job_id!r}", job.vm_request
    assert request is not None, "only these jobs are asked about"
    assert workload.vm_pools is not None, "there are VM types"
    one = _type_of_request(request, workload.vm_pools, where)
    cell = partial(Prediction, vm_type=one.type_id, vms=request.vms)
    if job.limit_s is not None:
        return cell(time_s=job.limit_s, error=0.0)
    for listed in job.predictions:
        if (listed.vm_type, listed.vms) == (one.type_id, request.vms):
            return listed
    if _has_lengths(job):
        return cell(time_s=_checked_time_s(time_alone_s, job, one, request.vms, where))
    if job.job_id in names:
        slots = slots_of(shape_of(one, where), request.vms)
        found = forecasts.of(names[job.job_id], slots=slots)
        if found.predicted_s is not None:
            (known,) = _margins([(one, request.vms, found)], workload.vm_pools)
            return known
    if job.deadline_at_s is not None:
        raise InvalidInput(
            "it has a deadline, and nothing is known of how long it runs",
            where=where,
            hint="give limit_s, or vm_request.start_within_s in place of the deadline",
        )
    return cell(time_s=UNKNOWN_S, error=0.0)


def _type_of_request(request: VmRequest, pools: VmPools, where: str) -> VmType:
    types = {one.type_id: one for one in pools.vm_types}
    one = types.get(request.vm_type)
    if one is None:
        raise InvalidInput(
            f"vm_request names the unknown type {request.vm_type!r}",
            where=where,
            hint=f"name one of vm_types: {', '.join(types)}",
        )
    if request.vms > one.vms:
        raise InvalidInput(
            f"vm_request asks for {request.vms} VMs of {one.type_id!r}, whose pool has {one.vms}",
            where=where,
            hint="ask for fewer VMs, or give the pool more",
        )
    return one


# --- from past runs -------------------------------------------------------------------------------


def _stored(jobs: Sequence[Job]) -> tuple[JobForecasts, dict[JobId, str]]:
    """The forecasts behind these jobs, and the name of each job's profile.

    The store is opened only if there are jobs.
    """
    from sluice.estimate.job_forecasts import JobForecasts

    if not jobs:
        return JobForecasts({}), {}
    from sluice.bootstrap.forecasts.job_forecasts import stored_forecasts
    from sluice.reporting.history.past_runs import profile_name
    from sluice.store.profiles import Profiles

    with Profiles.open() as profiles:
        names = {job.job_id: profile_name(job) for job in jobs}
        names = {job: profiles.profile_named(name) or name for job, name in names.items()}
        return stored_forecasts(names.values(), profiles), names


def _forecast(
    name: str, forecasts: JobForecasts, types: Iterable[VmType], where: str
) -> Iterator[_Cell]:
    for one in types:
        for vms in cluster_sizes(one.vms):
            found = forecasts.of(name, slots=slots_of(shape_of(one, where), vms))
            if found.predicted_s is None:
                raise InvalidInput(
                    f"profile {name!r} gives no predictions: {found.why_not}",
                    where=where,
                    hint="give predictions, or measure the job with `sluice profile-run`",
                )
            yield one, vms, found


def slots_of(shape: VmShape, vms: int) -> dict[str, int]:
    """Slots by kind of phase on that many VMs."""
    maps, reduces = shape.map_slots, shape.reduce_slots
    if not shape.has_typed_slots:
        maps = reduces = shape.containers_of_any
    return {"map": vms * maps, "reduce": vms * reduces}


def _margins(cells: Iterable[_Cell], pools: VmPools) -> Iterator[Prediction]:
    for one, vms, found in cells:
        assert found.predicted_s is not None, "cells without a time are refused"
        error = None
        if not pools.prediction_error:
            high_s = found.predicted_s if found.high_s is None else found.high_s
            error = max(0.0, high_s / found.predicted_s - 1)
        yield Prediction(vm_type=one.type_id, vms=vms, time_s=found.predicted_s, error=error)


# --- from task lengths ----------------------------------------------------------------------------


def _simulated(
    job: Job, types: Iterable[VmType], where: str, time_alone_s: TimeAlone
) -> list[Prediction]:
    found = [
        Prediction(
            vm_type=one.type_id, vms=vms, time_s=_checked_time_s(time_alone_s, job, one, vms, where)
        )
        for one in types
        for vms in cluster_sizes(one.vms)
    ]
    return list(_faster(found))


def _checked_time_s(time_alone_s: TimeAlone, job: Job, one: VmType, vms: int, where: str) -> float:
    cluster = Cluster(nodes=tuple(nodes_of_type(one, vms, shape_of(one, where))))
    time_s = time_alone_s(job, cluster)
    if time_s is None:
        raise InvalidInput(
            f"the VMs of type {one.type_id!r} have no slots for one of its phases",
            where=where,
            hint="give the type more kinds of slots, or the job predictions",
        )
    return time_s + job.driver_s


def _faster(predictions: Iterable[Prediction]) -> Iterator[Prediction]:
    """Predictions without those that are no faster than a smaller cluster of the same type."""
    least_s: dict[str, float] = {}
    for one in predictions:
        if one.vm_type in least_s and not one.time_s < least_s[one.vm_type] * _FASTER:
            continue
        least_s[one.vm_type] = one.time_s
        yield one
