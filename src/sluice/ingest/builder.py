"""Build a workload from one document, and collect the errors in it.

A file with several errors gets up to five messages, in the order of the file.
Jobs are checked and converted to model values one at a time, so that a million jobs
are never in memory in two forms, and reading stops at the fifth wrong job.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from typing import Any, NoReturn, TypeVar

from pydantic import TypeAdapter, ValidationError

from sluice.ingest.classes import admission_settings, capacity_prices, class_of, in_its_class
from sluice.ingest.clusters import cluster_of, pool_of, queue_of, vm_of
from sluice.ingest.consistency import complaints_about, leaf_queues, share_complaints, unknown_pool
from sluice.ingest.document import Document
from sluice.ingest.errors import (
    SHOWN_MAX,
    SORTED_MAX,
    FieldError,
    Refusal,
    quoted,
    raise_complaints,
    shown,
)
from sluice.ingest.file_schema.clusters import QueueShape
from sluice.ingest.file_schema.fields import same_fields
from sluice.ingest.file_schema.jobs import JobShape
from sluice.ingest.file_schema.workload import WorkloadShape
from sluice.ingest.jobs import job_of
from sluice.ingest.nulls import without_nulls
from sluice.ingest.positions import Path
from sluice.ingest.settings import Declarations
from sluice.ingest.suggestions import suggestion
from sluice.ingest.translation import complaints, hint_of, whole_file_fault
from sluice.ingest.vm_pools import vm_pools_faults, vm_pools_of
from sluice.model.classes import JobClass
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.limits import PlanLimits
from sluice.model.members import Member
from sluice.model.prices import Prices
from sluice.model.queues import Pool
from sluice.model.workload import JOBS_MAX, Workload

_Made = TypeVar("_Made")
_JOB = TypeAdapter(JobShape).validator
_VM_PRICES = {"vm_hour_usd", "billing_s", "io_op_usd", "io_bytes_per_op"}


class WorkloadBuilder:
    """Converts a document. `workload` returns the value or raises InvalidInput; call it once."""

    def __init__(
        self, document: Document, folder: str, declarations: Declarations | None = None
    ) -> None:
        self._declarations = declarations
        self._settings = () if declarations is None else declarations.general.keys()
        self._document = document
        self._folder = folder
        self._found: list[FieldError] = []

    def workload(self) -> Workload:
        """The workload. Raises InvalidInput about the first places that are wrong."""
        members = self._members()
        raw_jobs = self._raw_jobs(members)
        shape = self._shape({**members, "jobs": None})
        cluster, pools = (
            self._made(("cluster",), lambda: cluster_of(shape.cluster)),
            self._pools(shape),
        )
        leaves = leaf_queues(shape.queues or ())
        classes = self._classes(shape)
        rents = self._made(("prices",), lambda: capacity_prices(shape.prices))
        known = dict.fromkeys(str(pool.pool_id) for pool in pools)  # messages keep their order
        # Where pools are named, jobs may also be of a class; without any, pools need no naming.
        jobs = self._jobs(raw_jobs, known and known | dict.fromkeys(classes), leaves)
        if not self._found:
            jobs, found = submitted_in_turn(jobs, lambda index: _counts_deadline(raw_jobs[index]))
            self._found += found
        if cluster is not None:
            self._found += share_complaints(cluster, shape.queues or (), jobs)
        if self._found:
            self._refuse()
        return Workload(
            cluster=cluster,
            jobs=tuple(in_its_class(job, classes) for job in jobs) if classes else jobs,
            pools=_with_queues(pools, shape.queues or ()),
            prices=_prices(shape),
            classes=tuple(classes.values()),
            capacity_prices=rents,
            capacity=shape.capacity,
            capacities=shape.capacities or {},
            members=_sharers(shape),
            limits=_limits(shape),
            vm=None if shape.cluster is None else vm_of(shape.cluster),
            vm_pools=vm_pools_of(shape),
            scheduler=_scheduler(shape),
            settings={**admission_settings(rents), **(shape.settings or {})},
            source=self._document.source,
            folder=self._folder,
        )

    def _refuse(self) -> NoReturn:
        raise_complaints(self._document, self._found)

    def _members(self) -> dict[str, Any]:
        value = self._document.value
        if what := whole_file_fault(value, WorkloadShape):
            self._found.append(FieldError((), what, "start it with `version: 1` and give jobs"))
            self._refuse()
        assert isinstance(value, dict), "else it has a fault"
        return value

    def _raw_jobs(self, members: dict[str, Any]) -> list[object]:
        raw = members.get("jobs")
        if raw is None:
            return []
        hint = hint_of(WorkloadShape, ("jobs",))
        if not isinstance(raw, list):
            self._found.append(FieldError(("jobs",), f"is {shown(raw)}, not a list", hint))
            return []
        if len(raw) > JOBS_MAX:
            self._found.append(FieldError(("jobs",), f"holds {len(raw)} jobs", hint))
            return []
        return raw

    def _shape(self, members: dict[str, Any]) -> WorkloadShape:
        """Everything but the jobs. If it is wrong, the first wrong jobs are reported as well."""
        try:
            shape = WorkloadShape.model_validate(without_nulls(WorkloadShape, members))
        except ValidationError as error:
            self._found += complaints(error, WorkloadShape, self._settings)
            self._jobs(self._raw_jobs(self._members()), (), ())
            self._refuse()
        self._found += islice(complaints_about(shape, self._declarations), SORTED_MAX)
        self._found += islice(vm_pools_faults(shape), SORTED_MAX)
        return shape

    def _made(self, path: Path, make: Callable[[], _Made]) -> _Made | None:
        """Return the object made of the value at a path; None if it is refused, which is noted."""
        try:
            return make()
        except Refusal as error:
            self._found.append(error.under(path))
            return None

    def _classes(self, shape: WorkloadShape) -> dict[str, JobClass]:
        per_vm = None if shape.cluster is None else shape.cluster.containers_per_vm
        made = (
            self._made(("classes", index), partial(class_of, one, per_vm))
            for index, one in enumerate(shape.classes or ())
        )
        return {one.class_id: one for one in made if one is not None}

    def _pools(self, shape: WorkloadShape) -> tuple[Pool, ...]:
        made = (
            self._made(("pools", index), partial(pool_of, one))
            for index, one in enumerate(shape.pools or ())
        )
        return tuple(one for one in made if one is not None)

    def _jobs(
        self, raw_jobs: list[object], pools: Collection[str], leaves: Collection[str]
    ) -> tuple[Job, ...]:
        jobs: dict[str, Job] = {}
        wrong = 0
        for index, raw in enumerate(raw_jobs):
            found = list(self._take_job(raw, jobs, pools, leaves))
            self._found += (one._replace(path=("jobs", index, *one.path)) for one in found)
            wrong += bool(found)
            if wrong == SHOWN_MAX:
                break
        return tuple(jobs.values())

    def _take_job(
        self, raw: object, jobs: dict[str, Job], pools: Collection[str], leaves: Collection[str]
    ) -> Iterator[FieldError]:
        """Add a job to `jobs`, or yield its errors; their paths start at the job."""
        try:
            job = job_of(_job_shape(raw), folder=self._folder)
        except ValidationError as error:
            yield from complaints(error, JobShape, self._settings)
            return
        except Refusal as error:
            yield error.complaint
            return
        if job.job_id in jobs:
            yield FieldError(("id",), "is given twice", "name each job once")
        stray = unknown_pool(job, pools, leaves)
        if stray is not None:
            yield stray
        jobs[job.job_id] = job


def _job_shape(raw: object) -> JobShape:
    """A job as the file has it. Raises ValidationError."""
    try:
        shape: JobShape = _JOB.validate_python(raw)
    except ValidationError:
        # Few jobs have a null, and to look for one in each of a million takes seconds.
        shape = _JOB.validate_python(without_nulls(JobShape, raw))
    return shape


def _scheduler(shape: WorkloadShape) -> dict[str, object]:
    return {} if shape.scheduler is None else shape.scheduler.model_dump(exclude_none=True)


def _counts_deadline(raw: object) -> bool:
    """Whether a job gives its deadline as seconds after its submission."""
    return isinstance(raw, dict) and raw.get("deadline_s") is not None


def _with_queues(pools: tuple[Pool, ...], queues: Sequence[QueueShape]) -> tuple[Pool, ...]:
    """Pools, then queues; a pool and a queue of one name are one."""
    by_id = {str(pool.pool_id): pool for pool in pools}
    for queue in queues:
        by_id[queue.id] = queue_of(queue, by_id.get(queue.id))
    return tuple(by_id.values())


def _sharers(shape: WorkloadShape) -> tuple[Member, ...]:
    """The members of `share`."""
    return tuple(
        Member(
            member_id=one.id,
            **same_fields(one, Member) | {"demands": tuple(one.demands), "task": one.task or {}},
        )
        for one in shape.members or ()
    )


def _prices(shape: WorkloadShape) -> Prices | None:
    given = shape.prices
    if given is None or given.vm_hour_usd is None:
        return None
    return Prices(**given.model_dump(include=_VM_PRICES, exclude_none=True))


def _limits(shape: WorkloadShape) -> PlanLimits | None:
    given = shape.limits
    return None if given is None else PlanLimits(**given.model_dump(exclude_none=True))


# --- which jobs wait for others -------------------------------------------------------------------

# A job cannot be submitted before the jobs that it waits for, so its `submitted_at_s` becomes the
# latest of its own and of all jobs before it. A `deadline_s` counts from there.


def submitted_in_turn(
    jobs: tuple[Job, ...], counts_deadline: Callable[[int], bool]
) -> tuple[tuple[Job, ...], list[FieldError]]:
    """The jobs, each submitted no earlier than those it waits for, and the errors in `after`.

    counts_deadline: whether the deadline of the job at a place counts from its submission.
    """
    if not any(job.after for job in jobs):
        return jobs, []
    places = {job.job_id: place for place, job in enumerate(jobs)}
    faults = list(islice(_stray_names(jobs, places), SHOWN_MAX))
    if faults:
        return jobs, faults
    try:
        order = list(TopologicalSorter({job.job_id: job.after for job in jobs}).static_order())
    except CycleError as error:
        names = " after ".join(quoted(name) for name in reversed(error.args[1]))
        first = min(places[name] for name in error.args[1])
        what = f"forms a circle: {names}"
        return jobs, [FieldError(("jobs", first, "after"), what, "remove one of these names")]
    moved = list(jobs)
    for job_id in order:
        place = places[job_id]
        job = moved[place]
        if not job.after:
            continue
        last = max((moved[places[name]] for name in job.after), key=lambda one: one.submitted_at_s)
        fault = _late(job, last, place, counts=counts_deadline(place))
        if fault is not None:
            faults.append(fault)
        elif last.submitted_at_s > job.submitted_at_s:
            moved[place] = _moved(job, last.submitted_at_s, counts=counts_deadline(place))
    return tuple(moved), faults[:SHOWN_MAX]


def _stray_names(jobs: Sequence[Job], places: Mapping[JobId, int]) -> Iterator[FieldError]:
    for place, job in enumerate(jobs):
        for number, name in enumerate(job.after):
            if name == job.job_id:
                yield FieldError(
                    ("jobs", place, "after", number), "names the job itself", "remove it"
                )
            elif name not in places:
                others = [str(one) for one in places if one != job.job_id]
                yield FieldError(
                    ("jobs", place, "after", number),
                    f"names the unknown job {quoted(name)}",
                    suggestion(name, others),
                )


def _late(job: Job, last: Job, place: int, *, counts: bool) -> FieldError | None:
    """The error of a deadline that is over before a job before it is even submitted."""
    deadline_at_s = job.deadline_at_s
    if counts or deadline_at_s is None or last.submitted_at_s < deadline_at_s:
        return None
    return FieldError(
        ("jobs", place, "deadline_at_s"),
        f"is {deadline_at_s:g}, and job {quoted(last.job_id)} before it can be submitted at"
        f" {last.submitted_at_s:g} at the earliest",
        "give a later deadline",
    )


def _moved(job: Job, at_s: float, *, counts: bool) -> Job:
    """The job as it is submitted at a later instant."""
    deadline_at_s = job.deadline_at_s
    if counts and deadline_at_s is not None:
        deadline_at_s += at_s - job.submitted_at_s
    return replace(job, submitted_at_s=at_s, deadline_at_s=deadline_at_s)
