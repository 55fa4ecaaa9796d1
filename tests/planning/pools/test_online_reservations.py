"""Reservations event by event, on pools of one or two VMs whose course can be worked out by hand.

Each job of 10 s has one VM, unless a test says otherwise.
"""

from dataclasses import replace

import pytest

from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Prediction, VmRequest
from sluice.model.vm_pools import UNKNOWN_S, LateOffer, ReconfigureRule, VmGrant
from sluice.planning.pools.online_reservations import OnlineReservations
from sluice.planning.pools.pool_change import Servers


def job(name, *, deadline_at_s=None, time_s=10.0, vms=1, submitted_at_s=0.0, error=None):
    return Job(
        job_id=JobId(name),
        pool=PoolId("default"),
        phases=(),
        submitted_at_s=submitted_at_s,
        deadline_at_s=deadline_at_s,
        predictions=(Prediction(vm_type="t", vms=vms, time_s=time_s, error=error),),
        run=None,
    )


def planner(vms=1, *, rule="vm-aware", **settings):
    made = OnlineReservations(rule, **settings)
    made.set_pool("t", 1.0, vms, 0.0)
    return made


def grant(name, start_s, until_s, vms=1):
    return VmGrant(JobId(name), "t", vms, start_s, until_s)


def busy(vms=1, **settings):
    """A planner whose first VM runs job a from 0 to 10 s."""
    made = planner(vms, **settings)
    made.arrive(job("a", deadline_at_s=100.0), 0.0)
    assert made.decide(0.0) == [grant("a", 0, 10)]
    return made


def test_a_job_waits_for_the_vm_of_the_one_before():
    made = busy()
    made.arrive(job("b", deadline_at_s=100.0), 4.0)

    assert made.decide(4.0) == []
    assert made.reservation(JobId("b")) == grant("b", 10, 20)
    assert made.next_at_s(4.0) == 10
    made.finish(JobId("a"), 10.0)
    assert made.decide(10.0) == [grant("b", 10, 20)]
    assert made.reservation(JobId("b")) is None
    assert made.late_offer(JobId("b")) is None
    assert made.next_at_s(10.0) is None


def test_a_window_that_ends_now_is_open_for_the_next_job():
    """Windows of 5 s: job b could start at 10 s, and is reserved when the second one begins."""
    made = busy(bound_s=5.0)
    made.arrive(job("b", deadline_at_s=100.0), 0.0)
    made.decide(0.0)
    assert made.reservation(JobId("b")) is None

    made.decide(4.9)
    assert made.reservation(JobId("b")) is None
    made.decide(5.0)
    assert made.reservation(JobId("b")) == grant("b", 10, 20)


def test_a_resizer_remembers_what_its_window_and_the_jobs_that_go_on_used():
    """Job a waits, b has ended in this window, c goes on, d has ended in an earlier one."""
    made = planner(servers=Servers(1.0, 4))
    resizer = made._resizer
    for order, name in enumerate("abcd"):
        made.arrive(job(name, deadline_at_s=100.0), 0.0)
        if order in {2, 3}:
            del resizer.arrived[order]
    option = next(iter(resizer.arrived.values())).options[0]
    resizer.used.update(dict.fromkeys((1, 2, 3), option))

    assert [order for order, _ in resizer.saved({2})["used"]] == [1, 2]


def test_a_job_that_may_start_at_any_time_is_no_instant_to_decide_at():
    made = busy(bound_s=5.0)
    made.arrive(job("b"), 0.0)
    made.decide(0.0)

    assert [made.next_at_s(at_s) for at_s in (0.0, 5.0, 10.0)] == [5, 10, None]


def test_an_unknown_job_has_not_the_offer_of_another():
    made = planner()
    for name in ("a", "b"):
        made.arrive(job(name, deadline_at_s=9.0), 0.0)
    for name in ("a", "b"):
        assert made.late_offer(JobId(name)) == LateOffer(0, 10)

    assert made.late_offer(JobId("x")) is None


def test_an_unknown_job_has_not_the_reservation_of_the_first():
    made = planner(tick_s=5.0)
    made.arrive(job("a", deadline_at_s=100.0), 2.0)
    made.decide(2.0)

    assert made.reservation(JobId("a")) == grant("a", 5, 15)
    assert made.reservation(JobId("x")) is None


