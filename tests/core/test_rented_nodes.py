"""Nodes that are rented and given back: what is withheld, and when a node may go."""

from tests.runs import map_reduce

from sluice.core.commands import Provision, Release, Wake
from sluice.core.events import JobsForgotten, JobSubmitted, NodeJoined, NodeLost, TaskFinished, Tick
from sluice.core.explain.story import story
from sluice.core.protocols import PoolPolicy, Reservation
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.scheduler import Policies, Scheduler
from sluice.model.cluster import Node
from sluice.model.ids import NodeId
from sluice.model.slot_kind import SlotKind
from sluice.policies.defaults import AdmitAll, ReleaseOnArrival
from sluice.policies.rooms.yarn_like import YarnLike

WHY = Reason(ReasonCode.VM_UNNEEDED, (("needed", 1), ("vms", 2)))


class Asks(PoolPolicy):
    """Asks once for what a test sets."""

    def __init__(self):
        super().__init__()
        self.next, self.kept, self.wake = [], 0, None

    def reserve(self, waiting, state, now_s):
        answer, self.next = self.next, []
        return answer

    def kept_free(self, state):
        return self.kept

    def wake_at_s(self, state, now_s):
        return self.wake


class World:
    """Two nodes of two containers."""

    def __init__(self):
        self.asks = Asks()
        policies = Policies(
            admission=AdmitAll(), release=ReleaseOnArrival(), tasks=YarnLike(), pools=self.asks
        )
        self.scheduler = Scheduler(policies)
        self.state = self.scheduler.state
        for name in ("n1", "n2"):
            self.join(name)

    def join(self, name, at_s=0.0):
        self.scheduler.handle(NodeJoined(at_s, Node(node_id=NodeId(name), containers=2)))

    def rent_and_give_back(self, name, at_s):
        """A node comes and goes within 10 s."""
        self.tick(at_s, Reservation("", 1, WHY))
        self.join(name, at_s + 5.0)
        self.tick(at_s + 6.0, Reservation("", -1, WHY, (NodeId(name),)))
        self.scheduler.handle(NodeLost(at_s + 10.0, NodeId(name), "given back"))

    def submit(self, *jobs):
        for job in jobs:
            self.scheduler.handle(JobSubmitted(0.0, job, {}, False))

    def tick(self, at_s=0.0, *asked):
        self.asks.next = list(asked)
        return self.scheduler.handle(Tick(at_s))

    def finish(self, at_s, node):
        for attempt in list(self.state.running.values()):
            if attempt.node.node_id == node:
                self.scheduler.handle(TaskFinished(at_s, attempt.key, at_s))

    def machines(self, commands):
        return [one for one in commands if isinstance(one, Provision | Release)]


def test_a_node_that_runs_something_is_given_back_when_that_ends():
    world = World()
    world.submit(map_reduce("j", 4, 10.0))
    world.tick()
    back = Reservation("", -1, WHY, (NodeId("n2"),))

    assert [] == world.machines(world.tick(1.0, back))
    world.finish(10.0, "n2")
    assert [Release(NodeId("n2"), WHY)] == world.machines(world.tick(10.0))


def test_all_containers_of_a_node_that_leaves_are_withheld_those_in_use_too():
    """All that runs there is owed elsewhere as soon as it ends there."""
    world = World()
    world.submit(map_reduce("j", 3, 10.0))
    world.tick()
    assert 1 == world.state.spare_containers()
    world.tick(1.0, Reservation("", -1, WHY, (NodeId("n2"),)))

    assert 4 - 2 - 3 == world.state.spare_containers()
    world.asks.kept = 1
    world.tick(2.0)
    assert 4 - 2 - 3 - 1 == world.state.spare_containers()


def test_a_node_with_an_output_that_a_job_needs_stays():
    world = World()
    world.submit(map_reduce("j", 4, 10.0, 1, 10.0))
    world.tick()
    world.tick(1.0, Reservation("", -1, WHY, (NodeId("n2"),)))
    world.finish(10.0, "n2")
    world.finish(10.0, "n1")

    assert [] == world.machines(world.tick(10.0))
    assert {NodeId("n1")} == {one.node.node_id for one in world.state.running.values()}
    world.finish(20.0, "n1")
    assert [Release(NodeId("n2"), WHY)] == world.machines(world.tick(20.0))


