"""Capacity plans from workload files: errors, true noes, and the figures of each class."""

import math

import pytest

from sluice.estimate.bounds import Bound, TimeLaw
from sluice.ingest.workload import parse_workload
from sluice.model.classes import JobClass
from sluice.model.errors import InvalidInput
from sluice.planning.capacity.needs import ClassNeed, least_deadlines_s
from sluice.planning.capacity.plan import CapacityPlan, UnreachableDeadlines, plan_capacity

PROFILE = (
    "maps: {tasks: 100, avg_s: 40, max_s: 50}, reduces: {tasks: 40, avg_s: 24, max_s: 30},"
    " first_shuffle: {avg_s: 16, max_s: 20}, shuffle: {avg_s: 80, max_s: 100}"
)
FIT = "maps_per_vm: 2, reduces_per_vm: 3"
PRICES = "{on_demand_vm_usd: 20, reserved_vm_usd: 8, reserved_vms: 50}"


def workload(*classes, prices=PRICES):
    return parse_workload(f"{{version: 1, prices: {prices}, classes: [{', '.join(classes)}]}}")


def one_class(*, deadline="deadline_s: 1800", profile=PROFILE, jobs="jobs_min: 3, jobs_max: 10"):
    return f"{{id: q1, penalty_usd: 100, {jobs}, {deadline}, {FIT}, {profile}}}"


def planned(text_or_workload, **options):
    return plan_capacity(text_or_workload.classes, text_or_workload.capacity_prices, **options)


@pytest.mark.parametrize(("deadline_s", "is_met"), [(379, False), (380, False), (380.5, True)])
def test_a_deadline_that_no_capacity_meets_is_a_true_no(deadline_s, is_met):
    """The fixed time is 380 s under the high bound (G1)."""
    answer = planned(workload(one_class(deadline=f"deadline_s: {deadline_s}")))

    assert is_met is isinstance(answer, CapacityPlan)
    if isinstance(answer, UnreachableDeadlines):
        assert {"q1": 380.0} == dict(answer.least_deadline_s)


def test_the_least_deadline_depends_on_the_bound():
    """Here the fixed time of the low bound is negative, so any deadline can be met."""
    asked = workload(one_class(deadline="deadline_s: 100"))

    assert isinstance(planned(asked, bound=Bound.LOW), CapacityPlan)
    assert {"q1": 158.0} == dict(planned(asked, bound=Bound.AVERAGE).least_deadline_s)


@pytest.mark.parametrize(
    ("deadline_s", "late"), [(99.9, {"named": 100.0}), (100.0, {}), (500.0, {})]
)
def test_a_known_need_is_late_below_the_time_of_the_fastest_containers(deadline_s, late):
    """At equality it is met; one class has no time law, and another is not known at all."""
    named, lawless, fixed = (
        JobClass(class_id=name, penalty_usd=1.0, jobs_max=1.0, deadline_s=deadline_s, **given)
        for name, given in (
            ("named", {"profile_name": "etl", "containers_per_vm": 1}),
            ("lawless", {"profile_name": "etl", "containers_per_vm": 1}),
            ("fixed", {"vms_per_job": 1.0}),
        )
    )
    known = {
        "named": ClassNeed(
            vms_per_job=1.0, law=TimeLaw(xi_map_s=0.0, xi_reduce_s=0.0, xi_fixed_s=100.0)
        ),
        "lawless": ClassNeed(vms_per_job=1.0),
    }

    assert late == least_deadlines_s([named, lawless, fixed], Bound.UP, known)


FEW = PROFILE.replace("tasks: 100, avg_s: 40", "tasks: 2, avg_s: 40")
FEW_REDUCES = PROFILE.replace("tasks: 40, avg_s: 24", "tasks: 2, avg_s: 24")