@pytest.mark.parametrize("rule", ["vm-aware", "instant-opt"])
def test_each_end_and_each_reserved_start_is_an_instant_to_decide_at(rule):
    """One VM is busy to 10 s, one to 30 s, and c wants both; d arrives at the next tick."""
    made = planner(2, rule=rule, tick_s=5.0)
    for name, time_s, vms in (("a", 10.0, 1), ("b", 30.0, 1), ("c", 10.0, 2)):
        made.arrive(job(name, deadline_at_s=100.0, time_s=time_s, vms=vms), 0.0)
    made.decide(0.0)
    first = planner(rule=rule, tick_s=5.0)
    first.arrive(job("d", deadline_at_s=100.0), 2.0)
    first.decide(2.0)

    assert (made.next_at_s(0.0), made.next_at_s(10.0)) == (10, 30)
    assert (first.next_at_s(2.0), first.next_at_s(5.0)) == (
        5,
        None if rule == "instant-opt" else 15,
    )


@pytest.mark.parametrize("rule", ["vm-aware", "instant-opt"])
def test_an_early_end_lets_the_next_job_start_at_once(rule):
    made = busy(rule=rule)
    made.arrive(job("b", deadline_at_s=100.0), 4.0)
    made.decide(4.0)
    made.finish(JobId("a"), 6.0)

    assert made.decide(6.0) == [grant("b", 6, 16)]


@pytest.mark.parametrize(
    ("time_s", "early_s", "is_early"),
    [(10.0, 5e-9, False), (10.0, 15e-9, True), (0.5, 0.75e-9, False), (0.5, 1.5e-9, True)],
)
def test_an_end_that_is_early_by_rounding_makes_no_new_plan(time_s, early_s, is_early):
    """A billionth of the planned end is rounding, and of a second at least."""
    made = planner()
    made.arrive(job("a", deadline_at_s=100.0, time_s=time_s), 0.0)
    made.decide(0.0)
    made.arrive(job("b", deadline_at_s=100.0), 0.0)
    made.decide(0.0)
    made.finish(JobId("a"), time_s - early_s)

    assert (made.reservation(JobId("b")) is None) == is_early


def test_an_overrun_is_planned_to_end_soon_and_then_later():
    """One thousandth of the planned time first, then a tenth: of 10 s, 0.01 s and 1 s."""
    made = busy()
    made.arrive(job("b", deadline_at_s=100.0), 4.0)
    made.decide(4.0)

    starts_s = []
    for now_s in (10.0, 10.01, 11.01):
        assert made.decide(now_s) == []
        starts_s.append(made.reservation(JobId("b")).start_s)
    assert starts_s == pytest.approx([10.01, 11.01, 12.01])
    made.finish(JobId("a"), 11.5)
    assert made.decide(11.5) == [grant("b", 11.5, 21.5)]
    made.decide(21.5)  # the overrun of b is its first
    assert made.next_at_s(21.5) is None
    made.arrive(job("c", deadline_at_s=100.0), 21.5)
    made.decide(21.5)
    assert made.reservation(JobId("c")).start_s == pytest.approx(21.51)


def test_a_job_that_overran_and_runs_again_overruns_a_little_at_first():
    made = busy()
    made.decide(10.0)
    made.finish(JobId("a"), 10.005)
    made.arrive(job("a", deadline_at_s=100.0), 20.0)
    assert made.decide(20.0) == [grant("a", 20, 30)]

    made.arrive(job("b", deadline_at_s=100.0), 30.0)
    made.decide(30.0)
    assert made.reservation(JobId("b")).start_s == pytest.approx(30.01)


def test_planned_times_are_whole_ticks():
    """A job of 12 s takes 3 ticks of 5 s, and overruns by one."""
    made = planner(tick_s=5.0)
    made.arrive(job("a", deadline_at_s=100.0, time_s=12.0), 0.0)
    made.arrive(job("b", deadline_at_s=100.0, time_s=12.0), 0.0)

    assert made.decide(0.0) == [grant("a", 0, 15)]
    made.decide(15.0)
    assert made.reservation(JobId("b")) == grant("b", 20, 35)


