"""Events come off the agenda in their order, however they were put on it."""

import math
import random

import pytest

from sluice.simulation.agenda import (
    HEARTBEAT_RANK,
    NODE_RANK,
    SUBMISSION_RANK,
    TASK_RANK,
    WAKE_RANK,
    Agenda,
)

RANKS = [TASK_RANK, NODE_RANK, SUBMISSION_RANK, HEARTBEAT_RANK, WAKE_RANK]


def test_at_one_instant_tasks_end_first_and_the_core_wakes_last():
    agenda = Agenda()
    for rank in RANKS[::-1]:
        agenda.add(1.0, rank, rank)

    assert [agenda.pop() for _ in RANKS] == RANKS == sorted(RANKS)


def test_of_equal_events_the_first_that_was_added_comes_first():
    agenda = Agenda()
    agenda.add_known(1.0, TASK_RANK, "a")
    agenda.add(1.0, TASK_RANK, "b")
    agenda.add_known(1.0, TASK_RANK, "c")

    assert [agenda.pop() for _ in "abc"] == ["a", "b", "c"]


def test_an_empty_agenda_has_no_next_event():
    agenda = Agenda()
    assert (len(agenda), agenda.next_at_s) == (0, math.inf)
    with pytest.raises(IndexError):
        agenda.pop()

    agenda.add(1.0, TASK_RANK, "a")
    agenda.pop()
    assert (len(agenda), agenda.next_at_s) == (0, math.inf)
    with pytest.raises(IndexError):
        agenda.pop()


@pytest.mark.parametrize("seed", range(20))
def test_the_agenda_is_a_sorted_list(seed):
    """Events are added and taken in any turn, many of them at the same instants."""
    draw = random.Random(seed)
    agenda, expected = Agenda(), []
    known_s = sorted(float(draw.randrange(12)) for _ in range(draw.randrange(10)))
    for number in range(300):
        at_s, rank = float(draw.randrange(12)), draw.choice(RANKS)
        if known_s and draw.random() < 0.2:
            at_s, rank = known_s.pop(0), SUBMISSION_RANK
            agenda.add_known(at_s, rank, number)
            expected.append((at_s, rank, number))
        elif draw.random() < 0.55:
            agenda.add(at_s, rank, number)
            expected.append((at_s, rank, number))
        elif expected:
            expected.sort()
            assert agenda.next_at_s == expected[0][0]
            assert agenda.pop() == expected.pop(0)[2]
        assert len(agenda) == len(expected)
        assert agenda.next_at_s == min((one[0] for one in expected), default=math.inf)
    assert [agenda.pop() for _ in expected] == [number for *_, number in sorted(expected)]
