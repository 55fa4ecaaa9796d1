"""Calibration: predicted against actual times, on runs that were left out."""

import math
import time
from dataclasses import replace

import pytest
from tests.estimate.made_runs import MachineModel, draws, settings
from tests.estimate.test_level_changes import changed, growing

from sluice.estimate import forecast, prediction
from sluice.estimate.calibration import LeaveOut, accuracy, calibration
from sluice.estimate.outliers import Outlier, outliers
from sluice.estimate.run_setting import NotEnoughData
from sluice.estimate.uncertainty import PredictionInterval


def histories(seed=1, noise=0.15, repeats=1):
    rng, here = draws(seed), settings(slots=(1, 2, 4), sizes_mb=(40, 80, 160))
    return {
        name: MachineModel(noise=noise, map_s=map_s).runs(here, rng, repeats=repeats, profile=name)
        for name, map_s in [("long", 4.0), ("middle", 2.0), ("short", 0.5)]
    }


def test_errors_are_larger_on_left_out_runs():
    """A fit to the same runs would look better than it is."""
    runs = histories()
    left_out = calibration(runs, leave_out=LeaveOut.RUN, names=["long"]).accuracy
    in_sample = calibration(runs, leave_out=LeaveOut.NOTHING, names=["long"]).accuracy

    assert (in_sample.error_median or 0.0) < 0.7 * (left_out.error_median or 0.0)


def test_leave_out_setting_leaves_out_all_its_repetitions():
    """If only one run is left out, its repetitions still show the answer."""
    runs = histories(noise=0.0, repeats=2)
    by_run = calibration(runs, leave_out=LeaveOut.RUN, names=["long"]).accuracy
    by_setting = calibration(runs, leave_out=LeaveOut.SETTING, names=["long"]).accuracy

    assert (by_run.error_median or 0.0) < (by_setting.error_median or 0.0)


def test_the_prediction_of_a_run_does_not_depend_on_its_own_time():
    """This proves that the predictor did not see the run."""
    runs = histories()
    first, *others = runs["long"]
    slow = replace(first, elapsed_s=1.3 * first.elapsed_s)
    here, *_ = calibration(runs, names=["long"]).comparisons
    there, *_ = calibration({**runs, "long": [slow, *others]}, names=["long"]).comparisons

    assert first.run_id == here.run_id == there.run_id
    assert here.predicted_s == there.predicted_s
    assert here.interval == there.interval