def test_a_job_arrives_at_the_next_tick():
    made = planner(tick_s=5.0)
    made.arrive(job("a", deadline_at_s=100.0), 2.0)

    assert made.decide(2.0) == []
    assert made.decide(5.0) == [grant("a", 5, 15)]


def test_booting_adds_to_the_time_and_not_to_the_margin():
    """10 s, a margin of a fifth, and 5 s to boot."""
    made = planner(boot_s=5.0)
    made.arrive(job("a", deadline_at_s=100.0, error=0.2), 0.0)

    ((_, _, _, start_s, until_s),) = made.decide(0.0)
    assert (start_s, until_s) == (0, pytest.approx(17))


# --- deadlines ----------------------------------------------------------------------------------


def test_a_job_that_can_no_longer_be_in_time_waits_without_a_deadline():
    """It must start by 8 s, and a runs to 10 s: with a deadline of 20 s it would be in time."""
    made = busy()
    made.arrive(job("b", deadline_at_s=18.0), 4.0)

    assert made.decide(4.0) == []
    assert made.late_offer(JobId("b")) is None
    must_start_s = made.next_at_s(4.0)
    assert must_start_s == pytest.approx(8)
    made.decide(7.5)
    assert made.late_offer(JobId("b")) is None
    assert made.decide(must_start_s) == []
    assert made.late_offer(JobId("b")) == LateOffer(must_start_s, 20)
    assert made.reservation(JobId("b")) == grant("b", 10, 20)
    made.set_pool("t", 1.0, 1, 9.0)  # all is planned again, still without the deadline
    made.finish(JobId("a"), 10.0)
    assert made.decide(10.0) == [grant("b", 10, 20)]


def test_a_job_whose_deadline_idle_pools_cannot_meet_starts_at_once():
    made = planner()
    made.arrive(job("a", deadline_at_s=9.0), 0.0)

    assert made.decide(0.0) == [grant("a", 0, 10)]
    assert made.late_offer(JobId("a")) == LateOffer(0, 10)


def test_a_job_that_fits_into_no_pool_waits_until_one_has_grown():
    made = planner()
    made.arrive(job("a", deadline_at_s=100.0, vms=2), 0.0)

    assert made.decide(0.0) == []
    assert made.late_offer(JobId("a")) == LateOffer(0, None)
    assert made.next_at_s(0.0) is None
    made.set_pool("t", 1.0, 2, 5.0)
    assert made.decide(5.0) == [grant("a", 5, 15, vms=2)]


def test_a_job_without_a_deadline_is_never_late():
    made = planner()
    made.arrive(job("a", vms=2), 0.0)
    made.arrive(job("b"), 0.0)

    assert made.decide(0.0) == [grant("b", 0, 10)]
    assert made.late_offer(JobId("a")) is None


def test_the_offer_is_the_first_one():
    made = planner()
    made.arrive(job("a", deadline_at_s=100.0, vms=2), 0.0)
    made.arrive(job("a", deadline_at_s=100.0, vms=2), 3.0)

    assert made.late_offer(JobId("a")) == LateOffer(0, None)


# --- asking -------------------------------------------------------------------------------------


def test_who_asks_learns_which_jobs_idle_pools_cannot_serve_in_time():
    """Its VM is busy until 10 s: a job of 10 s ends at 20 s; one of two VMs never starts."""
    made = busy()
    asked = [
        job("slow", deadline_at_s=13.0),
        job("large", deadline_at_s=100.0, vms=2),
        job("large without deadline", vms=2),
        job("fine", deadline_at_s=100.0),
    ]

    refused, grants = made.ask(asked, 4.0, at_once=False)

    assert refused == {"slow": 20, "large": None, "large without deadline": None}
    assert grants == []
    made.finish(JobId("a"), 10.0)
    assert made.decide(10.0) == [grant("fine", 10, 20)]
    assert made.next_at_s(20.0) is None
    made.set_pool("t", 1.0, 4, 20.0)
    assert made.decide(20.0) == []  # a refused job is not kept for later


def test_who_asks_for_vms_at_once_gets_them_or_learns_when_they_are_free():
    """Of two VMs one is taken until 10 s, and the other one by b."""
    made = busy(2)
    asked = [job(name, deadline_at_s=100.0) for name in ("b", "c")]

    refused, grants = made.ask(asked, 4.0, at_once=True)

    assert grants == [grant("b", 4, 14)]
    assert refused == {"c": 20}


