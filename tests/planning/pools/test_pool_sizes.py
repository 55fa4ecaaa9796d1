"""New pool sizes and the options of a job, with units and costs that are counted by hand.

Small VMs have 1 unit and large ones 4; a server has 4 units.
"""

import math
from dataclasses import replace

import pytest

from sluice.model.errors import InvalidInput
from sluice.model.job import Job, Prediction
from sluice.model.vm_pools import ReconfigureRule, VmPools, VmType
from sluice.planning.pools.pool_sizes import (
    Observation,
    PoolShape,
    _with_floors,
    resize,
    rounded_sizes,
    wanted_sizes,
)
from sluice.planning.pools.problem import Option, PoolJob, options_of, problem_of, ticks_up
from sluice.planning.pools.slots import Booking, Slot, reserved_vms

SHAPE = PoolShape(sizes=(4, 1), units=(1.0, 4.0), server_units=4.0, servers=2)
RULE = ReconfigureRule(vm_change_server_s=1.0, beta=2.0)
TYPES = (VmType(type_id="s", units=1.0, vms=4), VmType(type_id="l", units=4.0, vms=1))


def option(pool, vms, run_s, cost_server_s=0.0):
    return Option(0, cost_server_s, pool, vms, run_s, run_s, run_s)


def seen(*optimal, used_server_s=0.0):
    return [Observation(option(0, 1, 1.0, used_server_s), one) for one in optimal]


@pytest.mark.parametrize(
    ("shares", "wanted", "sizes"),
    [
        ((0.5, 0.5), (4, 1), [4, 1]),
        ((1.0, 0.0), (8, 0), [8, 0]),
        ((0.0, 1.0), (0, 2), [0, 2]),
        # 4 units are left: for the large VM, which lacks 0.9 of one.
        ((0.55, 0.45), (4.4, 0.9), [4, 1]),
        # 2 units are left after 6: for one small VM, as no large one fits.
        ((0.8, 0.2), (6.4, 0.4), [7, 0]),
        # 2 and 1 take 6 units; of the 2 that are left a third small one takes 1.
        ((0.3, 0.7), (2.4, 1.4), [3, 1]),
    ],
)
def test_whole_vms_take_the_units_that_each_type_wants(shares, wanted, sizes):
    assert wanted_sizes(shares, SHAPE) == pytest.approx(wanted)
    assert rounded_sizes(shares, SHAPE) == sizes


def test_vms_that_do_not_fit_on_the_servers_are_taken_from_the_type_that_lacks_less():
    """A server has room for 2 VMs of 3 units. The first of equal types gives the first VM."""
    shape = PoolShape(sizes=(2, 2), units=(3.0, 3.0), server_units=8.0, servers=2)

    assert rounded_sizes((0.5, 0.5), shape) == [2, 2]
    assert rounded_sizes((0.5, 0.5), shape._replace(servers=1)) == [1, 1]
    assert rounded_sizes((0.75, 0.25), shape._replace(servers=1)) == [2, 0]


@pytest.mark.parametrize(
    ("units", "sizes"),
    [
        # The small type lacks 1 and then 2 units, and the large one 3: it gives one VM at last.
        ((1.0, 3.0), [0, 1]),
        ((3.0, 1.0), [1, 0]),
        # A VM of the small type, which lacks 1 unit, or 2 then, and one of the large: 2 and 2.
        ((1.0, 2.0), [0, 2]),
    ],
)
def test_what_a_type_lacks_is_counted_in_units(units, sizes):
    shape = PoolShape(sizes=(2, 2), units=units, server_units=4.0, servers=1)

    assert rounded_sizes([one / sum(units) for one in units], shape) == sizes


def test_a_small_type_gives_vms_until_it_lacks_as_much_as_a_large_one_would():
    """6 VMs of 1 unit and 2 of 3 on 2 servers of 4: after 3 small ones a large one lacks less."""
    shape = PoolShape(sizes=(6, 2), units=(1.0, 3.0), server_units=4.0, servers=2)

    assert rounded_sizes((0.5, 0.5), shape) == [3, 1]


