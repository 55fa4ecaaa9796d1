"""Servers that first fit takes, and free VMs over time, on cases that can be drawn on paper."""

import math

import pytest

from sluice.planning.pools.free_vms import FreeVms, latest_start_s
from sluice.planning.pools.packing import servers_needed


def first_fit(counts, units, server_units):
    """One VM at a time, the largest first, on the first server that has room."""
    free: list[float] = []
    for pool in sorted(range(len(counts)), key=lambda place: -units[place]):
        for _ in range(counts[pool]):
            at = next((at for at, left in enumerate(free) if left >= units[pool]), len(free))
            free[at:] = free[at:] or [server_units]
            free[at] -= units[pool]
    return len(free)


@pytest.mark.parametrize(
    ("counts", "units", "servers"),
    [
        ([0, 0], [2, 4], 0),
        ([0, 3], [2, 4], 1),  # 12 = 4 + 4 + 4
        ([0, 4], [2, 4], 2),
        ([1, 1], [8, 8], 2),  # two of 8 do not fit
        ([2, 2], [4, 8], 2),  # each 8 + 4
        ([3, 2], [4, 8], 3),
        ([1, 4, 1], [1, 5, 6], 3),  # 6 + 5 + 1, 5 + 5, 5
        ([4, 1], [2, 5], 2),  # 5 + 2 + 2 + 2, 2
        ([5], [2.4], 1),  # five times 2.4 is a little more than 12, by rounding
    ],
)
def test_servers_are_filled_by_the_largest_vms_first(counts, units, servers):
    assert servers_needed(counts, units, 12) == servers


@pytest.mark.parametrize(
    "units", [(2, 4, 8), (1, 5, 6), (3, 4, 7), (5, 5, 2), (2, 3, 5), (1, 2, 7)]
)
def test_groups_of_servers_give_what_single_servers_give(units):
    for counts in [(a, b, c) for a in range(0, 9, 2) for b in range(6) for c in range(5)]:
        assert servers_needed(counts, units, 12) == first_fit(counts, units, 12), counts


def test_a_start_is_the_last_if_its_end_is_the_deadline():
    assert latest_start_s(100.0, 10.0) == pytest.approx(90, abs=1e-6)
    assert latest_start_s(0.5, 0.25) - 0.25 == pytest.approx(1e-9)  # a billionth of a second
    assert latest_start_s(1e6, 1.0) - 999_999 == pytest.approx(1e-3)  # or of the deadline


def lent():
    """Of 3 VMs, 2 are lent from 10 to 20 s and 1 from 15 to 30 s: 3, 1, 0, 2 and 3 are free."""
    pool = FreeVms(3)
    pool.add(10.0, 20.0, -2)
    pool.add(15.0, 30.0, -1)
    return pool


@pytest.mark.parametrize(
    ("vms", "length_s", "from_s", "latest_s", "start_s"),
    [
        (3, 10.0, 0.0, 99.0, 0),  # ends as the loan begins
        (3, 10.0, 0.5, 99.0, 30),
        (1, 15.0, 0.0, 99.0, 0),
        (1, 15.5, 0.0, 99.0, 20),
        (1, 5.0, 10.0, 99.0, 10),
        (1, 5.0, 16.0, 99.0, 20),
        (2, 10.0, 16.0, 20.0, 20),
        (2, 10.0, 16.0, 19.9, None),
        (3, 1.0, 20.0, 99.0, 30),
        (3, 1e9, 40.0, 40.0, 40),
        (3, 1.0, 40.0, 39.0, None),
        (4, 1.0, 0.0, math.inf, None),
    ],
)
def test_the_earliest_start_has_its_vms_for_the_whole_time(
    vms, length_s, from_s, latest_s, start_s
):
    assert lent().earliest(vms, length_s, from_s, latest_s) == start_s


@pytest.mark.parametrize(
    ("start_s", "end_s", "least"),
    [(0.0, 10.0, 3), (0.0, 10.5, 1), (10.0, 15.0, 1), (14.0, 16.0, 0), (20.0, 30.0, 2),
     (25.0, 25.0, 2), (30.0, 99.0, 3), (0.0, 99.0, 0)],
)  # fmt: skip
def test_the_least_free_vms_of_an_interval_leave_out_its_end(start_s, end_s, least):
    assert lent().least(start_s, end_s) == least


def test_steps_are_joined_where_nothing_changes():
    pool = lent()
    assert (pool.times, pool.free) == ([-math.inf, 10, 15, 20, 30], [3, 1, 0, 2, 3])

    pool.add(15.0, 30.0, 1)
    assert (pool.times, pool.free) == ([-math.inf, 10, 20], [3, 1, 3])
    pool.add(10.0, 20.0, 2)
    pool.add(7.0, 7.0, -1)
    pool.add(8.0, 7.0, -1)
    assert (pool.times, pool.free) == ([-math.inf], [3])


def test_vms_that_stay_away_are_missing_for_ever():
    pool = FreeVms(3)
    pool.add(5.0, math.inf, -2)

    assert (pool.times, pool.free) == ([-math.inf, 5], [3, 1])
    assert pool.earliest(3, 1.0, 5.0, math.inf) is None


@pytest.mark.parametrize(
    ("at_s", "times", "free"),
    [
        (9.0, [-math.inf, 10, 15, 20, 30], [3, 1, 0, 2, 3]),
        (10.0, [10, 15, 20, 30], [1, 0, 2, 3]),
        (19.0, [15, 20, 30], [0, 2, 3]),
        (99.0, [30], [3]),
    ],
)
def test_steps_of_the_past_are_dropped(at_s, times, free):
    pool = lent()
    pool.forget_before(at_s)

    assert (pool.times, pool.free) == (times, free)
