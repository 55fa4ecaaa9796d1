"""Where tasks have room: those that read from tasks that are not done hold half of the slots."""

from types import SimpleNamespace
from typing import Any

import pytest

from sluice.core.reasons import Reason, ReasonCode
from sluice.model.cluster import Node
from sluice.model.ids import NodeId
from sluice.model.job import Demand, Phase
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind
from sluice.policies.rooms.room import Containers, FreeResources, Lent

ANY_NODE = SimpleNamespace(is_up=True, fits=lambda _: True)
FULL_NODE = SimpleNamespace(is_up=True, fits=lambda _: False)


def phase(running=0, *, has_inputs=False, kind=SlotKind.CONTAINER):
    demand = SimpleNamespace(work=None)
    return SimpleNamespace(
        running=running, has_inputs=has_inputs, kind=kind, phase=SimpleNamespace(demand=demand)
    )


def attached(room, slots, early, busy=0):
    """A room in a cluster in which `early` tasks wait for others, and 7 tasks do not."""
    job = SimpleNamespace(phases=[phase(early), phase(7, has_inputs=True)])
    state = SimpleNamespace(slots={SlotKind.CONTAINER: slots}, busy=busy)
    state.active, state.nodes = {"j": job}, {"n": ANY_NODE}
    room.attach(state)
    return room


@pytest.mark.interpreted
@pytest.mark.parametrize("room", [Containers, Lent, FreeResources])
@pytest.mark.parametrize(("slots", "most"), [(7, 3), (6, 3), (5, 2)])
def test_tasks_that_wait_for_others_hold_at_most_half_of_the_slots(room, slots, most):
    one_less, full = attached(room(), slots, most - 1), attached(room(), slots, most)

    assert one_less.fits(phase(), ANY_NODE)
    assert one_less.explain(phase()) is None
    assert not full.fits(phase(), ANY_NODE)
    assert full.explain(phase()) == Reason(ReasonCode.EARLY_LIMIT, (("most", most),))
    ready = phase(has_inputs=True)
    assert full.fits(ready, ANY_NODE)
    assert full.explain(ready) is None


@pytest.mark.interpreted
def test_only_tasks_of_stages_are_limited_where_slots_are_lent():
    room = attached(Lent(), 6, 3)

    assert room.fits(phase(kind=SlotKind.REDUCE), ANY_NODE)
    assert room.explain(phase(kind=SlotKind.REDUCE)) is None


@pytest.mark.interpreted
@pytest.mark.parametrize(("busy", "most"), [(0, 1), (1, 1), (3, 1), (4, 2), (9, 4)])
def test_without_slots_to_count_early_tasks_are_half_of_what_runs_or_one(busy, most):
    assert attached(FreeResources(), 0, most - 1, busy).fits(phase(), ANY_NODE)
    assert not attached(FreeResources(), 0, most, busy).fits(phase(), ANY_NODE)


@pytest.mark.interpreted
def test_a_node_that_is_gone_has_no_room_for_a_task():
    room = attached(FreeResources(), 6, 1)
    room.state.nodes = {"n": FULL_NODE, "gone": SimpleNamespace(is_up=False, fits=lambda _: True)}

    assert Reason(ReasonCode.NO_FIT) == room.explain(phase())


@pytest.mark.interpreted
def test_a_task_needs_its_resources_on_the_node():
    assert not attached(FreeResources(), 6, 1).fits(phase(has_inputs=True), FULL_NODE)


@pytest.mark.parametrize(
    ("memory", "containers", "is_kept"),
    [(100, 4, True), (99, 4, False), (100, 5, False), (0, 4, True), (100, 0, False)],
)
def test_resources_keep_promises_where_slots_are_used_up_first(memory, containers, is_kept):
    demand = Demand(work=Resources(memory=25))
    phase = Phase(name="all", kind=SlotKind.CONTAINER, tasks=9, demand=demand)
    job: Any = SimpleNamespace(phases=(phase,))
    node = Node(node_id=NodeId("n"), containers=containers, capacity=Resources(memory=memory))

    assert is_kept == FreeResources().keeps_promises([job], [node])
