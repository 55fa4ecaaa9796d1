"""Attempts that slow each other down. The referee: from the trace alone, add up what each attempt
was given; it must be its length. Sources: RAS spec, section 10; dynamicmr spec, section 10.
"""

from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.runs import even_nodes, map_reduce, scheduler_of, simulate, trace

from sluice.core.entries import Attempt
from sluice.core.events import NodeLost, TaskFinished
from sluice.core.indexes.free_slots import SlotSpan
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.transitions import AttemptState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Demand, Job, Phase
from sluice.model.lengths import ConstantLengths, ListedLengths
from sluice.model.resources import NOTHING, Resources
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.fifo import Fifo
from sluice.simulation.agenda import NODE_RANK, Agenda
from sluice.simulation.contention import SharedNodes
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings
from sluice.simulation.shared_node import Pace, SharedNode, settle_all
from sluice.simulation.sharing import Load, Losses, load_of, rates_of

TRACKER = Resources(cpu=100, io=100, memory=100)
SORT = Resources(cpu=30, io=45, memory=25)
COMBINE = Resources(cpu=25, io=10, memory=10)


def trackers(count=1, map_slots=8, reduce_slots=2, capacity=TRACKER):
    return Cluster(
        nodes=tuple(
            Node(
                node_id=NodeId(f"n{index}"),
                map_slots=map_slots,
                reduce_slots=reduce_slots,
                capacity=capacity,
            )
            for index in range(count)
        )
    )


def maps(job_id, lengths_s, demand, *, at_s=0.0):
    """A job of maps alone, of these lengths."""
    phase = Phase(
        name="map",
        kind=SlotKind.MAP,
        tasks=len(lengths_s),
        lengths=ListedLengths(tuple(lengths_s)),
        demand=Demand(work=demand),
    )
    return Job(job_id=job_id, pool=PoolId("p"), phases=(phase,), submitted_at_s=at_s)


def run_with(interventions, cluster, jobs, tasks=None, *, seed=0, **knobs):
    """Simulate, with things done to the simulation at given instants."""
    scheduler = scheduler_of(tasks, by_heartbeat=knobs.get("heartbeat_s", 0.0) > 0)
    world = Simulation(
        scheduler,
        cluster,
        jobs,
        settings=SimulationSettings(contention="shared", **knobs),
        seed=seed,
    )
    for at_s, act in interventions:
        world._agenda.add(at_s, NODE_RANK, partial(act, world))
    world.run()
    return scheduler.state


def lose(node_id):
    """A node dies, and that is known at once."""

    def act(world, now_s):
        world.node_dies(node_id, now_s)
        world.report_node(NodeLost(now_s, node_id, "pulled the plug"))

    return act


def kill(*key):
    def act(world, now_s):
        world._kill(AttemptKey(*key), now_s)

    return act


def ends_s(state):
    return sorted(a.finished_at_s for a in state.closed if a.state is AttemptState.DONE)


def work_given_s(state, knobs):
    """Return the work that each attempt (of jobs of maps) was given, by the law and the trace: no
    event-driven machinery, only sums over the intervals in which nothing changes.
    """
    law = SimulationSettings(**knobs)
    losses = Losses(
        cpu=law.kappa_cpu, io=law.kappa_io, network=law.kappa_network, memory=law.kappa_memory
    )
    given_s: defaultdict[AttemptKey, float] = defaultdict(float)
    by_node: dict[str, list[Attempt]] = {}
    for attempt in state.closed:
        by_node.setdefault(attempt.node.node_id, []).append(attempt)
    for attempts in by_node.values():
        instants = sorted({a.started_at_s for a in attempts} | {a.finished_at_s for a in attempts})
        for start_s, end_s in pairwise(instants):
            here = [a for a in attempts if a.started_at_s <= start_s and a.finished_at_s >= end_s]
            load = {
                a: load_of(
                    a.phase.phase.demand.work,
                    a.node.node.capacity,
                    peak=law.peak,
                    thread_cpu=law.thread_cpu,
                )
                for a in here
            }
            rates = rates_of(Counter(load.values()), losses)
            for attempt in here:
                given_s[attempt.key] += rates[load[attempt]] * (end_s - start_s)
    return given_s


def demands():
    share = st.one_of(st.just(0.0), st.floats(1, 70))
    return st.builds(Resources, cpu=share, io=share, memory=share, network=share)


def map_jobs():
    lengths = st.lists(st.floats(0.01, 20), min_size=1, max_size=6)
    spec = st.tuples(lengths, demands(), st.floats(0, 30))
    return st.lists(spec, min_size=1, max_size=4).map(
        lambda specs: [
            maps(f"J{i}", lengths_s, demand, at_s=at_s)
            for i, (lengths_s, demand, at_s) in enumerate(specs)
        ]
    )


