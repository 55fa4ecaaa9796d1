"""The optimum by constraint programming, in ticks of 5 s on one VM."""

import pytest
from tests.planning.pools.one_type import T, pool_job
from tests.skips import required

from sluice.bootstrap.planners.cp_sat_process import cp_sat_apart
from sluice.model.vm_pools import VmPools, VmType
from sluice.planning.pools.offline_optimum import branch_and_bound, with_latest_deadlines
from sluice.planning.pools.problem import problem_of


def test_jobs_start_at_whole_ticks_in_the_only_order_that_is_in_time():
    """Job b must end by 14 s, and so starts at 0; c arrives at the tick of 20 s."""
    required("ortools")
    jobs = [
        pool_job("a", 24.0, time_s=9.0),
        pool_job("b", 14.0),
        pool_job("c", 30.0, submitted_at_s=17.0),
    ]
    one = VmType(type_id=T.type_id, units=T.units, vms=1)
    made = problem_of(jobs, VmPools(server_units=4.0, vm_types=(one,)), tick_s=5.0)
    found = cp_sat_apart(made)

    assert {name: (slot.start_s, slot.end_s) for name, slot in found.slots.items()} == {
        "a": (10, 20), "b": (0, 10), "c": (20, 30),
    }  # fmt: skip
    assert (found.cost_server_s, found.bound_server_s, found.is_proven) == (14.5, 14.5, True)


def test_jobs_that_run_after_others_wait_for_them_in_all_pools():
    """Job c waits for a and for b of another pool; d gets the VM in between. As by the search."""
    required("ortools")
    made = problem_of(
        [
            pool_job("c", 45.0, after=("a", "b")),
            pool_job("a", 45.0),
            pool_job("b", 45.0, time_s=20.0, vm_type="u"),
            pool_job("d", 45.0, time_s=13.0),
        ],
        VmPools(
            server_units=4.0,
            vm_types=tuple(VmType(type_id=name, units=2.0, vms=1) for name in "tu"),
        ),
        tick_s=5.0,
    )
    found = cp_sat_apart(made)
    starts = {name: slot.start_s for name, slot in found.slots.items()}

    assert (found.is_proven, starts["a"], starts["b"], starts["d"]) == (True, 0, 0, 10)
    assert 25 <= starts["c"] <= 35
    assert found.cost_server_s == branch_and_bound(made).cost_server_s


@pytest.mark.parametrize(("within_s", "last_at_s"), [(12.0, 20), (9.0, None)])
def test_a_job_starts_within_whole_ticks_of_the_end_of_those_before_it(within_s, last_at_s):
    """Job a must start as it arrives, at 0, and b must end by 20 s. So c waits two ticks for it.

    It arrives at 10 s, as a ends.
    """
    required("ortools")
    jobs = [
        pool_job("a", 100.0, within_s=0.0),
        pool_job("b", 20.0),
        pool_job("c", 100.0, submitted_at_s=10.0, after=("a",), within_s=within_s),
    ]
    one = VmType(type_id=T.type_id, units=T.units, vms=1)
    made = problem_of(jobs, VmPools(server_units=4.0, vm_types=(one,)), tick_s=5.0)
    found = cp_sat_apart(with_latest_deadlines(made, [job.deadline_at_s for job in jobs]))

    starts = {name: slot.start_s for name, slot in found.slots.items()}
    assert starts == ({} if last_at_s is None else {"a": 0, "b": 10, "c": last_at_s})
    assert found.is_proven
