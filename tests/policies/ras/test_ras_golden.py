"""RAS: the worked examples of the spec, section 7 (G6 is a test of the contention model)."""

import pytest
from tests.policies.ras.worlds import need, simulation, trackers, with_settings

from sluice.core.events import JobSubmitted, NodeHeartbeat, NodeJoined
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import NodeId
from sluice.model.job import Demand, Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind
from sluice.policies.ras.control_cycle import CycleRules, CycleState, run_cycle
from sluice.policies.ras.utility import NO_SLOT, job_utility, map_slots_needed

REDUCE_SLOTS = (0, 1, 2, 5, 9, 10)
G1 = {
    1: (-2.0, -2.0, -1.6990, -1.3010, -1.0458, -1.0),
    5: (-1.4628, -1.4628, -1.1617, -0.7638, -0.5085, -0.4628),
    10: (-1.2314, -1.2314, -0.9303, -0.5324, -0.2771, -0.2314),
    19: (-1.0171, -1.0171, -0.7161, -0.3182, -0.0629, -0.0171),
    20: (-1.0, -1.0, -0.6990, -0.3010, -0.0458, 0.0),
    25: (-0.6667, -0.6667, -0.3656, 0.0323, 0.2876, 0.3333),
    30: (-0.3333, -0.3333, -0.0323, 0.3656, 0.6209, 0.6667),
    35: (0.0, 0.0, 0.3010, 0.6990, 0.9542, 1.0),
}


@pytest.mark.parametrize("map_slots", sorted(G1))
def test_g1_utility(map_slots):
    row = tuple(round(job_utility(map_slots, 20, 35, r, 10), 4) for r in REDUCE_SLOTS)

    assert G1[map_slots] == row


@pytest.mark.parametrize("reduce_slots", REDUCE_SLOTS)
def test_g1_without_a_map_slot_no_reduce_helps(reduce_slots):
    assert NO_SLOT == job_utility(0, 20, 35, reduce_slots, 10)


def test_g2_one_cycle():
    jobs = [
        need("A", "sort", 12, 4, 3),
        need("B", "combine", 20, 6, 1, at_s=5.0),
        need("C", "select", 6, 1, 1, at_s=9.0),
    ]
    placement = run_cycle(trackers(3), jobs).placement

    everywhere = ("n1", "n2", "n3")
    assert {
        "A": dict.fromkeys(everywhere, 1),
        "B": dict.fromkeys(everywhere, 2),
        "C": dict.fromkeys(everywhere, 1),
    } == placement.slots_by_id(placement.maps_on)
    assert {
        "A": dict.fromkeys(everywhere, 1),
        "B": {"n1": 1},
        "C": {"n2": 1},
    } == placement.slots_by_id(placement.reduces_on)
    assert pytest.approx([-0.2075, 0.0, 0.4], abs=1e-4) == placement.utility
    assert pytest.approx((95, 85.525, 55)) == placement.use(0)
    assert pytest.approx((95, 85.495, 55)) == placement.use(1)
    assert pytest.approx((95, 85.45, 55)) == placement.use(2)


def newcomer(loop):
    """G3: a job holds the node, and another arrives whose map needs the room of three."""
    jobs = [need("X", "select", 40, 2), need("Y", "sort", 10, 2, at_s=1.0)]
    state = CycleState(map_slots={"X": {"n1": 5}})
    placement = run_cycle(trackers(1), jobs, state, CycleRules(loop=loop)).placement
    return placement.map_slots


def test_g3_the_repaired_loop_makes_room_for_a_newcomer():
    assert [2, 1] == newcomer("repaired")


def test_g3_the_printed_loop_starves_the_newcomer():
    """Erratum E4: the job that has just lost a slot is itself the lowest with room."""
    assert [5, 0] == newcomer("printed")


def test_g4_estimator():
    assert 14 == map_slots_needed(150, 180.0, 2600.0, 600.0)
    assert 150 == map_slots_needed(150, None, 2600.0, 600.0)
    assert 150 == map_slots_needed(150, 180.0, 2600.0, 2700.0)
    assert 0 == map_slots_needed(0, 180.0, 2600.0, 600.0)
    assert 150 == map_slots_needed(150, 180.0, None, 600.0)
    # 3 s of reduce work and a map's length are kept before the goal.
    assert 15 == map_slots_needed(150, 180.0, 2600.0, 600.0, reserved_s=183.0)


def test_g5_a_heartbeat_starts_only_what_fits_beside_the_old_tasks():
    """Two Sort maps run; the next placement gives the node to Combine: one of three maps starts."""
    node = Node(node_id=NodeId("n1"), capacity=Resources(cpu=100.0, io=100.0, memory=100.0))
    cluster = Cluster(nodes=(node,))
    settings = with_settings(period_s=30.0, between_cycles=False)
    scheduler, _ = simulation(settings, cluster, [])
    scheduler.rules = scheduler.rules.__class__(slowstart=1.0, by_heartbeat=True)
    scheduler.handle(NodeJoined(0.0, node))
    sort = Resources(cpu=30.0, io=45.0, memory=25.0)
    scheduler.handle(JobSubmitted(0.0, maps_only("A", 2, sort, 0.0), {}, False, False))
    first = scheduler.handle(NodeHeartbeat(0.0, node.node_id))
    combine = Resources(cpu=25.0, io=10.0, memory=10.0)
    scheduler.handle(JobSubmitted(10.0, maps_only("B", 3, combine, 10.0), {}, False, True))
    between = scheduler.handle(NodeHeartbeat(12.0, node.node_id))
    second = scheduler.handle(NodeHeartbeat(30.0, node.node_id))

    assert ["A", "A"] == [command.key.job_id for command in first]
    assert [] == between
    assert ["B"] == [command.key.job_id for command in second]


def maps_only(job_id, maps, demand, at_s):
    phase = Phase(
        name="map",
        kind=SlotKind.MAP,
        tasks=maps,
        lengths=ConstantLengths(100.0, 100.0),
        demand=Demand(work=demand),
    )
    return Job(job_id=job_id, pool="p", phases=(phase,), submitted_at_s=at_s)
