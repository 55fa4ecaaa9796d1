"""Worked examples of the pareto spec, section 6, and the rules that they show."""

import pytest
from tests.planning.pareto_problems import JOB_A, JOB_B, offer, phase, problem_of

from sluice.estimate.bounds import SingleWave
from sluice.model.buffers import BufferRanges, BufferSetting, Range
from sluice.model.job import MapOutput
from sluice.model.lengths import ConstantLengths, WorkLengths
from sluice.model.prices import Prices
from sluice.planning.pareto.archive import Archive
from sluice.planning.pareto.buffers import closed_form
from sluice.planning.pareto.plan_search import PlanSearch, PlanStatus, find_frontier, solve_plans
from sluice.planning.pareto.pricing import JobChoice, JobPricing, PhaseTimes
from sluice.planning.pareto.problem import (
    IoModel,
    PlannedJob,
    PlannedPhase,
    PlanOptions,
    TaskTuning,
)
from sluice.planning.pareto.spills import MapShare, moved_bytes, spills
from sluice.planning.pareto.staircase import staircases
from sluice.planning.pareto.task_counts import PhaseCounts, tuned_choices
from sluice.planning.pareto.tradeoff import hour_saved_usd, hypervolume, knee


def points(problem, search=PlanSearch.EXACT, **how):
    return [(time, round(usd, 6)) for time, usd in find_frontier(problem, search, **how).points()]


def times(lengths, tasks, *, tasks_max=None, single_wave=SingleWave.ESTIMATED):
    planned = PlannedPhase(tasks=tasks, tasks_max=tasks_max or tasks, parts=(lengths,))
    return PhaseTimes(planned, single_wave)


@pytest.mark.parametrize(
    ("tasks", "slots", "avg_s", "max_s", "mean_s"),
    [(10, 3, 5, 5, 20), (10, 3, 5, 9, 22), (5, 4, 10, 12, 21), (1, 4, 7, 7, 7)],
)
def test_g1_a_phase_takes_the_mean_of_its_two_estimates(tasks, slots, avg_s, max_s, mean_s):
    assert mean_s == times(ConstantLengths(avg_s, max_s), tasks).time_s(tasks, slots)


def test_an_exact_single_wave_takes_its_longest_task():
    """Erratum E3."""
    exact = times(ConstantLengths(5.0, 9.0), 3, single_wave=SingleWave.EXACT)

    assert (exact.time_s(3, 3), exact.time_s(3, 2)) == (9.0, (10 + 5 + 9) / 2)


@pytest.mark.parametrize(
    ("slots", "vms", "time_s", "hourly_usd", "exact_usd"),
    [
        ((2, 2), 1, 5100.0, 2.0, 1.416667),
        ((4, 4), 2, 3300.0, 2.0, 1.833333),
        ((5, 4), 3, 3000.0, 3.0, 2.5),
    ],
)
def test_g2_time_and_cost_of_job_a(slots, vms, time_s, hourly_usd, exact_usd):
    for billing_s, usd in ((3600.0, hourly_usd), (0.0, exact_usd)):
        pricing = JobPricing(problem_of(JOB_A, billing_s=billing_s), 0)
        entry = pricing.entry(JobChoice(offer(2, 2, 1.0), slots[0], slots[1], 5, 4, None))

        assert (entry.vms, entry.time_s, round(entry.vm_usd, 6)) == (vms, time_s, usd)


def test_g2_the_frontier_of_job_a():
    assert points(problem_of(JOB_A)) == [(3000.0, 3.0), (3300.0, 2.0)]
    assert points(problem_of(JOB_A, billing_s=0.0)) == [
        (3000.0, 2.5), (3300.0, 1.833333), (5100.0, 1.416667),
    ]  # fmt: skip


def test_g2_the_vms_policy_skips_the_better_half():
    assert points(problem_of(JOB_A), PlanSearch.VMS) == [(3000.0, 3.0)]


def test_g3_two_jobs():
    frontier = find_frontier(problem_of(JOB_A, JOB_B), PlanSearch.EXACT)

    assert list(frontier.points()) == [(3000.0, 4.0), (3300.0, 3.0)]
    assert [[entry.vms for entry in frontier.plan(n).entries] for n in (0, 1)] == [[3, 1], [2, 1]]


