"""Outlier runs, and intervals of probabilities, by the formulas of their sources."""

import math

import pytest

from sluice.estimate.outliers import Outlier, outliers
from sluice.estimate.proportions import wilson_interval


def by_run(*values):
    return {f"r{number}": value for number, value in enumerate(values)}


@pytest.mark.parametrize(
    ("away", "is_found"), [(3.4 * 1.4826 * 0.1, False), (3.6 * 1.4826 * 0.1, True)]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_run_is_an_outlier_beyond_three_and_a_half_deviations(away, is_found, sign):
    """The median is 2, and the median distance to it 0.1; 1.4826 of it are one deviation."""
    found = outliers(by_run(1.9, 2.1, 2.0, 1.9, 2.1, 2.1, 1.9, 2.0, 2 + sign * away))

    assert [one.run_id for one in found] == (["r8"] if is_found else [])
    if found:
        assert found[0].score == pytest.approx(3.6)
        assert found[0].ratio == pytest.approx(math.exp(sign * away))


@pytest.mark.parametrize(("away", "is_found"), [(0.17, False), (0.18, True)])
def test_equal_runs_are_taken_to_vary_by_a_twentieth(away, is_found):
    """3.5 times 0.05 is 0.175."""
    assert bool(outliers(by_run(0, 0, 0, 0, away))) == is_found


def test_among_four_runs_none_is_an_outlier():
    assert outliers(by_run(0, 0, 0, 9)) == ()
    assert len(outliers(by_run(0, 0, 0, 0, 9))) == 1


def test_outliers_are_listed_farthest_first_and_equal_ones_by_name():
    found = outliers(by_run(0, 0, 0, 0, 0, 1, -2, 2))

    assert [one.run_id for one in found] == ["r6", "r7", "r5"]


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.0, "a took 1 times as long as expected"),
        (2.54, "a took 2.5 times as long as expected"),
        (9.94, "a took 9.9 times as long as expected"),
        (10.0, "a took 10 times as long as expected"),
        (123.4, "a took 123 times as long as expected"),
        (0.5, "a took 50 % of what was expected"),
        (0.01, "a took 1 % of what was expected"),
        (0.009, "a took under 1 % of what was expected"),
    ],
)
def test_an_outlier_is_described_with_as_many_digits_as_it_needs(ratio, text):
    assert Outlier(run_id="a", ratio=ratio, score=9.0).text() == text


@pytest.mark.parametrize(("met", "draws"), [(3, 10), (95, 100), (1, 1000)])
def test_an_end_of_the_interval_is_where_the_trials_are_1_96_deviations_off(met, draws):
    """Solved for by Wilson: the deviation is that of the probability at the end itself."""
    for end in wilson_interval(met, draws):
        deviation = math.sqrt(end * (1 - end) / draws)
        assert abs(met / draws - end) == pytest.approx(1.96 * deviation)


def test_where_all_or_no_trials_met_one_end_is_exact():
    """The other end is z² / (n + z²) off."""
    off = 1.96**2 / (20 + 1.96**2)

    none, every = wilson_interval(0, 20), wilson_interval(20, 20)
    assert (none[0], every[1]) == (0, 1)
    assert [none[1], every[0]] == pytest.approx([off, 1 - off])
    assert wilson_interval(1, 1, deviations=1.0) == pytest.approx((0.5, 1))
