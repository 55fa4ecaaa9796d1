"""The share of the tests that a run does, and their order where several processes run them."""

import os
import subprocess
import sys
from operator import attrgetter
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from tests import effort
from tests.effort import days_of, left_out, of_today, slow_first
from tests.subject import HOUSE


def test_each_worker_begins_with_its_share_of_the_slow_tests():
    items = ["a", "B", "c", "D", "e", "F", "G", "h"]

    assert ["B", "D", "a", "c", "F", "G", "e", "h"] == slow_first(items, str.isupper, 2)
    assert ["B", "D", "F", "G", "a", "c", "e", "h"] == slow_first(items, str.isupper, 1)
    assert sorted(items) == sorted(slow_first(items, str.isupper, 3))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("cases", "count"), [(12, 3), (20, 3), (7, 7), (10, 1)])
def test_all_cases_come_up_in_as_many_days_as_they_take(monkeypatch, cases, count):
    monkeypatch.setattr(effort, "IS_THOROUGH", False)
    days = [of_today(range(cases), count, day) for day in range(5, 5 + -(-cases // count))]

    assert {len(set(some)) for some in days} == {count}
    assert set(range(cases)) == {one for some in days for one in some}


def test_a_thorough_run_has_all_cases(monkeypatch):
    monkeypatch.setattr(effort, "IS_THOROUGH", True)
    assert [1, 2, 3] == of_today((1, 2, 3), 1)


class Case(NamedTuple):
    """A case of a test, as pytest names it."""

    nodeid: str
    days: int


def test_in_some_days_each_case_in_turn_is_run(monkeypatch):
    monkeypatch.setattr(effort, "IS_THOROUGH", False)
    turns = [Case(f"test_a.py::test_one[{case}]", 3) for case in range(7)]
    others = [Case(f"test_a.py::test_all[{case}]", 1) for case in range(7)]
    days = [left_out(turns + others, attrgetter("days"), day) for day in range(9, 12)]

    assert [4, 4, 4] == [len(some) for some in days]
    assert set(turns) == {case for some in days for case in {*turns}.difference(some)}
    assert all(set(some) <= set(turns) for some in days)


def test_a_thorough_run_leaves_no_case_out(monkeypatch):
    monkeypatch.setattr(effort, "IS_THOROUGH", True)
    assert [] == left_out([Case(f"test_one[{case}]", 3) for case in range(7)], attrgetter("days"))


@pytest.mark.parametrize(("is_second", "of_plain"), [(False, 1), (True, 3)])
def test_a_second_run_shares_the_cases_that_another_run_takes(monkeypatch, is_second, of_plain):
    monkeypatch.setattr(effort, "_IS_SECOND", is_second)
    plain, alone, in_turn = (
        SimpleNamespace(get_closest_marker=marks.get)
        for marks in ({}, {"interpreted": True}, {"in_turn": SimpleNamespace(args=(5,))})
    )

    assert (of_plain, 1, 5) == (days_of(plain), days_of(alone), days_of(in_turn))


TURNS = "tests/test_effort.py::test_all_cases_come_up_in_as_many_days_as_they_take"


def collected(day, *what):
    """The cases in turn of this file that a run of some day takes."""
    env = {**os.environ, "SLUICE_TEST_DAY": str(day)}
    for name in ("SLUICE_TEST_THOROUGH", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER_COUNT"):
        env.pop(name, None)
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--collect-only",
        "-p",
        "no:cacheprovider",
        *what,
    ]
    done = subprocess.run(words, cwd=HOUSE, env=env, capture_output=True, text=True, check=True)
    return {line for line in done.stdout.splitlines() if line.startswith(TURNS)}


def test_a_test_says_in_how_many_days_its_cases_have_their_turn():
    even, odd = (collected(day, "tests/test_effort.py") for day in (20, 21))

    assert (2, 2, 4) == (len(even), len(odd), len(even | odd))
    (named, *_) = sorted(even)
    assert {named} == collected(21, named)
