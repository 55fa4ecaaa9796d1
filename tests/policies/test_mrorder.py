"""MROrder: rounds at the right instants, over the right jobs, in the right order."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runs import completions_s, map_reduce, simulate, totals

import sluice
from sluice.core.commands import Wake
from sluice.core.events import JobSubmitted, NodeJoined, NodeLost, QueuesChanged, Tick
from sluice.core.scheduler import Policies, Scheduler
from sluice.model.errors import InvalidInput
from sluice.model.ids import PoolId
from sluice.model.queues import Pool
from sluice.model.slot_kind import SlotKind
from sluice.policies.defaults import AdmitAll, KeepPools
from sluice.policies.orders.fifo import Fifo
from sluice.policies.release.mrorder import MrOrder
from sluice.policies.release.rounds import AdaptiveTimes, EnoughJobs, FixedTimes
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

ARRIVALS = (
    map_reduce("A", 4, 5.0, 2, 6.0, at_s=0.0),
    map_reduce("B", 2, 3.0, 2, 2.0, at_s=2.0),
    map_reduce("C", 6, 2.0, 1, 9.0, at_s=7.0),
    map_reduce("D", 1, 8.0, 3, 3.0, at_s=20.0),
)


def enumerated(objective):
    """SIM: every order on an empty cluster, the first best one by the rule for ties."""

    def engine(jobs, map_slots, reduce_slots):
        batch = [map_reduce(job.job_id, *(x for p in shape(job) for x in p)) for job in jobs]

        def cost(order):
            ends = completions_s(
                simulate(totals(map_slots, reduce_slots), [batch[index] for index in order])
            )
            both = (max(ends), sum(ends))
            return both if objective == "makespan" else both[::-1]

        return min(permutations(range(len(jobs))), key=lambda order: (cost(order), order))

    return engine


def shape(job):
    """Tasks and seconds of its maps, then of its reduces."""
    by_kind = {phase.kind: (phase.tasks, phase.lengths.avg_s(1)) for phase in job.phases}
    return [by_kind.get(kind, (0, 1.0)) for kind in (SlotKind.MAP, SlotKind.REDUCE)]


def in_order(jobs, map_slots, reduce_slots):
    return range(len(jobs))


def scheduler_with(policy):
    """First in, first out, in the order in which the policy releases."""
    return Scheduler(
        Policies(admission=AdmitAll(), release=policy, tasks=Fifo(), pools=KeepPools())
    )


def run(policy, jobs=ARRIVALS, slots=(2, 2)):
    """The state at the end, with each job's release."""
    scheduler = scheduler_with(policy)
    Simulation(scheduler, totals(*slots), jobs, settings=SimulationSettings()).run()
    return scheduler.state


def outcome(state):
    """Makespan, total completion time, total response time."""
    ends = completions_s(state)
    arrivals = [job.job.submitted_at_s for job in state.jobs.values()]
    return max(ends) - min(arrivals), sum(ends), sum(ends) - sum(arrivals)


def test_fixed_times_as_in_the_worked_example():
    """Ordering spec, section 8, G8."""
    policy = MrOrder(engine=enumerated("makespan"), timing=FixedTimes(10.0))
    state = run(policy)

    assert [(10.0, ("C", "A", "B"), 24.0), (20.0, ("D",), 8.5)] == policy.rounds
    assert (43.0, 134.0, 105.0) == outcome(state)


def test_adaptive_times_as_in_the_worked_example():
    """Ordering spec, section 8, G8."""
    policy = MrOrder(engine=enumerated("tct"), timing=AdaptiveTimes(4.0))
    state = run(policy)

    assert [(4.0, ("B", "A"), 19.0), (23.0, ("D", "C"), 14.5)] == policy.rounds
    assert (43.0, 112.0, 83.0) == outcome(state)


def test_enough_jobs_call_a_round_and_the_last_arrival_calls_the_rest():
    policy = MrOrder(engine=in_order, timing=EnoughJobs(3))
    run(policy)

    assert [(7.0, ("A", "B", "C")), (20.0, ("D",))] == [each[:2] for each in policy.rounds]


