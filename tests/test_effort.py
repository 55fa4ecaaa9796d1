"""The share of the tests that a run does, and their order where several processes run them."""

import pytest
from tests import effort
from tests.effort import of_today, slow_first


def test_each_worker_begins_with_its_share_of_the_slow_tests():
    items = ["a", "B", "c", "D", "e", "F", "G", "h"]

    assert ["B", "D", "a", "c", "F", "G", "e", "h"] == slow_first(items, str.isupper, 2)
    assert ["B", "D", "F", "G", "a", "c", "e", "h"] == slow_first(items, str.isupper, 1)
    assert sorted(items) == sorted(slow_first(items, str.isupper, 3))


@pytest.mark.parametrize(("cases", "count"), [(12, 3), (20, 3), (7, 7), (10, 1)])
def test_all_cases_come_up_in_as_many_days_as_they_take(monkeypatch, cases, count):
    monkeypatch.setattr(effort, "IS_THOROUGH", False)
    days = [of_today(range(cases), count, day) for day in range(5, 5 + -(-cases // count))]

    assert {len(set(some)) for some in days} == {count}
    assert set(range(cases)) == {one for some in days for one in some}


def test_a_thorough_run_has_all_cases(monkeypatch):
    monkeypatch.setattr(effort, "IS_THOROUGH", True)
    assert [1, 2, 3] == of_today((1, 2, 3), 1)