def test_of_types_that_lack_equal_parts_of_a_vm_the_first_gets_it():
    shape = PoolShape(sizes=(3, 0), units=(2.0, 2.0), server_units=4.0, servers=2)

    assert rounded_sizes((0.5, 0.5), shape) == [2, 1]


def test_shares_are_those_of_the_units_that_optimal_clusters_would_use():
    """4 small VMs for 30 s are 120 unit-seconds, the large one for 10 s is 40: 6 units and 2.

    The large type wants half a VM, the small one 6; the 2 units that are left fit no large one.
    """
    observed = seen(option(0, 4, 30.0), option(1, 1, 10.0))

    assert resize(observed, SHAPE, RULE).sizes == (6, 0)
    # By VM-seconds 120 and 10: 7.4 units and 0.6.
    assert resize(observed, SHAPE, replace(RULE, weighted=False)).sizes == (8, 0)
    assert resize([], SHAPE, RULE) is None


def test_a_floor_keeps_room_for_the_largest_optimal_cluster():
    """6 small ones and half a large one: the large one takes the 2 left units and 2 small VMs."""
    observed = seen(option(0, 4, 30.0), option(1, 1, 10.0))
    assert resize(observed, SHAPE, replace(RULE, keeps_largest=True)).sizes == (4, 1)

    # All 6 small ones are needed at once: then there is no room for the large one.
    observed = seen(option(0, 6, 20.0), option(1, 1, 10.0))
    assert resize(observed, SHAPE, replace(RULE, keeps_largest=True)).sizes == (6, 0)


def test_a_floor_never_takes_what_is_not_there():
    """The pools have 8 units, and a cluster of 9 small VMs does not fit; there is no large VM."""
    rule = replace(RULE, keeps_largest=True)

    assert resize(seen(option(0, 9, 30.0)), SHAPE, rule).sizes == (8, 0)
    # A type that is best for no job keeps no VM.
    assert resize(seen(option(0, 4, 30.0)), SHAPE, rule).sizes == (8, 0)
    # 4 and 1 take all 8 units: for a fifth small VM there is none left.
    observed = seen(option(0, 5, 4.0), option(1, 1, 5.0))
    assert resize(observed, SHAPE, rule).sizes == (4, 1)


@pytest.mark.parametrize(
    ("units", "sizes", "floors", "found"),
    [
        ((1.0, 1.0, 1.0), (0, 5, 3), (1, 4, 0), [1, 5, 2]),  # 1 and 3 VMs above their floors
        ((1.0, 4.0, 1.0), (0, 3, 4), (1, 1, 0), [1, 2, 4]),  # 8 and 4 units above them
        ((1.0, 1.0, 1.0), (0, 2, 2), (1, 0, 0), [1, 1, 2]),  # equal: the first
        ((1.0, 1.0, 1.0), (0, 1, 1), (1, 1, 1), [0, 1, 1]),
    ],
)
def test_the_type_furthest_above_its_floor_in_units_gives_a_vm(units, sizes, floors, found):
    shape = PoolShape(sizes=sizes, units=units, server_units=4.0, servers=9)

    assert _with_floors(sizes, floors, shape) == found


def test_the_least_use_is_a_use():
    assert resize(seen(option(1, 1, 0.1)), SHAPE, RULE).sizes == (0, 2)


@pytest.mark.parametrize(("saving_server_s", "pays"), [(10.0, True), (9.99, False)])
def test_a_change_pays_if_it_saves_beta_times_its_cost(saving_server_s, pays):
    """4 small VMs more and a large one less cost 5 server-seconds."""
    observed = [Observation(option(1, 1, 1.0, 3.0 + saving_server_s), option(0, 4, 30.0, 3.0))]
    found = resize(observed, SHAPE, RULE)

    assert (found.sizes, found.change_server_s, found.pays) == ((8, 0), 5, pays)
    assert (found.observed_server_s, found.estimated_server_s) == (3 + saving_server_s, 3)
    assert found.benefit_server_s == pytest.approx(saving_server_s)


