"""Only nodes of use are offered while jobs wait for their data, and the run is the same.

The tests were seen to fail with: a job that is not refused again after its start; nodes far from
data that refuse no job; what was known kept after a longer wait, a new phase, a task that failed or
a cap; racks that are not looked at; a line that does not move, or not at the end of a task.
"""

import random
from collections import Counter

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from tests.in_events import look_after_decisions
from tests.policies.test_contract import FAULTS, OffersAll
from tests.runs import even_nodes, map_reduce, scheduler_of, simulate, trace
from tests.strategies import clusters, job_lists

from sluice.core.commands import Launch
from sluice.core.events import JobSubmitted, NodeHeartbeat, NodeJoined, TaskFinished, Tick
from sluice.core.reasons import ReasonCode
from sluice.model.ids import NodeId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths, ListedLengths
from sluice.model.queues import Pool, PoolOrder
from sluice.model.slot_kind import SlotKind
from sluice.policies.data.delay import DelayScheduling
from sluice.policies.orders.fair import Fair
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

MAP, REDUCE = SlotKind.MAP, SlotKind.REDUCE
SHORT = ConstantLengths(1.0, 1.0)
LENGTHS_S = tuple(1 + number / 7 for number in range(60))


def random_job(draw, job_id):
    """Phases of maps and reduces in any order, of which the first have their input somewhere."""
    phases: list[Phase] = []
    for kind in draw.choice([(MAP, REDUCE), (MAP,), (REDUCE,), (MAP, MAP, REDUCE)]):
        lengths = tuple(draw.choice([draw.uniform(1, 9), 2.0]) for _ in range(draw.randint(1, 30)))
        after = (len(phases) - 1,) if phases and draw.random() < 0.7 else ()
        part = {"name": f"p{len(phases)}", "kind": kind, "tasks": len(lengths), "after": after}
        phases.append(Phase(lengths=ListedLengths(lengths), **part))
    return Job(
        job_id=job_id,
        pool=f"p{draw.randint(0, 2)}",
        phases=tuple(phases),
        submitted_at_s=draw.choice([0.0, 0.0, draw.uniform(0, 20)]),
        weight=draw.choice([1.0, 2.0]),
    )


def random_pools(draw):
    """Those of the jobs, some with a cap or with jobs in the order of their submission."""
    return tuple(
        Pool(
            pool_id=f"p{number}",
            order=draw.choice(list(PoolOrder)),
            map_slots_min=draw.choice([0, 2]),
            map_slots_max=draw.choice([None, 3]),
        )
        for number in range(draw.choice([0, 3]))
    )


class CountsOffers(Fair):
    """Counts the offers, and those of them after which nothing has started."""

    def __init__(self, delay):
        super().__init__(delay)
        self.offers = Counter[str]()

    def fill(self, offer):
        before = offer.state.busy
        super().fill(offer)
        self.offers["in vain" if offer.state.busy == before else "of use"] += 1


@pytest.mark.no_invariants  # half of these runs keep to them, as the runs of other tests
@settings(max_examples=60, deadline=None)
@example(26)
@given(st.integers(0, 10**6))
def test_a_run_is_the_same_as_if_every_node_with_room_were_offered(seed):
    draw = random.Random(seed)
    cluster = even_nodes(draw.randint(2, 40), draw.randint(1, 4), 1, racks=draw.randint(1, 5))
    jobs = [random_job(draw, f"j{number}") for number in range(draw.randint(1, 12))]
    world = {"pools": random_pools(draw), "slowstart": draw.choice([1.0, 0.5]), "seed": seed}
    world |= FAULTS[draw.choice(sorted(FAULTS))]
    waits_s = draw.choice([0.0, 1.0, 4.5, 60.0]), draw.choice([0.0, 1.0, 4.5, 60.0])
    one, other = CountsOffers(DelayScheduling(*waits_s)), CountsOffers(DelayScheduling(*waits_s))

    expected = trace(simulate(cluster, jobs, OffersAll(other), **world))

    assert expected == trace(simulate(cluster, jobs, one, **world))
    event(f"offers saved: {'many' if other.offers.total() > 2 * one.offers.total() else 'few'}")


@pytest.mark.no_invariants  # as above
def test_hardly_any_node_is_offered_in_vain():
    """200 nodes, of which most have room all the time: with every one offered it is 40,000."""
    jobs = [map_reduce(f"j{n}", 60, LENGTHS_S, at_s=n) for n in range(20)]
    policy = CountsOffers(DelayScheduling(4.5, 4.5))
    state = simulate(even_nodes(200, 2, 1, racks=10), jobs, policy, p_slow=0.1)

    assert 20 * 60 == sum(phase.done for job in state.jobs.values() for phase in job.phases)
    assert policy.offers["in vain"] < 300


