"""Release on demand: nothing idles, and what has not been needed can still be overtaken."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policies.test_mrorder import of_tenants, outcome, run, scheduler_with
from tests.runs import map_reduce

from sluice.core.events import JobSubmitted, NodeJoined, Tick
from sluice.core.scheduler import Policies, Scheduler
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.model.slot_kind import SlotKind
from sluice.policies.defaults import AdmitAll, KeepPools, ReleaseOnArrival
from sluice.policies.release.mrorder import MrOrder
from sluice.policies.release.on_demand import OnDemand
from sluice.policies.release.rounds import EnoughJobs
from sluice.policies.rooms.yarn_like import YarnLike
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

LONG_THEN_SHORT = [
    map_reduce("running", 2, 10.0, 1, 1.0, at_s=0.0),
    map_reduce("long", 2, 50.0, 1, 1.0, at_s=1.0),
    map_reduce("short", 2, 2.0, 1, 1.0, at_s=2.0),
]


def on_demand(objective):
    """The policy for an objective."""
    return OnDemand(OnDemand.Settings(objective=objective))


def test_a_short_job_overtakes_a_long_one_that_nobody_needed_yet():
    state = run(on_demand("tct"), LONG_THEN_SHORT)

    released = {job.job_id: job.released_at_s for job in state.jobs.values()}
    assert {"running": 0.0, "short": 10.0, "long": 12.0} == released


def test_for_the_makespan_jobs_with_much_to_reduce_go_first():
    jobs = [
        map_reduce("first", 2, 10.0, 1, 1.0),
        map_reduce("maps", 2, 10.0, 1, 1.0, at_s=1.0),
        map_reduce("reduces", 2, 10.0, 2, 20.0, at_s=2.0),
    ]
    state = run(on_demand("makespan"), jobs)

    assert 10.0 == state.jobs["reduces"].released_at_s
    assert 20.0 == state.jobs["maps"].released_at_s


def test_a_job_without_maps_waits_for_a_reduce_slot_alone():
    jobs = [
        map_reduce("maps", 2, 10.0),
        map_reduce("late", 2, 10.0, at_s=1.0),
        map_reduce("reduces", reduces=2, reduce_s=5.0, at_s=2.0),
        map_reduce("more", reduces=2, reduce_s=4.0, at_s=3.0),
    ]
    state = run(on_demand("tct"), jobs)

    assert 2.0 == state.jobs["reduces"].released_at_s
    assert 7.0 == state.jobs["more"].released_at_s


def test_a_job_without_maps_starts_while_more_maps_wait_than_there_are_slots():
    """The reduce slots idle, however long the queue for the map slots is."""
    jobs = [
        map_reduce("maps", 9, 10.0),
        map_reduce("reduces", reduces=2, reduce_s=5.0, at_s=2.0),
        map_reduce("both", 2, 10.0, 1, 1.0, at_s=3.0),
    ]
    state = run(on_demand("tct"), jobs)

    released = {job.job_id: job.released_at_s for job in state.jobs.values()}
    assert {"maps": 0.0, "reduces": 2.0, "both": 40.0} == released


def test_reduces_do_not_pile_up_for_total_completion_time():
    """Each job's reduces last ten times as long as its maps."""
    jobs = [map_reduce(f"j{index}", 2, 1.0, 4, 20.0, at_s=0.1 * index) for index in range(6)]
    held, free = (run(on_demand("tct"), jobs), run(on_demand("makespan"), jobs))

    last = "j5"
    assert held.jobs[last].released_at_s > free.jobs[last].released_at_s
    assert outcome(held)[1] <= outcome(free)[1]


def release_after(reduces, maps, map_s, at_s=0.5):
    """When a job is released that waits for a job of 2 maps of 1 s and reduces of 20 s, by "tct".

    There are 2 slots of each kind, so all reduces but 2 wait from the end of the maps on.
    """
    before = map_reduce("before", 2, 1.0, reduces, 20.0)
    state = run(on_demand("tct"), [before, map_reduce("job", maps, map_s, at_s=at_s)])
    return state.jobs["job"].released_at_s


def test_a_job_is_held_back_while_as_many_reduces_wait_as_there_are_slots():
    assert 1.0 == release_after(3, maps=2, map_s=1.0)
    assert 21.0 == release_after(4, maps=2, map_s=1.0)
    assert 21.0 == release_after(4, maps=2, map_s=1.0, at_s=2.0)  # all slots are taken by then


def test_reduces_may_wait_for_up_to_twice_the_time_in_which_the_job_maps():
    """Two that wait last 40 s: 20 s on 2 slots."""
    assert 1.0 == release_after(4, maps=2, map_s=10.0)
    assert 21.0 == release_after(4, maps=2, map_s=9.9)
    assert 1.0 == release_after(4, maps=3, map_s=5.0)  # in two waves
    assert 21.0 == release_after(4, maps=3, map_s=4.9)


def test_the_reduces_of_a_job_that_is_released_at_the_same_instant_wait_too():
    """Both jobs have room for their maps, but 2 reduces of 20 s wait then for 2 slots."""
    state = run(on_demand("tct"), [map_reduce(name, 1, 1.0, 2, 20.0) for name in "ab"], (4, 2))

    assert [0.0, 1.0] == [job.released_at_s for job in state.jobs.values()]


