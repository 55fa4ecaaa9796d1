"""Statistics of task lengths are those of NumPy and SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import skips

from sluice.store.profiles.statistics import length_statistics

LENGTHS_S = st.lists(st.integers(1, 1000).map(lambda tenths: tenths / 10), min_size=1, max_size=30)


@given(LENGTHS_S)
def test_they_are_those_of_numpy_and_scipy(lengths_s):
    found = length_statistics(lengths_s)

    percents = [5, 25, 50, 75, 90, 95, 99]
    quantiles = dict(zip(percents, np.percentile(lengths_s, percents), strict=True))
    assert found.quantiles_s == pytest.approx(quantiles)
    assert (len(lengths_s), min(lengths_s)) == (found.tasks, found.min_s)
    assert found.sd_s == pytest.approx(np.std(lengths_s), abs=1e-9)
    if len(set(lengths_s)) == 1:
        assert found.skewness is None
    else:
        assert found.skewness == pytest.approx(
            skips.required("scipy.stats").skew(lengths_s), abs=1e-6
        )


def test_of_no_lengths_there_are_none():
    assert length_statistics([]) is None


def test_lengths_too_close_for_a_cube_of_their_spread_have_no_skewness():
    assert length_statistics([1e-200, 2e-200]).skewness is None
