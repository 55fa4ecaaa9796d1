"""A node is left alone only if all that waits had no room on it."""

from types import SimpleNamespace

import pytest

from sluice.model.slot_kind import SlotKind
from sluice.policies.rooms.refusals import Refusals

MAP, REDUCE = SlotKind.MAP, SlotKind.REDUCE
NODE = SimpleNamespace(index=3)
pytestmark = pytest.mark.interpreted  # a state of a few attributes


@pytest.fixture
def refusals():
    """With two phases of maps that wait."""
    backlogs = {kind: SimpleNamespace(added=2, count=2) for kind in SlotKind}
    return Refusals(
        SimpleNamespace(node_changes=0, backlogs=backlogs, observe_attempts=lambda _: None)
    )


def refused(refusals, *phases):
    """The node has been asked about these phases, and nothing has started."""
    assert not refusals.has(NODE, MAP)
    for one in phases:
        refusals.refuse(one)
    refusals.note(NODE, MAP)
    return refusals.has(NODE, MAP)


@pytest.mark.parametrize(
    ("phases", "expected"), [("", False), ("a", False), ("aa", False), ("ab", True)]
)
def test_a_node_is_refused_if_each_phase_that_waits_was(refusals, phases, expected):
    assert expected == refused(refusals, *phases)
    assert not refusals.has(NODE, REDUCE)


def test_what_one_question_refused_does_not_count_for_the_next(refusals):
    assert not refused(refusals, "a")
    assert not refused(refusals, "b")


def test_a_refused_node_is_asked_again_after_what_may_give_it_room(refusals):
    """A task ends on it, work joins the queue, or a node comes or goes."""
    assert refused(refusals, "a", "b")
    refusals.ended(SimpleNamespace(node=NODE))
    assert refused(refusals, "a", "b")
    refusals._state.backlogs[MAP].added += 1
    assert not refusals.has(NODE, MAP)
    assert refused(refusals, "a", "b")
    refusals._state.node_changes += 1
    assert not refusals.has(NODE, MAP)
