"""The first and last values that each field takes, and those next to them that it refuses."""

import math
import sys
from dataclasses import replace

import pytest

from sluice.model.buffers import BufferRanges, BufferSetting, Range
from sluice.model.classes import CapacityPrices, ClassProfile, JobClass
from sluice.model.cluster import SLOTS_MAX, Node
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase
from sluice.model.ids import ID_LENGTH_MAX, checked_id
from sluice.model.job import TASKS_MAX, Job, Phase, Prediction, VmRequest
from sluice.model.lengths import ConstantLengths, ListedLengths, TableLengths, WorkLengths
from sluice.model.limits import PlanLimits
from sluice.model.machines import Rent, VmOffer, VmShape
from sluice.model.members import Member
from sluice.model.prices import Prices
from sluice.model.queue_tree import AmountKind, QueueAmount
from sluice.model.queues import Pool, Queue
from sluice.model.resources import RESOURCE_NAMES, Resources
from sluice.model.slot_kind import SlotKind
from sluice.model.vm_pools import PowerRule, ReconfigureRule, VmPools, VmType

TINY, HUGE = math.ulp(0.0), sys.float_info.max  # the least number above 0, the largest number
BELOW_ONE, ABOVE_ONE = math.nextafter(1, 0), math.nextafter(1, 2)

# (taken, refused)
FROM_ZERO = ((0.0, HUGE), (-TINY, math.inf, math.nan))
ABOVE_ZERO = ((TINY, HUGE), (0.0, math.inf, math.nan))
COUNT_FROM_ZERO, COUNT_FROM_ONE = ((0, 1), (-1,)), ((1, 2), (0,))
OPEN_SHARE = ((TINY, BELOW_ONE), (0.0, 1.0))

LENGTHS = ConstantLengths(1.0, 1.0)
PROFILE = ClassProfile(map_tasks=1, reduce_tasks=1, maps=LENGTHS, reduces=LENGTHS)
TASKS_CLASS = JobClass(
    class_id="c", penalty_usd=1.0, jobs_max=HUGE, deadline_s=1.0, maps_per_vm=1, reduces_per_vm=1,
    containers_per_vm=1, profile=PROFILE,
)  # fmt: skip
VM_CLASS = JobClass(class_id="c", penalty_usd=1.0, jobs_max=1.0, vms_per_job=1.0)
NODE, POOL = Node(node_id="n", map_slots=1), Pool(pool_id="p")
PHASE = Phase(name="map", kind=SlotKind.MAP, tasks=1)
JOB = Job(job_id="j", pool="p", phases=(PHASE,))
SHAPE = VmShape(map_slots=1, reduce_slots=1)
OFFER = VmOffer(vm_type="t", rent=Rent.SPOT, shape=SHAPE, hour_usd=1.0)
PAST = PastPhase(name="p", kind="map", tasks=1, avg_s=1.0, max_s=HUGE)
QUEUE = Queue(queue_id="q")
PREDICTION = Prediction(vm_type="t", vms=1, time_s=1.0)
VM_TYPE, REQUEST = VmType(type_id="t", units=1, vms=1), VmRequest(vm_type="t", vms=1)

