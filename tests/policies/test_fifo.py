"""First in, first out, by heartbeats: what a node gets whose input is elsewhere."""

import pytest
from tests.policies.lending import Trackers
from tests.runs import map_reduce

from sluice.model.cluster import Locality
from sluice.model.slot_kind import SlotKind
from sluice.policies.copies.late import Late
from sluice.policies.orders.fifo import Fifo


@pytest.mark.parametrize("over", [lambda line: line, Late], ids=["alone", "with copies"])
@pytest.mark.parametrize(("place", "started"), [("n1", 3), ("n2", 1), (None, 3)])
def test_a_heartbeat_gets_one_map_whose_input_is_in_another_rack(over, place, started):
    """Node n1 has 3 free slots; without known places of its input a job has no far map."""
    trackers = Trackers((3, 0), (3, 0), policy=over(Fifo(by_heartbeat=True)))
    trackers.submit(map_reduce("a", 5), locations=None if place is None else ((place,),) * 5)

    assert started == len(trackers.beat("n1"))


@pytest.mark.parametrize(
    ("policy", "started"),
    [
        (Fifo(), 3),
        (Fifo.build(Fifo.Settings(heartbeat_s=0.0)), 3),
        (Fifo.build(Fifo.Settings(heartbeat_s=0.5)), 1),
    ],
)
def test_only_where_nodes_ask_by_heartbeat_a_node_gets_one_far_map(policy, started):
    trackers = Trackers((3, 0), (3, 0), policy=policy)
    trackers.submit(map_reduce("a", 5), locations=(("n2",),) * 5)

    assert started == len(trackers.beat("n1"))


@pytest.mark.parametrize(("node", "job"), [("n1", "b"), ("n2", "a"), ("n3", None)])
def test_the_first_job_with_input_on_a_node_is_the_one_next_to_its_data(node, job):
    policy = Fifo(by_heartbeat=True)
    trackers = Trackers((1, 0), (1, 0), (1, 0), policy=policy)
    for name, place in (("a", "n2"), ("b", "n1"), ("c", "n1")):
        trackers.submit(map_reduce(name, 1), locations=((place,),))
    found = policy.pick_within(trackers.state.nodes[node], SlotKind.MAP, Locality.NODE)

    assert job == (found and found.phase.job.job_id)
