"""Tasks that fetch before they work. The referee: the same model in small fixed steps, which reads
the starts from the trace and must come to the same ends. Sources: RAS spec, sections 4 and 10;
dynamicmr spec, section 10.
"""

from collections import Counter, defaultdict

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.runs import scheduler_of, simulate, trace

from sluice.core.events import NodeLost
from sluice.core.transitions import AttemptState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Demand, Job, MapOutput, Phase
from sluice.model.lengths import ConstantLengths, ListedLengths
from sluice.model.resources import NOTHING, Resources
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.fifo import Fifo
from sluice.simulation.agenda import NODE_RANK
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings
from sluice.simulation.sharing import Losses, load_of, rates_of

MB = 1e6
STEP_S = 1 / 256


def nodes(count=1, map_slots=4, reduce_slots=4, capacity=NOTHING):
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


def shuffled(
    job_id="J", maps_s=(10.0,), reduces_s=(5.0,), output_bytes=None, *,
    fetch_s=None, at_s=0.0, map_demand=NOTHING, reduce_demand=None,
):  # fmt: skip
    """A job whose reduces fetch what its maps wrote."""
    phases = (
        Phase(
            name="map", kind=SlotKind.MAP, tasks=len(maps_s),
            lengths=ListedLengths(tuple(maps_s)), demand=Demand(work=map_demand),
        ),
        Phase(
            name="reduce", kind=SlotKind.REDUCE, tasks=len(reduces_s), after=(0,),
            lengths=ListedLengths(tuple(reduces_s)), demand=reduce_demand or Demand(),
            fetch=None if fetch_s is None else ConstantLengths(fetch_s, fetch_s),
        ),
    )  # fmt: skip
    output = None if output_bytes is None else MapOutput(bytes=output_bytes, records=1)
    return Job(
        job_id=job_id, pool=PoolId("p"), phases=phases, submitted_at_s=at_s, map_output=output
    )  # fmt: skip


def reduces(state, job_id="J"):
    """(shuffled at, finished at) of the successful reduces."""
    return sorted(
        (a.shuffled_at_s, a.finished_at_s)
        for a in state.closed
        if a.key.job_id == job_id and a.key.phase == 1 and a.state is AttemptState.DONE
    )


def shared(cluster, *jobs, slowstart=1.0, **knobs):
    return simulate(cluster, jobs, slowstart=slowstart, contention="shared", **knobs)


class WorksFrom(Fifo):
    """First in, first out; a reduce may not begin its own work before 30 s."""

    name = "works-from"

    @property
    def gates_work(self):
        return True

    def may_begin_work(self, attempt, state, now_s):
        return now_s >= 30.0


def test_a_reduce_that_may_not_begin_its_work_is_asked_again():
    """All is there at 20 s, and the next event is the end of another job's map at 40 s."""
    job, other = shuffled(output_bytes=200 * MB), shuffled("other", (40.0,))

    state = simulate(nodes(), [job, other], WorksFrom(), contention="shared")

    assert reduces(state) == [(40.0, 45.0)]


# --- by hand: bytes -------------------------------------------------------------------------------


def test_a_lone_reduce_fetches_at_its_own_limit():
    """200 MB at 20 MB/s, then 5 s of work."""
    state = shared(nodes(), shuffled(output_bytes=200 * MB))

    assert reduces(state) == [(20.0, 25.0)]


def test_reduces_on_a_node_share_its_network_card():
    """Ten at 20 MB/s would need 200 MB/s of a card of 110."""
    job = shuffled(reduces_s=[5.0] * 10, output_bytes=10 * 220 * MB)

    state = shared(nodes(reduce_slots=10), job)

    assert reduces(state) == [pytest.approx((30.0, 35.0))] * 10


@pytest.mark.parametrize(("fetching", "working"), [(10.0, 80.0), (80.0, 10.0)])
def test_a_reduce_that_fetches_can_hold_the_memory_of_its_work_already(fetching, working):
    """shuffle_memory=reduce is the larger of the two from the start on."""

    def shuffled_at_s(fetch_memory, **knobs):
        demand = Demand(work=Resources(memory=working), fetch=Resources(memory=fetch_memory))
        job = shuffled(reduces_s=[5.0] * 2, output_bytes=400 * MB, reduce_demand=demand)
        cluster = nodes(capacity=Resources(memory=100.0))
        return [at_s for at_s, _ in reduces(shared(cluster, job, **knobs))]

    held = shuffled_at_s(fetching, shuffle_memory="reduce")
    assert held == shuffled_at_s(80.0, shuffle_memory="profile")
    assert held > shuffled_at_s(10.0, shuffle_memory="profile")


