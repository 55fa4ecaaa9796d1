"""The memory of a policy around another: one document, or none if either cannot be saved."""

from types import SimpleNamespace

import pytest

from sluice.policies.memory import restore_around, saved_around


def around(inner, own):
    """A policy around another, with what each remembers."""
    return SimpleNamespace(inner=SimpleNamespace(saved=lambda: inner), memory=lambda: own)


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
    assert saved == saved_around(around(inner, own))


@pytest.mark.parametrize("own", [{}, {"b": 2}])
@pytest.mark.parametrize("inner", [{}, {"a": 1}])
def test_each_remembers_its_own_again(inner, own):
    heard = []
    policy = around(inner, own)
    policy.inner.restored = lambda saved, state: heard.append((saved, state))
    policy.remember = lambda saved, state: heard.append((saved, state))
    restore_around(policy, saved_around(policy), "state")

    assert heard == [(inner, "state"), (own, "state")]