def test_a_job_without_a_deadline_is_refused_too_if_it_cannot_start_at_once():
    refused, grants = busy().ask([job("b")], 4.0, at_once=True)

    assert (refused, grants) == ({"b": 20}, [])


def test_a_job_without_a_deadline_may_wait_if_it_need_not_start_at_once():
    made = busy()
    refused, _ = made.ask([job("b")], 4.0, at_once=False)

    assert refused == {}
    made.decide(5.0)
    assert made.reservation(JobId("b")) == grant("b", 10, 20)


def test_after_a_question_the_next_jobs_wait_as_usual():
    made = busy()
    made.ask([job("b", deadline_at_s=100.0)], 4.0, at_once=True)
    made.arrive(job("c", deadline_at_s=18.0), 5.0)
    made.arrive(job("d", deadline_at_s=100.0), 5.0)
    made.decide(5.0)
    made.decide(9.0)

    # It must start by 8 s, and d has the time from 10 to 20 s.
    assert made.late_offer(JobId("c")) == LateOffer(9, 30)


# --- leaving, and pools -------------------------------------------------------------------------


def test_the_place_of_a_job_that_left_goes_to_the_next():
    made = busy()
    for name in ("b", "c"):
        made.arrive(job(name, deadline_at_s=100.0), 4.0)
        made.decide(4.0)
    assert made.reservation(JobId("b")) == grant("b", 10, 20)
    made.leave(JobId("b"))
    made.decide(5.0)

    assert made.reservation(JobId("b")) is None
    assert made.reservation(JobId("c")) == grant("c", 10, 20)


def test_a_job_that_fits_nowhere_and_left_does_not_come_back():
    made = planner()
    made.arrive(job("a", deadline_at_s=100.0, vms=2), 0.0)
    made.leave(JobId("a"))
    made.set_pool("t", 1.0, 2, 5.0)

    assert made.decide(5.0) == []


def test_a_job_that_lost_its_vms_gets_others():
    made = busy()
    made.finish(JobId("a"), 3.0)
    made.arrive(job("a", deadline_at_s=100.0), 3.0)

    assert made.decide(3.0) == [grant("a", 3, 13)]


def test_a_pool_that_shrank_serves_one_job_after_the_other():
    made = planner(2)
    made.set_pool("t", 1.0, 1, 0.0)
    for name in ("a", "b"):
        made.arrive(job(name, deadline_at_s=100.0), 0.0)

    assert made.decide(0.0) == [grant("a", 0, 10)]
    assert made.sizes(0.0) == {"t": 1}


def test_pools_are_named_in_the_order_in_which_they_came():
    made = planner()
    made.set_pool("u", 2.0, 3, 0.0)

    assert [(one.type_id, one.units) for one in made.types()] == [("t", 1), ("u", 2)]
    assert made.sizes(0.0) == {"t": 1, "u": 3}


@pytest.mark.parametrize(("settings", "cost_server_s"), [({"server_units": 4.0}, 5), ({}, 20)])
def test_costs_count_parts_of_servers(settings, cost_server_s):
    """A VM of 2 units on servers of 4 units is half a server, and of 1 unit it is two."""
    made = OnlineReservations("vm-aware", **settings)
    made.set_pool("t", 2.0, 1, 0.0)
    made.follow(JobId("a"))
    made.arrive(job("a", deadline_at_s=100.0), 0.0)
    assert made.choice() is None
    made.decide(0.0)

    assert made.choice().slot.option.cost_server_s == cost_server_s


def test_the_choice_of_a_job_that_was_given_up_has_no_slot():
    made = planner()
    made.follow(JobId("a"))
    made.arrive(job("a", deadline_at_s=100.0, vms=2), 3.0)

    assert (made.choice().placed_at_s, made.choice().slot) == (3, None)


def test_no_window_is_longer_than_its_bound():
    """Of two VMs b could have one from 10 s on, and c both; in a window of 3 s neither can."""
    made = busy(2, bound_s=3.0)
    made.arrive(job("b", deadline_at_s=100.0, vms=2), 4.0)
    made.arrive(job("c", deadline_at_s=100.0, vms=2), 4.0)
    made.decide(4.0)

    assert made.reservation(JobId("b")) == grant("b", 10, 20, vms=2)
    assert made.reservation(JobId("c")) is None
    assert made.next_at_s(4.0) == 7