# --- by hand --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "rate"), [(1, 1.25), (2, 1 / 0.9), (4, 100 / 1.4 / 180)])
def test_alike_maps_end_together_after_length_by_rate(count, rate):
    """RAS spec, G6, in time: a Sort map is 36 s at profile speed."""
    state = simulate(trackers(), [maps("J", [36.0] * count, SORT)], contention="shared")

    assert ends_s(state) == pytest.approx([36 / rate] * count, rel=1e-12)
    assert len(set(ends_s(state))) == 1


def test_a_newcomer_slows_the_others_from_its_start_to_its_end():
    """Two on one disk at half speed each, for as long as both are there."""
    disk = Resources(io=100)
    early, late = maps("A", [10.0], disk), maps("B", [3.0], disk, at_s=4.0)

    state = simulate(trackers(), [early, late], contention="shared", kappa_io=0.0)

    # A has 6 left at 4 s; B's 3 take until 10 s, in which A gets 3 too; its last 3 go alone.
    assert [job.finished_at_s for job in state.jobs.values()] == pytest.approx([13.0, 10.0])


def test_a_killed_attempt_gives_its_share_back():
    """Killed at 4 s, the other goes on alone; the killed task runs again from its beginning."""
    job = maps("A", [10.0, 10.0], Resources(io=100))

    state = run_with([(4.0, kill("A", 0, 0, 1))], trackers(map_slots=1, count=1), [job])
    alone = ends_s(state)
    assert alone == pytest.approx([14.0, 24.0])

    cluster = trackers(map_slots=2)
    state = run_with([(4.0, kill("A", 0, 0, 1))], cluster, [job], kappa_io=0.0)
    # Both have 2 of 10 at 4 s. The new attempt needs 10 beside the other's 8.
    assert ends_s(state) == pytest.approx([20.0, 22.0])
    killed = [a for a in state.closed if a.state is AttemptState.KILLED]
    assert [a.finished_at_s for a in killed] == [4.0]


def test_a_lost_node_takes_its_share_with_it():
    """The tasks that ran there run elsewhere, together with those that are there already."""
    cluster = trackers(count=2, map_slots=2)
    jobs = [maps("A", [10.0, 10.0], Resources(io=50)), maps("B", [10.0], Resources(io=100))]

    state = run_with([(5.0, lose("n0"))], cluster, jobs, kappa_io=0.0, peak=1.0)

    # A's two ran on n0 at full speed. At 5 s one of them finds room beside B on n1: both share
    # its disk, 2/3 each. B's 5 left end at 12.5 s; then A's first has 5 left and its second starts.
    assert state.jobs["B"].finished_at_s == pytest.approx(12.5)
    assert ends_s(state) == pytest.approx([12.5, 17.5, 22.5])


def test_hung_attempts_take_nothing_but_memory_until_their_timeout():
    """An attempt that hangs neither reads nor computes."""
    hung = maps("A", [10.0], Resources(io=100, memory=100))

    state = simulate(trackers(), [hung], contention="shared", p_hang=1.0, task_timeout_s=7.0)

    assert [a.finished_at_s for a in state.closed] == [7.0, 14.0, 21.0, 28.0]
    assert {a.detail for a in state.closed} == {"no progress"}


def test_beside_a_hung_attempt_the_disk_is_free():
    """At full speed, although a hung one that would want as much stands in the next slot."""
    jobs = [maps(name, [10.0], Resources(io=100)) for name in "AB"]
    for seed in range(50):
        state = simulate(
            trackers(), jobs, contention="shared", p_hang=0.5, task_timeout_s=20.0, seed=seed
        )
        first = {a.key.job_id: a for a in state.closed if a.key.attempt == 1}
        if first["A"].state is AttemptState.FAILED and first["B"].state is AttemptState.DONE:
            assert first["B"].finished_at_s == pytest.approx(10.0)
            return
    pytest.fail("no seed in which A hangs and B does not")


