"""Future runs are drawn as far from the usual length as past runs differ."""

import math
import random
from dataclasses import replace

import pytest

from sluice.bootstrap.service.futures import interval_of
from sluice.estimate.length_spread import (
    SIGMA_ASSUMED,
    TASK_SIGMA_ASSUMED,
    LengthSpread,
    length_spread,
)
from sluice.estimate.run_setting import MeasuredRun, PhaseSetting, RunSetting
from sluice.model.history import PastPhase, PastRun, PastTask

CASES = 800
DRAWS = 20
USUAL_S = (40.0, 90.0)


def measured(factor, elapsed_s=1000.0, tasks=(30, 4)):
    """A run whose tasks all took `factor` times their usual length."""
    phases = tuple(
        PastPhase(name=name, kind=name, tasks=count, avg_s=factor * usual_s,
                  max_s=factor * usual_s)
        for name, count, usual_s in zip(("map", "reduce"), tasks, USUAL_S, strict=True)
    )  # fmt: skip
    run = PastRun(run_id="one", source="sluice", profile="etl", elapsed_s=elapsed_s, phases=phases)
    settings = tuple(PhaseSetting(one.name, one.tasks, 4) for one in phases)
    return MeasuredRun(run, RunSetting(0, settings), elapsed_s, phases)


def test_one_run_says_nothing_of_how_far_runs_differ():
    assert length_spread([]) == LengthSpread(SIGMA_ASSUMED)
    spreads = [length_spread([measured(1.0)] * runs).sigma for runs in (1, 2, 5, 50)]
    assert spreads[0] > SIGMA_ASSUMED
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[-1] < 0.04


def test_waits_for_slots_are_no_spread_of_lengths():
    waited = [measured(1.0, elapsed_s) for elapsed_s in (100.0, 900.0, 4000.0, 200.0)]
    assert length_spread(waited) == length_spread([measured(1.0)] * 4)


def test_a_task_without_a_length_shows_no_spread():
    run = measured(1.0)
    shown = [PastTask(started_at_s=0.0, finished_at_s=end_s) for end_s in (5.0, 7.0, 0.0)]

    def spread(timeline):
        phases = tuple(replace(one, timeline=tuple(timeline)) for one in run.phases)
        return length_spread([run._replace(phases=phases)])

    assert spread(shown) == spread(shown[:2])
    assert spread(shown) != spread(())


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
@pytest.mark.parametrize(("runs", "sigma"), [(3, 0.25), (6, 0.4), (25, 0.1), (25, 0.5)])
def test_one_more_run_is_inside_as_often_as_the_level_says(runs, sigma, level):
    draw, inside = random.Random(f"{runs} {sigma}"), 0
    for _ in range(CASES):
        *past, new = (math.exp(draw.gauss(0.0, sigma)) for _ in range(runs + 1))
        spread = length_spread([measured(one) for one in past])
        middle = math.fsum(past) / runs  # as a promise takes the length of a task
        found = interval_of(sorted(middle * spread.factor(draw) for _ in range(DRAWS)), level)
        inside += found["low"] <= new <= found["high"]

    chance = 3 * math.sqrt(level * (1 - level) / CASES)
    assert abs(inside / CASES - level) <= 0.03 + chance


@pytest.mark.parametrize("sigma", [0.0, 0.3, 0.9])
def test_tasks_differ_as_far_as_those_of_past_runs(sigma):
    """The first run is twice as long: a difference between runs is no spread of tasks."""
    draw = random.Random(7)
    runs = [listed([factor * math.exp(draw.gauss(0, sigma)) for _ in range(60)])
            for factor in (20.0, 10.0, 10.0, 10.0)]  # fmt: skip

    assert length_spread(runs).task_sigma == pytest.approx(sigma, abs=0.1)


def test_few_tasks_and_those_that_no_log_lists_say_little_of_tasks():
    assert length_spread([measured(1.0)] * 9).task_sigma == TASK_SIGMA_ASSUMED
    assert length_spread([listed([5.0])] * 9).task_sigma == TASK_SIGMA_ASSUMED
    assert 0.8 * TASK_SIGMA_ASSUMED < length_spread([listed([5.0] * 4)]).task_sigma


def listed(lengths_s):
    """A run of one phase, all of whose tasks began at once."""
    tasks = tuple(PastTask(started_at_s=0.0, finished_at_s=length_s) for length_s in lengths_s)
    phase = PastPhase(name="map", kind="map", tasks=len(tasks), timeline=tasks,
                      avg_s=math.fsum(lengths_s) / len(tasks), max_s=max(lengths_s))  # fmt: skip
    run = PastRun(run_id="one", source="sluice", profile="etl", elapsed_s=9.0, phases=(phase,))
    return MeasuredRun(run, RunSetting(0, (PhaseSetting("map", len(tasks), 4),)), 9.0, (phase,))
