"""The use of a node of the tree, with that which its young tasks are assumed to have yet."""

from sluice.policies.ltyarn.usage import Usage


def running():
    """Two units at a price of 1.5 from 2 s on, each of them young until 8 s."""
    usage = Usage(2.0)
    usage.amount, usage.rate = 2.0, 3.0
    usage.young_amount, usage.young_ends = 2.0, 16.0
    return usage


def test_running_tasks_count_until_now_and_young_ones_to_their_end():
    usage = running()

    assert [usage.counted(at_s) for at_s in (2.0, 5.0, 9.0)] == [0.0, 9.0, 21.0]
    assert [usage.rest(at_s) for at_s in (2.0, 5.0, 8.0, 9.0)] == [18.0, 9.0, 0.0, 0.0]
    assert [usage.used(at_s) for at_s in (2.0, 5.0, 8.0, 9.0)] == [18.0, 18.0, 18.0, 21.0]


def test_what_was_used_before_a_change_stays():
    usage = running()
    usage.settle(5.0)
    usage.settle(4.0)  # of an earlier instant, which changes nothing
    usage.rate, usage.phi = 0.0, 0.5

    assert (usage.total, usage.at_s) == (9.0, 5.0)
    assert (usage.counted(9.0), usage.used(9.0)) == (9.0, 9.5)
    usage.young_amount = 0.0
    assert usage.rest(5.0) == 0.0


def test_an_empty_counter_begins_at_the_same_instant():
    usage = running()
    usage.settle(5.0)
    fresh = usage.fresh()

    assert (fresh.at_s, fresh.counted(9.0), fresh.used(9.0)) == (5.0, 0.0, 0.0)


def test_young_tasks_without_an_amount_have_the_price_of_one():
    usage = running()
    usage.amount = 0.0

    assert usage.rest(5.0) == 6.0
