"""Python values between map and reduce."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.engines.mapreduce.codec import decode, encode, encode_texts, encode_values, output_line

SCALARS = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none(),
    st.binary(),
)
KEYS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
    ),
    max_leaves=6,
)


def typed(value):
    """A value and the types all the way down: True is not 1 here."""
    if isinstance(value, list | tuple):
        return type(value), [typed(item) for item in value]
    if isinstance(value, dict):
        return dict, [(typed(key), typed(item)) for key, item in value.items()]
    return type(value), repr(value)


@given(VALUES)
def test_a_value_comes_back_as_what_it_was(value):
    """A tuple must not become a list on its way to the reducer."""
    assert typed(decode(encode(value))) == typed(value)


@given(st.one_of(VALUES, KEYS))
def test_nothing_encoded_sorts_below_the_tab(value):
    """So that sorting whole lines is sorting keys, and no value breaks a line."""
    assert min(encode(value), default=99) > 0x0A


@given(st.lists(st.text(), min_size=2))
def test_text_sorts_as_its_bytes_do(texts):
    """Readers of the output expect keys in the order of their bytes."""
    assert sorted(texts, key=encode) == sorted(texts, key=lambda text: text.encode())


@given(st.lists(VALUES, min_size=1))
def test_several_values_share_a_line(values):
    """The values of one key are written with one key."""
    assert typed([decode(part) for part in encode_values(values).split(b"\t")]) == typed(values)


@given(st.lists(st.one_of(st.text(), st.text("abc ")), min_size=1))
def test_texts_are_encoded_together_as_they_are_alone(texts):
    """The quick way for many keys is no other way."""
    assert encode_texts(texts) == [encode(text) for text in texts]


@given(st.binary())
def test_bytes_that_are_no_text_survive_as_surrogates(raw):
    """Input is decoded with surrogate escapes, and comes out as it went in."""
    text = raw.decode("utf-8", "surrogateescape")

    assert decode(encode(text)).encode("utf-8", "surrogateescape") == raw


def test_what_cannot_be_carried_is_named():
    """A set has no order, so no text of it groups."""
    with pytest.raises(TypeError, match="type set cannot go"):
        encode({1})


def test_infinity_and_nan_are_numbers_too():
    """Floats are floats."""
    assert decode(encode(math.inf)) == math.inf
    assert math.isnan(decode(encode(math.nan)))


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("a", 1, "a\t1\n"),
        (1.5, "b", "1.5\tb\n"),
        ((1, "x"), {"k": None}, '[1, "x"]\t{"k": null}\n'),
        (None, "whole", "whole\n"),
        ("alone", None, "alone\n"),
        (None, None, "\n"),
        (True, False, "true\tfalse\n"),
        (b"raw", 2, "raw\t2\n"),
    ],
)
def test_output_lines_are_text_for_people(key, value, line):
    """Text and numbers as they are, the rest as JSON."""
    assert output_line(key, value) == line
