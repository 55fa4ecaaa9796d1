"""The running attempts against a plain dictionary by key."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.entries import Attempt
from sluice.core.indexes.free_slots import SlotSpan
from sluice.core.indexes.running import RunningAttempts
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.transitions import AttemptState
from sluice.model.attempts import AttemptKey
from sluice.model.slot_kind import SlotKind

PHASES = [SimpleNamespace(job_id=job_id, index=index) for job_id in "ab" for index in (0, 1)]
REASON = Reason(ReasonCode.FIRST_IN_LINE)
places = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 2))


def attempt(place):
    phase, task, number = place
    span = SlotSpan(0, 1)
    return Attempt(
        PHASES[phase], None, 0.0, task, number, 1, SlotKind.MAP, span, None, False, REASON
    )


def key_of(place):
    phase, task, number = place
    return AttemptKey(PHASES[phase].job_id, PHASES[phase].index, task, number)


@pytest.mark.interpreted
@given(
    st.lists(
        st.tuples(st.sampled_from(["start", "end", "ask", "walk", "expect"]), places), max_size=120
    )
)
def test_attempts_are_found_by_key_before_and_after_there_is_an_index(steps):
    """Few questions search the attempts; many have an index made."""
    running, naive = RunningAttempts(), {}
    for step, place in steps:
        key = key_of(place)
        if step == "start" and key not in naive:
            naive[key] = attempt(place)
            running.add(naive[key])
        elif step == "end" and key in naive:
            naive[key].state = AttemptState.DONE
            running.remove(naive.pop(key))
        elif step == "expect" and key in naive:
            running.expect(naive[key])
        elif step == "ask":
            assert naive.get(key) is running.get(key)
        elif step == "walk":
            assert list(naive.values()) == running.values()
        assert len(naive) == len(running)


@pytest.mark.interpreted
def test_who_is_expected_is_found_without_a_search():
    """However many are; those that have ended make room for others."""
    running = RunningAttempts()
    for task in range(200):
        one = attempt((0, task, 1))
        running.add(one)
        running.expect(one)
        searched = running._searched
        assert running.get(one.key) is one
        assert running._searched == searched
        one.state = AttemptState.KILLED
        running.remove(one)
        assert running.get(one.key) is None

    assert len(running._expected) <= 64


@pytest.mark.interpreted
def test_many_questions_have_an_index_made():
    running = RunningAttempts()
    kept = [attempt((0, task, 1)) for task in range(10)]
    for one in kept:
        running.add(one)
    found = [running.get(kept[5].key) for _ in range(20)]

    assert found == [kept[5]] * 20
    assert running._by_key is not None
