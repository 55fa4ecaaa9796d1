"""The behaviour of a task policy that defines only what it starts."""

import random
import re
from pathlib import Path

import pytest
from tests.runs import map_reduce, scheduler_of

from sluice.core.commands import Launch
from sluice.core.events import JobSubmitted, NodeJoined, Tick
from sluice.core.protocols import Policy, TaskPolicy
from sluice.model.cluster import Node
from sluice.model.ids import NodeId
from sluice.model.slot_kind import SlotKind

MAP, REDUCE, CONTAINER = SlotKind.MAP, SlotKind.REDUCE, SlotKind.CONTAINER


class Uses(TaskPolicy):
    """Could use slots of some kinds, and starts nothing."""

    name = "uses"

    def __init__(self, kinds):
        super().__init__()
        self.kinds = kinds

    def assign(self, node, state, now_s):
        return ()

    def could_use(self, slot_kind, state):
        return slot_kind in self.kinds


class Starts(TaskPolicy):
    """Starts nothing; what it could use is what the base class says."""

    name = "starts"
    copies = False
    has_any = False

    def assign(self, node, state, now_s):
        return ()

    def wants_offer(self, state):
        return self.copies

    @property
    def has_any_slot(self):
        return self.has_any


def cluster_of(policy, nodes):
    """A state with nodes of (map slots, reduce slots, containers)."""
    scheduler = scheduler_of(policy)
    for number, (maps, reduces, containers) in enumerate(nodes):
        node = Node(
            node_id=NodeId(f"n{number}"),
            map_slots=maps,
            reduce_slots=reduces,
            containers=containers,
        )
        scheduler.handle(NodeJoined(0.0, node))
    return scheduler


@pytest.mark.parametrize("seed", range(30))
def test_the_next_node_is_the_first_with_a_free_slot_of_a_kind_of_use(seed):
    draw = random.Random(seed)
    shapes = [(1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1)]
    nodes = [draw.choice(shapes) for _ in range(draw.randint(1, 5))]
    for kinds in ([], [MAP], [REDUCE], [CONTAINER], [MAP, REDUCE], [REDUCE, CONTAINER]):
        policy = Uses(kinds)
        state = cluster_of(policy, nodes).state
        of_use = [
            number
            for number, node in enumerate(state.node_at)
            if any(node.free[kind] for kind in kinds)
        ]
        for index in range(len(nodes) + 1):
            expected = min((number for number in of_use if number >= index), default=-1)
            assert expected == policy.next_node(index, state)


def test_a_task_uses_a_slot_of_its_own_kind():
    policy = Starts()
    scheduler = cluster_of(policy, [(1, 1, 0)])

    def of_use():
        return [kind for kind in SlotKind if policy.could_use(kind, scheduler.state)]

    assert [] == of_use()
    scheduler.handle(JobSubmitted(0.0, map_reduce("a", 1, reduces=1)))
    assert [MAP] == of_use()  # the reduce waits for the map
    policy.copies = True
    assert list(SlotKind) == of_use()


def test_where_any_slot_will_do_a_task_uses_every_kind():
    policy = Starts()
    policy.has_any = True
    scheduler = cluster_of(policy, [(1, 1, 0)])

    assert [] == [kind for kind in SlotKind if policy.could_use(kind, scheduler.state)]
    scheduler.handle(JobSubmitted(0.0, map_reduce("a", 1)))
    assert all(policy.could_use(kind, scheduler.state) for kind in SlotKind)


def test_a_policy_that_asks_to_be_woken_holds_something_back():
    class Wakes(Starts):
        name = "wakes"
        at_s = None

        def wake_at_s(self, state, now_s):
            return self.at_s

    policy = Wakes()
    state = scheduler_of(policy).state
    assert not policy.holds_back(state, 0.0)
    policy.at_s = 0.0
    assert policy.holds_back(state, 0.0)


def test_a_policy_that_starts_nothing_launches_nothing():
    scheduler = cluster_of(Starts(), [(1, 1, 0)])
    scheduler.handle(JobSubmitted(0.0, map_reduce("a", 1)))

    assert [] == [one for one in scheduler.handle(Tick(0.0)) if isinstance(one, Launch)]


def test_the_documents_list_every_method():
    text = (Path(__file__).parents[2] / "docs" / "policies.md").read_text("utf-8")
    _, chapter = text.split("## Writing one\n")
    names = {*vars(Policy), *vars(TaskPolicy)} - {"settings"}  # compiled, it has a descriptor
    methods = {one for one in names if is_method(one) and not one.startswith("_")}

    assert len(methods) > 20
    assert set() == {one for one in methods if not re.search(rf"`{one}\b", chapter)}


def is_method(name):
    found = getattr(TaskPolicy, name)
    return callable(found) or hasattr(found, "__get__")


class Counts(Starts):
    """Remembers how often it was asked."""

    remembers = ("asked",)

    def __init__(self, asked):
        super().__init__()
        self.asked = asked


def test_a_policy_saves_the_attributes_that_it_names():
    counts, fresh = Counts(7), Counts(0)
    saved = counts.saved()
    fresh.restored(saved, scheduler_of(fresh).state)

    assert saved == {"asked": 7}
    assert fresh.asked == 7
    with pytest.raises(KeyError):
        fresh.restored({}, scheduler_of(fresh).state)


def test_a_policy_that_names_nothing_cannot_be_saved():
    assert Starts().saved() is None


@pytest.mark.parametrize("kind", [MAP, REDUCE, CONTAINER])
def test_a_policy_that_gives_any_slot_to_any_task_needs_slots_of_any_kind(kind):
    any_slot, own_slot = Starts(), Starts()
    any_slot.has_any = True
    nodes = [Node(node_id=NodeId("n"), map_slots=0, reduce_slots=1, containers=0)]

    assert any_slot.shortage(kind, nodes) is None
    assert (own_slot.shortage(kind, nodes) is None) == (kind is not MAP)
    assert "no slots" in any_slot.shortage(kind, []).what
