"""Predictions of a job at new settings, from its runs at other settings."""

import math
import statistics
from dataclasses import replace

import pytest
from tests.estimate.made_runs import MB, MachineModel, draws, settings, without_timeline

from sluice.estimate.past_phases import phases_from_runs
from sluice.estimate.prediction import Prediction, comparable, predictor
from sluice.estimate.run_setting import NotEnoughData, PhaseSetting, RunSetting, timed_runs
from sluice.model.history import PastPhase, PastRun


def with_slots(setting, slots):
    """The same setting with this many slots for each phase."""
    return replace(setting, phases=tuple(phase._replace(slots=slots) for phase in setting.phases))


def errors(runs):
    """Relative errors of all settings, each predicted from the runs at the others."""
    known = timed_runs(runs)
    found = []
    for here in dict.fromkeys(one.setting for one in known):
        result = predictor(one.run for one in known if one.setting != here).predict(here)
        took_s = statistics.median(one.elapsed_s for one in known if one.setting == here)
        found.append(result.elapsed_s / took_s - 1)
    return found


@pytest.mark.parametrize(
    "world",
    [
        MachineModel(task_noise=0.02),
        MachineModel(task_noise=0.02, processors=4),
        MachineModel(task_noise=0.02, reduces=0),
        MachineModel(task_noise=0.02, gap_s=0.5, map_s=0.5),
        MachineModel(task_noise=0.02, reduce_s_per_mb=0.5, reduces=7),
    ],
)
def test_left_out_settings_are_predicted_within_a_tenth(world):
    """No run at the setting was seen: slots, sizes, start-up and gaps are inferred."""
    runs = world.runs(settings(), draws(5))
    found = list(map(abs, errors(runs)))

    assert statistics.median(found) < 0.05
    assert max(found) < 0.25  # the ends are extrapolated


def test_averages_alone_predict_nearly_as_well():
    """Many logs have no single tasks."""
    runs = [without_timeline(run) for run in MachineModel().runs(settings(), draws(6))]

    assert statistics.median(map(abs, errors(runs))) < 0.08


def test_start_up_and_gaps_are_fitted_when_they_dominate_the_run():
    """Tasks take a tenth of a second, after two seconds of start-up."""
    world = MachineModel(map_s=0.1, start_s=2.0, gap_s=0.1, reduces=0)
    result = predictor(world.runs(settings(), draws(7)))
    here = RunSetting(300 * MB, (PhaseSetting("map", 30, 2),))
    took_s = world.run("new", 2, 300, draws(8)).elapsed_s

    assert math.isclose(took_s, result.predict(here).elapsed_s, rel_tol=0.1)
    assert result.predict(here).overhead_s > 2.0


def test_values_outside_the_measured_range_are_reported():
    result = predictor(MachineModel().runs(settings(slots=(1, 2)), draws(9)))
    (here, *_) = result.settings
    beyond = result.predict(replace(with_slots(here, 8), input_bytes=10**12)).beyond

    assert (
        "input_bytes: 1000000000000 is outside what was measured (220000000 to 440000000)" in beyond
    )
    assert "map slots: 8 is outside what was measured (1 to 2)" in beyond
    assert () == result.predict(here).beyond


def test_an_often_measured_setting_is_predicted_by_its_own_median():
    """The curves hardly count there."""
    world = MachineModel(noise=0.05)
    odd = [replace(run, elapsed_s=3 * run.elapsed_s) for run in world.runs([(3, 220)], draws(1))]
    runs = world.runs(settings(), draws(2), repeats=5)
    often = [replace(odd[0], run_id=f"odd-{turn}") for turn in range(20)]
    result = predictor([run for run in runs if run.slots["map"] != 3] + often)
    here = timed_runs(often)[0].setting

    assert not [run_id for run_id in result.left_aside if run_id.startswith("odd")]
    assert not math.isclose(odd[0].elapsed_s, result.composed(here).elapsed_s, rel_tol=0.3)
    assert math.isclose(odd[0].elapsed_s, result.predict(here).elapsed_s, rel_tol=0.1)


def test_an_outlier_does_not_change_the_fit():
    runs = MachineModel(noise=0.03).runs(settings(), draws(3), repeats=2)
    stuck = replace(
        runs[0],
        run_id="stuck",
        elapsed_s=runs[0].elapsed_s * 20,
        phases=tuple(
            replace(phase, avg_s=20 * phase.avg_s, max_s=20 * phase.max_s, timeline=())
            for phase in runs[0].phases
        ),
    )

    assert ("stuck",) == predictor([*runs, stuck]).left_aside
    assert () == predictor(runs).left_aside


def test_no_run_gives_not_enough_data_and_says_so():
    nothing = predictor([])

    assert isinstance(nothing, NotEnoughData)
    assert "not enough data: no successful run has a time" == str(nothing)


def test_failed_runs_and_runs_without_a_time_are_skipped():
    run = MachineModel().run("a", 2, 100, draws(1))
    failed = replace(run, run_id="b", succeeded=False)
    timeless = replace(without_timeline(run), run_id="c", elapsed_s=None)

    assert ["a"] == [one.run.run_id for one in timed_runs([failed, run, timeless])]


