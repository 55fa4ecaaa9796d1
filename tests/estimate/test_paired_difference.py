"""Differences paired by seed, against SciPy's distribution and values worked out by hand."""

import pytest
from scipy import stats

from sluice.estimate.paired_difference import PairedDifference, t_quantile


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 10, 30, 99])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_the_quantile_is_that_of_students_t(freedom, level):
    expected = stats.t.ppf((1 + level) / 2, freedom)

    assert pytest.approx(expected, rel=1e-9) == t_quantile(freedom, level)


def test_an_interval_is_that_of_the_paired_test():
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