def test_too_many_fetchers_lose_throughput():
    """The dynamicmr spec, section 10: asked 200/110, kappa 0.25: 1 / (1 + 0.25 * 0.82)."""
    job = shuffled(reduces_s=[5.0] * 10, output_bytes=10 * 220 * MB)

    state = shared(nodes(reduce_slots=10), job, kappa_network=0.25)

    fetch_s = 20.0 * (1 + 0.25 * (200 / 110 - 1))
    assert reduces(state) == [pytest.approx((10 + fetch_s, 15 + fetch_s))] * 10


def test_nodes_have_a_card_each():
    """The same ten on two nodes get on at 20 and 22 MB/s: their own limit."""
    job = shuffled(reduces_s=[5.0] * 10, output_bytes=10 * 220 * MB)

    state = shared(nodes(2, reduce_slots=5), job)

    assert reduces(state) == [pytest.approx((21.0, 26.0))] * 10


def test_only_finished_maps_are_fetched_from():
    """Four maps of 100 MB, one after the other; the reduce takes 5 s for each, and rests."""
    job = shuffled(maps_s=[10.0] * 4, output_bytes=400 * MB)

    state = shared(nodes(map_slots=1), job, slowstart=0.25)

    assert reduces(state) == [(45.0, 50.0)]
    started = [a.started_at_s for a in state.closed if a.key.phase == 1]
    assert started == [10.0]


def test_fetching_that_cannot_keep_up_goes_on_after_the_last_map():
    """At 5 MB/s each map's 100 MB take 20 s, from 10 s on without a rest."""
    job = shuffled(maps_s=[10.0] * 4, output_bytes=400 * MB)

    state = shared(nodes(map_slots=1), job, slowstart=0.25, fetch_bytes_per_s=5 * MB)

    assert reduces(state) == [(90.0, 95.0)]


def test_nothing_to_fetch_is_fetched_when_the_last_map_is_done():
    """Maps may write nothing."""
    state = shared(nodes(map_slots=1), shuffled(maps_s=[3.0, 4.0], output_bytes=0.0), slowstart=0)

    assert reduces(state) == [(7.0, 12.0)]


def test_known_bytes_go_before_a_fetch_length():
    """The contract: with a network model the shuffle is simulated from map_output."""
    state = shared(nodes(), shuffled(output_bytes=200 * MB, fetch_s=77.0))

    assert reduces(state) == [(20.0, 25.0)]


def test_a_crowded_disk_slows_fetching_too():
    """Whoever fetches takes part in the node's sharing like any task."""
    demand = Demand(fetch=Resources(io=200))
    job = shuffled(output_bytes=200 * MB, reduce_demand=demand)

    state = shared(nodes(capacity=Resources(io=100)), job, kappa_io=0.0)

    assert reduces(state) == [pytest.approx((30.0, 35.0))]


def test_where_network_is_a_resource_others_use_the_same_card():
    """A map that takes half the card leaves the other half to five fetchers."""
    grabber = Job(
        job_id=JobId("G"), pool=PoolId("p"),
        phases=(
            Phase(
                name="map", kind=SlotKind.MAP, tasks=1, lengths=ConstantLengths(1e4, 1e4),
                demand=Demand(work=Resources(network=60)),
            ),
        ),
    )  # fmt: skip
    job = shuffled(reduces_s=[5.0] * 2, output_bytes=2 * 200 * MB)
    cluster = nodes(capacity=Resources(network=100))

    state = shared(cluster, grabber, job, nic_bytes_per_s=40 * MB, peak=1.0)

    # Asked for at rate 1: 0.6 + 2 * 0.5 of the card; all three run at 1 / 1.6.
    assert reduces(state) == [pytest.approx((10 + 10 * 1.6, 15 + 10 * 1.6))] * 2


# --- by hand: lengths -----------------------------------------------------------------------------


