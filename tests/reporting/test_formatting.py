"""Numbers and names as people read them."""

from hypothesis import given
from hypothesis import strategies as st

from sluice.reporting.formatting import columns, distinguished, duration, shortened, size
from sluice.reporting.share.chart import share_chart


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


@given(st.text(max_size=50) | st.text("ab名前\N{COMBINING ACUTE ACCENT}"), st.integers(5, 30))
def test_a_shortened_text_fits_the_columns_and_keeps_both_ends(text, width):
    short = shortened(text, width)

    assert columns(short) <= width
    assert short == text if columns(text) <= width else columns(short) >= width - 2  # a wide sign
    assert short == text or any(
        sign == "…" and text.startswith(short[:place]) and text.endswith(short[place + 1 :])
        for place, sign in enumerate(short)
    )


@given(st.lists(st.text("ab", max_size=40), max_size=12), st.integers(12, 30))
def test_different_names_are_shown_as_different_ones(names, width):
    shown = distinguished(names, width)

    assert len(dict.fromkeys(zip(names, shown, strict=True))) == len({*names})
    assert len({*shown}) == len({*names})
    assert all(columns(text) <= width for text in shown)


def test_names_of_words_keep_their_first_words_if_those_differ():
    """Their middle was left out: `stage 13:…l.java:0` names no operation."""
    names = [
        "stage 13: load at NativeMethodAccessorImpl.java:0",
        "stage 45: collect at power.py:191",
    ]

    assert ["stage 13: load at…", "stage 45: collect…"] == distinguished(names, 18)
    assert ["stage 13: load at…"] == distinguished(names[:1], 18)


def test_members_whose_names_have_the_same_ends_have_lines_of_their_own():
    names = [f"analytics-team-{where}-production-batch" for where in ("eu", "us")]
    member = {"allocated": 2, "dominant": 2}
    document = {
        "policy": "ltrf", "benefit": 0.0, "loss": 0.0, "fairness": dict.fromkeys(names, 1.0),
        "steps": [dict.fromkeys(names, member)],
        "over_steps": {"fairness": [dict.fromkeys(names, 1.0)]},
    }  # fmt: skip
    text = str(share_chart(document).spec)
    assert "…eu-prod" in text
    assert "…us-prod" in text
