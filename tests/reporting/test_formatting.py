"""Numbers and names as people read them."""

from hypothesis import given
from hypothesis import strategies as st

from sluice.reporting.formatting import duration, shortened, size


@given(st.floats(0, 1e8) | st.floats(0, 100) | st.floats(0.9, 1.1))
def test_durations_never_overflow_their_unit(seconds):
    """No "60 s", no "59 m 60 s": rounding moves on to the next unit."""
    text = duration(seconds)

    assert not text.startswith(("60 s", "60.0", "1000 ms", "60 m", "24 h"))
    assert " 60 " not in text
    assert len(text) <= 11


@given(st.integers(0, 2**59))
def test_sizes_never_overflow_their_unit(count):
    assert not size(count).startswith("1024")


@given(st.text(max_size=50), st.integers(3, 30))
def test_a_shortened_text_has_the_width_and_both_ends(text, width):
    short = shortened(text, width)

    assert len(short) == min(len(text), width)
    assert short == text or (short[0] == text[0] and short[-1] == text[-1])