# --- against the machinery without contention -----------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 6), st.floats(0.1, 20), st.integers(0, 4), st.floats(0.1, 20),
            st.floats(0, 30), st.one_of(st.none(), st.floats(0.1, 9)),
        ).filter(lambda spec: spec[0] + spec[2]),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([0.0, 3.0]),
    st.sampled_from([0.05, 1.0]),
    st.integers(0, 9),
)  # fmt: skip
def test_without_demands_sharing_changes_nothing(specs, heartbeat_s, slowstart, seed):
    """Ideal slots: the same trace, to the last bit, with shuffles, mishaps and time-outs."""
    jobs = []
    for number, (m, m_s, r, r_s, at_s, fetch_s) in enumerate(specs):
        job = map_reduce(f"J{number}", m, m_s, r, r_s, at_s=at_s)
        phases = list(job.phases)
        if fetch_s is not None and r:
            fetch = ConstantLengths(fetch_s, fetch_s)
            phases[-1] = replace(phases[-1], fetch=fetch)
        jobs.append(
            Job(job_id=job.job_id, pool=PoolId("p"), phases=tuple(phases), submitted_at_s=at_s)
        )
    knobs = {
        "heartbeat_s": heartbeat_s, "jitter": 0.2, "p_slow": 0.2, "p_hang": 0.05,
        "task_failure": 0.1, "task_timeout_s": 25.0,
    }  # fmt: skip
    cluster = even_nodes(3, 2, 1)
    own, shared = (
        simulate(cluster, jobs, slowstart=slowstart, seed=seed, contention=contention, **knobs)
        for contention in ("none", "shared")
    )

    assert trace(shared) == trace(own)
    event(f"attempts: {min(len(own.closed), 20)}")


def test_a_crowd_on_unlimited_nodes_is_no_crowd():
    """Nodes without capacities: demands are known, but nothing to hold them against."""
    job = maps("J", [36.0] * 8, SORT)

    state = simulate(trackers(capacity=NOTHING), [job], contention="shared")

    assert set(ends_s(state)) == {36.0}


# --- conservation ---------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    map_jobs(),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([None, 60.0]),
    st.integers(0, 99),
)
def test_every_attempt_is_given_its_length_and_no_more(
    jobs, nodes, kappa_network, node_mtbf_s, seed
):
    """Work done equals length, through crowds, newcomers and lost nodes. The sums are made from
    starts and ends in the trace, so a wrong end anywhere shows in everybody's account.
    """
    capacity = Resources(cpu=100, io=100, memory=100, network=100)
    knobs = {"contention": "shared", "kappa_network": kappa_network}
    state = simulate(
        trackers(nodes, map_slots=3, capacity=capacity), jobs, seed=seed,
        node_mtbf_s=node_mtbf_s, node_repair_s=2.0, **knobs,
    )  # fmt: skip

    given_s = work_given_s(state, knobs)

    lengths_s = {job.job_id: job.phases[0].lengths.durations_s for job in jobs}
    event(f"lost attempts: {min(5, sum(a.state is AttemptState.LOST for a in state.closed))}")
    for attempt in state.closed:
        length_s = lengths_s[attempt.key.job_id][attempt.key.task]
        if attempt.state is AttemptState.DONE:
            assert given_s[attempt.key] == pytest.approx(length_s, rel=1e-6)
        else:
            assert given_s[attempt.key] <= length_s * (1 + 1e-6)


@settings(deadline=None, max_examples=20)
@given(map_jobs(), st.integers(0, 99))
def test_the_same_seed_gives_the_same_run(jobs, seed):
    """Byte for byte, whatever was simulated before in this process."""
    knobs = {
        "contention": "shared", "jitter": 0.3, "p_slow": 0.2, "node_mtbf_s": 80.0,
        "node_repair_s": 3.0, "heartbeat_s": 1.0, "node_timeout_s": 5.0,
    }  # fmt: skip
    first = simulate(trackers(2, map_slots=3), jobs, seed=seed, **knobs)
    simulate(trackers(), jobs, seed=seed + 1, contention="shared")
    again = simulate(trackers(2, map_slots=3), jobs, seed=seed, **knobs)

    assert trace(again) == trace(first)


# --- one node, looked at closely ------------------------------------------------------------------


class Bench:
    """One shared node, without a scheduler; `ended` holds (name, instant)."""

    def __init__(self, **knobs):
        self.agenda = Agenda()
        self.touched: dict[SharedNode, None] = {}
        self.ended: list[tuple[Any, float]] = []
        pace = Pace(SimulationSettings(**knobs))
        self.node = SharedNode(TRACKER, pace, self.agenda, self.touched)

    def work(self, name, demand, work_s, now_s, tasks=1):
        then = partial(self._note, name)
        return self.node.work(self.node.load(demand), tasks, work_s, then, now_s)

    def settle(self, now_s):
        settle_all(self.touched, now_s)

    def pass_time(self):
        happenings = 0
        while len(self.agenda):
            at_s, item = self.agenda.next_at_s, self.agenda.pop()
            happenings += 1
            assert callable(item)
            item(at_s)
        return happenings

    def _note(self, name, now_s):
        self.ended.append((name, now_s))


