"""The memory of a policy around another: one document, or none if either cannot be saved."""

import pytest

from sluice.core.protocols import TaskPolicy
from sluice.core.state import ClusterState
from sluice.policies.decorator import Decorator
from sluice.policies.memory import saved_around


@pytest.mark.parametrize(
    ("inner", "own", "saved"),
    [
        ({}, {}, {}),
        ({"a": 1}, {}, {"inner": {"a": 1}}),
        ({}, {"b": 2}, {"own": {"b": 2}}),
        ({"a": 1}, {"b": 2}, {"inner": {"a": 1}, "own": {"b": 2}}),
        (None, {"b": 2}, None),
        ({"a": 1}, None, None),
        (None, None, None),
    ],
)
def test_both_memories_are_saved_or_none(inner, own, saved):
    assert saved == saved_around(inner, own)


class Inside(TaskPolicy):
    """A policy with a memory, which notes what it is given back."""

    def __init__(self, memory):
        super().__init__()
        self.known, self.heard = memory, []

    def saved(self):
        return self.known

    def restored(self, saved, state):
        self.heard.append((saved, state))


class Around(Decorator):
    """A policy around another, with a memory of its own."""

    def __init__(self, inner, memory):
        super().__init__(inner)
        self.known, self.heard = memory, []

    def memory(self):
        return self.known

    def remember(self, saved, state):
        self.heard.append((saved, state))


@pytest.mark.parametrize("own", [{}, {"b": 2}])
@pytest.mark.parametrize("inner", [{}, {"a": 1}])
def test_each_remembers_its_own_again(inner, own):
    inside = Inside(inner)
    policy = Around(inside, own)
    state = ClusterState()
    policy.restored(policy.saved(), state)

    assert [(inner, state)] == inside.heard
    assert [(own, state)] == policy.heard
