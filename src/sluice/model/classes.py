"""Job classes and VM prices, the input of capacity planning.

A class asks for up to `jobs_max` concurrent jobs, each with a deadline, and gives the penalty for
each refused job. Source: capacity spec, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sluice.model.errors import InvalidInput
from sluice.model.ids import checked_id
from sluice.model.job import Phase
from sluice.model.lengths import TaskLengths

HOUR_S = 3600.0  # prices are for one hour, so they are valid for deadlines up to one hour


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassProfile:
    """Tasks of one job of a class: their counts, and the task lengths of each step.

    map_tasks, reduce_tasks: counts, at least 1.
    first_shuffle: shuffle of the first reduce wave after the last map; None means the same as
    `shuffle`.  shuffle: shuffle of the later waves; None means that it takes no time.
    """

    map_tasks: int
    reduce_tasks: int
    maps: TaskLengths
    reduces: TaskLengths
    first_shuffle: TaskLengths | None = None
    shuffle: TaskLengths | None = None

    def __post_init__(self) -> None:
        for field, tasks in (("maps", self.map_tasks), ("reduces", self.reduce_tasks)):
            if tasks < 1:
                raise InvalidInput(
                    f"{field}.tasks is {tasks}",
                    where="profile",
                    hint="give at least one map and one reduce",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobClass:
    """Jobs with the same profile, deadline and penalty.

    penalty_usd: cost of refusing one job.  jobs_min, jobs_max: number of concurrent jobs.
    deadline_s: allowed time from start to end of each job.  maps_per_vm, reduces_per_vm: map or
    reduce containers that fit one VM.  vms_per_job: replaces the profile, the deadline and both
    container counts.
    phases: stages in place of a profile, each with lengths; the jobs share one pool of containers
    over their stages in turn.  containers_per_vm, driver_s: for such jobs, the containers that fit
    one VM, and the seconds outside tasks.
    profile_name: a profile of the store in place of the tasks; the estimator then gives the time.
    """

    class_id: str
    penalty_usd: float
    jobs_max: float
    jobs_min: float = 0.0
    deadline_s: float | None = None
    maps_per_vm: int | None = None
    reduces_per_vm: int | None = None
    profile: ClassProfile | None = None
    vms_per_job: float | None = None
    phases: tuple[Phase, ...] = ()
    containers_per_vm: int | None = None
    driver_s: float = 0.0
    profile_name: str | None = None

    def __post_init__(self) -> None:
        checked_id(self.class_id, what="class")
        for what, hint in self._faults():
            raise InvalidInput(what, where=f"class {self.class_id!r}", hint=hint)

    def _faults(self) -> Iterator[tuple[str, str]]:
        """Yield (what is wrong, how to fix it); each begins with the name of the field."""
        for name in ("penalty_usd", "jobs_min", "jobs_max"):
            if not 0 <= getattr(self, name) < math.inf:
                yield f"{name} is {getattr(self, name)}", "give a finite number of at least 0"
        if self.jobs_max < self.jobs_min:
            what = f"jobs_max is {self.jobs_max:g}, below jobs_min = {self.jobs_min:g}"
            yield what, "give a number of at least jobs_min"
        if self.deadline_s is not None and not 0 < self.deadline_s < math.inf:
            yield f"deadline_s is {self.deadline_s}", "give a finite number of seconds above 0"
        for name in ("maps_per_vm", "reduces_per_vm", "containers_per_vm"):
            fit = getattr(self, name)
            if fit is not None and not 1 <= fit < math.inf:
                yield f"{name} is {fit}", "give a number of 1 or more"
        if not 0 <= self.driver_s < math.inf:
            yield f"driver_s is {self.driver_s}", "give a finite number of at least 0"
        yield from self._faults_of_tasks()

    def _faults_of_tasks(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the way in which the VMs of a job are given."""
        if self.vms_per_job is not None:
            yield from self._faults_without_profile(self.vms_per_job)
        elif self.profile_name is not None:
            yield from self._faults_with_name()
        elif self.phases:
            yield from self._faults_with_phases()
        else:
            yield from self._faults_with_profile()

    def _faults_without_profile(self, vms_per_job: float) -> Iterator[tuple[str, str]]:
        if not 0 < vms_per_job < math.inf:
            yield f"vms_per_job is {vms_per_job}", "give a finite number of VMs above 0"
        if self.profile is not None or self.phases or self.profile_name is not None:
            yield "vms_per_job is given together with a profile", "give one of the two"

    def _faults_with_name(self) -> Iterator[tuple[str, str]]:
        if self.profile is not None or self.phases:
            yield "profile is given together with tasks", "give the name, or the tasks"
        if self.deadline_s is None:
            yield "deadline_s is missing", "give the seconds that a job may take"
        if self.containers_per_vm is None and None in (self.maps_per_vm, self.reduces_per_vm):
            yield (
                "containers_per_vm is missing",
                "give it, or maps_per_vm and reduces_per_vm: how many containers fit one VM",
            )

    def _faults_with_phases(self) -> Iterator[tuple[str, str]]:
        if self.profile is not None:
            yield "phases is given together with maps and reduces", "give one of the two"
        if any(phase.lengths is None for phase in self.phases):
            yield "phases has a phase without lengths", "give avg_s to each"
        if self.deadline_s is None:
            yield "deadline_s is missing", "give the seconds that a job may take"
        if self.containers_per_vm is None:
            yield (
                "containers_per_vm is missing",
                "give it in the class or in the cluster: how many containers fit one VM",
            )

    def _faults_with_profile(self) -> Iterator[tuple[str, str]]:
        if self.profile is None:
            yield "maps is missing", "give maps, reduces and the rest of a profile, or vms_per_job"
        for name, hint in (
            ("deadline_s", "give the seconds that a job may take"),
            ("maps_per_vm", "give how many map containers fit one VM"),
            ("reduces_per_vm", "give how many reduce containers fit one VM"),
        ):
            if getattr(self, name) is None:
                yield f"{name} is missing", f"{hint}, or vms_per_job instead of a profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPrices:
    """Price of a VM for the planned hour; None where the file gives no value.

    on_demand_vm_usd: must exceed reserved_vm_usd, which must exceed 0.
    reserved_vms: number of reserved VMs.  billing_s: as in `Prices`, for a cluster that is rented
    by these prices.
    """

    on_demand_vm_usd: float | None = None
    reserved_vm_usd: float | None = None
    reserved_vms: float | None = None
    billing_s: float | None = None

    def __post_init__(self) -> None:
        for what, hint in self._faults():
            raise InvalidInput(what, where="prices", hint=hint)

    def _faults(self) -> Iterator[tuple[str, str]]:
        for name in ("on_demand_vm_usd", "reserved_vm_usd"):
            price = getattr(self, name)
            if price is not None and not 0 < price < math.inf:
                yield f"{name} is {price:g}", "give a finite number of dollars above 0"
        if self.reserved_vms is not None and not 0 <= self.reserved_vms < math.inf:
            yield f"reserved_vms is {self.reserved_vms:g}", "give a finite number of at least 0"
        reserved, on_demand = self.reserved_vm_usd, self.on_demand_vm_usd
        if reserved is not None and on_demand is not None and on_demand <= reserved:
            yield (
                f"on_demand_vm_usd is {on_demand:g}, not above reserved_vm_usd = {reserved:g}",
                "give a price above reserved_vm_usd, or reserving has no benefit",
            )
