"""From the classes and capacity prices of a file to the model's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sluice.ingest.errors import Refusal
from sluice.ingest.file_schema.fields import same_fields
from sluice.ingest.file_schema.jobs import LengthsShape, PhaseShape
from sluice.ingest.file_schema.planning import ClassShape, PricesShape
from sluice.ingest.phases import lengths_of, tasks_wanted
from sluice.ingest.stages import stages_of_class
from sluice.model.classes import CapacityPrices, ClassProfile, JobClass
from sluice.model.errors import InvalidInput
from sluice.model.job import Job
from sluice.model.lengths import TaskLengths

_PROFILE = ("maps", "reduces", "first_shuffle", "shuffle")
_CAPACITY_PRICES = {"on_demand_vm_usd", "reserved_vm_usd", "reserved_vms"}
_ONE_OF_BOTH = "write it as one of the phases, or leave out phases"
_FORMS = "give one of avg_s, durations_s, fixed_s with work_s, rows"


def class_of(shape: ClassShape, containers_per_vm: int | None = None) -> JobClass:
    """One class. Raises Refusal where its parts do not go together.

    containers_per_vm: of the cluster, for a class of phases, or of a profile, that gives none.
    """
    if shape.phases is None and shape.driver_s:
        raise Refusal("is given without phases", at=("driver_s",), hint="give phases too")
    for name in _PROFILE if shape.phases is not None else ():
        if getattr(shape, name) is not None:
            raise Refusal("is given together with phases", at=(name,), hint=_ONE_OF_BOTH)
    phases = () if shape.phases is None else stages_of_class(shape.phases)
    if shape.phases is not None and not phases:
        raise Refusal("has no tasks", at=("phases",), hint="give at least one phase with tasks")
    try:
        own = same_fields(shape, JobClass) | {"profile": _profile(shape), "phases": phases}
        if shape.containers_per_vm is None and _takes_any(shape):
            own["containers_per_vm"] = containers_per_vm
        return JobClass(class_id=shape.id, profile_name=shape.profile, **own)
    except InvalidInput as error:
        raise _refusal(error) from None


def _takes_any(shape: ClassShape) -> bool:
    """Whether one container of a job takes tasks of any kind."""
    has_typed = None not in (shape.maps_per_vm, shape.reduces_per_vm)
    return shape.phases is not None or (shape.profile is not None and not has_typed)


def _refusal(error: InvalidInput) -> Refusal:
    """A complaint of the model, whose first word is the field's name, perhaps dotted."""
    field, _, rest = error.what.partition(" ")
    return Refusal(rest, at=tuple(field.split(".")), hint=error.hint)


def _profile(shape: ClassShape) -> ClassProfile | None:
    if not any(getattr(shape, name) is not None for name in _PROFILE):
        return None
    phases = {name: _phase(shape, name) for name in ("maps", "reduces")}
    reduces = phases["reduces"][0]
    return ClassProfile(
        map_tasks=phases["maps"][0],
        reduce_tasks=reduces,
        maps=phases["maps"][1],
        reduces=phases["reduces"][1],
        first_shuffle=_fetch(shape.first_shuffle, "first_shuffle", reduces),
        shuffle=_fetch(shape.shuffle, "shuffle", reduces),
    )


def _phase(shape: ClassShape, name: str) -> tuple[int, TaskLengths]:
    phase: PhaseShape | None = getattr(shape, name)
    if phase is None:
        raise Refusal("is missing", at=(name,), hint="give it as in {tasks: 100, avg_s: 40}")
    tasks = tasks_wanted(phase)
    if not tasks:
        what = "is missing" if tasks is None else "is 0"
        raise Refusal(what, at=(name, "tasks"), hint="give a whole number of 1 or more")
    return tasks, _lengths(phase, name, tasks)


def _lengths(shape: LengthsShape, name: str, tasks: int) -> TaskLengths:
    lengths = lengths_of(shape, (name,), tasks)
    if lengths is None:
        raise Refusal("has no lengths", at=(name,), hint=_FORMS)
    return lengths


def _fetch(shape: LengthsShape | None, name: str, tasks: int) -> TaskLengths | None:
    return None if shape is None else _lengths(shape, name, tasks)


def capacity_prices(shape: PricesShape | None) -> CapacityPrices | None:
    """Return what VMs cost by the hour; None where the file does not say. Raises Refusal."""
    if shape is None or shape.model_fields_set.isdisjoint(_CAPACITY_PRICES):
        return None
    try:
        return CapacityPrices(**shape.model_dump(include={*_CAPACITY_PRICES, "billing_s"}))
    except InvalidInput as error:
        raise _refusal(error) from None


def admission_settings(prices: CapacityPrices | None) -> dict[str, object]:
    """Return what the prices of a file mean to admission, as settings.

    Others under `settings:` win.
    """
    if prices is None:
        return {}
    found = {
        "capacity.reserved_vm_usd": prices.reserved_vm_usd,
        "capacity.on_demand_vm_usd": prices.on_demand_vm_usd,
        "capacity.billing_s": prices.billing_s,
    }
    return {name: amount for name, amount in found.items() if amount is not None}


def in_its_class(job: Job, classes: Mapping[str, JobClass]) -> Job:
    """The job; where its pool is a class, with the class's penalty and deadline for its own."""
    one = classes.get(str(job.pool))
    if one is None:
        return job
    if job.penalty_usd is None:
        job = replace(job, penalty_usd=one.penalty_usd)
    if job.deadline_at_s is None and one.deadline_s is not None:
        job = replace(job, deadline_at_s=job.submitted_at_s + one.deadline_s)
    return job
