"""Prediction intervals have the promised coverage; without enough data there is none."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import first_of
from tests.estimate.made_runs import MachineModel, draws, settings

from sluice.estimate.calibration import calibration
from sluice.estimate.forecast import Forecaster, usual_runs
from sluice.estimate.prediction import comparable
from sluice.estimate.run_setting import NotEnoughData, timed_runs
from sluice.estimate.uncertainty import (
    PredictionInterval,
    held_out,
    prediction_interval,
    probability_within,
    units_needed,
)
from sluice.model.history import PastPhase, PastRun


def from_ratios(ratios, level=0.9):
    """The interval around 1 s, with all units from other profiles."""
    return prediction_interval((), ratios, level)


@pytest.mark.parametrize(("level", "units"), [(0.5, 3), (0.8, 9), (0.9, 19), (0.95, 39)])
def test_too_few_units_give_no_interval(level, units):
    assert units == units_needed(level)
    assert isinstance(from_ratios([[0.1]] * units, level), PredictionInterval)
    result = from_ratios([[0.1]] * (units - 1), level)

    assert isinstance(result, NotEnoughData)
    assert f"needs {units}" in result.why


def test_with_just_enough_units_the_interval_spans_them_all():
    ratios = [[index / 10] for index in range(-9, 10)]
    found = from_ratios(ratios)

    assert math.isclose(-0.9, math.log(found.low_s))
    assert math.isclose(0.9, math.log(found.high_s))


def test_a_profile_with_just_enough_units_of_its_own_needs_no_other():
    own, others = [[index / 10] for index in range(-9, 10)], [[9.0]] * 5

    assert prediction_interval(own, others, 0.9) == prediction_interval(own, (), 0.9)
    assert 5 == prediction_interval(own[1:], others, 0.9).pooled


def test_many_repetitions_of_one_setting_weigh_as_much_as_one():
    """A setting that runs every hour must not dominate the others."""
    ratios = [[index / 10] for index in range(-9, 10)]
    drowned = [[0.0] * 1000, *ratios]

    assert math.isclose(from_ratios(drowned).high_s, from_ratios([[0.0], *ratios]).high_s)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 0.8, 0.9]))
def test_the_mean_coverage_of_exchangeable_units_is_at_least_the_level(seed, level):
    """Counted over every choice of the new unit, so the check is exact."""
    rng = draws(seed)
    ratios = [[rng.gauss(0.0, 1.0)] for _ in range(units_needed(level) + 1 + rng.randrange(30))]
    inside = [
        found.holds(math.exp(new))
        for index, [new] in enumerate(ratios)
        for found in [from_ratios(ratios[:index] + ratios[index + 1 :], level)]
    ]

    assert sum(inside) / len(inside) >= level - 1e-9


@pytest.mark.slow
def test_intervals_of_fitted_predictions_cover_nine_in_ten_runs():
    """Four jobs of different noise at 8 settings each; a new run of each, at a ninth setting."""
    inside = []
    for seed in first_of(range(60), 20):
        rng = draws(seed)
        worlds = [MachineModel(noise=noise, map_s=map_s) for noise, map_s in
                  [(0.1, 1.0), (0.15, 2.0), (0.2, 0.5), (0.1, 4.0)]]  # fmt: skip
        histories = {
            f"job-{number}": world.runs(settings(), rng, profile=f"job-{number}")
            for number, world in enumerate(worlds)
        }
        forecaster = Forecaster(histories)
        for number, world in enumerate(worlds):
            new = world.run("new", rng.choice([1, 2, 3, 4]), rng.choice([300, 330]), rng)
            (here,) = timed_runs([new])
            found = forecaster.forecast(f"job-{number}", here.setting)
            assert isinstance(found.interval, PredictionInterval)
            inside.append(found.interval.holds(here.elapsed_s))

    assert 0.85 <= sum(inside) / len(inside) <= 0.99


def test_a_profile_with_many_settings_does_not_use_others():
    many = MachineModel(noise=0.1).runs(settings((1, 2, 3, 4, 6), (100, 200, 300, 400)), draws(1))
    few = MachineModel(noise=2.0).runs(settings((1, 2), (100,)), draws(2), profile="wild")
    forecaster = Forecaster({"many": many, "wild": few})
    here = timed_runs([MachineModel().run("new", 5, 250, draws(3))])[0].setting
    own = forecaster.forecast("many", here).interval
    lent = forecaster.forecast("wild", here).interval

    assert (20, 0) == (own.units, own.pooled)
    assert (22, 20) == (lent.units, lent.pooled)


def test_a_known_setting_uses_its_repetitions_as_units():
    """25 runs of one setting are 25 units for that setting, and one unit for another."""
    runs = MachineModel(noise=0.1).runs([(2, 100)], draws(1), repeats=25)
    forecaster = Forecaster({"nightly": runs})
    known = timed_runs(runs)[0].setting
    elsewhere = timed_runs([MachineModel().run("new", 4, 300, draws(3))])[0].setting

    assert 25 == forecaster.forecast("nightly", known).interval.units
    assert isinstance(forecaster.forecast("nightly", elsewhere).interval, NotEnoughData)


def test_a_left_out_unit_is_not_used():
    """The predictor of a left-out unit was fitted without its runs."""
    runs = comparable(timed_runs(MachineModel(noise=0.1).runs(settings(), draws(1), repeats=2)))
    units = held_out(runs, known_setting=False)
    left_out = [run_id for unit in units for run_id in unit.runs]

    assert sorted(one.run.run_id for one in runs) == sorted(left_out)
    by_id = {one.run.run_id: one.setting for one in runs}
    assert all(
        by_id[run_id] not in unit.predictor.settings for unit in units for run_id in unit.runs
    )


def batch_jobs(count, seed):
    """Runs as a batch system logs them: one length for all tasks, and that varies wildly."""
    rng = draws(seed)
    return [
        PastRun(
            run_id=f"swf-{number}",
            profile="batch",
            source="swf",
            phases=(
                PastPhase(name="job", kind="map", tasks=number + 1, avg_s=took_s, max_s=took_s),
            ),
            elapsed_s=took_s,
            slots={"map": 64},
        )
        for number in range(count)
        for took_s in [math.exp(rng.gauss(4.0, 2.0))]
    ]


def test_an_unrelated_log_does_not_widen_an_interval():
    """Errors of jobs of another engine, measured by another kind of log, are not borrowed."""
    here = settings((1, 2, 4), (100, 200))
    worlds = {f"job-{seed}": MachineModel(noise=0.1, map_s=seed) for seed in (1, 2, 3, 4)}
    known = {name: world.runs(here, draws(3), profile=name) for name, world in worlds.items()}
    setting = timed_runs([MachineModel().run("new", 3, 150, draws(3))])[0].setting
    before = Forecaster(known).forecast("job-1", setting).interval
    after = Forecaster({**known, "batch": batch_jobs(40, seed=4)}).forecast("job-1", setting)

    assert isinstance(before, PredictionInterval)
    assert before == after.interval


def test_errors_of_another_engine_are_not_borrowed():
    """The same jobs on one machine and on a cluster have different errors."""
    here = settings((1, 2, 4, 8), (100, 200, 300, 400, 500))
    lent = MachineModel(noise=0.1).runs(here, draws(1), profile="lender")
    few = MachineModel(noise=0.1).runs(here[:3], draws(2), profile="few")
    setting = timed_runs([few[0]])[0].setting

    def interval(engine):
        lender = [replace(run, configuration={"engine": engine}) for run in lent]
        known = {"few": [replace(run, configuration={"engine": "local"}) for run in few]}
        return Forecaster({**known, "lender": lender}).forecast("few", setting).interval

    assert 20 == interval("local").pooled
    assert isinstance(interval("yarn"), NotEnoughData)


def test_an_estimate_says_what_it_rests_on():
    runs = MachineModel(noise=0.1).runs(settings((1, 2, 4, 8), (100, 200, 300, 400, 500)), draws(1))
    stuck = [*runs[:-1], replace(runs[-1], elapsed_s=20 * runs[-1].elapsed_s)]
    found = Forecaster({"made": stuck}).estimate(
        "made", slots=3, input_bytes=250_000_000, level=0.8
    )

    assert (19, (stuck[-1].run_id,)) == (found.runs, found.outliers)
    assert [("map", 25, 3), ("reduce", 2, 3)] == [tuple(phase) for phase in found.setting.phases]
    assert 0.8 == found.interval.level
    assert found.interval.low_s < found.prediction.elapsed_s < found.interval.high_s


def test_an_estimate_without_a_setting_is_that_of_the_newest_run():
    runs = MachineModel(noise=0.1).runs(settings(), draws(1))
    found = Forecaster({"made": runs}).estimate("made")

    assert timed_runs(runs)[-1].setting == found.setting
    assert isinstance(Forecaster({"made": runs}).estimate("other").prediction, NotEnoughData)


def test_slots_may_be_given_by_kind_of_phase():
    runs = MachineModel(noise=0.1).runs(settings(), draws(1))
    found = Forecaster({"made": runs}).estimate("made", slots={"map": 7})

    assert [7, 4] == [phase.slots for phase in found.setting.phases]


def test_runs_that_calibrate_lists_as_outliers_are_not_usual():
    runs = MachineModel(noise=0.05).runs(settings((1, 2, 4), (40, 80, 160)), draws(1))
    stuck = [*runs[:-1], replace(runs[-1], elapsed_s=9 * runs[-1].elapsed_s)]
    (calibrated,) = calibration({"made": stuck}).profiles

    assert [runs[-1].run_id] == [found.run_id for found in calibrated.outliers]
    assert runs[:-1] == usual_runs(stuck)
    assert runs[-1].run_id in calibrated.model.left_aside


@pytest.mark.parametrize(
    ("limit_s", "probability"), [(0.5, 1 / 8), (1.0, 3 / 8), (3.0, 4 / 8), (9.0, 7 / 8), (0.0, 0)]
)
def test_the_next_run_is_one_unit_more_half_of_it_in_time(limit_s, probability):
    """Three units: 1 s; 2 s and 4 s, of which each is half; 8 s."""
    units = [[0.0], [math.log(2), math.log(4)], [math.log(8)]]

    assert probability_within(units, limit_s) == pytest.approx(probability)


def test_without_units_no_probability_is_known():
    assert probability_within([], 1.0) is None
    assert probability_within([[0.0]], -1.0) == 0
    assert probability_within([[0.0]], 0.5) == 0.25
