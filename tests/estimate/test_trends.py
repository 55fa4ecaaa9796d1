"""Lines through the times of runs, and the runs moved along them."""

import math

import pytest

from sluice.estimate.trends import Line, at_next_level, fits_better, is_rising, line_through
from sluice.model.history import PastPhase, PastRun, PastTask


def swapped(count, *swaps):
    """The numbers up to a count; each swap of neighbours makes one pair fall."""
    values = list(range(count))
    for at in swaps:
        values[at], values[at + 1] = values[at + 1], values[at]
    return values


@pytest.mark.parametrize(("swaps", "is_found"), [((0, 2), True), ((0, 2, 4), False)])
def test_a_row_rises_if_its_pairs_are_2_6_deviations_from_even(swaps, is_found):
    """8 runs have 28 pairs, and the deviation is sqrt(8 * 7 * 21 / 18): 2.6 of it are 21.02.

    With 2 fallen pairs 26 - 2 - 1 = 23 is beyond it, with 3 of them 25 - 3 - 1 = 21 is not.
    """
    values = swapped(8, *swaps)

    assert is_rising(values) == is_found
    assert is_rising([-value for value in values]) == is_found


def test_an_equal_pair_neither_rises_nor_falls():
    """Of 28 pairs 2 fall. One equal pair leaves 25 - 2 - 1 = 22, and two leave 21."""
    values = swapped(8, 0, 2)
    assert is_rising(values)
    values[7] = values[6]
    assert is_rising(values)
    values[5] = values[4]
    assert not is_rising(values)


@pytest.mark.parametrize(("whole", "is_found"), [(1.16, True), (1.14, False)])
def test_a_line_changes_the_times_by_15_percent_in_all(whole, is_found):
    slope = math.log(whole) / 9
    for sign in (1, -1):
        line = line_through([sign * slope * at for at in range(10)])
        assert (line is not None) == is_found
        if line is not None:
            assert line.slope == pytest.approx(sign * slope)
            assert line.away == pytest.approx([0] * 10)


def test_a_step_is_not_a_line():
    """The newest third would be far below it."""
    assert line_through([0.0] * 2 + [0.3 + at / 1000 for at in range(12)]) is None


def test_the_distances_are_from_the_middle_of_the_row():
    """One run of 11 was slow: the slope is a median, and does not follow it."""
    ratios = [0.02 * at for at in range(11)]
    ratios[4] += 0.5
    line = line_through(ratios)

    assert line.slope == pytest.approx(0.02)
    assert line.away == pytest.approx([0.5 if at == 4 else 0 for at in range(11)])


def test_a_step_must_explain_more_than_the_number_it_costs():
    """Of 10 runs one step costs log(10), and each run gains 2 * log(of line / of steps)."""
    line = Line(0.1, (0.1,) * 10)
    even = 0.1 * math.exp(-math.log(10) / 20)

    assert fits_better(line, (even * 1.001,) * 10, 1)
    assert not fits_better(line, (even * 0.999,) * 10, 1)
    two = 0.1 * math.exp(-3 * math.log(10) / 20)
    assert fits_better(line, (two * 1.001,) * 10, 2)
    assert not fits_better(line, (two * 0.999,) * 10, 2)


def test_a_line_is_better_than_no_step_and_worse_than_exact_steps():
    line = Line(0.1, (0.1,) * 10)

    assert fits_better(line, (0.2,) * 10, 0)
    assert not fits_better(line, (0.0,) * 10, 1)


def test_runs_are_moved_along_the_line_to_the_next_one():
    """Twice as long from run to run; one that is not comparable takes the place before it."""
    task = PastTask(started_at_s=1.0, finished_at_s=3.0, fetched_at_s=2.0)
    bare = PastTask(started_at_s=0.0, finished_at_s=2.0)
    phase = PastPhase(
        name="p", kind="map", tasks=2, avg_s=2.0, max_s=2.0, cpu_s=5.0, timeline=(task, bare)
    )
    unmeasured = PastPhase(name="p", kind="map", tasks=1, avg_s=1.0, max_s=1.0)
    runs = [
        PastRun(run_id=name, profile="j", source="spark", phases=(one,), elapsed_s=elapsed_s)
        for name, one, elapsed_s in (("a", phase, 4.0), ("x", unmeasured, None), ("b", phase, 8.0))
    ]
    first, other, last = at_next_level(runs, 2.0, frozenset({"a", "b"}))

    assert (first.elapsed_s, other.elapsed_s, last.elapsed_s) == (16, None, 16)
    assert [one.phases[0].avg_s for one in (first, other, last)] == [8, 2, 4]
    (moved,) = first.phases
    assert (moved.max_s, moved.cpu_s, other.phases[0].cpu_s) == (8, 20, None)
    assert moved.timeline[0] == PastTask(started_at_s=4.0, finished_at_s=12.0, fetched_at_s=8.0)
    assert moved.timeline[1].fetched_at_s is None
