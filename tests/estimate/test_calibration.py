"""Predicted against actual, without flattery."""

import math
from dataclasses import replace

import pytest
from tests.estimate.made_runs import World, draws, settings

from sluice.estimate.calibration import LeaveOut, accuracy, calibration
from sluice.estimate.outliers import outliers
from sluice.estimate.run_setting import NotEnoughData
from sluice.estimate.uncertainty import PredictionInterval


def histories(seed=1, noise=0.15, repeats=1):
    rng, here = draws(seed), settings(slots=(1, 2, 4), sizes_mb=(40, 80, 160))
    return {
        name: World(noise=noise, map_s=map_s).runs(here, rng, repeats=repeats, profile=name)
        for name, map_s in [("long", 4.0), ("middle", 2.0), ("short", 0.5)]
    }


def test_leaving_out_is_harder_than_knowing_the_answer():
    """Otherwise it would flatter itself."""
    runs = histories()
    left_out = calibration(runs, leave_out=LeaveOut.RUN, names=["long"]).accuracy
    in_sample = calibration(runs, leave_out=LeaveOut.NOTHING, names=["long"]).accuracy

    assert (in_sample.error_median or 0.0) < 0.7 * (left_out.error_median or 0.0)


def test_a_whole_setting_is_left_out_where_that_is_asked_for():
    """With repetitions, leaving out one run leaves its twins to tell."""
    runs = histories(noise=0.0, repeats=2)
    by_run = calibration(runs, leave_out=LeaveOut.RUN, names=["long"]).accuracy
    by_setting = calibration(runs, leave_out=LeaveOut.SETTING, names=["long"]).accuracy

    assert (by_run.error_median or 0.0) < (by_setting.error_median or 0.0)


def test_the_prediction_of_a_run_does_not_depend_on_what_it_took():
    """The one way to be sure that it was not seen."""
    runs = histories()
    first, *others = runs["long"]
    slow = replace(first, elapsed_s=1.3 * first.elapsed_s)
    here, *_ = calibration(runs, names=["long"]).comparisons
    there, *_ = calibration({**runs, "long": [slow, *others]}, names=["long"]).comparisons

    assert first.run_id == here.run_id == there.run_id
    assert here.predicted_s == there.predicted_s
    assert here.interval == there.interval


@pytest.mark.slow
def test_many_runs_do_not_tell_each_other_either():
    """Beyond a few, errors are not learned anew for each; still the answer stays unseen."""
    rng = draws(1)
    runs = [
        World(noise=0.1).run(f"run-{turn}", rng.choice([1, 2, 4]), rng.randrange(50, 500), rng)
        for turn in range(60)
    ]
    first, *others = runs
    slow = replace(first, elapsed_s=1.3 * first.elapsed_s)
    found = calibration({"many": runs})
    here, there = found.comparisons[0], calibration({"many": [slow, *others]}).comparisons[0]

    assert here.predicted_s == there.predicted_s
    assert isinstance(here.interval, PredictionInterval)
    assert isinstance(there.interval, PredictionInterval)
    assert math.isclose(here.interval.high_s, there.interval.high_s, rel_tol=0.05)
    assert 0.8 <= (found.accuracy.coverage or 0.0) <= 0.97


def test_figures_are_those_of_the_comparisons():
    found = calibration(histories())
    one = found.comparisons[3]
    told = found.accuracy
    inside = [bool(each.is_inside) for each in found.comparisons]

    assert math.isclose(one.error or 0.0, (one.predicted_s or 0.0) / one.actual_s - 1)
    assert (27, 27, 27) == (told.compared, told.predicted, told.intervals)
    assert told.coverage == sum(inside) / len(inside)


def test_nothing_to_compare_is_told_as_nothing():
    told = accuracy([])

    assert (0, 0, None, None, None) == (
        told.compared, told.predicted, told.error_median, told.bias, told.coverage,
    )  # fmt: skip


def test_a_single_run_has_nothing_to_be_foretold_from():
    (one,) = calibration({"once": histories()["long"][:1]}).comparisons

    assert isinstance(one.prediction, NotEnoughData)
    assert one.predicted_s is one.error is one.is_inside is None


def test_runs_that_tell_too_little_are_passed_over_by_name():
    runs = histories()["long"]
    failed = replace(runs[0], run_id="failed", succeeded=False)
    (profile,) = calibration({"long": [*runs, failed]}).profiles

    assert ("failed",) == profile.passed_over


def test_a_run_unlike_the_others_is_pointed_at_and_still_counted():
    """An outlier that were left out of the figures would make them too good."""
    runs = histories(noise=0.05)["long"]
    stuck = [replace(runs[0], elapsed_s=9 * runs[0].elapsed_s), *runs[1:]]
    (profile,) = calibration({"long": stuck}).profiles

    assert stuck[0].run_id in {found.run_id for found in profile.outliers}
    assert profile.accuracy.compared == len(stuck)


def test_others_lend_their_errors_to_a_profile_that_is_asked_for_alone():
    runs = histories(repeats=1)
    asked = calibration(runs, names=["long"])

    assert ["long"] == [profile.name for profile in asked.profiles]
    assert asked.profiles[0].comparisons == calibration(runs).profiles[0].comparisons


@pytest.mark.parametrize("runs", [0, 4])
def test_few_runs_have_no_outlier(runs):
    assert () == outliers({str(index): float(index) for index in range(runs)})


def test_runs_that_agree_have_no_outlier():
    """A spread of nothing would make any difference infinitely unlikely."""
    assert () == outliers({"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.0, "e": 0.1})


def test_outliers_say_how_far_off_they_were():
    found = outliers({"a": 0.0, "b": 0.1, "c": -0.1, "d": 0.05, "e": 2.0, "f": -1.5})

    assert ["e", "f"] == [one.run_id for one in found]
    assert "e took 7.2 times as long as expected" == found[0].text()
    assert "f took 22 % of what was expected" == found[1].text()