def test_a_fetch_length_overlaps_with_the_maps_and_ends_no_earlier():
    """Fetching by the clock, then waiting for the last map; the work alone feels the crowd."""
    demand = Demand(work=Resources(io=100))
    job = shuffled(maps_s=[10.0, 10.0], reduces_s=[5.0, 5.0], fetch_s=3.0, reduce_demand=demand)
    cluster = nodes(map_slots=1, capacity=Resources(io=100))

    early = shared(cluster, job, slowstart=0.5, kappa_io=0.0)
    late = shared(cluster, job, slowstart=1.0, kappa_io=0.0)

    assert reduces(early) == [pytest.approx((20.0, 30.0))] * 2
    assert reduces(late) == [pytest.approx((23.0, 33.0))] * 2


def test_fetching_takes_more_of_the_node_for_each_placed_map():
    """RAS spec, section 4: fetch + min(placed maps, parallel_copies) * fetch_per_map."""
    demand = Demand(fetch=Resources(io=20), fetch_per_map=Resources(io=10))
    job = shuffled(maps_s=[0.001] + [100.0] * 7, fetch_s=1e4, reduce_demand=demand)
    other = Job(
        job_id=JobId("O"), pool=PoolId("p"), submitted_at_s=50.0,
        phases=(
            Phase(
                name="map", kind=SlotKind.MAP, tasks=1, lengths=ConstantLengths(10.0, 10.0),
                demand=Demand(work=Resources(io=100)),
            ),
        ),
    )  # fmt: skip
    cluster = nodes(map_slots=9, capacity=Resources(io=100))
    knobs = {"slowstart": 0.1, "peak": 1.0, "parallel_copies": 5}

    state = shared(cluster, job, other, kappa_io=1.0, **knobs)
    # Seven placed, five count: 20 + 50 beside the other's 100, so 0.7 too much: 1/1.7 to share
    # of 1.7 asked for.
    assert state.jobs[JobId("O")].finished_at_s == pytest.approx(50 + 10 * 1.7**2)

    late = Job(job_id=JobId("O"), pool=PoolId("p"), submitted_at_s=200.0, phases=other.phases)
    state = shared(cluster, job, late, kappa_io=1.0, **knobs)
    # No map is placed any more: 0.2 too much.
    assert state.jobs[JobId("O")].finished_at_s == pytest.approx(200 + 10 * 1.2**2)


def test_at_rest_a_reduce_keeps_its_memory_only():
    """It has fetched what there is: disk and card are the others'."""
    demand = Demand(fetch=Resources(io=100, memory=50))
    job = shuffled(maps_s=[1.0, 99.0], output_bytes=2 * MB, reduce_demand=demand)
    other = Job(
        job_id=JobId("O"), pool=PoolId("p"), submitted_at_s=50.0,
        phases=(
            Phase(
                name="map", kind=SlotKind.MAP, tasks=1, lengths=ConstantLengths(10.0, 10.0),
                demand=Demand(work=Resources(io=100, memory=100)),
            ),
        ),
    )  # fmt: skip
    cluster = nodes(capacity=Resources(io=100, memory=100))

    state = shared(cluster, job, other, slowstart=0.5)

    # Memory 1.5: thrashing 1 + 2 * 0.5.
    assert state.jobs[JobId("O")].finished_at_s == pytest.approx(70.0)


# --- losses ---------------------------------------------------------------------------------------


def run_and_lose(node_id, at_s, cluster, job, slowstart, **knobs):
    scheduler = scheduler_of(slowstart=slowstart)
    world = Simulation(
        scheduler, cluster, [job], settings=SimulationSettings(contention="shared", **knobs)
    )

    def pull_the_plug(now_s):
        world.node_dies(node_id, now_s)
        world.report_node(NodeLost(now_s, node_id, "pulled the plug"))

    world._agenda.add(at_s, NODE_RANK, pull_the_plug)
    world.run()
    return scheduler.state


def two_nodes():
    """Maps on both, the reduce on the second."""
    return Cluster(
        nodes=(
            Node(node_id=NodeId("n0"), map_slots=1, reduce_slots=0),
            Node(node_id=NodeId("n1"), map_slots=1, reduce_slots=1),
        )
    )


def test_a_lost_output_is_not_fetched_until_it_is_made_again():
    """Two maps of 200 MB end at 10 s. At 15 s the reduce has 100 MB and n0 is lost: the other
    map's 200 MB are fetched until 20 s, the map runs again on n1 until 25 s, then come 200 MB.
    """
    job = shuffled(maps_s=[10.0, 10.0], output_bytes=400 * MB)

    state = run_and_lose("n0", 15.0, two_nodes(), job, 1.0)

    assert reduces(state) == [pytest.approx((35.0, 40.0))]


