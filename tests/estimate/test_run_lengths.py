"""Lengths of queued jobs out of past runs, whose few values show where each comes from."""

import math
import random

import pytest

from sluice.estimate.run_lengths import (
    OpenJob,
    PastLength,
    PossibleLengths,
    RunLengths,
    drawn_delays,
    drawn_lengths_s,
    drawn_places,
    left_s,
    quantile,
)


def past(*lengths_s, name="j", user="u", slots=1, limit_s=None):
    return [PastLength(name, user, slots, limit_s, float(one)) for one in lengths_s]


def job(*, name="j", user="u", slots=1, limit_s=None, ran_s=0.0):
    return OpenJob(name, user, slots, limit_s, ran_s)


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({}, "user, name and limit"),
        ({"slots": 2}, "user and name"),
        ({"limit_s": 50.0}, "user and name"),
        ({"name": "k"}, "user and limit"),
        ({"name": "k", "limit_s": 50.0}, "user"),
        ({"user": "v"}, "limit"),
        ({"user": "v", "limit_s": 50.0}, "all"),
    ],
)
def test_a_job_is_compared_with_the_narrowest_group_of_eight_runs(changed, kind):
    """The past runs are of another kind in what is changed."""
    plain = {"name": "j", "user": "u", "slots": 1, "limit_s": 90.0}
    found = RunLengths(past(*range(1, 9), **plain)).of(job(**plain | changed))

    assert (found.kind, found.runs) == (kind, 8)


def test_of_seven_own_runs_a_wider_group_counts():
    runs = [*past(*range(1, 8)), *past(9, name="k")]
    found = RunLengths(runs).of(job())

    assert (found.kind, found.runs, found.lengths_s) == (
        "user and limit", 8, (1, 1, 2, 3, 4, 5, 6, 7, 9),
    )  # fmt: skip


def test_with_few_runs_in_all_the_narrowest_group_that_has_some_counts():
    found = RunLengths([*past(3, 2), *past(9, name="k", user="v")]).of(job())

    assert (found.kind, found.runs, found.lengths_s) == ("user, name and limit", 2, (2, 3))


def test_without_a_past_run_nothing_is_possible():
    assert RunLengths([]).of(job()) is None


@pytest.mark.parametrize(("own", "few"), [(8, (1,)), (16, (1, 101))])
def test_to_eight_lengths_of_a_group_comes_one_of_all_runs(own, few):
    """They are evenly spread: of twice as many runs, the first and the one in the middle."""
    mine, others = range(1, own + 1), range(101, own + 101)
    runs = [*past(*mine), *past(*others, name="k", user="v", limit_s=7e9)]

    assert RunLengths(runs).of(job()).lengths_s == tuple(sorted([*mine, *few]))


def test_only_the_newest_sixty_runs_of_a_group_count():
    found = RunLengths(past(*range(100, 170))).of(job())

    assert (found.runs, min(found.lengths_s), max(found.lengths_s)) == (60, 110, 169)


def test_a_job_that_runs_is_compared_with_those_that_had_run_for_as_long():
    found = RunLengths(past(*range(1, 20))).of(job(ran_s=8.0))

    assert (found.lengths_s[0], found.lengths_s[-1]) == (9, 19)


def test_a_running_job_counts_as_longer_than_it_has():
    """The longest that ended took 8 s. Two run for 20 s, so that more take longer."""
    runs = past(*range(1, 9))
    found = RunLengths(runs, [job(ran_s=20.0)] * 2).of(job())
    limited = RunLengths(runs, [job(ran_s=20.0)] * 2).of(job(limit_s=90.0))

    assert found.lengths_s[-4:] == (8, 40, 40, 40)  # one of them for what is rare
    assert limited.lengths_s[-4:] == (8, 90, 90, 90)


def test_a_run_that_passed_its_limit_passes_that_of_the_job_by_as_many_seconds():
    found = RunLengths(past(*[130.0] * 8, limit_s=100.0)).of(job(limit_s=60.0))

    assert set(found.lengths_s) == {90}


def test_jobs_that_wait_are_as_long_as_running_ones_of_their_batch_have_shown():
    """All past runs of a batch were alike, and one that runs has passed half of their lengths."""
    runs = RunLengths(past(*[one for one in range(10, 170, 10) for _ in range(2)]))
    passed, waits = job(ran_s=120.0), job()
    alone = drawn_places([waits], runs, 1000, random.Random(1))[0]
    behind = drawn_places([passed, waits], runs, 1000, random.Random(1))[1]

    assert sum(alone) / 1000 == pytest.approx(0.5, abs=0.01)
    assert sum(behind) / 1000 > 0.6
    assert all(0 <= one <= 1 for one in behind)


def test_a_running_job_alone_is_drawn_evenly_from_what_it_has_left():
    runs = RunLengths(past(*[one for one in range(10, 170, 10) for _ in range(2)]))
    places = drawn_places([job(ran_s=120.0)], runs, 1000, random.Random(1))[0]

    assert sum(places) / 1000 == pytest.approx(0.5, abs=0.05)
    assert 0 <= min(places) < 0.05
    assert 0.95 < max(places) <= 1