LIMITS = [
    *[(TASKS_CLASS, name, *FROM_ZERO) for name in ("penalty_usd", "jobs_min", "driver_s")],
    (TASKS_CLASS, "deadline_s", *ABOVE_ZERO),
    *[
        (TASKS_CLASS, name, *COUNT_FROM_ONE)
        for name in ("maps_per_vm", "reduces_per_vm", "containers_per_vm")
    ],
    (replace(TASKS_CLASS, jobs_max=3.0), "jobs_min", (3.0,), (math.nextafter(3, 4),)),
    (VM_CLASS, "vms_per_job", *ABOVE_ZERO),
    (VM_CLASS, "jobs_max", *FROM_ZERO),
    *[(PROFILE, name, *COUNT_FROM_ONE) for name in ("map_tasks", "reduce_tasks")],
    *[
        (CapacityPrices(), name, *ABOVE_ZERO) for name in ("on_demand_vm_usd", "reserved_vm_usd")
    ],
    (CapacityPrices(), "reserved_vms", *FROM_ZERO),
    (CapacityPrices(reserved_vm_usd=1.0), "on_demand_vm_usd", (ABOVE_ONE,), (1.0,)),
    *[
        (NODE, name, (0, SLOTS_MAX), (-1, SLOTS_MAX + 1))
        for name in ("map_slots", "reduce_slots", "containers")
    ],
    (NODE, "unit_weight", *ABOVE_ZERO),
    (POOL, "weight", *ABOVE_ZERO),
    *[(POOL, name, *COUNT_FROM_ZERO) for name in ("map_slots_min", "reduce_slots_min")],
    *[
        (POOL, name, *COUNT_FROM_ONE)
        for name in ("map_slots_max", "reduce_slots_max", "containers_max")
    ],
    (PHASE, "tasks", (1, TASKS_MAX), (0, TASKS_MAX + 1)),
    *[(PHASE, name, *ABOVE_ZERO) for name in ("units", "unit_weight")],
    (JOB, "submitted_at_s", *FROM_ZERO),
    (replace(JOB, submitted_at_s=1.0), "deadline_at_s", (ABOVE_ONE,), (1.0,)),
    (JOB, "weight", *ABOVE_ZERO),
    *[(JOB, name, *FROM_ZERO) for name in ("penalty_usd", "driver_s")],
    (JOB, "limit_s", *ABOVE_ZERO),
    (JOB, "gang", (0, 1, TASKS_MAX), (-1, TASKS_MAX + 1)),
    (LENGTHS, "average_s", (TINY, 1.0), (0.0, ABOVE_ONE, math.nan)),
    (LENGTHS, "longest_s", (1.0, HUGE), (BELOW_ONE, math.inf)),
    (ListedLengths((1.0,)), "durations_s", ((TINY,), (HUGE,)), ((0.0,), (math.inf,))),
    (TableLengths(((1, 1.0, 1.0),)), "rows", (((1, 1.0, 1.0), (2, 1.0, 1.0)),),
     (((0, 1.0, 1.0),), ((2, 1.0, 1.0), (2, 1.0, 1.0)))),
    *[(WorkLengths(1.0, 1.0), name, *FROM_ZERO) for name in ("fixed_s", "work_s")],
    (WorkLengths(0.0, 1.0), "work_s", (TINY,), (0.0,)),
    (WorkLengths(1.0, 1.0), "max_factor", (1.0, HUGE), (BELOW_ONE, math.inf)),
    (PlanLimits(), "budget_usd_min", *FROM_ZERO),
    (PlanLimits(budget_usd_min=1.0), "budget_usd_max", (1.0,), (BELOW_ONE,)),
    (PlanLimits(), "deadline_s", *ABOVE_ZERO),
    (PlanLimits(), "vms_max", *COUNT_FROM_ONE),
    *[(SHAPE, name, *COUNT_FROM_ONE) for name in ("map_slots", "reduce_slots", "containers")],
    *[
        (VmShape(map_slots=1, reduce_slots=1, containers=1), name, *COUNT_FROM_ONE)
        for name in ("map_slots", "reduce_slots")
    ],
    (OFFER, "hour_usd", *FROM_ZERO),
    (OFFER, "speed", *ABOVE_ZERO),
    *[(Prices(vm_hour_usd=1.0), name, *FROM_ZERO)
      for name in ("vm_hour_usd", "billing_s", "io_op_usd")],
    (Prices(vm_hour_usd=1.0), "io_bytes_per_op", *ABOVE_ZERO),
    (BufferSetting(), "bytes", (1.0, HUGE), (BELOW_ONE, math.inf)),
    *[(BufferSetting(), name, *OPEN_SHARE) for name in ("metadata_share", "spill_threshold")],
    (BufferSetting(), "merge_width", (2, 64), (1, 65)),
    (BufferRanges(), "bytes", (Range(1.0, 1.0),), (Range(ABOVE_ONE, 1.0),)),
    (Member(member_id="m", demands=()), "weight", *ABOVE_ZERO),
    (Member(member_id="m", demands=()), "demands", ((0.0,), (HUGE,)), ((-TINY,), (math.inf,))),
    (Member(member_id="m", demands=()), "task", ({"cpu": TINY}, {"cpu": 0.0, "io": HUGE}),
     ({"cpu": 0.0}, {"cpu": -TINY, "io": 1.0}, {"cpu": math.inf})),
    *[(QUEUE, name, *ABOVE_ZERO) for name in ("weight", "quantum_s")],
    *[(QUEUE, name, *FROM_ZERO) for name in ("share_min", "used_before", "round_s")],
    (replace(QUEUE, share_min=1.0), "share_max", (1.0, HUGE), (BELOW_ONE, math.inf)),
    (QueueAmount(next(iter(AmountKind)), 1.0), "value", *FROM_ZERO),
    *[(Resources(), name, *FROM_ZERO) for name in RESOURCE_NAMES],
    (PAST, "tasks", *COUNT_FROM_ONE),
    (replace(PAST, max_s=1.0), "avg_s", (0.0, 1.0), (-TINY, ABOVE_ONE)),
    (PAST, "max_s", (1.0, HUGE), (BELOW_ONE, math.inf)),
    (PREDICTION, "vms", *COUNT_FROM_ONE),
    (PREDICTION, "time_s", *ABOVE_ZERO),
    (PREDICTION, "error", *FROM_ZERO),
    (REQUEST, "vms", *COUNT_FROM_ONE),
    (REQUEST, "start_within_s", *FROM_ZERO),
    *[(PowerRule(), name, *FROM_ZERO) for name in ("down_after_s", "up_s")],
    (VM_TYPE, "units", *ABOVE_ZERO),
    (VM_TYPE, "vms", *COUNT_FROM_ZERO),
    (ReconfigureRule(), "window_s", *ABOVE_ZERO),
    (ReconfigureRule(), "beta", (ABOVE_ONE, HUGE), (1.0, math.inf)),
    (ReconfigureRule(), "vm_change_server_s", *FROM_ZERO),
    (VmPools(), "prediction_error", (0.0, BELOW_ONE), (-TINY, 1.0)),
    (VmPools(), "boot_s", *FROM_ZERO),
    (VmPools(), "bound_s", (TINY, math.inf), (0.0, math.nan)),
    (VmPools(), "server_units", *ABOVE_ZERO),
    (VmPools(vm_types=(VM_TYPE,)), "server_units", (1.0,), (BELOW_ONE,)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "field", "taken", "refused"),
    LIMITS,
    ids=[f"{type(value).__name__}.{field}" for value, field, _, _ in LIMITS],
)
def test_a_field_takes_its_first_and_last_value_and_not_the_next(value, field, taken, refused):
    for one in taken:
        assert getattr(replace(value, **{field: one}), field) == one
    for one in refused:
        with pytest.raises(InvalidInput):
            replace(value, **{field: one})