def test_what_was_fetched_stays_fetched():
    """Lost at 25 s with 300 of 400 MB here: 100 are left to fetch once the map ran again."""
    job = shuffled(maps_s=[10.0, 10.0], output_bytes=400 * MB)

    state = run_and_lose("n0", 25.0, two_nodes(), job, 1.0)

    assert reduces(state) == [pytest.approx((40.0, 45.0))]


def test_a_loss_after_all_was_fetched_changes_nothing_for_this_reduce():
    """It works already: its input is here."""
    job = shuffled(maps_s=[10.0, 10.0], output_bytes=400 * MB)

    state = run_and_lose("n0", 32.0, two_nodes(), job, 1.0)

    assert reduces(state) == [pytest.approx((30.0, 35.0))]


def test_a_reduce_that_is_lost_fetches_all_again_elsewhere():
    """The data that it had fetched lay on its node."""
    cluster = nodes(2, map_slots=1, reduce_slots=1)
    job = shuffled(maps_s=[4.0, 10.0], output_bytes=400 * MB)

    state = run_and_lose("n0", 15.0, cluster, job, 1.0)

    # The map of n0 (4 s) runs again on n1 from 15 s to 19 s, beside the reduce, which fetches
    # 200 MB of the other map's from 15 s on.
    lost = [a for a in state.closed if a.state is AttemptState.LOST]
    assert [a.key.phase for a in lost] == [1]
    assert reduces(state)[0][0] >= 35.0


# --- the referee ----------------------------------------------------------------------------------


class Referee:
    """The model in fixed steps. It is shown when and where attempts start, and nothing else."""

    def __init__(self, state, knobs):
        self._law = law = SimulationSettings(**knobs)
        self._losses = Losses(
            cpu=law.kappa_cpu, io=law.kappa_io, network=law.kappa_network, memory=law.kappa_memory
        )
        self._attempts = sorted(state.closed, key=lambda a: a.started_at_s)
        self._known = {}
        self.ends_s = {}
        self.shuffled_at_s = {}
        # In shares of what each reduce has to fetch.
        self.fetched: defaultdict[AttemptKey, float] = defaultdict(float)
        self.worked_s: defaultdict[AttemptKey, float] = defaultdict(float)

    def run(self):
        step = 0
        while len(self.ends_s) < len(self._attempts):
            self._step(step * STEP_S)
            step += 1
            assert step < 10**6, "the referee knows no end"

    def _step(self, now_s):
        running = [
            a for a in self._attempts if a.started_at_s <= now_s and a.key not in self.ends_s
        ]
        self._placed = Counter(a.key.job_id for a in running if a.key.phase == 0)
        for node in {a.node.node_id for a in running}:
            here = [a for a in running if a.node.node_id == node]
            loads = {a.key: self._load(a) for a in here}
            crowd = tuple(sorted(Counter(loads.values()).items()))
            if crowd not in self._known:
                self._known[crowd] = rates_of(dict(crowd), self._losses)
            for attempt in here:
                rate = self._known[crowd][loads[attempt.key]]
                self._advance(attempt, rate * STEP_S, now_s + STEP_S)

    def _maps_done(self, attempt):
        maps = [a for a in self._attempts if a.key[:2] == (attempt.key.job_id, 0)]
        return sum(a.key in self.ends_s for a in maps) / len(maps)

    def _stage(self, attempt):
        if attempt.key.phase == 0 or attempt.key in self.shuffled_at_s:
            return "works"
        return "fetches" if self.fetched[attempt.key] < self._maps_done(attempt) else "rests"

    def _load(self, attempt):
        law, stage = self._law, self._stage(attempt)
        demand = attempt.phase.phase.demand
        wanted = demand.work
        if stage != "works":
            copies = min(law.parallel_copies, self._placed[attempt.key.job_id])
            wanted = demand.fetch + demand.fetch_per_map.scaled(copies)
        capacity = attempt.node.node.capacity
        load = load_of(wanted, capacity, peak=law.peak, thread_cpu=law.thread_cpu)
        if stage == "fetches":
            card = law.fetch_bytes_per_s / law.nic_bytes_per_s
            return load._replace(network=card, rate_max=min(1.0, load.rate_max))
        return load.at_rest() if stage == "rests" else load

    def _advance(self, attempt, got_s, now_s):
        key, job = attempt.key, attempt.phase.job.job
        stage = self._stage(attempt)
        if stage == "works":
            self.worked_s[key] += got_s
            if self.worked_s[key] >= job.phases[key.phase].lengths.durations_s[key.task]:
                self.ends_s[key] = now_s
        elif stage == "fetches":
            part_bytes = job.map_output.bytes / job.phases[1].tasks
            more = got_s * self._law.fetch_bytes_per_s / part_bytes
            self.fetched[key] = min(self.fetched[key] + more, self._maps_done(attempt))
        if key.phase == 1 and key not in self.shuffled_at_s and self.fetched[key] >= 1:
            self.shuffled_at_s[key] = now_s