def test_a_job_without_maps_takes_the_reduce_slots_of_its_reduces():
    state = run(on_demand("tct"), [map_reduce(name, reduces=2, reduce_s=5.0) for name in "ab"])

    assert [0.0, 5.0] == [job.released_at_s for job in state.jobs.values()]


def test_what_a_tenant_is_owed_takes_the_slots_from_others_and_goes_once():
    """Both tenants get their first job, whose maps take both slots; the third job waits."""
    jobs = [map_reduce(name, 2, 9.0, pool=name[0]) for name in ("p1", "q1", "p2")]

    assert {"p2"} == of_tenants(on_demand("tct"), *jobs)
    jobs[1] = map_reduce("q1", 1, 9.0, pool="q")
    assert not of_tenants(on_demand("tct"), *jobs, slots=(4, 0))


def test_jobs_are_ranked_again_when_slots_come():
    """On one map slot the job that reduces ends first, and on four the one of maps alone."""
    scheduler = scheduler_with(on_demand("tct"))
    node = Node(node_id=NodeId("n1"), map_slots=1, reduce_slots=1)
    scheduler.handle(NodeJoined(0.0, node))
    jobs = (
        map_reduce("busy", 1, 99.0),
        map_reduce("both", 1, 1.0, 1, 8.0),
        map_reduce("maps", 4, 3.0),
    )
    for job in jobs:
        scheduler.handle(JobSubmitted(0.0, job, {}))
        scheduler.handle(Tick(0.0))
    assert {"both", "maps"} == scheduler.state.waiting.keys()
    scheduler.handle(NodeJoined(1.0, Node(node_id=NodeId("n2"), map_slots=3)))
    scheduler.handle(Tick(1.0))

    assert {"both"} == scheduler.state.waiting.keys()


def test_maps_that_wait_for_a_phase_before_them_take_no_slot_yet():
    first, second = (
        Phase(
            name=name,
            kind=SlotKind.MAP,
            tasks=tasks,
            lengths=ListedLengths((5.0,) * tasks),
            after=after,
        )
        for name, tasks, after in (("one", 1, ()), ("two", 9, (0,)))
    )
    jobs = [Job(job_id=JobId(name), pool=PoolId("p"), phases=(first, second)) for name in "ab"]
    state = run(on_demand("tct"), jobs)

    assert [0.0, 0.0] == [job.released_at_s for job in state.jobs.values()]


def in_containers(release, jobs, containers):
    """The state at the end, of jobs in the manner of YARN on a node without typed slots."""
    policies = Policies(admission=AdmitAll(), release=release, tasks=YarnLike(), pools=KeepPools())
    scheduler = Scheduler(policies)
    cluster = Cluster(nodes=(Node(node_id=NodeId("n"), containers=containers),))
    Simulation(scheduler, cluster, jobs, settings=SimulationSettings()).run()
    return scheduler.state


def test_containers_are_room_for_maps_and_reduces_alike():
    """Or nothing would ever be released where there are no typed slots."""
    state = in_containers(on_demand("tct"), LONG_THEN_SHORT, containers=2)
    released = {job.job_id: job.released_at_s for job in state.jobs.values()}

    assert all(job.state.value == "done" for job in state.jobs.values())
    assert 0.0 == released["running"]
    assert released["running"] < released["short"] < released["long"]


def test_rounds_reckon_with_containers_for_either_phase():
    policy = MrOrder(engine=lambda jobs, *_: range(len(jobs)), timing=EnoughJobs(3))
    in_containers(policy, LONG_THEN_SHORT, containers=2)

    assert [62.5] == [each.estimate_s for each in policy.rounds]


works = st.tuples(
    st.integers(0, 4), st.integers(1, 20), st.integers(0, 3), st.integers(1, 20), st.floats(0, 40)
).filter(lambda job: job[0] + job[2] > 0)


@settings(max_examples=60)
@given(st.lists(works, min_size=1, max_size=8), st.sampled_from(["makespan", "tct"]))
def test_all_jobs_end_and_no_map_slot_idles_while_a_map_is_held_back(jobs, objective):
    """By Johnson's rank; by the shortest job a slot may idle, so that reduces do not pile up."""
    jobs = [
        map_reduce(f"j{index}", maps, float(map_s), reduces, float(reduce_s), at_s=at_s)
        for index, (maps, map_s, reduces, reduce_s, at_s) in enumerate(jobs)
    ]
    state = run(on_demand(objective), jobs)

    assert all(job.state.value == "done" for job in state.jobs.values())
    if objective == "tct":
        return
    maps = [one for one in state.closed if one.slot_kind is SlotKind.MAP]
    arrived = run(ReleaseOnArrival(), jobs)
    same = [one for one in arrived.closed if one.slot_kind is SlotKind.MAP]
    assert math.isclose(*(sum(map(busy_s, ones)) for ones in (maps, same)), abs_tol=1e-9)
    for one in maps:
        job = one.phase.job
        waited = [at for at in starts(maps) if job.job.submitted_at_s < at < job.released_at_s]
        assert all(running_at(maps, at) == 2 for at in waited)


def busy_s(attempt):
    return attempt.tasks * (attempt.finished_at_s - attempt.started_at_s)


def starts(attempts):
    return [attempt.started_at_s for attempt in attempts]


def running_at(attempts, at_s):
    """Tasks that run just after an instant (alike ones count as many)."""
    return sum(one.tasks for one in attempts if one.started_at_s <= at_s < one.finished_at_s)
