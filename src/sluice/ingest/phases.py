"""From the phase profiles of a file to the model's phases."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sluice.ingest.errors import Refusal
from sluice.ingest.file_schema.clusters import NodeShape
from sluice.ingest.file_schema.fields import same_fields
from sluice.ingest.file_schema.jobs import (
    DemandShape,
    JobShape,
    LengthsShape,
    PhaseShape,
    ResourcesShape,
)
from sluice.ingest.positions import Path
from sluice.model.errors import InvalidInput
from sluice.model.job import TASKS_MAX, Demand, Phase
from sluice.model.lengths import (
    ConstantLengths,
    ListedLengths,
    TableLengths,
    TaskLengths,
    WorkLengths,
)
from sluice.model.resources import NOTHING, Resources
from sluice.model.slot_kind import SlotKind

_FORMS = "give one of avg_s, durations_s, fixed_s with work_s, rows"
_NO_DEMAND = Demand()
_SHARED_MAX = 1000  # different needs of tasks in a file; most files have far fewer


def map_reduce_phases(shape: JobShape) -> tuple[Phase, ...]:
    """The map phase and the reduce phase; those without tasks are left out. Raises Refusal."""
    if shape.run is not None and shape.maps is None and shape.demand is not None:
        _check_no_map_demand(shape.demand)
    phases: list[Phase] = []
    for name, kind, phase in (
        ("maps", SlotKind.MAP, shape.maps), ("reduces", SlotKind.REDUCE, shape.reduces),
    ):  # fmt: skip
        if phase is None:
            continue
        tasks = tasks_given(phase, (name,))
        if tasks:
            after = (0,) if phases else ()
            phases.append(_phase(shape, phase, kind, name, tasks, after))
    return tuple(phases)


def _check_no_map_demand(demand: DemandShape) -> None:
    """Refuse a demand that would be lost: that of maps which the file does not have."""
    if not resources_of(demand.map).is_zero:
        raise Refusal(
            "is given without maps",
            at=("demand", "map"),
            hint="add maps, as in maps: {tasks: 8}; the splits still decide how many there are",
        )


def check_total(phases: Sequence[Phase]) -> None:
    """Refuse a job with too many tasks in all. Raises Refusal."""
    if sum(phase.tasks for phase in phases) > TASKS_MAX:
        raise Refusal(f"has more than {TASKS_MAX} tasks", hint="give fewer tasks")


def _phase(
    shape: JobShape,
    phase: PhaseShape,
    kind: SlotKind,
    name: str,
    tasks: int,
    after: tuple[int, ...],
) -> Phase:
    return Phase(
        name=kind.value,
        kind=kind,
        lengths=lengths_wanted(shape, phase, (name,), tasks),
        fetch=_fetch(shape, tasks) if kind is SlotKind.REDUCE else None,
        after=after,
        demand=_demand(shape.demand, kind),
        **same_fields(phase, Phase) | {"tasks": tasks},
    )


def lengths_wanted(shape: JobShape, phase: PhaseShape, at: Path, tasks: int) -> TaskLengths | None:
    """The lengths of a phase of a job; None where a profile or a run supplies them.

    at: where the job has the phase. Raises Refusal.
    """
    lengths = lengths_of(phase, at, tasks)
    if lengths is None and shape.run is None and shape.profile is None:
        raise Refusal("has tasks but no lengths", at=at, hint=_FORMS)
    if lengths is not None and shape.profile is not None:
        raise Refusal(
            "has lengths together with profile", at=at, hint="give the profile or the lengths"
        )
    return lengths


def tasks_wanted(phase: PhaseShape) -> int | None:
    """How many tasks a phase asks for; None where it does not say."""
    if phase.tasks is not None:
        return phase.tasks
    return None if phase.durations_s is None else len(phase.durations_s)


def tasks_given(phase: PhaseShape, at: Path) -> int:
    """How many tasks a phase has. Raises Refusal where it does not say."""
    tasks = tasks_wanted(phase)
    if tasks is None:
        raise Refusal("is missing", at=(*at, "tasks"), hint="give how many tasks, a whole number")
    return tasks


def _fetch(shape: JobShape, tasks: int) -> TaskLengths | None:
    """The shuffle; one of length 0 is none."""
    if shape.shuffle is None:
        return None
    if shape.shuffle.avg_s == 0 and not shape.shuffle.max_s:
        return None
    lengths = lengths_of(shape.shuffle, ("shuffle",), tasks)
    if lengths is None:
        raise Refusal("has no lengths", at=("shuffle",), hint=_FORMS)
    return lengths


def lengths_of(shape: LengthsShape, at: Path, tasks: int) -> TaskLengths | None:
    """The lengths, whichever form they are given in; None where there are none.

    at: where the file has them. Raises Refusal.
    """
    work = shape.work_s is not None or shape.fixed_s is not None
    tables = (shape.durations_s is not None) + (shape.rows is not None)
    if (shape.avg_s is not None) + work + tables > 1:
        raise Refusal("has lengths in more than one form", at=at, hint=_FORMS)
    _check_companions(shape, at, has_work=work)
    try:
        return _form(shape, at, tasks)
    except InvalidInput as error:
        raise _refusal(error, type(shape), at) from None


def _refusal(error: InvalidInput, shape: type[LengthsShape], at: Path) -> Refusal:
    """A complaint of the model, which names the field first; here the path does."""
    owner = error.where.partition(",")[0]
    if owner not in shape.model_fields:
        return Refusal(f"is refused: {error.what}", at=at, hint=error.hint)
    field, _, rest = error.what.partition(" ")
    if field == owner:
        return Refusal(rest, at=(*at, owner), hint=error.hint)
    index = field.removeprefix(owner).strip("[]")
    if index.isdecimal():
        return Refusal(rest, at=(*at, owner, int(index)), hint=error.hint)
    what = f"has a row whose {error.what}" if owner == "rows" else f"is refused: {error.what}"
    return Refusal(what, at=(*at, owner), hint=error.hint)


def _check_companions(shape: LengthsShape, at: Path, *, has_work: bool) -> None:
    if shape.max_s is not None and shape.avg_s is None:
        raise Refusal("is missing", at=(*at, "avg_s"), hint="give avg_s with max_s")
    if shape.max_factor is not None and not has_work:
        raise Refusal("is missing", at=(*at, "work_s"), hint="give work_s with max_factor")


def _form(shape: LengthsShape, at: Path, tasks: int) -> TaskLengths | None:
    if shape.avg_s is not None:
        return ConstantLengths(shape.avg_s, shape.avg_s if shape.max_s is None else shape.max_s)
    if shape.durations_s is not None:
        if len(shape.durations_s) != tasks:
            raise Refusal(
                f"has {len(shape.durations_s)} lengths for {tasks} tasks",
                at=(*at, "durations_s"),
                hint="give one length for each task",
            )
        return ListedLengths(tuple(shape.durations_s))
    if shape.rows is not None:
        return TableLengths(tuple(shape.rows))
    if shape.work_s is not None or shape.fixed_s is not None:
        factor = 1.0 if shape.max_factor is None else shape.max_factor
        return WorkLengths(shape.fixed_s or 0.0, shape.work_s or 0.0, factor)
    return None


def _demand(shape: DemandShape | None, kind: SlotKind) -> Demand:
    if shape is None:
        return _NO_DEMAND
    if kind is SlotKind.MAP:
        return demand_of(resources_of(shape.map))
    return Demand(
        work=resources_of(shape.reduce),
        fetch=resources_of(shape.shuffle),
        fetch_per_map=resources_of(shape.shuffle_per_map),
    )


def resources_of(shape: ResourcesShape | NodeShape) -> Resources:
    """Resources as the model has them."""
    if not shape.model_fields_set:
        return NOTHING
    other = tuple(sorted(shape.resources.items()))
    return _resources(other, **same_fields(shape, Resources))


@lru_cache(maxsize=_SHARED_MAX)
def _resources(other: tuple[tuple[str, float], ...], **amounts: float) -> Resources:
    """Most tasks of a file ask for what others ask for: they share one value."""
    return Resources(other=other, **amounts)


@lru_cache(maxsize=_SHARED_MAX)
def demand_of(work: Resources) -> Demand:
    """The demand of tasks that only work. All its parts name the same resources already.

    A workload then has no jobs to copy where all tasks name the same.

    >>> demand_of(Resources(other=(("gpu", 1.0),))).fetch.other
    (('gpu', 0.0),)
    """
    return Demand(work=work).with_names(work.other_names)
