"""First in, first out, by heartbeats: what a node gets whose input is elsewhere."""

import pytest
from tests.policies.lending import Trackers
from tests.runs import map_reduce

from sluice.policies.copies.late import Late
from sluice.policies.orders.fifo import Fifo


@pytest.mark.parametrize("over", [lambda line: line, Late], ids=["alone", "with copies"])
@pytest.mark.parametrize(("place", "started"), [("n1", 3), ("n2", 1), (None, 3)])
def test_a_heartbeat_gets_one_map_whose_input_is_in_another_rack(over, place, started):
    """Node n1 has 3 free slots; without known places of its input a job has no far map."""
    trackers = Trackers((3, 0), (3, 0), policy=over(Fifo(by_heartbeat=True)))
    trackers.submit(map_reduce("a", 5), locations=None if place is None else ((place,),) * 5)

    assert started == len(trackers.beat("n1"))