def test_what_costs_nothing_pays_if_it_saves_the_least():
    observed = [Observation(option(1, 1, 1.0, 3.5), option(0, 4, 30.0, 3.0))]

    assert resize(observed, SHAPE, ReconfigureRule(vm_change_server_s=0.0)).pays


def test_what_saves_nothing_does_not_pay_even_if_it_costs_nothing():
    free = ReconfigureRule(vm_change_server_s=0.0)

    assert not resize(seen(option(0, 4, 30.0)), SHAPE, free).pays


def test_reserved_vms_are_counted_by_pool():
    job = PoolJob(
        job_id="j", order=0, submitted_at_s=0.0, arrives_at_s=0.0, deadline_at_s=9.0, options=()
    )
    bookings = [
        Booking(job, Slot(option(pool, vms, 1.0), 0.0, 1.0))
        for pool, vms in ((1, 2), (0, 3), (1, 4))
    ]

    assert reserved_vms(bookings) == {1: 6, 0: 3}
    assert reserved_vms([]) == {}


# --- options and deadlines ----------------------------------------------------------------------


def predictions(*rows):
    return [Prediction(vm_type=name, vms=vms, time_s=time_s) for name, vms, time_s in rows]


def pool_job(*rows, deadline_at_s, arrives_at_s=0.0):
    return PoolJob(
        job_id="j", order=0, submitted_at_s=arrives_at_s, arrives_at_s=arrives_at_s,
        deadline_at_s=deadline_at_s, options=options_of(predictions(*rows), TYPES, 4.0),
    )  # fmt: skip


def test_options_are_ranked_by_cost_and_equal_costs_have_one_level():
    """In server-seconds: 40 * 1/4, 20 * 2/4, 10 * 4/4 and 8 * 4/4. Type x is not known."""
    rows = [("s", 2, 20.0), ("s", 1, 40.0), ("l", 1, 10.0), ("s", 4, 8.0), ("x", 1, 1.0)]
    found = options_of(predictions(*rows), TYPES, 4.0)

    assert [(one.level, one.cost_server_s, one.pool, one.vms) for one in found] == [
        (0, 8, 0, 4), (1, 10, 0, 1), (1, 10, 1, 1), (1, 10, 0, 2),
    ]  # fmt: skip


def test_a_margin_makes_times_longer_and_ticks_round_them_up():
    (found,) = options_of(predictions(("s", 1, 10.0)), TYPES, 4.0, error=0.25, tick_s=5.0)
    (tiny,) = options_of(predictions(("s", 1, 1e-12)), TYPES, 4.0, tick_s=5.0)

    assert (found.length_s, found.run_s, found.predicted_s) == (15, 12.5, 10)
    assert tiny.length_s == 5


@pytest.mark.parametrize(
    ("length_s", "ticks_s"),
    [(10.0, 10), (10.0 + 1e-9, 10), (10.001, 15), (14.999, 15), (0.0, 0), (5e6 + 0.001, 5e6),
     (5e6 + 0.01, 5e6 + 5)],
)  # fmt: skip
def test_a_billionth_more_than_whole_ticks_is_rounding(length_s, ticks_s):
    assert ticks_up(length_s, 5.0) == ticks_s