@pytest.mark.parametrize(
    ("times", "said"),
    [(FixedTimes, ""), (AdaptiveTimes, ""), (EnoughJobs, "waits until enough jobs")],
)
def test_only_rounds_that_jobs_call_may_never_come(times, said):
    found = MrOrder(engine=in_order, timing=times(5)).waits_without_bound

    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_a_cap_leaves_the_youngest_for_the_next_round():
    fixed = MrOrder(engine=in_order, timing=FixedTimes(10.0), jobs_max=2)
    run(fixed)
    enough = MrOrder(engine=in_order, timing=EnoughJobs(1), jobs_max=1)
    run(enough, [map_reduce(name, 1, at_s=1.0) for name in "abc"])

    assert [(10.0, ("A", "B")), (20.0, ("C", "D"))] == [each[:2] for each in fixed.rounds]
    assert [(1.0, (name,)) for name in "abc"] == [each[:2] for each in enough.rounds]


def test_all_arrivals_of_an_instant_belong_to_the_round_of_that_instant():
    jobs = [map_reduce(name, 1, at_s=0.3) for name in "ab"]
    policy = MrOrder(engine=in_order, timing=FixedTimes(0.1))
    run(policy, jobs)

    (only,) = policy.rounds
    assert pytest.approx(0.3) == only.at_s
    assert ("a", "b") == only.order


@pytest.mark.parametrize("timing", [FixedTimes, AdaptiveTimes])
def test_a_round_whose_instant_the_clock_has_missed_is_held_late(timing):
    """A real clock never reads the very instant that it was to ring at."""
    rounds = timing(10.0)

    assert 10.0 == rounds.wake_at_s(3.0)
    assert not rounds.is_due(1, 3.0, 9.99, is_closed=False)
    assert rounds.is_due(1, 3.0, 10.02, is_closed=False)
    assert not rounds.is_due(1, 10.01, 10.02, is_closed=False)


def test_fixed_rounds_that_were_held_late_keep_to_their_multiples():
    rounds = FixedTimes(10.0)
    rounds.held(10.02, 99.0)
    assert 20.0 == rounds.wake_at_s(10.02)
    rounds.held(47.0, 99.0)  # three rounds that were slept through are not made up for
    assert 50.0 == rounds.wake_at_s(11.0)


def test_adaptive_rounds_that_were_held_late_wait_from_then():
    rounds = AdaptiveTimes(10.0)
    rounds.held(10.5, 25.0)

    assert 35.5 == rounds.wake_at_s(10.5)


def test_a_wake_that_comes_late_brings_the_round():
    """As of a real clock; the job that came since belongs to the round as well."""
    policy = MrOrder(engine=in_order, timing=FixedTimes(10.0))
    scheduler = scheduler_with(policy)
    scheduler.handle(NodeJoined(0.0, totals(2, 2).nodes[0]))
    scheduler.handle(JobSubmitted(3.0, map_reduce("a", 1), {}))
    assert [Wake(10.0)] == scheduler.handle(Tick(3.0))
    scheduler.handle(JobSubmitted(10.01, map_reduce("b", 1), {}))
    scheduler.handle(Tick(10.02))

    assert [(10.02, ("a", "b"))] == [each[:2] for each in policy.rounds]


def test_who_is_left_by_a_cap_waits_for_the_next_round_and_no_longer():
    """It counts since when a job waits, and which rounds have been held since then."""
    policy = MrOrder(engine=in_order, timing=FixedTimes(10.0), jobs_max=1)
    run(policy, [map_reduce(name, 1, at_s=at_s) for name, at_s in (("a", 1.0), ("b", 8.0))])

    assert [(10.0, ("a",)), (20.0, ("b",))] == [each[:2] for each in policy.rounds]


def test_no_round_is_held_for_a_cluster_that_is_not_there():
    """Before its first node has come nobody knows how many slots an order is for."""
    policy = MrOrder(engine=in_order, timing=EnoughJobs(1))
    scheduler = scheduler_with(policy)
    job = map_reduce("a", 4, 5.0, 2, 6.0)
    scheduler.handle(JobSubmitted(0.0, job, {}, is_last=True))
    scheduler.handle(Tick(0.0))
    assert [] == policy.rounds
    scheduler.handle(NodeJoined(0.2, totals(2, 2).nodes[0]))
    scheduler.handle(Tick(0.2))

    assert [(0.2, ("a",), 16.0)] == policy.rounds