@pytest.mark.parametrize(
    ("limits", "status", "plans", "below"),
    [
        ({}, PlanStatus.OK, 2, 0),
        ({"deadline_s": 2000.0}, PlanStatus.DEADLINE_UNREACHABLE, 0, 0),
        ({"budget_usd_max": 2.5}, PlanStatus.BUDGET_UNREACHABLE, 0, 0),
        ({"budget_usd_min": 50.0}, PlanStatus.BELOW_BUDGET_MIN, 0, 2),
        ({"deadline_s": 3100.0, "budget_usd_max": 3.0}, PlanStatus.CONFLICT, 0, 0),
        ({"deadline_s": 2000.0, "budget_usd_max": 2.5}, PlanStatus.DEADLINE_UNREACHABLE, 0, 0),
        ({"budget_usd_min": 3.5}, PlanStatus.OK, 1, 1),
        ({"deadline_s": 3000.0, "budget_usd_max": 4.0}, PlanStatus.OK, 1, 0),
    ],
)
def test_g3_limits_and_their_status(limits, status, plans, below):
    answer = solve_plans(problem_of(JOB_A, JOB_B, **limits), PlanSearch.EXACT)

    assert (answer.status, len(answer.plans)) == (status, plans)
    assert len(answer.below_budget_min) == below
    assert (answer.fastest_makespan_s, answer.least_budget_usd) == (3000.0, 3.0)


@pytest.mark.parametrize(
    ("vms_max", "wanted"),
    [(1, []), (2, [(5100.0, 3.0)]), (3, [(3300.0, 3.0)]), (4, [(3000.0, 4.0), (3300.0, 3.0)])],
)
def test_g3_a_cap_on_vms(vms_max, wanted):
    answer = solve_plans(problem_of(JOB_A, JOB_B, vms_max=vms_max), PlanSearch.EXACT)

    assert list(answer.plans.points()) == wanted
    assert answer.status is (PlanStatus.OK if wanted else PlanStatus.VM_CAP_UNREACHABLE)
    assert (answer.fastest_makespan_s is None) == (not wanted)


def test_g3_with_too_few_vms_jobs_run_in_waves():
    """On one VM B runs first, because it is shorter, then A: 2400 s plus 5100 s."""
    problem = problem_of(JOB_A, JOB_B, vms_max=1)
    frontier = find_frontier(problem, PlanSearch.EXACT, in_waves=True)

    assert list(frontier.points()) == [(7500.0, 3.0)]
    assert frontier.plan(0).waves == ((1,), (0,))


def test_a_job_in_waves_may_take_every_vm_under_the_cap():
    """Job A with both VMs, then B on one of them."""
    frontier = find_frontier(problem_of(JOB_A, JOB_B, vms_max=2), PlanSearch.VMS, in_waves=True)

    assert [(7500.0, 5.0), (8100.0, 4.0)] == list(frontier.points())
    assert [2, 1] == [entry.vms for entry in frontier.plan(0).entries]


G4 = (
    PlannedJob(job_id="J1", maps=phase(1, 9000.0), reduces=phase(1, 10.0)),
    PlannedJob(job_id="J2", maps=phase(6, 1500.0), reduces=phase(2, 1000.0)),
)


@pytest.mark.parametrize(
    ("search", "usd"),
    [(PlanSearch.EXACT, 5.0), (PlanSearch.SLOTS_PRINTED, 6.0), (PlanSearch.VMS, 7.0)],
)
def test_g4_the_slowest_job_cannot_be_sped_up(search, usd):
    assert points(problem_of(*G4), search) == [(9010.0, usd)]


@pytest.mark.parametrize(
    ("search", "is_met"), [(PlanSearch.SLOTS, True), (PlanSearch.SLOTS_PRINTED, False)]
)
def test_on_a_tie_the_slots_policy_takes_the_slot_that_needs_no_vm(search, is_met):
    """The printed policy takes the reduce slot, which needs a second VM here (E9)."""
    job = PlannedJob(job_id="J", maps=phase(3, 10.0), reduces=phase(3, 10.0))
    found = find_frontier(problem_of(job, vm=(2, 1), billing_s=0.0), search)
    choices = [found.plan(number).entries[0].choice for number in range(len(found))]

    assert is_met == ((2, 1) in [(choice.map_slots, choice.reduce_slots) for choice in choices])


def test_g5_cheaper_and_faster():
    job = PlannedJob(job_id="J", maps=phase(7, 3600.0), reduces=phase(1, 1.0))
    found = find_frontier(problem_of(job, vm=(1, 1), billing_s=0.0), PlanSearch.EXACT)

    assert [(time, round(usd, 4)) for time, usd in found.points()] == [
        (5401.0, 10.5019), (9001.0, 10.0011), (10801.0, 9.0008), (14401.0, 8.0006),
        (25201.0, 7.0003),
    ]  # fmt: skip
    assert {found.plan(n).entries[0].vms for n in range(len(found))} == {7, 4, 3, 2, 1}


