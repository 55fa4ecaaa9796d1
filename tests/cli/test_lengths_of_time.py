"""Lengths of time as people write them, and as our own answers print them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.api.options.parsers import clock_or_seconds, in_seconds, instant
from sluice.model.errors import InvalidInput
from sluice.reporting.formatting import duration


@given(st.integers(1, 10**6))
def test_what_an_answer_prints_can_be_given(seconds):
    written = duration(float(seconds)).replace(" ", "")
    unit_s = 3600 if "d" in written else 60 if "h" in written else 1  # of what is not shown
    assert instant("--at-s")(written) == pytest.approx(seconds, abs=unit_s)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("90", 90), ("90s", 90), ("5m", 300), ("5min", 300), ("1h30m", 5400), ("1h 30m", 5400),
     ("2d", 172_800), ("0.5h", 1800)],
)  # fmt: skip
def test_units_are_understood(written, seconds):
    assert clock_or_seconds("--by")(written) == instant("--at-s")(written) == seconds


@pytest.mark.parametrize("written", ["", " ", "m", "5x", "-5m", "1m1h", "1e3m", "nan", "5m m"])
def test_other_texts_are_refused(written):
    assert in_seconds(written) == written
    with pytest.raises(InvalidInput, match="--at-s"):
        instant("--at-s")(written)


def test_a_longest_time_still_counts():
    with pytest.raises(InvalidInput):
        instant("--at-s", high=100.0)("2m")
