"""How many opportunities an application of YARN misses before it goes further from its input.

The first two cases are those of Hadoop's own tests: TestLeafQueue.testLocalityScheduling and
TestFSAppAttempt.testDelayScheduling.
"""

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.indexes.pending import LocatedTasks, Surroundings
from sluice.model.cluster import Locality
from sluice.model.errors import InvalidInput
from sluice.model.ids import NodeId
from sluice.policies.yarn.applications import Host
from sluice.policies.yarn.locality import LocalitySettings, delays_of
from sluice.policies.yarn.queues import Application, CapacityRules, FairRules, YarnQueue

NODE, RACK, ANY = Locality.NODE, Locality.RACK, Locality.ANY


class Asking:
    """One application that asks for tasks with inputs on some nodes. racks: of nodes n0, n1, ..."""

    def __init__(self, inputs, racks, *, rules=CapacityRules, **given):
        names = [NodeId(f"n{one}") for one in range(len(racks))]
        places = [tuple(NodeId(one) for one in places) for places in inputs]
        around = Surroundings(dict(zip(names, racks, strict=True)))
        self.phase = cast("Any", _Phase(LocatedTasks(len(inputs), places, around)))
        self.hosts = {
            name: Host(cast("Any", SimpleNamespace(
                node=SimpleNamespace(node_id=name, rack=rack), is_up=True)), 9)
            for name, rack in around.rack_of.items()
        }  # fmt: skip
        self.app = Application(0, YarnQueue(None, None, 0), "u", has_master=True)
        self.master = SimpleNamespace(request=self.phase, asked=Counter({self.phase: len(inputs)}))
        self.delays = delays_of(
            LocalitySettings(**given), rules(None), self.hosts,
            cast("Any", {self.app: self.master}),
        )  # fmt: skip

    def grants(self, node):
        """Whether the heartbeat of a node grants a container."""
        host = self.hosts[NodeId(node)]
        self.delays.begin(host)
        if not self.delays.allows(self.app):
            return False
        host.granted[self.phase] += 1
        self.master.asked[self.phase] -= 1
        return True

    def missed(self, node, most=100):
        """Heartbeats of a node without a container before the first with one."""
        return next(count for count in range(most) if self.grants(node))


class _Phase:
    def __init__(self, pending):
        self.pending = pending


def test_three_requests_at_four_places_wait_for_three_nodes_elsewhere():
    """Hadoop's own case: the off-switch container comes with the fourth opportunity."""
    asking = Asking([("n0",), ("n1",), ()], ["r0", "r1", "r2"])
    assert asking.missed("n2") == 3
    assert not asking.delays.is_near
    assert asking.grants("n0")
    assert asking.delays.is_near


def test_the_fair_scheduler_counts_shares_of_the_nodes():
    """Hadoop's own case, ten nodes: the rack comes with the sixth, any node seven later."""
    racks = ["r0", "r0"] + ["r1"] * 8
    thresholds = {"node_locality_threshold": 0.5, "rack_locality_threshold": 0.6}
    near = Asking([("n0",)] * 9, racks, rules=FairRules, **thresholds)
    assert near.missed("n1") == 5
    far = Asking([("n0",)] * 9, racks, rules=FairRules, **thresholds)
    assert far.missed("n2") == 5 + 7
    assert far.grants("n2"), "once it may go anywhere, it stays so"
    assert far.grants("n0"), "a container near its input begins the wait again"
    assert far.missed("n2") > 0


@pytest.mark.parametrize(("delay", "missed"), [(-1, 0), (0, 0), (1, 1), (2, 2), (3, 3), (40, 4)])
def test_the_rack_waits_for_the_delay_but_for_no_more_than_the_nodes(delay, missed):
    asking = Asking([("n0",)] * 9, ["r0"] * 4, node_locality_delay=delay)
    assert asking.missed("n1") == missed
    assert asking.missed("n1") == missed, "a container on the rack begins the count again"


def test_the_capacity_scheduler_misses_forty_nodes_by_default():
    """Hadoop's default of yarn.scheduler.capacity.node-locality-delay."""
    asking = Asking([("n0",)] * 9, ["r0"] * 50, rack_locality_delay=99)
    assert asking.missed("n1") == 40


@pytest.mark.parametrize(("more", "missed"), [(0, 1), (1, 2), (2, 3), (9, 5)])
def test_other_racks_wait_for_the_additional_delay(more, missed):
    asking = Asking(
        [("n0",)] * 9, ["r0", "r1", "r1", "r1", "r1"],
        node_locality_delay=1, rack_locality_delay=more,
    )  # fmt: skip
    assert asking.missed("n1") == missed
    assert asking.missed("n1") == 0, "a container elsewhere leaves the count as it is"


def test_few_requests_at_few_places_wait_for_few_nodes():
    """One request at a node and a rack of eight nodes: the first opportunity is above 1 * 2 / 8."""
    racks = ["r0"] + ["r1"] * 7
    assert Asking([("n0",)], racks).missed("n1") == 0
    assert Asking([("n0",)] * 10, racks).missed("n1") == 2


def test_fair_does_not_wait_unless_it_has_both_thresholds():
    assert Asking([("n0",)], ["r0", "r1"], rules=FairRules).grants("n1")
    one = Asking([("n0",)], ["r0", "r1"], rules=FairRules, node_locality_threshold=1.0)
    assert one.grants("n1")


@pytest.mark.parametrize(("near", "far", "missed"), [(0, 0, 2), (0, 1, 4), (0.5, 0, 2), (0, -1, 0)])
def test_a_threshold_of_zero_is_a_wait_of_one_opportunity(near, far, missed):
    """With two nodes, and the input in another rack. Below zero is no threshold."""
    thresholds = {"node_locality_threshold": near, "rack_locality_threshold": far}
    asking = Asking([("n0",)], ["r0", "r1"], rules=FairRules, **thresholds)

    assert asking.missed("n1") == missed


def test_requests_for_a_node_are_as_many_as_its_tasks():
    """The third container is one for the rack, as a node holds the input of two tasks."""
    asking = Asking(
        [("n0",), ("n0",), ("n1",)], ["r0", "r0"], node_locality_delay=2, rack_locality_delay=9
    )  # fmt: skip
    assert [asking.grants("n0") for _ in range(5)] == [True, True, False, False, True]


@given(st.integers(0, 50), st.integers(-1, 50), st.integers(1, 12), st.integers(1, 30))
def test_no_wait_is_longer_than_one_opportunity_for_each_node(delay, more, nodes, tasks):
    racks = [f"r{one % 3}" for one in range(nodes + 1)]
    asking = Asking(
        [("n0",)] * tasks, racks, node_locality_delay=delay, rack_locality_delay=more
    )  # fmt: skip
    assert asking.missed("n1") <= len(racks)


@pytest.mark.parametrize(
    ("rules", "name"),
    [(FairRules, "node_locality_delay"), (CapacityRules, "rack_locality_threshold")],
)
def test_a_setting_of_the_other_scheduler_is_refused(rules, name):
    with pytest.raises(InvalidInput, match="has no effect"):
        Asking([("n0",)], ["r0"], rules=rules, **{name: 1})
