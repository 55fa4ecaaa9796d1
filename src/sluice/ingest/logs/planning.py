"""Inputs of planning that no log has: machines, prices, limits, and what a refusal costs.

All are named options, so nothing of it is made up. Where `penalty_usd` is given, the runs of each
profile become a class for capacity planning: as many jobs at most as there were runs, of tasks as
many and as long as theirs were on average, the longest of all as their longest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sluice.estimate.run_anatomy import outside_s
from sluice.ingest.logs.names import printable
from sluice.model.classes import CapacityPrices, ClassProfile, JobClass
from sluice.model.cluster import SLOTS_MAX
from sluice.model.errors import InvalidInput
from sluice.model.history import SHARED_SLOTS, PastPhase, PastRun
from sluice.model.job import Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.limits import PlanLimits
from sluice.model.machines import VmShape
from sluice.model.prices import Prices
from sluice.model.settings import number, whole
from sluice.model.slot_kind import SlotKind

_FLAG = "--from-log-set"
_LEAST_S = 0.001
_NAMED_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningOptions:
    """Options in addition to those of a replay; None if not given. For `plan`, then `capacity`."""

    map_slots_per_vm: int | None = whole(None, "map slots of a VM", low=1, high=SLOTS_MAX)
    reduce_slots_per_vm: int | None = whole(None, "reduce slots of a VM", low=1, high=SLOTS_MAX)
    containers_per_vm: int | None = whole(None, "containers of a VM", low=1, high=SLOTS_MAX)
    vm_hour_usd: float | None = number(None, "dollars for a VM and hour")
    budget_usd_max: float | None = number(None, "the most dollars to spend")
    deadline_s: float | None = number(None, "seconds for all jobs, or for each of a class", above=0)
    vms_max: int | None = whole(None, "the most VMs at once", low=1)
    penalty_usd: float | None = number(None, "dollars that refusing a job costs: makes classes")
    on_demand_vm_usd: float | None = number(None, "dollars for a VM on demand", above=0)
    reserved_vm_usd: float | None = number(None, "dollars for a reserved VM", above=0)
    reserved_vms: float | None = number(None, "VMs that are reserved")

    @property
    def vm(self) -> VmShape | None:
        """The slots of a VM, if given."""
        maps, reduces = self.map_slots_per_vm, self.reduce_slots_per_vm
        if maps is None or reduces is None:
            if self.containers_per_vm is None:
                return None
            maps = reduces = 0
        return VmShape(map_slots=maps, reduce_slots=reduces, containers=self.containers_per_vm)

    @property
    def prices(self) -> Prices | None:
        """Rent by the hour, if given."""
        return None if self.vm_hour_usd is None else Prices(vm_hour_usd=self.vm_hour_usd)

    @property
    def limits(self) -> PlanLimits | None:
        """The limits of a plan, if any is given."""
        given = (self.budget_usd_max, self.deadline_s, self.vms_max)
        if given == (None, None, None):
            return None
        return PlanLimits(
            budget_usd_max=self.budget_usd_max, deadline_s=self.deadline_s, vms_max=self.vms_max
        )

    @property
    def capacity_prices(self) -> CapacityPrices | None:
        """Return what VMs cost for the hour that is planned. Raises InvalidInput."""
        given = (self.on_demand_vm_usd, self.reserved_vm_usd, self.reserved_vms)
        if given == (None, None, None):
            return None
        return CapacityPrices(
            on_demand_vm_usd=self.on_demand_vm_usd,
            reserved_vm_usd=self.reserved_vm_usd,
            reserved_vms=self.reserved_vms,
        )


NOTHING_PLANNED = PlanningOptions()


def classes_of(runs: Sequence[PastRun], options: PlanningOptions) -> tuple[JobClass, ...]:
    """A class for each profile whose runs have one map and one reduce phase; none without penalty.

    With containers_per_vm also one for each application of stages, which are those of its newest
    run. Raises InvalidInput where an option that classes need is not given.
    """
    if options.penalty_usd is None:
        return ()
    typed = ("map_slots_per_vm", "reduce_slots_per_vm") if options.containers_per_vm is None else ()
    for name in ("deadline_s", *typed):
        if getattr(options, name) is None:
            raise InvalidInput(
                f"{name} is missing, and classes need it with penalty_usd",
                where=_FLAG,
                hint=f"give {_FLAG} {name}=...",
            )
    gathered: dict[str, list[PastRun]] = {}
    for run in runs:
        if has_class(run, options):
            gathered.setdefault(printable(run.profile), []).append(run)
    return tuple(_class(name, alike, options) for name, alike in gathered.items())


def has_both(run: PastRun) -> bool:
    """Whether it is one phase of maps and one of reduces, as planning wants."""
    return [phase.kind for phase in run.phases] == ["map", "reduce"]


def has_class(run: PastRun, options: PlanningOptions) -> bool:
    """Whether a class can be made of a run."""
    if options.containers_per_vm is not None and run.source in SHARED_SLOTS:
        return run.succeeded
    has_typed_slots = options.vm is not None and options.vm.has_typed_slots
    return run.succeeded and has_both(run) and has_typed_slots


def about_classes(
    runs: Sequence[PastRun], classes: Sequence[JobClass], options: PlanningOptions
) -> Iterator[str]:
    """Notes about runs that no class represents."""
    given = sum(has_class(run, options) for run in runs)
    if classes:
        yield f"{len(classes)} classes are made of {given} runs, one of each profile."
    if classes and given < len(runs):
        names = [run.run_id for run in runs if not has_class(run, options)]
        named = ", ".join(map(printable, names[:_NAMED_MAX])) + (
            ", ..." if len(names) > _NAMED_MAX else ""
        )
        yield (
            f"{len(names)} runs are in no class ({named}): they failed, or lack maps or reduces,"
            " or have stages and containers_per_vm is not given."
        )


def _class(name: str, runs: Sequence[PastRun], options: PlanningOptions) -> JobClass:
    assert options.penalty_usd is not None, "there are no classes without"
    if options.containers_per_vm is not None and runs[0].source in SHARED_SLOTS:
        newest = max(runs, key=lambda run: run.submitted_at_s or 0.0)
        return JobClass(
            class_id=name,
            penalty_usd=options.penalty_usd,
            jobs_max=len(runs),
            deadline_s=options.deadline_s,
            containers_per_vm=options.containers_per_vm,
            driver_s=outside_s(newest),
            phases=tuple(_stage(phase, at) for at, phase in enumerate(newest.phases)),
        )
    return JobClass(
        class_id=name,
        penalty_usd=options.penalty_usd,
        jobs_max=len(runs),
        deadline_s=options.deadline_s,
        maps_per_vm=options.map_slots_per_vm,
        reduces_per_vm=options.reduce_slots_per_vm,
        profile=_profile(runs),
    )


def _stage(phase: PastPhase, at: int) -> Phase:
    return Phase(
        name=printable(f"{at}: {phase.name}"),
        kind=SlotKind.CONTAINER,
        tasks=phase.tasks,
        lengths=_lengths([phase]),
        after=tuple(one for one in phase.after if one < at),
    )


def _profile(runs: Sequence[PastRun]) -> ClassProfile:
    maps = [run.phases[0] for run in runs]
    reduces = [run.phases[1] for run in runs]
    shuffles = [shuffle for run in runs for shuffle in _shuffles(run)]
    first = _pooled([length_s for length_s, is_first in shuffles if is_first])
    later = _pooled([length_s for length_s, is_first in shuffles if not is_first])
    worked_s = [length_s for phase in reduces for length_s in _worked_s(phase)]
    return ClassProfile(
        map_tasks=_tasks(maps),
        reduce_tasks=_tasks(reduces),
        maps=_lengths(maps),
        reduces=_pooled(worked_s) or _lengths(reduces),
        first_shuffle=first,
        shuffle=later or first,
    )


def _tasks(phases: Sequence[PastPhase]) -> int:
    return max(1, round(sum(phase.tasks for phase in phases) / len(phases)))


def _lengths(phases: Sequence[PastPhase]) -> ConstantLengths:
    """All tasks of these phases, launch to finish."""
    work_s = math.fsum(phase.avg_s * phase.tasks for phase in phases)
    avg_s = max(work_s / sum(phase.tasks for phase in phases), _LEAST_S)
    return ConstantLengths(avg_s, max(avg_s, *(phase.max_s for phase in phases)))


def _pooled(lengths_s: Sequence[float]) -> ConstantLengths | None:
    if not lengths_s:
        return None
    avg_s = max(math.fsum(lengths_s) / len(lengths_s), _LEAST_S)
    return ConstantLengths(avg_s, max(avg_s, *lengths_s))


def _worked_s(phase: PastPhase) -> list[float]:
    """The length of each reduce after fetching; empty unless the log has all of them."""
    if len(phase.timeline) != phase.tasks:
        return []
    ends = [(task.fetched_at_s, task.finished_at_s) for task in phase.timeline]
    return [end_s - at_s for at_s, end_s in ends if at_s is not None]


def _shuffles(run: PastRun) -> Iterator[tuple[float, bool]]:
    """Yield what reduces fetched for, and whether they began before the maps were over.

    Of those only what came after the last map counts (capacity spec, section 2).
    """
    maps, reduces = run.phases
    ends_s = [task.finished_at_s for task in maps.timeline]
    if len(ends_s) != maps.tasks or not _worked_s(reduces):
        return
    mapped_at_s = max(ends_s)
    for task in reduces.timeline:
        if task.fetched_at_s is not None:
            is_first = task.started_at_s < mapped_at_s
            began_at_s = mapped_at_s if is_first else task.started_at_s
            yield max(task.fetched_at_s - began_at_s, 0.0), is_first
