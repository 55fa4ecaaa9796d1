"""The order of the tests, where several processes run them."""

from tests.effort import slow_first


def test_each_worker_begins_with_its_share_of_the_slow_tests():
    items = ["a", "B", "c", "D", "e", "F", "G", "h"]

    assert ["B", "D", "a", "c", "F", "G", "e", "h"] == slow_first(items, str.isupper, 2)
    assert ["B", "D", "F", "G", "a", "c", "e", "h"] == slow_first(items, str.isupper, 1)
    assert sorted(items) == sorted(slow_first(items, str.isupper, 3))