def test_the_end_of_the_last_task_replaces_a_missing_time():
    run = MachineModel().run("a", 2, 100, draws(1))

    assert math.isclose(run.elapsed_s, timed_runs([replace(run, elapsed_s=None)])[0].elapsed_s)


def test_missing_slots_are_taken_from_the_timeline():
    run = replace(MachineModel(gap_s=0.0).run("a", 3, 300, draws(1)), slots={})

    assert [3, 2] == [phase.slots for phase in timed_runs([run])[0].setting.phases]


def test_runs_without_slots_or_timeline_are_predicted_as_one_task():
    """SWF has the time of a job and little else."""
    runs = [
        PastRun(
            run_id=str(size),
            profile="old",
            source="swf",
            phases=(PastPhase(name="job", kind="map", tasks=4, avg_s=1.0, max_s=1.0,
                              input_bytes=size * MB),),
            elapsed_s=10.0 + size,
        )
        for size in (10, 20, 40)
    ]  # fmt: skip
    result = predictor(runs)
    here = replace(next(iter(result.settings)), input_bytes=30 * MB)

    assert math.isclose(40.0, result.predict(here).elapsed_s, rel_tol=1e-6)


def test_other_commands_are_another_job():
    """The name is the same but the mapper is new, so old runs do not apply."""
    old, new = ({"work": "old"}, {"work": "new"})
    runs = MachineModel().runs(settings(slots=(1, 2)), draws(1))
    mixed = [replace(run, configuration=old) for run in runs[:2]]
    mixed += [replace(run, configuration=new) for run in runs[2:]]

    assert ["new", "new"] == [
        one.run.configuration["work"] for one in comparable(timed_runs(mixed))
    ]


def test_a_run_with_other_phases_cannot_be_predicted():
    result = predictor(MachineModel().runs(settings(), draws(1)))

    assert isinstance(
        result.predict(RunSetting(1, (PhaseSetting("stage 7", 1, 1),))), NotEnoughData
    )


def test_reduces_that_were_started_early_are_not_slow():
    """They waited for maps. Source: slow-start of Hadoop."""
    run = MachineModel(gap_s=0.0).run("a", 2, 100, draws(1))
    maps, reduces = run.phases
    early = tuple(replace(task, started_at_s=0.1) for task in reduces.timeline)
    lengths_s = [task.length_s for task in early]
    waited = replace(
        reduces, timeline=early, avg_s=sum(lengths_s) / len(lengths_s), max_s=max(lengths_s)
    )
    seen = timed_runs([replace(run, phases=(maps, waited))])[0]

    assert math.isclose(reduces.avg_s, seen.phases[1].avg_s, rel_tol=1e-6)
    assert math.isclose(reduces.timeline[0].length_s, seen.phases[1].timeline[0].length_s)


def test_a_prediction_is_the_sum_of_its_parts():
    result = predictor(MachineModel().runs(settings(), draws(4)))
    whole = result.predict(with_slots(next(iter(result.settings)), 7))

    assert isinstance(whole, Prediction)
    parts_s = sum(phase.time_s for phase in whole.phases) + whole.overhead_s
    assert math.isclose(whole.elapsed_s, parts_s)


def spark_run(number, stage_ids):
    """A run of two stages with equal call sites, and one of another."""
    names = ("scan at words.py:3", "collect at words.py:9", "scan at words.py:3")
    phases = tuple(
        PastPhase(name=f"stage {stage_id}: {name}", kind="map", tasks=4, avg_s=avg_s, max_s=avg_s)
        for stage_id, name, avg_s in zip(stage_ids, names, (1.0, 2.0, 3.0), strict=True)
    )
    return PastRun(
        run_id=f"app-{number}", profile="words", source="spark", phases=phases, elapsed_s=6.5,
        slots={"map": 4},
    )  # fmt: skip


def test_stages_match_by_name_and_order_when_their_ids_shift():
    runs = [spark_run(number, range(number, number + 3)) for number in range(4)]
    measured = comparable(timed_runs(runs))

    assert 4 == len(measured)
    assert ("scan at words.py:3", "collect at words.py:9", "scan at words.py:3 #2") == (
        measured[0].setting.names
    )
    assert [1.0, 2.0, 3.0] == [phase.lengths.avg_s(4) for phase in phases_from_runs(runs[::-1])]


def test_a_scaled_prediction_has_all_of_its_times_multiplied():
    result = predictor(MachineModel().runs(settings(), draws(4)))
    whole = result.predict(with_slots(next(iter(result.settings)), 7))
    scaled = whole.scaled(2.0)

    assert (scaled.elapsed_s, scaled.overhead_s) == (2 * whole.elapsed_s, 2 * whole.overhead_s)
    for one, before in zip(scaled.phases, whole.phases, strict=True):
        times_s = (one.avg_s, one.max_s, one.time_s)
        assert times_s == (2 * before.avg_s, 2 * before.max_s, 2 * before.time_s)
        assert (one.name, one.tasks, one.slots) == (before.name, before.tasks, before.slots)