@pytest.mark.parametrize(
    ("profile", "field", "term"),
    [
        (FEW, "maps", "tasks * avg_s - 2 * max_s is"),
        (
            FEW_REDUCES,
            "reduces",
            "tasks * (reduces.avg_s + shuffle.avg_s) - 2 * (reduces.max_s + shuffle.max_s) is",
        ),
    ],
)
def test_too_few_tasks_for_the_high_bound_are_refused_with_alternatives(profile, field, term):
    """Erratum E4: the message shows the term, and the bounds for which it is positive."""
    with pytest.raises(InvalidInput, match=f"{field}.tasks is 2, too few for bound up") as refused:
        planned(workload(one_class(profile=profile)))

    assert term in str(refused.value)
    assert "'q1'" in refused.value.where
    assert "--bound low or avg" in refused.value.hint
    assert isinstance(planned(workload(one_class(profile=profile)), bound=Bound.LOW), CapacityPlan)


@pytest.mark.parametrize(
    ("prices", "field"),
    [
        ("{on_demand_vm_usd: 8, reserved_vm_usd: 8, reserved_vms: 1}", "on_demand_vm_usd is 8"),
        ("{on_demand_vm_usd: 7, reserved_vm_usd: 8, reserved_vms: 1}", "on_demand_vm_usd is 7"),
        ("{on_demand_vm_usd: 20, reserved_vm_usd: 0, reserved_vms: 1}", "reserved_vm_usd is 0"),
        ("{on_demand_vm_usd: 20, reserved_vm_usd: -1, reserved_vms: 1}", "reserved_vm_usd is -1"),
        ("{on_demand_vm_usd: 20, reserved_vm_usd: 8, reserved_vms: -1}", "reserved_vms is -1"),
        ("{reserved_vm_usd: 8, reserved_vms: 1}", "on_demand_vm_usd is missing"),
        ("{on_demand_vm_usd: 20, reserved_vms: 1}", "reserved_vm_usd is missing"),
        ("{on_demand_vm_usd: 20, reserved_vm_usd: 8}", "reserved_vms is missing"),
        ("null", "on_demand_vm_usd is missing"),
    ],
)
def test_invalid_prices_are_refused_by_name(prices, field):
    with pytest.raises(InvalidInput, match=field):
        planned(workload(one_class(), prices=prices))


CLASS = "id: q1, penalty_usd: 1, jobs_max: 4, vms_per_job: 2"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (CLASS.replace("penalty_usd: 1", "penalty_usd: -1"), "penalty_usd is -1"),
        (CLASS.replace("jobs_max: 4", "jobs_max: 4, jobs_min: 5"), "jobs_max is 4"),
        (CLASS.replace("jobs_max: 4", "jobs_max: 4, jobs_min: -1"), "jobs_min is -1"),
        (CLASS.replace("vms_per_job: 2", "vms_per_job: 0"), "vms_per_job is 0"),
        (CLASS.replace("vms_per_job: 2", "vms_per_job: .nan"), 'vms_per_job is ".nan"'),
        (CLASS.replace("penalty_usd: 1", "penalty_usd: .inf"), 'penalty_usd is ".inf"'),
        (CLASS.replace("penalty_usd: 1", "penalty_usd: true"), "penalty_usd is true"),
        (f"{CLASS}, {PROFILE}", "vms_per_job is given together with a profile"),
        (CLASS.replace(", vms_per_job: 2", ""), "maps is missing"),
        (f"id: q1, penalty_usd: 1, jobs_max: 4, {FIT}, {PROFILE}", "deadline_s is missing"),
        (
            f"id: q1, penalty_usd: 1, jobs_max: 4, deadline_s: 9, maps_per_vm: 2, {PROFILE}",
            "reduces_per_vm is missing",
        ),
        (one_class()[1:-1].replace("maps_per_vm: 2", "maps_per_vm: 0"), "maps_per_vm is 0"),
        (one_class()[1:-1].replace("tasks: 100", "tasks: 0"), "maps.tasks is 0"),
        (one_class()[1:-1].replace("tasks: 100", "tasks: 1.5"), "maps.tasks is 1.5"),
        (one_class()[1:-1].replace("max_s: 50", "max_s: 39"), "maps.max_s is 39"),
        (one_class()[1:-1].replace("avg_s: 80", "avg_s: 101"), "shuffle.max_s is 100"),
        (one_class()[1:-1].replace("deadline_s: 1800", "deadline_s: 0"), "deadline_s is 0"),
    ],
)
def test_invalid_classes_are_refused_by_id_and_field(text, field):
    with pytest.raises(InvalidInput) as refused:
        planned(workload(f"{{{text}}}"))

    assert field in str(refused.value)
    assert '"q1"' in str(refused.value)