def test_one_node_far_from_data_shows_that_all_such_nodes_refuse():
    """All input is on n7, so n0 is offered once, and no other node but n7 ever."""
    offered: list[tuple[float, int]] = []

    class Watched(Fair):
        def fill(self, offer):
            offered.append((offer.now_s, offer.node.index))
            super().fill(offer)

    scheduler = scheduler_of(Watched(DelayScheduling(60.0, 60.0)))
    for node in even_nodes(20, 1, 0, racks=20).nodes:
        scheduler.handle(NodeJoined(0.0, node))
    job = map_reduce("a", 3, (1.0, 2.0, 3.0))
    scheduler.handle(JobSubmitted(0.0, job, {0: ((NodeId("n7"),),) * 3}))
    (launch,) = (one for one in scheduler.handle(Tick(0.0)) if isinstance(one, Launch))
    assert "n7" == launch.node_id
    scheduler.handle(Tick(1.0))
    scheduler.handle(TaskFinished(2.0, launch.key, 2.0))
    scheduler.handle(Tick(2.0))

    assert [(0.0, 0), (0.0, 7), (2.0, 7)] == offered


def test_a_job_without_a_task_to_start_does_not_wait():
    """The input of A's first task is on n7; that of its second, and of B's task, on n9, which runs
    another task. While A's first task runs, B alone is refused. A waits from the end of it on, for
    4.5 s and 4.5 s more, until it may start on any node.
    """
    scheduler = scheduler_of(Fair(DelayScheduling(4.5, 4.5)))
    for node in even_nodes(20, 1, 0, racks=20).nodes:
        scheduler.handle(NodeJoined(0.0, node))

    def submit(name, *nodes, at_s):
        """A job of a task after the other, each with its input on one node."""
        phases = tuple(
            Phase(name=f"p{at}", kind=MAP, tasks=1, after=(at - 1,) if at else (), lengths=SHORT)
            for at in range(len(nodes))
        )
        job = Job(job_id=name, pool="p", phases=phases, submitted_at_s=at_s)
        places = {at: ((NodeId(node),),) for at, node in enumerate(nodes)}
        scheduler.handle(JobSubmitted(at_s, job, places))

    def started(at_s):
        commands = scheduler.handle(Tick(at_s))
        return [(one.key.job_id, one.node_id) for one in commands if isinstance(one, Launch)]

    submit("other", "n9", at_s=0.0)
    assert [("other", "n9")] == started(0.0)
    submit("b", "n9", at_s=0.0)
    submit("a", "n7", "n9", at_s=0.0)
    assert [("a", "n7")] == started(0.0)
    assert [] == started(1.0)
    (first,) = (key for key in scheduler.state.running if key.job_id == "a")
    scheduler.handle(TaskFinished(6.0, first, 6.0))
    assert [] == started(6.0)
    assert [("b", "n0")] == started(9.0)
    assert [] == started(13.0)
    assert [("a", "n1")] == started(15.0)


def test_a_job_that_is_refused_after_its_start_waits_for_its_data():
    """One input is on n0, two are on n1: n0 reports, takes its task and keeps a free slot."""
    scheduler = scheduler_of(Fair(DelayScheduling(4.5, 4.5)), by_heartbeat=True)
    for node in even_nodes(2, 2, 0, racks=2).nodes:
        scheduler.handle(NodeJoined(0.0, node))
    places = {0: ((NodeId("n0"),), (NodeId("n1"),), (NodeId("n1"),))}
    scheduler.handle(JobSubmitted(0.0, map_reduce("a", 3, 1.0), places))
    assert 1 == len(scheduler.handle(NodeHeartbeat(1.0, NodeId("n0"))))

    phase = scheduler.state.jobs["a"].phases[0]
    reason = scheduler.policies.tasks.explain(phase, scheduler.state, 1.0)
    assert (ReasonCode.LOCALITY_WAIT, {"wait_s": 4.5}) == (reason.code, dict(reason.numbers))


@pytest.mark.interpreted
@settings(max_examples=30, deadline=None)
@given(
    clusters(nodes_max=8, racks_max=2),
    job_lists(tasks_max=20),
    st.sampled_from(["none", "lost nodes", "failures"]),
)
def test_the_nodes_below_their_line_are_those_that_may_take_a_task(cluster, jobs, faults):
    policy = Fair(DelayScheduling(4.5, 4.5))
    scheduler = scheduler_of(policy)
    state = scheduler.state

    def check(_):
        if policy._waits is None:
            return  # no task waits yet
        waits = policy._waits
        for kind, opened in (
            (SlotKind.MAP, state.open_nodes.maps),
            (SlotKind.REDUCE, state.open_nodes.reduces),
        ):
            indexes = waits._below.of(kind, waits._order.load(kind))
            if not policy.has_waiting(kind):
                continue
            for node in state.node_at:
                may_take = opened.has(node.index) and policy.has_room(node, kind, 0)
                assert may_take == indexes.has(node.index)

    seen = look_after_decisions(scheduler, check)
    Simulation(scheduler, cluster, jobs, settings=SimulationSettings(**FAULTS[faults])).run()

    assert seen
