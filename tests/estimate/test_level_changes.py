"""A change of level, or a trend, is found when there is one, and rarely when there is none."""

import math
import random
from dataclasses import replace

import pytest
from tests.estimate.nightly_jobs import nightly_jobs, nights_of, usual_s

from sluice.estimate.job_forecasts import JobForecasts
from sluice.estimate.level_changes import LevelChange, _split, current_runs, level_change
from sluice.estimate.trends import Trend


def slower(run, factor):
    """The same run, with all times multiplied."""
    phases = tuple(
        replace(
            phase,
            avg_s=phase.avg_s * factor,
            max_s=phase.max_s * factor,
            timeline=tuple(
                replace(
                    task,
                    started_at_s=task.started_at_s * factor,
                    finished_at_s=task.finished_at_s * factor,
                )
                for task in phase.timeline
            ),
        )
        for phase in run.phases
    )
    return replace(run, elapsed_s=run.elapsed_s * factor, phases=phases)


def changed(factor=1.6, nights=14, since=8, seed=0):
    """One job, and its runs, all that many times as long since a night."""
    (runs,) = nights_of(nightly_jobs(seed, jobs=1), nights, seed).values()
    return [run if night < since else slower(run, factor) for night, run in enumerate(runs)]


def test_a_job_that_takes_longer_since_a_night_is_found():
    runs = changed()
    found = level_change(runs)

    assert (runs[8].run_id, runs[8].submitted_at_s, 8) == (
        found.run_id,
        found.since_at_s,
        found.runs_before,
    )
    assert 1.45 < found.ratio < 1.75


def test_only_runs_at_the_present_level_count_for_the_next_one():
    runs = changed()
    forecasts = JobForecasts({"job": runs})
    found = forecasts.of("job")

    assert found.change is not None
    assert found.runs <= 6
    assert abs(found.predicted_s / (1.6 * usual_s(nightly_jobs(0, jobs=1)[0])) - 1) < 0.15


def found_of(*parts, seeds=6):
    """(found, dated right within a night) of histories of (nights, factor), oldest first."""
    nights, since = sum(count for count, _ in parts), sum(count for count, _ in parts[:-1])
    factors = [factor for count, factor in parts for _ in range(count)]
    found = []
    for seed in range(20, 20 + seeds):
        (steady,) = nights_of(nightly_jobs(seed, jobs=1), nights, seed).values()
        runs = [slower(run, factor) for run, factor in zip(steady, factors, strict=True)]
        change = level_change(runs)
        if change is not None:
            found.append(abs(change.runs_before - since) <= 1)
    return len(found), sum(found)


def test_40_percent_are_found_within_four_nights_whatever_the_luck_of_their_tasks():
    """In the measured times alone, it is one of three."""
    found, dated = found_of((6, 1.0), (4, 1.4))

    assert found >= 5
    assert dated >= 5


def test_a_job_that_was_slow_for_a_week_is_back_at_its_level_since_then():
    found, dated = found_of((10, 1.0), (8, 1.4), (8, 1.0))

    assert found >= 5
    assert dated >= 5


def test_the_last_of_two_changes_counts():
    found, dated = found_of((10, 1.0), (8, 1.4), (8, 1.96))

    assert found >= 5
    assert dated >= 4


def test_a_job_that_grows_with_its_input_has_no_change():
    (runs,) = nights_of(nightly_jobs(4, jobs=1), 20, 4).values()
    grown = []
    for night, run in enumerate(runs):
        factor = 2 ** (night / 19)
        more = slower(run, factor)
        overhead_s = 20.0 * (1 - factor)  # it does not grow with the input
        first, *rest = more.phases
        phases = (replace(first, input_bytes=round(1e9 * factor)), *rest)
        grown.append(replace(more, phases=phases, elapsed_s=more.elapsed_s + overhead_s))

    assert level_change(grown) is None


def test_a_few_slow_nights_are_no_change():
    runs = changed(factor=1.0)
    runs[3], runs[11] = slower(runs[3], 3.0), slower(runs[11], 2.0)

    assert level_change(runs) is None