def test_g6_a_time_at_the_hour_boundary():
    prices = Prices(vm_hour_usd=1.0, billing_s=3600.0)

    assert (prices.rent_usd(3600.0), prices.rent_usd(3600.0000001)) == (1.0, 1.0)
    assert prices.rent_usd(3601.0) == 2.0


def test_g7_three_spills_although_another_setting_wastes_nothing():
    share, setting = MapShare(60e6, 600_000.0), BufferSetting()
    best = closed_form(BufferRanges(bytes=Range(1e7, 1e9)), share, IoModel.PAPER)

    found = spills(share, setting)
    assert found.times == 3.0
    assert found.filled_bytes == pytest.approx(29e6)
    assert moved_bytes(share, setting, IoModel.PAPER) == pytest.approx(87e6)
    assert moved_bytes(share, best, IoModel.PAPER) == pytest.approx(69.6e6)


def test_g8_the_hill_climb_stops_early():
    long = times(WorkLengths(2.0, 3000.0, 2.0), 9)

    climbed = tuned_choices(PhaseCounts(long), TaskTuning.HILL).at(2)
    scanned = tuned_choices(PhaseCounts(long), TaskTuning.SCAN).at(2)

    assert climbed == (1506.0, 3, 6)
    assert (scanned.slots, scanned.tasks) == (3, 9)
    assert scanned.time_s == pytest.approx(1341.3333333)


def test_g9_a_cheaper_plan_of_equal_makespan_replaces_the_old_one():
    archive: Archive[str] = Archive()
    assert archive.offer(100.0, 10.0, "old")
    assert archive.offer(100.0, 8.0, "new")
    assert not archive.offer(100.0, 8.0, "as good")
    assert archive.held == ("new",)


def test_g10_the_hypervolume_of_two_points():
    assert hypervolume([(3000.0, 3.0), (3300.0, 2.0)], (4000.0, 4.0)) == 1700.0
    assert hypervolume([(3000.0, 5.0), (5000.0, 2.0)], (4000.0, 4.0)) == 0.0


def test_the_price_of_a_saved_hour():
    assert hour_saved_usd([(3000.0, 4.0), (3300.0, 3.0)]) == [12.0, None]
    assert hour_saved_usd([]) == []


def test_the_knee_is_farthest_below_the_line_between_the_ends():
    assert knee([(1.0, 9.0), (2.0, 8.0)]) is None
    assert knee([(1.0, 9.0), (2.0, 3.0), (8.0, 2.0), (9.0, 1.0)]) == 1
    assert knee([(1.0, 9.0), (8.0, 8.0), (9.0, 1.0)]) is None


def test_fixed_counts_need_few_evaluations_for_any_number_of_tasks():
    """A million tasks have about a thousand different times, and fewer undominated ones."""
    job = PlannedJob(job_id="J", maps=phase(10**6, 3.0), reduces=phase(10**4, 2.0))
    (staircase,) = staircases(problem_of(job, billing_s=0.0))

    assert 100 < len(staircase) < 1000


def test_tuning_tasks_never_lengthens_a_job():
    lengths = (WorkLengths(2.0, 3000.0, 2.0),)
    side = PlannedPhase(tasks=6, tasks_max=9, parts=lengths)
    job = PlannedJob(job_id="J", maps=side, reduces=side)
    fastest = {
        tuning: find_frontier(
            problem_of(job, options=PlanOptions(tasks=tuning)), PlanSearch.EXACT
        ).makespans_s[0]
        for tuning in TaskTuning
    }

    assert fastest[TaskTuning.SCAN] <= min(fastest.values())
    assert fastest[TaskTuning.SCAN] < fastest[TaskTuning.FIXED]


def test_jobs_choose_among_vm_types():
    """The long job uses the faster type, the short job does not."""
    from dataclasses import replace

    job = PlannedJob(job_id="C", maps=phase(1, 500.0), reduces=phase(1, 100.0))
    problem = replace(
        problem_of(JOB_A, job, billing_s=0.0),
        offers=(offer(2, 2, 1.0, name="plain"), offer(2, 2, 3.0, name="quick", speed=2.0)),
        has_types=True,
    )
    plan = find_frontier(problem, PlanSearch.EXACT).plan(0)

    assert [entry.choice.offer.vm_type for entry in plan.entries] == ["quick", "plain"]
    assert plan.makespan_s == 1500.0


def test_output_without_a_price_of_io_costs_nothing():
    from dataclasses import replace

    job = replace(JOB_A, output=MapOutput(bytes=1e9, records=1e6))
    assert points(problem_of(job)) == points(problem_of(JOB_A))
