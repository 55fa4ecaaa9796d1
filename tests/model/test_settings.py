"""Settings: what a message says to give, and which values a range holds."""

from dataclasses import dataclass

import pytest

from sluice.model.errors import InvalidInput
from sluice.model.settings import (
    NUMBER_MAX,
    NUMBER_MIN,
    NUMBERS_MAX,
    Setting,
    SettingKind,
    as_number,
    settings_of_class,
    written,
)


def number(**limits):
    return Setting(name="x", kind=SettingKind.NUMBER, default=0.0, **limits)


@pytest.mark.parametrize(
    ("limits", "hint"),
    [
        ({}, "give a number from 0 up"),
        ({"low": 2}, "give a number from 2 up"),
        ({"above": 0}, "give a number above 0"),
        ({"above": 0, "high": 1}, "give a number above 0 to 1"),
        ({"high": 1}, "give a number from 0 to 1"),
        ({"high": 1, "below": 1}, "give a number from 0 to below 1"),
        ({"high": 5, "below": 1}, "give a number from 0 to below 1"),
        (
            {"above": 0, "below": 1, "may_be_none": True},
            "give a number above 0 to below 1, or none",
        ),
        ({"low": -NUMBER_MAX}, "give a number"),
        ({"low": -NUMBER_MAX, "above": -NUMBER_MAX}, "give a number above -1e+12"),
        ({"low": -NUMBER_MAX, "high": 3}, "give a number from -1e+12 to 3"),
    ],
)
def test_the_hint_names_the_ends_that_a_setting_has(limits, hint):
    assert hint == number(**limits).hint


@pytest.mark.parametrize(
    ("limits", "taken", "refused"),
    [
        ({"low": 1, "high": 2}, [1, 2], [0.999, 2.001]),
        ({"above": 1, "below": 2}, [1.001, 1.999], [1, 2]),
        ({}, [0, NUMBER_MIN, NUMBER_MAX], [-NUMBER_MIN, NUMBER_MIN / 2, NUMBER_MAX * 2]),
        ({"low": -1}, [-1, -NUMBER_MIN], [-NUMBER_MIN / 2]),
    ],
)
def test_a_number_is_taken_up_to_the_ends_of_its_range(limits, taken, refused):
    setting = number(**limits)

    assert taken == [setting.checked(value) for value in taken]
    for value in refused:
        with pytest.raises(InvalidInput, match="x is"):
            setting.checked(value)


def test_only_a_number_over_the_largest_one_is_shown_how_large_it_may_be():
    with pytest.raises(InvalidInput) as huge:
        number().checked(NUMBER_MAX * 2)
    with pytest.raises(InvalidInput) as small:
        number().checked(-1)
    with pytest.raises(InvalidInput) as over:
        number(high=5).checked(6)

    assert "give a number from 0 up, at most 1e+12" == huge.value.hint
    assert "give a number from 0 up" == small.value.hint
    assert "give a number from 0 to 5" == over.value.hint


@pytest.mark.parametrize("text", ["3..1", "1..2..3", "1..", "a..b"])
def test_a_range_has_two_ends_in_order(text):
    span = Setting(name="x", kind=SettingKind.SPAN, default=(1.0, 1.0))

    assert (1.0, 1.0) == span.read("1") == span.read("1..1")
    assert (1.0, 3.5) == span.read("1 .. 3.5")
    with pytest.raises(InvalidInput):
        span.read(text)


def test_a_list_is_read_in_brackets_and_a_lone_number_without():
    numbers = Setting(name="x", kind=SettingKind.NUMBERS, default=())
    span = Setting(name="x", kind=SettingKind.SPAN, default=(1.0, 1.0))

    assert (1.0, 2.5) == numbers.read(" [1, 2.5] ")
    assert () == numbers.read("[]")
    assert (3.0,) == numbers.read("3")
    assert (1.0, 3.0) == span.read("[1, 3]")
    for text in ("[1,", "[" * 100_000, "one", '["1"]', "[true]", "[-1]"):
        with pytest.raises(InvalidInput, match="x is"):
            numbers.read(text)


def test_a_list_holds_as_many_numbers_as_it_may():
    numbers = Setting(name="x", kind=SettingKind.NUMBERS, default=())

    assert NUMBERS_MAX == len(numbers.checked([1] * NUMBERS_MAX))
    with pytest.raises(InvalidInput, match="x is"):
        numbers.checked([1] * (NUMBERS_MAX + 1))


def test_a_number_has_at_most_400_letters():
    assert 1.0 == as_number("1." + "0" * 398)
    assert as_number("1." + "0" * 399) is None
    assert [None, 7, -7, 0.5] == [as_number(text) for text in ("\u0667", "+7", "-7", ".5")]
    assert isinstance(as_number("-7"), int)


def test_a_share_is_also_read_as_a_percentage():
    """Another number is not, nor is a number that may be 2."""
    assert [0.1, 1.0, 0.125] == [number(high=1).read(text) for text in ("10%", "100%", "12.5%")]
    for setting, text in ((number(high=2), "10%"), (number(high=1), "101%"), (number(high=1), "%")):
        with pytest.raises(InvalidInput, match="x is"):
            setting.read(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"), (True, "true"), (False, "false"), (2.0, "2"), (2.5, "2.5"), (3, "3"),
        ("late", "late"), ((), "[]"), ((1.0,), "[1]"), ((1.0, 2.5), "1..2.5"),
        ((1.0, 2.0, 3.5), "[1, 2, 3.5]"),
    ],
)  # fmt: skip
def test_a_value_is_written_as_it_would_be_given(value, text):
    assert text == written(value)


@dataclass
class Owner:
    """Settings of which one decides whether another has an effect."""

    other: object = None


@pytest.mark.parametrize(
    ("needs", "met", "unmet"),
    [
        ("", [None, 0, 1], []),
        ("other", [1, 0.5, True, "fast"], [None, 0, 0.0, False]),
        ("other=none", [None, "none"], [0, "late"]),
        ("other=late|2", ["late", 2, 2.0], ["lat", "late|2", None, 22]),
    ],
)
def test_a_setting_that_needs_another_has_an_effect_only_with_it(needs, met, unmet):
    setting = number(needs=needs)

    assert all(setting.is_met(Owner(value)) for value in met)
    assert not any(setting.is_met(Owner(value)) for value in unmet)


@dataclass
class Plain:
    """Settings that were declared by their types alone."""

    rate: float = 1.0
    count: int | None = None


def test_a_number_that_is_declared_by_its_type_alone_has_any_value():
    settings = settings_of_class(Plain)

    for value in (-NUMBER_MAX, -0.5, NUMBER_MAX):
        assert value == settings["rate"].checked(value)
    assert -3 == settings["count"].read("-3")
    assert settings["count"].read("none") is None
    with pytest.raises(InvalidInput, match="rate is"):
        settings["rate"].read("none")


@pytest.mark.parametrize(
    ("words", "is_on"), [(("true", "Yes", "ON"), True), (("false", "No", "OFF"), False)]
)
def test_a_flag_is_read_in_the_words_that_people_use(words, is_on):
    flag = Setting(name="f", kind=SettingKind.FLAG, default=not is_on)

    assert [is_on] * 3 == [flag.read(word) for word in words]