@pytest.mark.parametrize(
    ("deadline_at_s", "boot_s", "best"),
    [(40.0, 0.0, "s"), (39.0, 0.0, "s"), (40.0, 1.5, "l"), (20.0, 0.0, "l"), (10.0, 0.0, "l"),
     (9.0, 0.0, None), (15.0, 5.0, "l"), (14.9, 5.0, None)],
)  # fmt: skip
def test_the_best_option_is_the_cheapest_in_time_and_of_those_the_shortest(
    deadline_at_s, boot_s, best
):
    """One small VM costs 39 / 4 server-seconds; two of them, and the large one, cost 10."""
    job = pool_job(("s", 1, 39.0), ("s", 2, 20.0), ("l", 1, 10.0), deadline_at_s=deadline_at_s)
    found = job.best_alone(boot_s)

    assert (None if found is None else TYPES[found.pool].type_id) == best


def test_a_cluster_that_is_larger_than_its_pool_is_no_option():
    job = pool_job(("s", 2, 20.0), ("l", 1, 10.0), deadline_at_s=99.0, arrives_at_s=5.0)

    assert job.best_alone(sizes=(2, 0)).vms == 2
    assert job.best_alone(sizes=(1, 0)) is None


def test_the_last_starts_leave_time_for_each_option():
    job = pool_job(("s", 4, 8.0), ("l", 1, 10.0), deadline_at_s=50.0)

    assert job.latest_starts_s == pytest.approx((42, 40))
    assert (job.shortest_s, job.latest_start_s) == (8, pytest.approx(42))
    assert job.first_of_level == (0, 1)
    at_once = replace(job, start_by_s=3.0)
    assert (at_once.latest_start_s, at_once.latest_starts_s) == (3, (3, 3))
    assert math.isinf(pool_job(deadline_at_s=50.0).shortest_s)


def given_job(**changed):
    fields = {
        "job_id": "j", "pool": "p", "phases": (), "deadline_at_s": 50.0,
        "predictions": tuple(predictions(("s", 1, 10.0))),
    }  # fmt: skip
    return Job(**fields | changed)


@pytest.mark.parametrize(
    ("changed", "pools", "tick_s", "what"),
    [
        ({}, {}, -1.0, "-1.0 is not a tick"),
        ({}, {}, math.inf, "inf is not a tick"),
        ({}, {"server_units": None}, 1.0, "server_units is missing"),
        ({}, {"vm_types": ()}, 1.0, "vm_types is missing"),
        ({}, {"servers": 1}, 1.0, "servers is 1, and the pools of vm_types take 2"),
        ({"deadline_at_s": None}, {}, 1.0, "deadline_at_s is missing"),
        ({"predictions": ()}, {}, 1.0, "predictions is missing"),
        ({"predictions": tuple(predictions(("x", 1, 1.0)))}, {}, 1.0, "the unknown type 'x'"),
    ],
)
def test_a_problem_that_lacks_something_is_refused_by_name(changed, pools, tick_s, what):
    settings = replace(VmPools(server_units=4.0, vm_types=TYPES), **pools)
    with pytest.raises(InvalidInput, match=what):
        problem_of([given_job(**changed)], settings, tick_s=tick_s)


def test_a_problem_has_as_many_servers_as_its_pools_take_or_as_are_given():
    settings = VmPools(server_units=4.0, vm_types=TYPES)

    assert problem_of([given_job()], settings, tick_s=0.0).servers == 2
    assert problem_of([], replace(settings, servers=2)).servers == 2
    assert problem_of([], replace(settings, servers=3)).servers == 3


def test_options_of_equal_cost_have_one_level():
    """Two VMs for 10 s cost as much as one for 20 s."""
    rows = [("small", 2, 10.0), ("large", 1, 10.0), ("small", 1, 20.0), ("small", 3, 10.0)]
    found = options_of(
        [Prediction(vm_type=name, vms=vms, time_s=time_s) for name, vms, time_s in rows],
        [VmType(type_id="small", units=1, vms=9), VmType(type_id="large", units=2, vms=9)],
        1.0,
    )

    assert [(one.cost_server_s, one.level) for one in found] == [
        (20.0, 0), (20.0, 0), (20.0, 0), (30.0, 1),
    ]  # fmt: skip