def test_the_node_with_the_least_work_leaves_where_none_is_named():
    world = World()
    world.submit(map_reduce("j", 2, 10.0))
    world.tick()

    assert [Release(NodeId("n2"), WHY)] == world.machines(world.tick(1.0, Reservation("", -1, WHY)))


def test_a_node_that_leaves_is_kept_before_another_is_rented():
    world = World()
    world.submit(map_reduce("j", 4, 10.0))
    world.tick()
    world.tick(1.0, Reservation("", -1, WHY, (NodeId("n2"),)))

    assert [Provision("", 1, WHY)] == world.machines(world.tick(2.0, Reservation("", 2, WHY)))
    assert {} == world.state.machines.leaving
    assert 1 == world.state.machines.to_come
    whats = [line.what for line in story("n2", world.state).lines]
    assert ["gets no more work", "kept after all"] == whats[-2:]


def test_nodes_that_join_are_the_ones_that_were_awaited():
    world = World()
    world.tick(0.0, Reservation("", 1, WHY))
    world.join("vm-1", 5.0)
    world.join("of-an-operator", 6.0)

    assert 0 == world.state.machines.to_come
    changes = [(one.what, one.node_id) for one in world.state.machines.changes]
    assert [("rented", ""), ("joined", "vm-1")] == changes


def test_another_node_may_have_the_name_of_one_that_was_given_back():
    """It gets work, and counts as the one that is awaited."""
    world = World()
    world.rent_and_give_back("vm-1", 0.0)
    world.tick(20.0, Reservation("", 1, WHY))
    world.join("vm-1", 25.0)
    world.submit(map_reduce("j", 6, 10.0))
    world.tick(26.0)

    assert 0 == world.state.machines.to_come
    assert 3 == len(world.state.nodes)
    assert 2 == sum(one.node.node_id == "vm-1" for one in world.state.running.values())
    changes = [one.what for one in world.state.machines.changes if one.node_id == "vm-1"]
    assert ["joined", "unneeded", "returned", "joined"] == changes


def test_a_node_that_is_back_is_not_the_one_that_is_awaited():
    world = World()
    world.tick(0.0, Reservation("", 1, WHY))
    world.scheduler.handle(NodeLost(1.0, NodeId("n2"), "gone"))
    world.join("n2", 2.0)

    assert 1 == world.state.machines.to_come


def test_no_more_is_known_of_rented_nodes_than_is_needed_to_go_on():
    """However many came and went, once jobs are forgotten."""
    world = World()
    world.submit(map_reduce("over", 1, 10.0), map_reduce("long", 6, 900.0))
    world.tick()
    for number in range(20):
        world.rent_and_give_back(f"vm-{number % 2}", 20.0 * number)
    world.tick(400.0, Reservation("", 3, WHY))
    world.join("vm-1", 405.0)
    world.tick(406.0)  # it gets work
    for number in range(9):
        world.tick(407.0 + number, Reservation("", -1, WHY, (NodeId("vm-1"),)))
        world.tick(407.5 + number, Reservation("", 1, WHY))
    assert 100 == len(world.state.machines.changes)
    over = next(one for one in world.state.running.values() if one.phase.job_id == "over")
    world.scheduler.handle(TaskFinished(420.0, over.key, 420.0))
    world.scheduler.handle(JobsForgotten(420.0, ("over",)))

    changes = [(one.what, one.node_id) for one in world.state.machines.changes]
    assert [("rented", ""), ("joined", "vm-1"), ("kept", "vm-1")] == changes
    assert {"vm-0"} == world.state.machines.returned
    assert (2, 4) == (world.state.machines.to_come, len(world.state.nodes))


def test_a_node_that_is_lost_while_it_leaves_is_withheld_no_more():
    world = World()
    world.submit(map_reduce("j", 4, 10.0))
    world.tick()
    world.tick(1.0, Reservation("", -1, WHY, (NodeId("n2"),)))
    world.scheduler.handle(NodeLost(2.0, NodeId("n2"), "gone"))

    assert 0 == world.state.machines.withheld
    assert 2 == world.state.slots[SlotKind.CONTAINER]
    assert [] == world.machines(world.tick(2.0))


def test_the_wake_up_that_the_policy_wants_is_asked_for_once():
    world = World()
    world.asks.wake = 9.0

    assert [Wake(9.0)] == [one for one in world.tick(1.0) if isinstance(one, Wake)]
    assert [] == [one for one in world.tick(2.0) if isinstance(one, Wake)]