@pytest.mark.slow
def test_left_out_runs_stay_unseen_among_many_runs():
    """With many runs the errors are not refitted for each, but its own time stays unseen."""
    rng = draws(1)
    runs = [
        MachineModel(noise=0.1).run(
            f"run-{turn}", rng.choice([1, 2, 4]), rng.randrange(50, 500), rng
        )
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


def test_accuracy_is_computed_from_the_comparisons():
    found = calibration(histories())
    one = found.comparisons[3]
    result = found.accuracy
    inside = [bool(each.is_inside) for each in found.comparisons]

    assert math.isclose(one.error or 0.0, (one.predicted_s or 0.0) / one.actual_s - 1)
    assert (27, 27, 27) == (result.compared, result.predicted, result.intervals)
    assert result.coverage == sum(inside) / len(inside)


def test_accuracy_without_comparisons_is_none():
    result = accuracy([])

    assert (0, 0, None, None, None) == (
        result.compared, result.predicted, result.error_median, result.bias, result.coverage,
    )  # fmt: skip


def test_a_single_run_cannot_be_predicted_from_others():
    (one,) = calibration({"once": histories()["long"][:1]}).comparisons

    assert isinstance(one.prediction, NotEnoughData)
    assert "one run only; a prediction needs two" == one.prediction.why
    assert one.predicted_s is one.error is one.is_inside is None


def test_one_setting_cannot_be_left_out():
    runs = MachineModel(noise=0.1).runs([(2, 100)], draws(1), repeats=3)
    one, *_ = calibration({"nightly": runs}, leave_out=LeaveOut.SETTING).comparisons

    assert isinstance(one.prediction, NotEnoughData)
    assert "all runs have one setting" in one.prediction.why


@pytest.mark.slow
def test_forty_profiles_of_ten_runs_take_seconds():
    """Measured in CPU time, at a quarter of the size; quiet machines need a third of this."""
    here, rng = settings(slots=(1, 2, 4), sizes_mb=(40, 80, 160, 200))[:10], draws(1)
    runs = {
        name: MachineModel(noise=0.15).runs(here, rng, profile=name) for name in map(str, range(10))
    }
    began_s = time.process_time()
    result = calibration(runs).accuracy

    assert (100, 100) == (result.predicted, result.intervals)
    assert time.process_time() - began_s < 20 / 4


def test_unusable_runs_are_skipped_and_listed():
    runs = histories()["long"]
    failed = replace(runs[0], run_id="failed", succeeded=False)
    (profile,) = calibration({"long": [*runs, failed]}).profiles

    assert ("failed",) == profile.passed_over


def test_an_outlier_is_reported_and_still_counted():
    """Without the outliers the figures would look too good."""
    runs = histories(noise=0.05)["long"]
    stuck = [replace(runs[0], elapsed_s=9 * runs[0].elapsed_s), *runs[1:]]
    (profile,) = calibration({"long": stuck}).profiles

    assert stuck[0].run_id in {found.run_id for found in profile.outliers}
    assert profile.accuracy.compared == len(stuck)


def test_a_single_profile_uses_the_errors_of_the_others():
    runs = histories(repeats=1)
    asked = calibration(runs, names=["long"])

    assert ["long"] == [profile.name for profile in asked.profiles]
    assert asked.profiles[0].comparisons == calibration(runs).profiles[0].comparisons


@pytest.mark.parametrize("runs", [0, 4])
def test_few_runs_have_no_outlier(runs):
    assert () == outliers({str(index): float(index) for index in range(runs)})


def test_runs_that_agree_have_no_outlier():
    """With a deviation of 0 every difference would be an outlier."""
    assert () == outliers({"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.0, "e": 0.1})


def test_outliers_give_their_ratio():
    found = outliers({"a": 0.0, "b": 0.1, "c": -0.1, "d": 0.05, "e": 2.0, "f": -1.5})

    assert ["e", "f"] == [one.run_id for one in found]
    assert "e took 7.2 times as long as expected" == found[0].text()
    assert "f took 22 % of what was expected" == found[1].text()


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (2.04, "r took 2 times as long as expected"),
        (154.2, "r took 154 times as long as expected"),
        (0.25, "r took 25 % of what was expected"),
        (0.0004, "r took under 1 % of what was expected"),
    ],
)
def test_outliers_are_described_in_plain_numbers(ratio, text):
    assert text == Outlier(run_id="r", ratio=ratio, score=9.0).text()


def test_runs_of_another_level_are_left_out_and_those_of_a_trend_compared_on_it():
    grown = {"job": growing(3, nights=20)}
    (of_trend,) = calibration(grown).profiles
    (of_change,) = calibration({"job": changed()}).profiles

    assert len(of_trend.comparisons) == 20
    for one, run in zip(of_trend.comparisons, grown["job"], strict=True):
        assert abs(one.actual_s / run.elapsed_s - 1) < 1e-9
    assert (of_trend.accuracy.error_median or 1.0) < 0.1
    first_s, last_s = (of_trend.comparisons[at].predicted_s or 0.0 for at in (0, -1))
    assert 0 < first_s < 0.75 * last_s
    first, last = (of_trend.comparisons[at] for at in (0, -1))
    for end in ("low_s", "high_s"):
        spans = [getattr(one.interval, end) / one.predicted_s for one in (first, last)]
        assert spans[0] == pytest.approx(spans[1], rel=0.1)
    assert [one.run_id for one in of_change.comparisons] == [run.run_id for run in changed()[8:]]
    assert not of_change.outliers
    assert not of_change.passed_over


def test_many_runs_are_not_fitted_again_for_every_pair(monkeypatch):
    """The fits of a small history grow with the square of its runs, those of a large one do not."""
    here, rng = settings(slots=(1, 2), sizes_mb=(40, 80)), draws(3)
    runs = {"made": MachineModel(noise=0.1).runs(here, rng, repeats=2)}
    fits = []

    def counted(*words, **more):
        fits.append(words)
        return prediction.predictor_of(*words, **more)

    monkeypatch.setattr(forecast, "predictor_of", counted)
    small = calibration(runs)
    of_pairs = len(fits)
    monkeypatch.setattr(forecast, "NESTED_RUNS_MAX", 1)
    large = calibration(runs)

    assert len(fits) - of_pairs < of_pairs / 2
    assert small.accuracy.error_median == large.accuracy.error_median