def test_a_thousand_alike_tasks_cost_as_one():
    """One clock, one rate and one entry on the agenda for all of them."""
    bench = Bench()
    for number in range(1000):
        bench.work(number, COMBINE, 10.0, 0.0)
    bench.settle(0.0)

    assert len(bench.node._groups) == 1
    assert len(bench.agenda) == 1
    assert bench.pass_time() == 1
    assert [name for name, _ in bench.ended] == list(range(1000))
    assert len({at_s for _, at_s in bench.ended}) == 1


def test_a_batch_counts_as_its_tasks():
    """One attempt of three alike tasks is a crowd of three."""
    one_by_one, batch = Bench(), Bench()
    for number in range(3):
        one_by_one.work(number, SORT, 10.0, 0.0)
    batch.work("batch", SORT, 10.0, 0.0, tasks=3)
    for bench in (one_by_one, batch):
        bench.work("other", COMBINE, 25.0, 0.0)
        bench.settle(0.0)
        bench.pass_time()

    assert batch.ended[0][1] == one_by_one.ended[0][1]
    assert batch.ended[-1] == one_by_one.ended[-1]


def test_leaving_early_shows_what_is_left():
    """At rate 1.25, 4 s do 5 s of work."""
    bench = Bench()
    stint = bench.work("A", SORT, 36.0, 0.0)
    bench.settle(0.0)

    assert bench.node.leave(stint, 4.0) == pytest.approx(31.0)
    bench.settle(4.0)
    bench.pass_time()
    assert bench.ended == []


def test_ends_that_only_rounding_keeps_apart_are_one():
    """Less than a billionth of the length is no work."""
    bench = Bench()
    bench.work("A", SORT, 10.0, 0.0)
    bench.work("B", SORT, 10.0 * (1 + 1e-12), 0.0)
    bench.settle(0.0)

    assert bench.pass_time() == 1
    assert [name for name, _ in bench.ended] == ["A", "B"]


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(1e-9, 1e3), st.floats(0, 1e6)), min_size=1, max_size=30))
def test_rounding_makes_no_events(stints):
    """Late, short stints, where an instant has few digits left: each still ends, at its first
    chance or soon after, and time never runs backwards.
    """
    bench = Bench()
    for number, (work_s, at_s) in enumerate(stints):

        def arrive(now_s, number=number, work_s=work_s):
            bench.work(number, SORT if number % 2 else COMBINE, work_s, now_s)
            bench.settle(now_s)

        bench.agenda.add(at_s, NODE_RANK, arrive)

    happenings = bench.pass_time()

    assert sorted(name for name, _ in bench.ended) == list(range(len(stints)))
    instants = [at_s for _, at_s in bench.ended]
    assert instants == sorted(instants)
    assert happenings <= 4 * len(stints)


def test_an_end_of_this_very_instant_does_not_count_after_a_kill():
    """Killed as it ends: the end on the agenda is disowned, and the node is already free."""
    job = maps("A", [10.0], Resources(io=80))
    scheduler = scheduler_of(Fifo())
    world = Simulation(
        scheduler, trackers(), [job], settings=SimulationSettings(contention="shared")
    )
    execution, agenda = world._execution, world._agenda
    assert isinstance(execution, SharedNodes)
    entry = scheduler.state.add_job(job, {}, alike=False)
    key = AttemptKey(JobId("A"), 0, 0, 1)
    reason = Reason(ReasonCode.FIRST_IN_LINE)
    node, phase = scheduler.state.nodes[NodeId("n0")], entry.phases[0]
    slots = SlotSpan(0, 1)
    attempt = Attempt(phase, node, 0.0, 0, 1, 1, SlotKind.MAP, slots, None, False, reason)
    execution.begin(attempt, 0.0)
    at_s, work_over = agenda.next_at_s, agenda.pop()
    while not callable(work_over):
        at_s, work_over = agenda.next_at_s, agenda.pop()
    work_over(at_s)

    left = [agenda.pop() for _ in range(len(agenda))]
    assert any(isinstance(item, TaskFinished) for item in left)
    execution.abandon(key, at_s)
    assert execution.abandoned == {key}
    assert not execution._nodes[NodeId("n0")]._groups


def test_a_load_that_takes_nothing_is_no_member():
    """It never touches the clocks of the others."""
    bench = Bench()
    bench.node.work(Load(), 1, 5.0, partial(bench._note, "free"), 1.0)

    assert not bench.touched
    bench.pass_time()
    assert bench.ended == [("free", 6.0)]
