"""A node's slots: taken from the lowest, held by one, given back to all."""

from hypothesis import given
from hypothesis import strategies as st

from sluice.core.entries import NodeEntry
from sluice.model.cluster import Node
from sluice.model.ids import NodeId
from sluice.model.slot_kind import SlotKind

SLOTS = 9


def runs(slots):
    """How many intervals without a gap these slots are."""
    return sum(slot - 1 not in slots for slot in slots)


def spread(intervals):
    return [slot for first, count in intervals for slot in range(first, first + count)]


@given(st.lists(st.tuples(st.booleans(), st.integers(1, SLOTS))))
def test_slots_are_the_lowest_free_ones(steps):
    """Against a plain set of free numbers."""
    node = NodeEntry(Node(node_id=NodeId("n"), map_slots=SLOTS), 0)
    free, held = set(range(SLOTS)), []
    for takes, number in steps:
        if takes and number <= len(free):
            taken = node.take_slots(SlotKind.MAP, number)
            assert sorted(free)[:number] == spread(taken.intervals())
            assert len(taken.intervals()) == runs(sorted(free)[:number])
            free -= set(spread(taken.intervals()))
            held.append(taken)
        elif not takes and held:
            given_back = held.pop(number % len(held))
            node.give_back(SlotKind.MAP, given_back)
            free |= set(spread(given_back.intervals()))
        assert len(free) == node.free[SlotKind.MAP]
        assert SLOTS - len(free) == node.used(SlotKind.MAP)
        assert sorted(free) == sorted(spread(node.free.of(SlotKind.MAP).intervals()))
        assert (node.open_nodes.maps.first_from(0) == 0) == bool(free)


def test_a_node_serves_typed_slots_or_containers_never_both():
    """Any slot can be a container, so one in use counts against all of the other manner."""
    node = NodeEntry(Node(node_id=NodeId("n"), map_slots=2, reduce_slots=1), 0)
    taken = node.take_slots(SlotKind.MAP, 1)

    assert node.is_mixed(SlotKind.CONTAINER)
    assert not node.is_mixed(SlotKind.REDUCE)

    node.give_back(SlotKind.MAP, taken)
    node.take_slots(SlotKind.CONTAINER, 3)

    assert node.is_mixed(SlotKind.MAP)
    assert node.open_nodes.containers.first_from(0) == -1


@given(st.sets(st.integers(0, SLOTS - 1), min_size=1))
def test_slots_are_taken_by_their_numbers(wanted):
    node = NodeEntry(Node(node_id=NodeId("n"), map_slots=SLOTS), 0)
    free = node.free.of(SlotKind.MAP)
    taken = free.take_at([(number, 1) for number in sorted(wanted)])

    assert sorted(wanted) == spread(taken.intervals())
    assert sorted({*range(SLOTS)} - wanted) == sorted(spread(free.intervals()))
