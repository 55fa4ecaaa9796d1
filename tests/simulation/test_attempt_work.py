"""All that the simulator knows ahead is in one field of an attempt; a live run leaves it empty."""

import pytest
from tests.simulation.worlds import World, chain

from sluice.core.entries import Attempt
from sluice.core.events import JobSubmitted, NodeJoined, Tick
from sluice.core.rules import Rules
from sluice.core.scheduler import Policies, Scheduler
from sluice.model.cluster import Cluster, Node
from sluice.model.slot_kind import SlotKind
from sluice.policies.defaults import AdmitAll, KeepPools, ReleaseOnArrival
from sluice.policies.orders.fifo import Fifo
from sluice.simulation.attempt_work import work_of

OF_THE_SIMULATOR = {"works_from_s", "ends_at_s", "work_s", "progress_max", "is_unreported"}
NODE = Node(node_id="n1", map_slots=1, reduce_slots=1)


def test_no_fact_of_the_simulator_is_a_field_of_its_own():
    assert not OF_THE_SIMULATOR & vars(Attempt).keys()


def test_a_live_attempt_has_no_work_that_is_known_ahead():
    policies = Policies(
        admission=AdmitAll(), release=ReleaseOnArrival(), tasks=Fifo(), pools=KeepPools()
    )
    scheduler = Scheduler(policies, rules=Rules(is_live=True))
    scheduler.handle(NodeJoined(0.0, NODE))
    scheduler.handle(JobSubmitted(0.0, chain("j", (SlotKind.MAP, 1, 5.0))))
    scheduler.handle(Tick(0.0))

    (attempt,) = scheduler.state.running.values()
    assert attempt.work is None


def test_the_simulator_keeps_when_work_begins_and_ends():
    job = chain("j", (SlotKind.MAP, 1, 5.0), (SlotKind.REDUCE, 1, 7.0, 2.0))
    world = World(Cluster(nodes=(NODE,)), [job])
    state = world.run(until_s=8.0)

    (reduce,) = state.running.values()
    work = work_of(reduce)
    assert (work.from_s, work.own_s, work.ends_at_s) == pytest.approx((7.0, 7.0, 14.0))
    assert work is reduce.work