# --- pool sizes that change ---------------------------------------------------------------------


def two_types(**rule):
    """Two servers of 4 units: a pool of 4 small VMs, and one of 1 large VM of 4 units."""
    settings = ReconfigureRule(window_s=100.0, **rule)
    made = OnlineReservations(
        "vm-aware", server_units=4.0, servers=Servers(4.0, 2), resize_rule=settings
    )
    made.set_pool("t", 1.0, 4, 0.0)
    made.set_pool("large", 4.0, 1, 0.0)
    return made


def either(name, *, small_s=10.0, large_s=30.0, deadline_at_s=10_000.0):
    """A job that runs on 8 small VMs, more than there are, or on the large one."""
    small, large = (
        Prediction(vm_type=vm_type, vms=vms, time_s=time_s)
        for vm_type, vms, time_s in (("t", 8, small_s), ("large", 1, large_s))
    )
    return replace(job(name, deadline_at_s=deadline_at_s), predictions=(small, large))


def only_large(name, deadline_at_s):
    large = Prediction(vm_type="large", vms=1, time_s=10.0)
    return replace(job(name, deadline_at_s=deadline_at_s), predictions=(large,))


def test_pools_that_keep_their_sizes_are_never_checked():
    assert planner().next_check_s(0.0) is None
    assert list(planner().changes()) == []


def test_pools_are_checked_at_the_end_of_each_window():
    made = two_types()
    assert made.next_check_s(0.0) == 100
    made.sizes(250.0)
    assert made.next_check_s(250.0) == 300


def test_only_the_vm_aware_rule_changes_pools():
    made = planner(rule="instant-opt", servers=Servers(4.0, 2))
    made.arrive(job("a", deadline_at_s=100.0), 0.0)
    made.decide(0.0)
    made.finish(JobId("a"), 10.0)
    made.sizes(1e6)

    assert list(made.changes()) == []


@pytest.mark.parametrize(("cost_server_s", "is_done"), [(1.0, True), (1.01, False)])
def test_pools_change_if_that_saves_beta_times_its_cost(cost_server_s, is_done):
    """On the large VM the job costs 30 server-seconds, and on 8 small ones 10 * 8 / 4 = 20.

    Half of that saving, 5, pays for 5 VMs that change: 4 small ones, and the large one. Each takes
    4 seconds if it costs 1 server-second, as it is a quarter of a server.
    """
    made = two_types(vm_change_server_s=cost_server_s, beta=2.0)
    made.arrive(either("a"), 0.0)
    made.decide(0.0)
    made.finish(JobId("a"), 30.0)

    assert made.sizes(99.0) == {"t": 4, "large": 1}
    assert made.sizes(100.0) == {"t": 4, "large": 0 if is_done else 1}
    assert made.sizes(103.9) == made.sizes(100.0)
    assert made.sizes(104.0) == ({"t": 8, "large": 0} if is_done else {"t": 4, "large": 1})
    (change,) = made.changes()
    assert change.document() == {
        "at_s": 100,
        "observed_server_s": 30,
        "estimated_server_s": 20,
        "benefit_server_s": 10,
        "change_server_s": pytest.approx(5 * cost_server_s),
        "done": is_done,
        "vms": {"t": 8, "large": 0},
        "why": "saves more than it costs" if is_done else "saving too small",
    }


def test_a_vm_of_a_running_job_changes_when_the_job_ends():
    """The job runs from 80 to 110 s. A small VM takes 0.1 * 4 seconds."""
    made = two_types(vm_change_server_s=0.1)
    made.arrive(either("a"), 80.0)
    made.decide(80.0)

    assert made.sizes(100.0) == {"t": 4, "large": 0}
    made.finish(JobId("a"), 110.0)
    assert made.sizes(110.3) == {"t": 4, "large": 0}
    assert made.sizes(110.5) == {"t": 8, "large": 0}