def test_few_of_many_steady_jobs_seem_to_change():
    histories = nights_of(nightly_jobs(3), seed=3)
    current, changes = current_runs(histories)

    assert len(changes) <= 2
    assert {name: len(runs) for name, runs in current.items() if name not in changes} == {
        name: 10 for name in histories if name not in changes
    }


def test_a_job_without_a_usual_time_has_no_level():
    rng = random.Random(1)
    (runs,) = nights_of(nightly_jobs(0, jobs=1), 20).values()
    wild = [
        slower(run, 10 ** rng.uniform(0, 2) if night < 10 else 10 ** rng.uniform(1, 3))
        for night, run in enumerate(runs)
    ]

    assert level_change(wild) is None


def growing(percent, nights=16, seed=0):
    """One job, and its runs, each that many percent longer than the one before."""
    (runs,) = nights_of(nightly_jobs(seed, jobs=1), nights, seed).values()
    return [slower(run, (1 + percent / 100) ** night) for night, run in enumerate(runs)]


def test_a_job_that_takes_a_little_longer_each_night_has_a_trend_and_no_date_of_change():
    """2 % each night are less than the luck of a night."""
    found = [level_change(growing(2, seed=seed)) for seed in range(20, 28)]

    trends = [one for one in found if isinstance(one, Trend)]
    assert len(trends) >= 7
    assert all(1.01 < one.ratio < 1.03 and one.runs + one.runs_before == 16 for one in trends)


def test_a_job_that_gets_faster_has_a_trend_too():
    found = level_change(growing(-3, nights=20))

    assert isinstance(found, Trend)
    assert 0.96 < found.ratio < 0.98


def test_predictions_follow_a_trend():
    runs = growing(3, nights=20)
    found = JobForecasts({"job": runs}).of("job")
    (job,) = nightly_jobs(0, jobs=1)

    assert isinstance(found.change, Trend)
    assert found.runs == 20
    assert abs(found.predicted_s / (1.03**20 * usual_s(job)) - 1) < 0.1


def test_runs_of_a_trend_are_scaled_with_all_their_times_and_failed_ones_between_them():
    runs = growing(5, nights=20)
    runs.insert(10, replace(runs[10], run_id="failed", succeeded=False))
    current, changes = current_runs({"job": runs})
    change = changes["job"]

    assert isinstance(change, Trend)
    assert [run.run_id for run in runs[-len(current["job"]) :]] == [
        run.run_id for run in current["job"]
    ]
    for before, run in zip(runs[::-1], current["job"][::-1], strict=False):
        factor = run.elapsed_s / before.elapsed_s
        for old, new in zip(before.phases, run.phases, strict=True):
            assert new.avg_s == old.avg_s * factor
            assert abs(new.timeline[-1].length_s - old.timeline[-1].length_s * factor) < 1e-6
    # The newest one is one step below the next; the failed one has no step of its own.
    assert abs(current["job"][-1].elapsed_s / runs[-1].elapsed_s / change.ratio - 1) < 1e-9
    failed = next(at for at, run in enumerate(current["job"]) if run.run_id == "failed")
    assert current["job"][failed].elapsed_s == current["job"][failed + 1].elapsed_s


def test_two_steps_are_no_trend():
    for seed in range(20, 24):
        (steady,) = nights_of(nightly_jobs(seed, jobs=1), 26, seed).values()
        runs = [
            slower(run, 1.4 ** ((night >= 10) + (night >= 18))) for night, run in enumerate(steady)
        ]
        assert isinstance(level_change(runs), LevelChange)


@pytest.mark.parametrize(("ratio", "place"), [(1.14, None), (1.16, 5)])
def test_a_step_that_is_certain_and_small_is_none(ratio, place):
    """Runs that differ by 0.1 % show any step, but one below 15 % does not count."""
    near = [0.0, 0.001, -0.001, 0.0, 0.001]
    found = _split([*near, *(math.log(ratio) + one for one in near)])

    assert place == (found and found[0])