def test_no_round_is_held_after_all_nodes_have_gone():
    policy = MrOrder(engine=in_order, timing=EnoughJobs(1))
    scheduler = scheduler_with(policy)
    (node,) = totals(2, 2).nodes
    scheduler.handle(NodeJoined(0.0, node))
    scheduler.handle(NodeLost(1.0, node.node_id, "gone"))
    scheduler.handle(JobSubmitted(2.0, map_reduce("a", 1), {}))
    scheduler.handle(Tick(2.0))

    assert [] == policy.rounds


def of_tenants(policy, *jobs, slots=(2, 2)):
    """The jobs of declared pools that wait on, of those that come at 0 s to so many slots."""
    scheduler = scheduler_with(policy)
    scheduler.handle(QueuesChanged(0.0, tuple(Pool(pool_id=PoolId(one)) for one in "pq")))
    scheduler.handle(NodeJoined(0.0, totals(*slots).nodes[0]))
    for job in jobs:
        scheduler.handle(JobSubmitted(0.0, job, {}))
    scheduler.handle(Tick(0.0))
    return scheduler.state.waiting.keys()


def test_a_tenant_below_its_share_waits_for_no_round():
    """Each of two tenants is owed two slots; the second job of `p` waits for the round."""
    jobs = [map_reduce(f"{pool}{number}", 2, pool=pool) for pool in "pq" for number in (1, 2)]

    assert {"p2", "q2"} == of_tenants(MrOrder(engine=in_order, timing=FixedTimes(10.0)), *jobs)
    assert {"p1", "p2"} == of_tenants(MrOrder(engine=in_order, timing=FixedTimes(10.0)), *jobs[:2])


def test_what_is_known_of_a_job_that_waits_is_forgotten_with_its_release():
    policy = MrOrder(engine=in_order, timing=FixedTimes(10.0))
    run(policy)

    assert {} == policy.saved()["waits_since_s"]


@pytest.mark.parametrize("wrong", [[], [0], [0, 0], [0, 2], [1, 2]])
def test_an_engine_that_returns_no_permutation_is_refused(wrong):
    policy = MrOrder(engine=lambda *_: wrong, timing=EnoughJobs(2))
    with pytest.raises(InvalidInput, match="every position from 0 once"):
        run(policy, [map_reduce(name, 1) for name in "ab"])


@settings(max_examples=60)
@given(
    st.lists(st.floats(0, 50), min_size=1, max_size=12),
    st.sampled_from([FixedTimes, AdaptiveTimes]),
    st.floats(0.1, 20),
    st.integers(1, 4) | st.none(),
)
def test_every_job_is_released_once_in_rounds_that_keep_their_distance(at_s, timing, dt, cap):
    jobs = [map_reduce(f"j{index}", 2, 1.0, 1, at_s=at) for index, at in enumerate(at_s)]
    policy = MrOrder(engine=in_order, timing=timing(dt), jobs_max=cap)
    state = run(policy, jobs)

    assert sorted(state.jobs) == sorted(name for each in policy.rounds for name in each.order)
    instants = [each.at_s for each in policy.rounds]
    assert all(instant >= dt * (1 - 1e-9) for instant in instants)
    for one, other in zip(policy.rounds, policy.rounds[1:], strict=False):
        least_s = dt if timing is FixedTimes else max(dt, one.estimate_s)
        assert other.at_s - one.at_s >= least_s * (1 - 1e-6)


def test_a_round_orders_jobs_that_came_after_jobs_of_earlier_rounds():
    """Those that they waited for have ended, and are no part of the round."""
    workload = {
        "version": 1,
        "cluster": {"map_slots": 1, "reduce_slots": 1},
        "jobs": [
            {"id": "a", "maps": {"tasks": 1, "avg_s": 3}},
            {"id": "b", "after": ["a"], "maps": {"tasks": 1, "avg_s": 2}},
            {"id": "c", "after": ["a"], "maps": {"tasks": 1, "avg_s": 1}},
        ],
    }

    found = sluice.simulate(workload, tasks="fifo", release="mrorder").document()["jobs"]

    assert {job["state"] for job in found.values()} == {"done"}