def some(low, high):
    return st.one_of(st.just(0.0), st.floats(low, high))


def small_demands():
    return st.builds(Resources, cpu=some(10, 60), io=some(10, 60), memory=some(10, 60))


def small_jobs():
    spec = st.tuples(
        st.lists(st.floats(0.5, 4), min_size=1, max_size=4),
        st.lists(st.floats(0.5, 3), min_size=1, max_size=3),
        st.floats(5 * MB, 150 * MB),
        small_demands(),
        st.builds(
            Demand,
            work=small_demands(),
            fetch=small_demands(),
            fetch_per_map=st.builds(Resources, io=some(1, 15)),
        ),
        st.floats(0, 3),
    )
    return st.lists(spec, min_size=1, max_size=2).map(
        lambda specs: [
            shuffled(
                f"J{i}", maps_s, reduces_s, output_bytes,
                map_demand=map_demand, reduce_demand=reduce_demand, at_s=at_s,
            )
            for i, (maps_s, reduces_s, output_bytes, map_demand, reduce_demand, at_s)
            in enumerate(specs)
        ]
    )  # fmt: skip


@settings(deadline=None, max_examples=25)
@given(small_jobs(), st.integers(1, 2), st.sampled_from([0.05, 0.5, 1.0]), some(0.2, 1.0))
def test_small_fixed_steps_come_to_the_same_ends(jobs, count, slowstart, kappa_network):
    """Maps, fetching, resting and work on crowded nodes, simulated a second time without events.

    The referee's ends lie a step late, and each may pull the others along by a few steps.
    """
    knobs = {
        "contention": "shared", "kappa_network": kappa_network,
        "nic_bytes_per_s": 30 * MB, "parallel_copies": 2,
    }  # fmt: skip
    capacity = Resources(cpu=100, io=100, memory=100)
    state = simulate(nodes(count, 2, 2, capacity), jobs, slowstart=slowstart, **knobs)

    referee = Referee(state, knobs)
    referee.run()

    rested = sum(a.key.phase == 1 and a.started_at_s < a.shuffled_at_s for a in state.closed)
    event(f"reduces that fetched: {rested}")
    for attempt in state.closed:
        late_s = STEP_S * 20 + 0.01 * attempt.finished_at_s
        assert referee.ends_s[attempt.key] == pytest.approx(attempt.finished_at_s, abs=late_s)
        if attempt.key.phase == 1:
            shuffled_at_s = referee.shuffled_at_s[attempt.key]
            assert shuffled_at_s == pytest.approx(attempt.shuffled_at_s, abs=late_s)


@settings(deadline=None, max_examples=25)
@given(small_jobs(), st.integers(0, 50))
def test_shuffles_through_faults_end_and_repeat(jobs, seed):
    """Lost outputs, killed reduces, nodes that come back: every job ends, twice the same way, and
    no reduce begins its work before its share could have come and every map was done.
    """
    knobs = {
        "contention": "shared", "node_mtbf_s": 25.0, "node_repair_s": 2.0, "heartbeat_s": 0.5,
        "node_timeout_s": 2.0, "task_failure": 0.02,
    }  # fmt: skip
    capacity = Resources(cpu=200, io=200, memory=400)
    runs = [
        simulate(nodes(3, 2, 2, capacity), jobs, slowstart=0.3, seed=seed, **knobs)
        for _ in range(2)
    ]

    state = runs[0]
    assert trace(runs[1]) == trace(state)
    assert not state.active
    event(f"outputs lost: {any(a.is_undone for a in state.closed)}")
    for attempt in state.closed:
        if attempt.key.phase == 1 and attempt.state is AttemptState.DONE:
            job = attempt.phase.job.job
            share_bytes = job.map_output.bytes / job.phases[1].tasks
            least_s = share_bytes / SimulationSettings().fetch_bytes_per_s
            assert attempt.shuffled_at_s - attempt.started_at_s >= least_s * (1 - 1e-9)
