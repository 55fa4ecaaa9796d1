"""A cluster for each job or each customer, and the least servers, on jobs counted by hand.

A server has 4 units. A VM of type t has 2 of them, so a job of 10 s on one VM costs 5
server-seconds, and one that boots for 4 s first costs 7.
"""

import pytest
from tests.planning.pools.one_type import T, pool_job

from sluice.model.vm_pools import VmPools, VmType
from sluice.planning.pools.baselines import dedicated, per_job, per_job_on
from sluice.planning.pools.least_servers import least_servers, on_servers
from sluice.planning.pools.problem import problem_of


def problem(*jobs, types=(T,)):
    return problem_of(jobs, VmPools(server_units=4.0, vm_types=types, boot_s=4.0))


def test_a_fresh_cluster_boots_first():
    """Of two jobs at once and one after their end, two VMs are used at a time: one server."""
    schedule = per_job(
        problem(pool_job("a", 14.0), pool_job("b", 99.0), pool_job("c", 99.0, submitted_at_s=14.0))
    )

    assert [(one.started_at_s, one.finished_at_s) for one in schedule.outcomes] == [
        (4, 14), (4, 14), (18, 28),
    ]  # fmt: skip
    assert [one.cost_server_s for one in schedule.outcomes] == [7, 7, 7]
    assert (schedule.servers, schedule.missed) == (1, ())


def test_vms_that_boot_are_used():
    """The VMs of c boot while those of a and b still run."""
    made = problem(
        pool_job("a", 99.0), pool_job("b", 99.0), pool_job("c", 99.0, submitted_at_s=13.0)
    )

    assert per_job(made).servers == 2


def test_a_job_that_would_boot_too_long_is_refused():
    (outcome,) = per_job(problem(pool_job("a", 13.0, submitted_at_s=1.0))).outcomes

    assert (outcome.is_refused, outcome.least_deadline_at_s, outcome.met) == (True, 15, False)


def test_on_few_servers_a_cluster_that_does_not_fit_is_lost():
    """One server has two VMs. Job c finds both in use, and d the one that a has given back."""
    made = problem(
        pool_job("a", 99.0),
        pool_job("b", 99.0, time_s=30.0),
        pool_job("c", 99.0, submitted_at_s=13.0),
        pool_job("d", 99.0, submitted_at_s=14.0),
        pool_job("e", 99.0, submitted_at_s=14.0, vms=2),
        pool_job("f", 9.0),
    )
    schedule = per_job_on(made, 1)

    assert schedule.missed == ("c", "e", "f")
    assert schedule.by_id["c"].why == "no server was free at its arrival"
    assert schedule.by_id["f"].is_refused
    assert schedule.servers == 1
    assert per_job_on(made, 2).missed == ("e", "f")  # b, c and d have three of four VMs
    assert per_job_on(made, 3).missed == ("f",)


def test_each_customer_has_servers_for_its_own_peak():
    """Three VMs at once are two servers for x, and one VM is one server for y."""
    made = problem(
        *(pool_job(name, 99.0, customer="x") for name in "abc"),
        pool_job("d", 99.0, customer="y"),
        pool_job("e", 99.0, submitted_at_s=50.0, customer="y"),
    )
    schedule = dedicated(made)

    assert schedule.servers == 3
    assert [one.cost_server_s for one in schedule.outcomes] == [5] * 5
    assert schedule.by_id["e"].finished_at_s == 60


def test_the_least_servers_are_those_of_the_work_before_the_deadlines():
    """Four jobs of 10 s must end by 20 s: two VMs at a time, and by 10 s four VMs."""
    late = least_servers(problem(*(pool_job(name, 20.0) for name in "abcd")))
    early = least_servers(problem(*(pool_job(name, 10.0) for name in "abcd")))

    assert (late.servers, late.sizes, late.smaller) == (1, (2,), ())
    assert (early.servers, early.sizes) == (2, (4,))


def test_servers_that_are_too_small_for_a_cluster_are_listed_with_its_job():
    """A job of 1 s on 6 VMs: its work is little, but 6 VMs need 3 servers."""
    found = least_servers(problem(pool_job("a", 100.0, time_s=1.0, vms=6)))

    assert (found.servers, found.sizes) == (3, (6,))
    assert found.smaller == tuple((servers, "a") for servers in range(found.bound.servers, 3))


def test_no_number_of_servers_meets_a_deadline_that_is_too_early():
    assert least_servers(problem(pool_job("a", 9.0))).servers is None


def test_without_a_vm_in_any_pool_there_are_no_shares():
    empty = problem(pool_job("a", 99.0), types=(VmType(type_id="t", units=2.0, vms=0),))

    assert least_servers(empty).servers is None
    assert least_servers(empty, shares=[1.0]).servers == 1


@pytest.mark.parametrize(("servers", "sizes"), [(1, (1, 0)), (2, (2, 1)), (4, (4, 2))])
def test_pools_share_the_units_of_the_servers(servers, sizes):
    """Half of the units each. On one server 2 units are left for neither type of 4 units."""
    types = (T, VmType(type_id="u", units=4.0, vms=1))
    made = on_servers(problem(pool_job("a", 99.0), types=types), servers, [0.5, 0.5])

    assert (made.sizes, made.servers) == (sizes, servers)


def test_a_job_that_runs_after_others_boots_when_the_last_has_ended():
    """Job c comes first in the file: b ends at 34, c boots until 38; dedicated boots nothing."""
    made = problem(
        pool_job("c", 99.0, after=("a", "b")), pool_job("a", 99.0), pool_job("b", 99.0, time_s=30.0)
    )

    assert [one.started_at_s for one in per_job(made).outcomes] == [38, 4, 4]
    assert [one.started_at_s for one in dedicated(made).outcomes] == [30, 0, 0]
    assert [one.response_s for one in dedicated(made).outcomes] == [10, 10, 30]


def test_a_job_does_not_run_if_one_before_it_did_not():
    """Job a is refused; on one server there is no room for the second half of a chain."""
    made = problem(
        pool_job("a", 9.0), pool_job("b", 99.0, after=("a",)), pool_job("c", 99.0, after=("b",))
    )
    chain = problem(
        pool_job("a", 99.0, time_s=30.0, vms=2),
        pool_job("b", 99.0),
        pool_job("c", 99.0, after=("b",), submitted_at_s=14.0),
    )

    whys = [one.why for one in per_job(made).outcomes]
    assert whys[1:] == [f"job '{one}', which it runs after, has not run" for one in "ab"]
    assert per_job(made).missed == ("a", "b", "c")
    assert per_job_on(chain, 1).missed == ("b", "c")
