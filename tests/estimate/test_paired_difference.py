"""Differences paired by seed, against SciPy's distribution and values worked out by hand."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import skips

from sluice.estimate.paired_difference import ExpectedDifference, PairedDifference, t_quantile


@pytest.fixture
def stats():
    """Only here: each test process would load it for a second."""
    return skips.required("scipy.stats")


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 10, 30, 99])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_the_quantile_is_that_of_students_t(stats, freedom, level):
    expected = stats.t.ppf((1 + level) / 2, freedom)

    assert pytest.approx(expected, rel=1e-9) == t_quantile(freedom, level)


def test_an_interval_is_that_of_the_paired_test(stats):
    first, other = [10.0, 12.0, 9.0, 14.0], [8.0, 11.0, 9.5, 10.0]
    found = PairedDifference.of(first, other)
    interval = stats.ttest_rel(other, first).confidence_interval(0.95)

    assert pytest.approx(-1.625) == found.mean
    assert pytest.approx((interval.low, interval.high)) == (found.low, found.high)
    assert not found.is_clear


def test_what_all_seeds_share_cancels_out():
    """The figures range over 1000, and each is lower by 2 or 3."""
    first = [float(n) for n in range(0, 1000, 100)]
    found = PairedDifference.of(first, [value - 2 - n % 2 for n, value in enumerate(first)])

    assert found is not None
    assert found.is_clear
    assert found.mean < 0


def test_one_pair_has_no_interval_and_an_incomplete_one_no_difference():
    alone = PairedDifference.of([3.0], [5.0])

    assert {"mean": 2.0, "low": None, "high": None} == alone.document()
    assert not alone.is_clear
    assert PairedDifference.of([1.0, None], [2.0, 3.0]) is None
    assert PairedDifference.of([], []) is None


GAPS = st.lists(st.floats(-3, 3), min_size=1, max_size=12)
EXPECTED = ExpectedDifference(mean=-0.9, between=0.5, within=0.4)


@given(GAPS, st.floats(-2, 2), st.floats(0.05, 2), st.floats(0.05, 2))
def test_what_was_expected_and_what_was_seen_are_weighed(gaps, mean, between, within):
    found = ExpectedDifference(mean=mean, between=between, within=within).after(gaps)
    sample = statistics.fmean(gaps)

    slack = 1e-9
    assert min(mean, sample) - slack <= found.mean <= max(mean, sample) + slack
    low, high = interval(found)
    assert low < found.mean < high
    more = ExpectedDifference(mean=mean, between=between, within=within).after(gaps * 50)
    assert abs(more.mean - sample) <= abs(found.mean - sample) + slack
    more_low, more_high = interval(more)
    assert more_high - more_low <= high - low + slack


def interval(difference):
    assert difference.low is not None
    assert difference.high is not None
    return difference.low, difference.high


def test_the_posterior_mean_is_that_of_the_book():
    """With a variance that is known, here by many pairs: precisions add up (equation 2.12)."""
    gaps = [-0.5, -0.7] * 500
    found = ExpectedDifference(mean=-0.9, between=0.1, within=0.1).after(gaps)
    variance = (4 * 0.01 + 1000 * 0.01) / 1003
    weights = (1 / 0.01, 1000 / variance)

    assert found.mean == pytest.approx((weights[0] * -0.9 + weights[1] * -0.6) / sum(weights))


def test_an_expectation_makes_few_days_clear_but_not_days_without_a_difference():
    gaps = [-1.6, -0.2, -1.4, -0.4]
    assert not PairedDifference.of([0.0] * 4, gaps).is_clear
    assert EXPECTED.after(gaps).is_clear
    assert not EXPECTED.after([0.0] * 4).is_clear
