"""When the jobs of a plan end, and what it rents at once, with and without waves."""

from sluice.planning.pareto.frontier import Plan
from sluice.planning.pareto.pricing import PlanEntry


def plan(waves):
    entries = tuple(
        PlanEntry(time_s=time_s, vm_usd=1.0, io_usd=0.25, vms=vms, choice=None)
        for time_s, vms in ((10.0, 2), (30.0, 1), (5.0, 4))
    )
    return Plan(makespan_s=0.0, budget_usd=3.75, entries=entries, waves=waves)


def test_jobs_of_a_wave_start_when_the_longest_of_the_wave_before_has_ended():
    assert [10.0, 30.0, 35.0] == plan(((0, 1), (2,))).ends_s()
    assert [15.0, 35.0, 5.0] == plan(((2,), (0, 1))).ends_s()


def test_without_waves_all_start_together():
    assert [10.0, 30.0, 5.0] == plan(None).ends_s()


def test_the_largest_wave_is_rented():
    assert (7, 4, 5) == (
        plan(None).vms, plan(((0, 1), (2,))).vms, plan(((1, 2), (0,))).vms,
    )  # fmt: skip
    assert 1.25 == plan(None).entries[0].cost_usd