def test_a_job_uses_the_vms_that_a_change_has_brought():
    made = two_types(vm_change_server_s=0.1)
    made.arrive(either("a"), 0.0)
    made.decide(0.0)
    made.finish(JobId("a"), 30.0)
    made.sizes(100.0)
    made.arrive(either("b"), 100.0)

    assert made.decide(100.0) == []
    (got,) = made.decide(made.next_at_s(100.0))
    assert (got.vm_type, got.vms, got.start_s) == ("t", 8, pytest.approx(100.4))


def test_no_change_takes_the_slot_of_a_reserved_job():
    """The large VM is busy to 205 s, and b must have it then; nearly all work is for small VMs."""
    made = two_types(vm_change_server_s=0.1)
    made.arrive(either("a", small_s=100.0, large_s=205.0), 0.0)
    made.arrive(only_large("b", deadline_at_s=220.0), 0.0)
    made.decide(0.0)
    made.decide(1.0)

    assert made.sizes(100.0) == {"t": 4, "large": 1}
    (change,) = made.changes()
    assert (change.sizes, change.done) == ({"t": 8, "large": 0}, False)
    assert change.why == "a reserved job would lose its slot"


def test_sizes_stay_if_both_types_are_used_as_much_as_they_can_give():
    """40 s of the 4 units of all small VMs, and 40 s of the large one."""
    made = two_types(vm_change_server_s=0.0)
    small = Prediction(vm_type="t", vms=4, time_s=10.0)
    made.arrive(replace(job("a", deadline_at_s=1000.0), predictions=(small,)), 0.0)
    made.arrive(only_large("b", deadline_at_s=1000.0), 0.0)
    made.decide(0.0)
    made.sizes(100.0)

    (change,) = made.changes()
    assert (change.why, change.sizes) == ("sizes stay", {"t": 4, "large": 1})


def test_a_job_counts_in_the_window_of_its_arrival_only():
    made = two_types()
    made.arrive(either("a"), 0.0)
    made.decide(0.0)
    made.sizes(100.0)
    made.sizes(200.0)

    assert [one.at_s for one in made.changes()] == [100]


def test_a_job_that_may_take_any_time_does_not_count_in_a_window():
    """It has neither a deadline nor a latest start."""
    made = two_types()
    made.arrive(either("a", deadline_at_s=None), 0.0)
    made.decide(0.0)
    made.sizes(100.0)
    assert [] == list(made.changes())

    at_once = replace(either("b", deadline_at_s=None), vm_request=named("x", 0.0).vm_request)
    made.arrive(replace(at_once, submitted_at_s=150.0), 150.0)
    made.decide(150.0)
    made.sizes(200.0)
    assert [200] == [one.at_s for one in made.changes()]


def named(name, start_within_s, time_s=10.0):
    request = VmRequest(vm_type="t", vms=1, start_within_s=start_within_s)
    return replace(job(name, time_s=time_s), vm_request=request)


def test_a_job_that_is_to_start_soon_is_late_when_its_vm_comes_too_late():
    made = busy()
    made.arrive(named("b", 5.0), 1.0)
    made.arrive(named("c", 50.0), 1.0)

    assert made.decide(1.0) == []
    assert made.next_at_s(1.0) == 6
    assert made.decide(7.0) == []
    assert made.late_offer(JobId("b")) is not None
    assert made.late_offer(JobId("c")) is None


def test_a_job_that_had_its_start_and_lost_its_vms_is_not_late():
    made = planner()
    made.arrive(named("a", 0.0, time_s=100.0), 0.0)
    assert made.decide(0.0) == [grant("a", 0, 100)]
    made.finish(JobId("a"), 30.0)  # its node was lost
    made.arrive(named("a", 0.0, time_s=100.0), 30.0)

    assert [grant("a", 30, 130)] == made.decide(30.0)
    assert made.late_offer(JobId("a")) is None


def test_no_job_counts_on_the_end_of_one_whose_length_is_unknown():
    made = planner()
    made.arrive(named("a", None, time_s=UNKNOWN_S), 0.0)
    (first,) = made.decide(0.0)
    made.arrive(job("b", deadline_at_s=100.0), 1.0)

    assert first.known_until_s is None
    assert made.decide(1.0) == []
    assert made.reservation(JobId("b")) is None
    made.finish(JobId("a"), 20.0)
    assert made.decide(20.0) == [grant("b", 20, 30)]
