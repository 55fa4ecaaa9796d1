"""A change of level is found when there is one, and rarely when there is none."""

import random
from dataclasses import replace

from tests.estimate.nightly_jobs import nightly_jobs, nights_of, usual_s

from sluice.estimate.job_forecasts import JobForecasts
from sluice.estimate.level_changes import current_runs, level_change


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