def test_no_classes_are_refused():
    with pytest.raises(InvalidInput, match="classes is missing"):
        planned(parse_workload(f"{{version: 1, prices: {PRICES}}}"))


def test_integer_plans_need_integer_limits():
    asked = workload(one_class(jobs="jobs_min: 2.5, jobs_max: 10"))

    assert isinstance(planned(asked), CapacityPlan)
    with pytest.raises(InvalidInput, match=r"jobs_min is 2\.5"):
        planned(asked, is_whole=True)


@pytest.mark.parametrize("is_whole", [False, True])
def test_a_deadline_above_the_billed_hour_gives_a_warning(is_whole):
    answer = planned(workload(one_class(deadline="deadline_s: 3601")), is_whole=is_whole)
    at_the_hour = planned(workload(one_class(deadline="deadline_s: 3600")), is_whole=is_whole)

    assert "deadline_s is 3601" in answer.warnings[0]
    assert [] == [one for one in at_the_hour.warnings if "deadline_s" in one]


def test_shares_are_shares_of_the_vms_and_add_up_to_one():
    answer = planned(
        workload(one_class(), "{id: q2, penalty_usd: 50, jobs_max: 4, vms_per_job: 3}")
    )
    vms = {one.class_id: one.vms for one in answer.classes}

    assert 1.0 == pytest.approx(sum(one.share for one in answer.classes))
    assert vms["q1"] / vms["q2"] == pytest.approx(answer.classes[0].share / answer.classes[1].share)


def test_a_class_without_any_job_is_allowed():
    """Erratum E5: the paper's own table has one."""
    answer = planned(workload(one_class(jobs="jobs_min: 0, jobs_max: 0")))
    (one,) = answer.classes

    assert (one.jobs, one.share, one.time_s) == (0.0, 0.0, None)
    assert answer.cost_usd == 0


def test_at_the_break_even_deadline_a_job_costs_its_penalty():
    """With this deadline the VMs of one job cost as much as its penalty."""
    even = planned(workload(one_class())).classes[0].break_even
    for deadline_s, vm_usd in ((even.reserved_deadline_s, 8), (even.on_demand_deadline_s, 20)):
        (other,) = planned(workload(one_class(deadline=f"deadline_s: {deadline_s}"))).classes
        assert other.vms_per_job * vm_usd == pytest.approx(100)


def test_without_a_penalty_there_is_no_break_even_deadline():
    free = workload(one_class().replace("penalty_usd: 100", "penalty_usd: 0"))

    assert planned(free).classes[0].break_even.reserved_deadline_s is None


def test_integer_containers_keep_the_deadline_and_show_the_vms_they_fill():
    answer = planned(workload(one_class()), is_whole=True)
    (one,) = answer.classes

    assert (one.map_containers % 1, one.reduce_containers % 1) == (0, 0)
    assert one.time_s <= 1800
    assert answer.rounded_vms == pytest.approx(one.map_containers / 2 + one.reduce_containers / 3)
    assert answer.gap_usd >= 0


def test_two_classes_show_their_cell_of_the_closed_form():
    asked = workload(
        "{id: a, penalty_usd: 18, jobs_max: 4, vms_per_job: 2}",
        "{id: b, penalty_usd: 90, jobs_max: 4, vms_per_job: 3}",
    )
    cell = planned(asked).cell

    assert (5, "d") == (cell.row, cell.column)
    assert tuple(one.jobs for one in planned(asked).classes) == cell.jobs


def test_tiny_needs_give_no_infinite_numbers():
    """A penalty per VM or a deadline above the largest float is left out."""
    asked = workload("{id: a, penalty_usd: 1e15, jobs_max: 4, vms_per_job: 1.0e-99}", one_class())
    answer = planned(asked)

    assert math.isfinite(answer.cost_usd)
    assert [4.0, 10.0] == [one.jobs for one in answer.classes]