def test_waits_are_delayed_more_often_than_brought_forward():
    delays = sorted(drawn_delays(1000, random.Random(1)))

    assert delays[500] == pytest.approx(1.08, abs=0.01)
    assert delays[50] < 0.8
    assert delays[950] > 1.45


def test_shares_of_the_limit_are_taken_where_they_vary_less_than_lengths():
    """Runs took a tenth of their limits; or else 10 s under any limit."""
    limits_s = [100.0, 200.0, 300.0, 400.0] * 2
    shares = [PastLength("j", "u", 1, limit_s, limit_s / 10) for limit_s in limits_s]
    equal = [PastLength("j", "u", 1, limit_s, 10.0) for limit_s in limits_s]

    assert set(RunLengths(shares).of(job(limit_s=1000.0)).lengths_s) == {100}
    assert set(RunLengths(equal).of(job(limit_s=1000.0)).lengths_s) == {10}
    assert set(RunLengths(equal).of(job(limit_s=8.0)).lengths_s) == {8}  # no longer than its limit
    assert set(RunLengths(shares).of(job()).lengths_s) == {10, 20, 30, 40}


@pytest.mark.parametrize(
    ("place", "limit_s", "length_s"),
    [
        (0.0, None, 2.0),  # no shorter than it ran
        (0.25, None, 4.0),
        (0.375, None, 6.0),
        (0.5, None, 8.0),
        (0.75, None, 10.0),
        (0.875, None, 15.0),
        (1.0, None, 20.0),  # twice the longest
        (1.0, 30.0, 30.0),  # or the limit
        (1.0, 9.0, 10.0),
    ],
)
def test_places_are_spread_evenly_between_the_lengths(place, limit_s, length_s):
    possible = PossibleLengths((4.0, 8.0, 10.0), 3, "all")

    assert possible.at(place, job(limit_s=limit_s, ran_s=2.0)) == pytest.approx(length_s)


def test_whole_lengths_have_nothing_before_and_after():
    possible = PossibleLengths((4.0, 8.0, 10.0), 3, "all", is_whole=True).times(2.0)

    assert [possible.at(place, job()) for place in (0.0, 0.25, 0.5)] == [8, 12, 16]
    assert possible.at(1.0, job()) == pytest.approx(20)


@pytest.mark.parametrize(
    ("ran_s", "limit_s", "left"), [(0.0, None, 10), (4.0, 90.0, 6), (10.0, None, 0.1),
                                   (12.0, 90.0, 0.9)],
)  # fmt: skip
def test_a_job_that_runs_has_a_hundredth_of_its_limit_left(ran_s, limit_s, left):
    assert left_s(job(ran_s=ran_s, limit_s=limit_s), 10.0) == pytest.approx(left)


def test_jobs_of_one_user_and_name_are_drawn_at_one_place():
    """Ten replications have a place in each tenth, in a random order."""
    possible = PossibleLengths((0.0, 100.0), 2, "all", is_whole=True)
    jobs = [job(), job(ran_s=0.0, slots=2), job(name="k")]
    drawn = drawn_lengths_s(
        jobs, [possible] * 3, drawn_places(jobs, RunLengths([]), 10, random.Random(3))
    )

    assert all(one == other for one, other, _ in drawn)
    assert any(one != other for one, _, other in drawn)
    for at in (0, 2):
        tenths = [int(lengths_s[at] / 10) for lengths_s in drawn]
        assert sorted(tenths) == list(range(10))
        assert tenths != sorted(tenths)


def _alike(lengths_s):
    """How often two jobs of a user and name share a place, after runs of these lengths."""
    past = RunLengths(PastLength("j", "u", 1, None, length_s) for length_s in lengths_s)
    places = drawn_places([job(), job(slots=2)], past, 1000, random.Random(1))
    return sum(one == other for one, other in zip(*places, strict=True)) / 1000


def test_jobs_share_a_place_as_often_as_past_runs_were_alike():
    draw = random.Random(1)
    batches = [batch * draw.uniform(1.0, 1.1) for batch in (5, 1, 9, 3, 7) for _ in range(10)]

    assert _alike(batches) == 1
    assert _alike([draw.random() for _ in range(60)]) < 0.5
    assert _alike([2.0, 9.0] * 30) == 0
    assert _alike([4.0] * 60) == 1  # nothing shows
    assert _alike(batches[:7]) == 1  # too few


def test_a_job_without_past_runs_takes_its_limit():
    drawn = drawn_lengths_s([job(limit_s=50.0, ran_s=20.0)], [None], [[0.1, 0.9]])

    assert drawn == [[30], [30]]


def test_a_job_without_past_runs_and_limit_never_ends():
    drawn = drawn_lengths_s([job(limit_s=None, ran_s=20.0)], [None], [[0.5]])

    assert drawn == [[math.inf]]


@pytest.mark.parametrize(
    ("share", "value"), [(0.0, 1), (0.25, 1), (0.26, 2), (0.5, 2), (0.75, 3), (0.76, 4), (1.0, 4)]
)
def test_a_quantile_is_the_least_value_that_reaches_the_share(share, value):
    assert quantile([1, 2, 3, 4], share) == value
