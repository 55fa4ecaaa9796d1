"""Keys of the planning commands: prices, limits, classes, members, VM types and windows."""

from __future__ import annotations

from pydantic import ConfigDict

from sluice.ingest.file_schema.fields import (
    OTHER_RESOURCES_MAX,
    SECONDS_MAX,
    Amount,
    AmountAboveZero,
    Count,
    CountAboveZero,
    Identity,
    Seconds,
    SecondsAboveZero,
    Shape,
    SlotsAboveZero,
    key,
    required,
)
from sluice.ingest.file_schema.jobs import LengthsShape, PhaseShape, StageShape
from sluice.model.job import STAGES_MAX
from sluice.model.members import Member
from sluice.model.vm_pools import PowerRule


class PricesShape(Shape):
    """The prices of renting and of I/O."""

    vm_hour_usd: Amount | None = key("dollars for a VM and an hour, 0 or more")
    billing_s: Seconds | None = key("seconds of one paid unit of time, 0 for exact time")
    io_op_usd: Amount | None = key("dollars for an I/O operation, 0 or more")
    io_bytes_per_op: AmountAboveZero | None = key("bytes of an I/O operation, above 0")
    on_demand_vm_usd: Amount | None = key("dollars for an on-demand VM, 0 or more")
    reserved_vm_usd: Amount | None = key("dollars for a reserved VM, 0 or more")
    reserved_vms: Amount | None = key("how many VMs are reserved, 0 or more")


class LimitsShape(Shape):
    """The limits that a plan must keep to."""

    budget_usd_min: Amount | None = key("dollars, 0 or more")
    budget_usd_max: Amount | None = key("dollars, at least budget_usd_min")
    deadline_s: SecondsAboveZero | None = key("seconds for all jobs, above 0")
    vms_max: CountAboveZero | None = key("a whole number of 1 or more, or null")


class ClassShape(Shape):
    """Jobs that are alike, and what refusing one costs."""

    id: Identity = required("the name of the class, 1 to 200 printable characters")
    penalty_usd: Amount = required("dollars for each job refused, 0 or more")
    jobs_min: Amount = key("the least jobs to take, 0 or more", 0.0)
    jobs_max: Amount = required("the jobs that ask to be taken, at least jobs_min")
    deadline_s: SecondsAboveZero | None = key("seconds, above 0")
    maps_per_vm: CountAboveZero | None = key("maps that one VM runs, a whole number of 1 or more")
    reduces_per_vm: CountAboveZero | None = key(
        "reduces that one VM runs, a whole number of 1 or more"
    )
    containers_per_vm: CountAboveZero | None = key(
        "containers of one VM for phases, a whole number of 1 or more"
    )
    phases: list[StageShape] | None = key(
        "a list of stages in place of maps and reduces, as in [{name: scan, tasks: 40, avg_s: 9}]",
        min_length=1,
        max_length=STAGES_MAX,
    )
    driver_s: Seconds = key("seconds of work outside the tasks of phases, 0 or more", 0.0)
    profile: Identity | None = key(
        "the name of a stored profile, in place of maps, reduces and phases"
    )
    maps: PhaseShape | None = key("a mapping as in {tasks: 100, avg_s: 40}")
    reduces: PhaseShape | None = key("a mapping as in {tasks: 40, avg_s: 24}")
    first_shuffle: LengthsShape | None = key("a mapping as in {avg_s: 16}")
    shuffle: LengthsShape | None = key("a mapping as in {avg_s: 80}")
    vms_per_job: AmountAboveZero | None = key("VMs for each job, above 0, instead of a profile")


class MemberShape(Shape, of=Member, order=("id", "weight")):
    """A member with a share, and the units that it demands at each step."""

    id: Identity = required("the name of the member, 1 to 200 printable characters")
    demands: list[Amount] = required(
        "a list with the units of each step, or the tasks with capacities, 0 or more"
    )
    task: dict[Identity, Amount] | None = key(
        "what one task takes of each of the capacities, as in {cpu: 1, memory_gb: 4}",
        max_length=OTHER_RESOURCES_MAX,
    )


class VmTypeShape(Shape):
    """Machines that can be rented."""

    id: Identity = required("the name of the type, 1 to 200 printable characters")
    units: AmountAboveZero = required("resource units of one VM, above 0")
    vms: Count = required("how many there are, 0 or more")
    map_slots: SlotsAboveZero | None = key("map slots of one VM, a whole number of 1 or more")
    reduce_slots: SlotsAboveZero | None = key("reduce slots of one VM, a whole number of 1 or more")
    containers: SlotsAboveZero | None = key("containers of one VM in place of slots, 1 or more")


class WindowsShape(Shape):
    """How far ahead reservations may start."""

    bound_s: SecondsAboveZero | None = key("seconds above 0, or null")


class ReconfigureShape(Shape):
    """When pools change their sizes."""

    window_s: float = key("seconds between checks, 0.01 or more", 600.0, ge=0.01, le=SECONDS_MAX)
    beta: float = key("how many times the saving must exceed the cost, above 1", 1.5, gt=1, le=1e6)
    vm_change_server_s: Amount | None = key("server-seconds that changing one VM costs, 0 or more")
    weighted: bool = key("true, or false for the formula as it was printed", default=True)
    keep_largest: bool = key(
        "true or false: whether a pool keeps the VMs of the largest cluster wanted", default=False
    )


class PowerShape(Shape, of=PowerRule):
    """When servers under the pools that nothing needs are shut down."""


class PlanningShape(Shape):
    """The keys of the planning commands, next to those of all commands."""

    model_config = ConfigDict(title="Planning")

    prices: PricesShape | None = key("a mapping as in {vm_hour_usd: 1.0}")
    limits: LimitsShape | None = key("a mapping as in {deadline_s: 1000}")
    classes: list[ClassShape] | None = key("a list of classes of jobs")
    capacity: AmountAboveZero | None = key("units to be shared, above 0")
    capacities: dict[Identity, AmountAboveZero] | None = key(
        "several resources to be shared, above 0, as in {cpu: 9, memory_gb: 18}",
        min_length=1,
        max_length=OTHER_RESOURCES_MAX,
    )
    members: list[MemberShape] | None = key("a list of members with demands")
    server_units: AmountAboveZero | None = key("resource units of one server, above 0")
    servers: CountAboveZero | None = key(
        "how many servers the pools are on, a whole number of 1 or more"
    )
    vm_types: list[VmTypeShape] | None = key("a list of VM types")
    windows: WindowsShape | None = key("a mapping as in {bound_s: null}")
    reconfigure: ReconfigureShape | None = key("a mapping as in {window_s: 600, beta: 1.5}")
    power: PowerShape | None = key("a mapping as in {down_after_s: 300, up_s: 60}")
    boot_s: Seconds | None = key("seconds that booting a VM takes, 0 or more")
    prediction_error: float | None = key("the error of predictions, from 0 to below 1", ge=0, lt=1)
