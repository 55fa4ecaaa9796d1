"""A change of level is found when there is one, and rarely when there is none."""

import random
from dataclasses import replace

from tests.estimate.nightly_jobs import nightly_jobs, nights_of

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
    assert abs(found.predicted_s / runs[-1].elapsed_s - 1) < 0.15


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
