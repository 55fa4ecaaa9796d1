"""Estimates of phases and jobs: worked examples of the specs, and a simple reference."""

import math
from heapq import heapify, heapreplace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.estimate.bounds import (
    Bound,
    DurationEstimate,
    LengthSummary,
    SharedJob,
    SingleWave,
    makespan_bounds_s,
    phase_estimate,
    phase_low_s,
    phase_up_s,
    waves,
)
from sluice.model.errors import InvalidInput

durations = st.lists(st.floats(0.01, 1e4), min_size=1, max_size=40)


def greedy_s(lengths_s, slots):
    """Reference: each task goes to the slot that is free first."""
    free_at_s = [0.0] * slots
    heapify(free_at_s)
    for length_s in lengths_s:
        heapreplace(free_at_s, free_at_s[0] + length_s)
    return max(free_at_s)


@pytest.mark.parametrize(
    ("tasks", "slots", "avg_s", "max_s", "low_s", "up_s"),
    [(10, 3, 5, 5, 20, 20), (10, 3, 5, 9, 20, 24), (5, 4, 10, 12, 20, 22), (1, 4, 7, 7, 7, 7)],
)
def test_pareto_g1(tasks, slots, avg_s, max_s, low_s, up_s):
    """Pareto spec, section 6, G1."""
    assert low_s == phase_low_s(tasks, slots, avg_s)
    assert up_s == phase_up_s(tasks, slots, avg_s, max_s)
    assert DurationEstimate(low_s, up_s) == phase_estimate(tasks, slots, avg_s, max_s)


@pytest.mark.parametrize(
    ("map_slots", "reduce_slots", "low_s", "up_s", "mean_s"),
    [
        (2, 2, 4200, 6000, 5100),
        (4, 4, 2400, 4200, 3300),
        (5, 4, 1800, 4200, 3000),
        (1, 1, 7800, 8400, 8100),
        (3, 3, 3600, 4800, 4200),
    ],
)
def test_pareto_g2(map_slots, reduce_slots, low_s, up_s, mean_s):
    """Pareto spec, section 6, G2; its VMs policy visits the last two rows."""
    maps = phase_estimate(5, map_slots, 600, 900)
    job = maps + phase_estimate(4, reduce_slots, 1200, 1500)

    assert (low_s, up_s, mean_s) == (job.low_s, job.up_s, job.mean_s)


@pytest.mark.parametrize(
    ("bound", "xi_map_s", "xi_reduce_s", "xi_fixed_s", "map_containers", "reduce_containers"),
    [
        (Bound.LOW, 4000, 4160, -64, 39.3276, 49.1202),
        (Bound.AVERAGE, 3950, 4030, 158, 43.8956, 54.3026),
        (Bound.UP, 3900, 3900, 380, 49.8897, 61.1021),
    ],
)
def test_capacity_g1(bound, xi_map_s, xi_reduce_s, xi_fixed_s, map_containers, reduce_containers):
    """Capacity spec, section 6, G1: the law, and that its containers meet 1800 s."""
    job = SharedJob(
        map_tasks=100,
        reduce_tasks=40,
        map=LengthSummary(40, 50),
        first_shuffle=LengthSummary(16, 20),
        shuffle=LengthSummary(80, 100),
        reduce=LengthSummary(24, 30),
    )
    law = job.law(bound)

    assert (xi_map_s, xi_reduce_s, xi_fixed_s) == (law.xi_map_s, law.xi_reduce_s, law.xi_fixed_s)
    assert math.isclose(1800, law.time_s(10, map_containers, reduce_containers), rel_tol=1e-5)


def test_exact_single_wave_takes_as_long_as_its_longest_task():
    """Pareto erratum E3: without the option the estimate is one average too high."""
    assert DurationEstimate(9.0, 9.0) == phase_estimate(3, 3, 5.0, 9.0, SingleWave.EXACT)
    assert DurationEstimate(5.0, 14.0) == phase_estimate(3, 3, 5.0, 9.0)
    assert phase_estimate(4, 3, 5.0, 9.0) == phase_estimate(4, 3, 5.0, 9.0, SingleWave.EXACT)


def test_the_theorem_is_a_lower_bound_and_the_low_estimate_is_not():
    """Pareto erratum E2: 1, 1, 2 on two slots need 2 s."""
    assert 2.0 == greedy_s([2.0, 1.0, 1.0], 2)
    assert math.isclose(8 / 3, phase_low_s(3, 2, 4 / 3))
    assert makespan_bounds_s(3, 2, 4 / 3, 2.0)[0] == 2.0


@given(durations, st.integers(1, 12))
def test_every_greedy_schedule_stays_within_the_theorem_and_below_the_high_estimate(
    lengths_s, slots
):
    longest_s = max(lengths_s)
    mean_s = min(math.fsum(lengths_s) / len(lengths_s), longest_s)
    lower_s, upper_s = makespan_bounds_s(len(lengths_s), slots, mean_s, longest_s)
    took_s = greedy_s(lengths_s, slots)

    assert lower_s * (1 - 1e-9) <= took_s <= upper_s * (1 + 1e-9)
    assert took_s <= phase_up_s(len(lengths_s), slots, mean_s, longest_s) * (1 + 1e-9)


@given(st.integers(1, 60), st.integers(1, 12), st.floats(0.01, 1e4))
def test_equal_tasks_take_exactly_their_waves(tasks, slots, length_s):
    took_s = greedy_s([length_s] * tasks, slots)

    assert math.isclose(took_s, phase_low_s(tasks, slots, length_s), rel_tol=1e-9)
    assert math.isclose(took_s, waves(tasks, slots) * length_s, rel_tol=1e-9)


def test_a_longest_task_below_the_mean_is_refused():
    with pytest.raises(InvalidInput, match="below mean_s"):
        makespan_bounds_s(3, 2, 5.0, 4.0)