def test_a_vm_may_have_containers_alone():
    shape = VmShape(map_slots=0, reduce_slots=0, containers=3)

    assert (shape.has_typed_slots, shape.containers_of_any) == (False, 3)
    assert [shape.vms(containers=count) for count in (1, 3, 4)] == [1, 1, 2]


def test_an_id_has_one_character_or_more_up_to_a_limit():
    for count in (1, ID_LENGTH_MAX):
        assert checked_id("x" * count, what="job") == "x" * count
    for count in (0, ID_LENGTH_MAX + 1):
        with pytest.raises(InvalidInput):
            checked_id("x" * count, what="job")


@pytest.mark.parametrize(("after", "is_taken"), [((0,), True), ((1,), False), ((-1,), False)])
def test_the_second_phase_follows_the_first_alone(after, is_taken):
    phases = (PHASE, replace(PHASE, after=after))
    if is_taken:
        assert replace(JOB, phases=phases).phases == phases
    else:
        with pytest.raises(InvalidInput):
            replace(JOB, phases=phases)


@pytest.mark.parametrize(
    "given", [{"profile": PROFILE}, {"phases": (PHASE,)}, {"profile_name": "etl"}]
)
def test_a_number_of_vms_takes_the_place_of_every_kind_of_profile(given):
    with pytest.raises(InvalidInput, match="vms_per_job is given together with a profile"):
        replace(VM_CLASS, **given)
