"""Jobs with goals: which are kept, and how long tasks take where no profile says it."""

import random
from itertools import accumulate, combinations
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

import pytest

from sluice.core.transitions import AttemptState
from sluice.model.lengths import ConstantLengths
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.goals import Goals, GoalSettings, _MeanLengths


def phase(lengths=None, fetch=None):
    return Mock(phase=SimpleNamespace(lengths=lengths, fetch=fetch), tasks=4)


def ended(of, started_at_s, finished_at_s, state=AttemptState.DONE):
    return SimpleNamespace(
        phase=of, started_at_s=started_at_s, finished_at_s=finished_at_s, state=state
    )


@pytest.mark.interpreted
def test_without_a_profile_the_mean_of_the_tasks_that_are_done_counts():
    lengths, known, unknown = _MeanLengths(), phase(ConstantLengths(9.0, 9.0)), phase()
    assert (lengths.mean_s(known), lengths.mean_s(unknown)) == (9.0, 0.0)

    for of in (known, unknown):
        lengths.ended(ended(of, 10.0, 13.0))
        lengths.ended(ended(of, 20.0, 25.0))
        lengths.ended(ended(of, 0.0, 90.0, AttemptState.FAILED))

    assert (lengths.mean_s(known), lengths.mean_s(unknown)) == (9.0, 4.0)


@pytest.mark.interpreted
def test_a_profile_counts_with_the_time_to_fetch():
    of = phase(ConstantLengths(9.0, 9.0), ConstantLengths(2.0, 2.0))
    assert _MeanLengths().mean_s(of) == 11.0


def due(number, deadline_at_s, tasks, length_s):
    """A job of independent tasks; its deadline, None for none."""
    of = Mock(phase=SimpleNamespace(lengths=ConstantLengths(length_s, length_s), fetch=None))
    of.configure_mock(tasks=tasks, done=0, is_done=False, after=())
    deadline = SimpleNamespace(deadline_at_s=deadline_at_s)
    return Mock(job=deadline, seniority=number, phases=(of,), job_id=f"j{number}", has_ended=False)


def kept(jobs, now_s, slots):
    """The numbers of the jobs whose deadlines are kept, the first deadline first."""
    goals = Goals(Mock(), GoalSettings())
    active = {one.job_id: one for one in jobs}
    goals.attach(MagicMock(active=active, slots={SlotKind.CONTAINER: slots}))
    goals.begin(now_s)
    return [int(name[1:]) for name in goals.memory()["kept"]]


def are_in_time(jobs, now_s, slots):
    """Whether the slots end the work of all jobs, the first deadline first, in time."""
    works_s = accumulate(one.phases[0].tasks * mean_s(one) / slots for one in jobs)
    return all(
        now_s + max(work_s, mean_s(one)) <= one.job.deadline_at_s
        for work_s, one in zip(works_s, jobs, strict=True)
    )


def mean_s(one):
    return one.phases[0].phase.lengths.avg_s(1)


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", range(60))
def test_no_other_choice_keeps_more_deadlines(seed):
    """Of all sets of up to six jobs. Lengths are powers of two, so that no sum is rounded."""
    draw = random.Random(seed)
    now_s, slots = draw.choice([0.0, 8.0]), draw.choice([1, 2, 4])
    jobs = [
        due(number, now_s + draw.randint(1, 16), draw.randint(1, 8), draw.choice([1.0, 2.0]))
        for number in range(6)
    ]
    in_order = sorted(jobs, key=lambda one: (one.job.deadline_at_s, one.seniority))
    chosen = kept([*jobs, due(9, None, 1, 1.0)], now_s, slots)
    sets = (one for count in range(7) for one in combinations(in_order, count))

    assert chosen == [one.seniority for one in in_order if one.seniority in chosen]
    assert are_in_time([one for one in in_order if one.seniority in chosen], now_s, slots)
    assert len(chosen) == max(len(one) for one in sets if are_in_time(one, now_s, slots))


@pytest.mark.interpreted
def test_a_deadline_is_kept_that_is_met_at_its_last_moment():
    """Four tasks of 2 s on two slots end at 4 s."""
    assert kept([due(1, 4.0, 4, 2.0)], 0.0, 2) == [1]
    assert kept([due(1, 3.9, 4, 2.0)], 0.0, 2) == []


@pytest.mark.interpreted
def test_the_job_with_the_most_work_is_left_out_and_of_equals_the_later_one():
    assert kept([due(1, 4.0, 3, 1.0), due(2, 5.0, 2, 1.0), due(3, 6.0, 2, 1.0)], 0.0, 1) == [2, 3]
    assert kept([due(1, 4.0, 3, 1.0), due(2, 5.0, 3, 1.0)], 0.0, 1) == [1]


@pytest.mark.interpreted
def test_jobs_are_chosen_again_after_the_interval():
    """The deadline of j2 is the earlier one. Without slots, the work is that of one slot."""
    goals, state = Goals(Mock(), GoalSettings(every_s=10.0)), MagicMock()
    state.configure_mock(active={"j1": due(1, 90.0, 4, 2.0)}, slots={SlotKind.CONTAINER: 0})
    goals.attach(state)
    goals.begin(3.0)
    state.active["j2"] = due(2, 80.0, 4, 2.0)
    goals.begin(12.9)
    assert goals.memory()["kept"] == ["j1"]
    goals.begin(13.0)

    assert (goals.memory()["kept"], goals.memory()["chosen_at_s"]) == (["j2", "j1"], 13.0)


@pytest.mark.interpreted
def test_a_deadline_before_the_end_of_the_longest_chain_is_not_kept():
    """However many slots there are. At 8 s, one task of 2 s, and then a second one."""
    assert kept([due(1, 10.0, 1, 2.0)], 8.0, 4) == [1]
    assert kept([due(1, 9.9, 1, 2.0)], 8.0, 4) == []
    chained = [due(number, at_s, 1, 2.0) for number, at_s in ((1, 11.9), (2, 12.0))]
    for one in chained:
        (last,) = due(9, None, 1, 2.0).phases
        last.after = (0,)
        one.phases = (*one.phases, last)
    assert kept(chained, 8.0, 4) == [2]
    for one in chained:
        one.phases[0].configure_mock(done=1, is_done=True)
    assert kept(chained, 8.0, 4) == [1, 2]


@pytest.mark.interpreted
def test_tasks_that_are_done_are_no_work_and_equal_deadlines_go_by_seniority():
    half = due(1, 4.0, 4, 2.0)
    half.phases[0].done = 2
    assert kept([half], 0.0, 1) == [1]
    half.phases[0].done = 1
    assert kept([half], 0.0, 1) == []

    assert kept([due(2, 9.0, 1, 1.0), due(1, 9.0, 1, 1.0)], 0.0, 1) == [1, 2]
