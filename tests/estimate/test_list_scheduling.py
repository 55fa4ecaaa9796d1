"""List scheduling of the tasks of a phase on its slots."""

import math

from hypothesis import given
from hypothesis import strategies as st

from sluice.estimate.bounds import makespan_bounds_s
from sluice.estimate.list_scheduling import (
    TASKS_SIMULATED_MAX,
    LengthSpread,
    concurrent_tasks_max,
    list_schedule_s,
    mean_concurrency,
    phase_s,
    sampled_evenly,
    shuffled,
)
from sluice.model.history import PastPhase, PastTask

ratios = st.lists(st.floats(0.05, 20.0), min_size=1, max_size=50).map(sorted).map(tuple)
counts = st.integers(1, 80)


def phase(*spans):
    timeline = tuple(PastTask(started_at_s=start, finished_at_s=end) for start, end in spans)
    lengths_s = [task.length_s for task in timeline]
    return PastPhase(
        name="map",
        kind="map",
        tasks=len(timeline),
        avg_s=math.fsum(lengths_s) / len(lengths_s),
        max_s=max(lengths_s),
        timeline=timeline,
    )


@given(ratios, counts, st.integers(1, 12), st.floats(0.01, 1e4))
def test_a_phase_stays_within_the_makespan_theorem(spread, tasks, slots, avg_s):
    result = LengthSpread(spread)
    longest_s = max(result.lengths_s(tasks, avg_s))
    lower_s, upper_s = makespan_bounds_s(tasks, slots, min(avg_s, longest_s), longest_s)

    assert lower_s * (1 - 1e-9) <= phase_s(tasks, slots, avg_s, result) <= upper_s * (1 + 1e-9)


@given(ratios, counts, st.floats(0.01, 1e4))
def test_any_distribution_keeps_the_average(spread, tasks, avg_s):
    lengths_s = LengthSpread(spread).lengths_s(tasks, avg_s)

    assert math.isclose(avg_s * tasks, math.fsum(lengths_s), rel_tol=1e-9)
    assert lengths_s == sorted(lengths_s)


@given(st.integers(1, 500), st.integers(1, 60))
def test_concurrency_is_at_most_the_slots_and_the_tasks(tasks, slots):
    assert 1 <= mean_concurrency(tasks, slots) <= min(tasks, slots)


@given(st.lists(st.floats(0.1, 10.0), max_size=40), st.integers(0, 9))
def test_shuffling_keeps_all_lengths(lengths_s, turn):
    assert sorted(lengths_s) == sorted(shuffled(lengths_s, turn))


def test_the_longest_ratio_grows_with_the_task_count():
    spread = LengthSpread(tuple(index / 50 for index in range(1, 101)))

    assert spread.longest_ratio(2) < spread.longest_ratio(20) < spread.longest_ratio(200)


def test_average_and_longest_alone_give_the_longest_ratio():
    """A log without a timeline: nine short tasks and a long one."""
    result = PastPhase(name="map", kind="map", tasks=10, avg_s=5.0, max_s=14.0)

    assert math.isclose(2.8, LengthSpread.of([result]).longest_ratio(10))
    assert math.isclose(14.0, phase_s(10, 10, 5.0, LengthSpread.of([result])))


def test_very_many_tasks_are_not_simulated_one_by_one():
    """This holds for many waves and for few waves."""
    spread = LengthSpread((0.5, 1.5))

    assert math.isclose(10**6, phase_s(10**8, 100, 1.0, spread), rel_tol=1e-5)
    assert 4.0 <= phase_s(10**8, 25 * 10**6, 1.0, spread) <= 5.5


@given(ratios, st.integers(2, 30), st.integers(20, 200))
def test_a_scaled_down_phase_is_close_to_the_full_one(spread, tasks_per_slot, slots):
    tasks = tasks_per_slot * slots + 1000
    result = LengthSpread(spread)
    in_full_s = list_schedule_s(shuffled(result.lengths_s(tasks, 1.0), 0), slots)

    assert math.isclose(in_full_s, phase_s(tasks, slots, 1.0, result), rel_tol=0.35)
    assert TASKS_SIMULATED_MAX <= tasks


def test_a_task_that_ends_when_another_starts_has_freed_its_slot():
    assert 1 == concurrent_tasks_max(phase((0, 2), (2, 4), (4, 5)).timeline)
    assert 2 == concurrent_tasks_max(phase((0, 3), (2, 4), (4, 5)).timeline)
    assert concurrent_tasks_max(()) is None


def test_sampling_keeps_both_ends():
    assert [0, 99] == [sampled_evenly(range(100))[0], sampled_evenly(range(100))[-1]]
    assert 64 == len(sampled_evenly(range(100)))


def test_five_lengths_are_shuffled_by_multiples_of_the_golden_ratio():
    """Modulo 1 these are 0, 0.62, 0.24, 0.85 and 0.47."""
    assert [0.0, 2.0, 4.0, 1.0, 3.0] == shuffled([0.0, 1.0, 2.0, 3.0, 4.0], 0)
