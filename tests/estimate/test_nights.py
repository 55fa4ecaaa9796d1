"""A history is cut into nights at its quiet time of day; drawn nights keep runs together."""

import random
from dataclasses import replace

import pytest
from tests.estimate.nightly_jobs import NIGHT_S, nightly_jobs
from tests.estimate.nightly_jobs import nights_of as made

from sluice.estimate.nights import OneNight, after_last_gap, gaps_days, nights_of

JOBS = nightly_jobs(0, jobs=6)


def history(nights=10, shift_s=0.0):
    """All runs; shift_s: moves every submission."""
    return [
        replace(run, submitted_at_s=run.submitted_at_s + shift_s)
        for runs in made(JOBS, nights).values()
        for run in runs
    ]


def night_numbers(jobs):
    return {one.run.run_id.partition("/")[2] for one in jobs}


@pytest.mark.parametrize("shift_s", [0.0, -3600.0, 40_000.0])
def test_nights_are_cut_where_nothing_is_submitted_also_around_midnight(shift_s):
    nights = nights_of(history(shift_s=shift_s))

    assert [6] * 10 == [len(night) for night in nights.by_night]


def test_nights_begin_in_the_middle_of_the_longest_quiet_time():
    """Runs at 1, 2, 12 and 20 o'clock: of gaps of 1, 10, 8 and 5 hours the middle of the second."""
    runs = [
        replace(run, submitted_at_s=hour * 3600.0)
        for run, hour in zip(history(nights=1), (1, 12 + 48, 20, 2 + 24), strict=False)
    ]
    nights = nights_of(runs)

    assert nights.began_at_s == 7 * 3600
    assert [[18], [13, 19], [5]] == [
        [into_s / 3600 for into_s, _ in one] for one in nights.by_night
    ]


def test_a_drawn_night_keeps_its_runs_together():
    nights = nights_of(history())
    drawn = nights.draw(OneNight.DRAWN, random.Random(4))
    mixed = nights.draw(OneNight.NEWEST, random.Random(4))

    assert 1 == len(night_numbers(drawn)) < len(night_numbers(mixed))
    for night in (drawn, mixed):
        assert sorted(job.name for job in JOBS) == sorted(one.name for one in night)
        first_s = min(job.at_s for job in JOBS)
        expected_s = sorted(job.at_s - first_s for job in JOBS)
        assert expected_s == pytest.approx([one.at_s for one in night])


def test_a_typical_night_has_the_jobs_that_usually_run():
    once = replace(history()[0], run_id="once", profile="once")
    nights = nights_of([*history(), once])

    assert "once" in {one.name for one in nights.draw(OneNight.NEWEST, random.Random(0))}
    assert "once" not in {one.name for one in nights.draw(OneNight.TYPICAL, random.Random(0))}


def test_a_job_that_runs_twice_a_night_is_drawn_twice():
    runs = history(nights=1)
    again = replace(runs[0], run_id="again", submitted_at_s=runs[0].submitted_at_s + 60.0)
    names = [one.name for one in nights_of([*runs, again]).draw(OneNight.DRAWN, random.Random(0))]

    assert {runs[0].profile, f"{runs[0].profile} #2"} <= set(names)


def test_gaps_are_found_and_what_is_before_the_last_one_can_be_left_out():
    old = [replace(run, submitted_at_s=run.submitted_at_s - 100 * NIGHT_S) for run in history(2)]
    runs = [*old, *history(3)]

    assert [99.0] == [round(days) for days in gaps_days(runs)]
    assert 18 == len(after_last_gap(runs, 30.0))
    assert after_last_gap(runs, 200.0) == runs


def at_days(*days):
    runs = history(nights=1)
    return [
        replace(run, submitted_at_s=day * NIGHT_S) for run, day in zip(runs, days, strict=False)
    ]


def test_a_gap_is_as_long_as_asked_for_or_longer():
    runs = at_days(-5.0, 25.0, 54.75)

    assert gaps_days(runs) == [30.0]
    assert gaps_days(runs, 29.75) == [30.0, 29.75]
    assert after_last_gap(runs, 30.0) == runs[1:]
    assert after_last_gap(runs, 29.75) == runs[2:]
    assert after_last_gap(runs, 31.0) == runs
    assert after_last_gap([], 1.0) == []


@pytest.mark.parametrize(("nights", "is_typical"), [(1, True), (2, True), (3, False), (4, False)])
def test_a_typical_job_ran_in_half_of_the_nights_or_more(nights, is_typical):
    usual, *_ = history(nights=1)
    usual_runs = [
        replace(usual, run_id=f"usual/{night}", submitted_at_s=night * NIGHT_S)
        for night in range(nights)
    ]
    rare = replace(usual, run_id="rare", profile="rare", submitted_at_s=60.0)
    drawn = nights_of([*usual_runs, rare]).draw(OneNight.TYPICAL, random.Random(0))

    assert {usual.profile, *(["rare"] if is_typical else [])} == {one.name for one in drawn}


def test_a_history_without_instants_begins_at_midnight():
    runs = [replace(run, submitted_at_s=None) for run in history(1)]
    nights = nights_of(runs)

    assert (nights_of([]).began_at_s, nights.began_at_s) == (0.0, 0.0)
    assert nights.by_night == (tuple((0.0, run) for run in runs),)


def test_nights_are_equal_whether_or_not_one_was_drawn_of_them():
    nights = nights_of(history())
    nights.by_profile()

    assert nights == nights_of(history())


def test_runs_without_an_instant_are_one_night():
    runs = [replace(run, submitted_at_s=None) for run in history(2)]
    nights = nights_of(runs)

    assert (1, []) == (len(nights.by_night), gaps_days(runs))
    assert {0.0} == {one.at_s for one in nights.draw(OneNight.DRAWN, random.Random(0))}
