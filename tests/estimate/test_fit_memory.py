"""Fits that are recalled are the fits that were made, and only new measurements cost one."""

import random

import pytest

from sluice.estimate import fit_memory
from sluice.estimate.calibration import calibration
from sluice.estimate.fit_memory import FitMemory
from sluice.model.history import PastPhase, PastRun, PastTask


class Records(dict[bytes, str]):
    """Records in memory."""

    def put(self, key, record):
        self[key] = record


def run(number, generator):
    """A run of one phase whose task length depends on the number of tasks."""
    tasks = generator.choice([4, 8, 16])
    length_s = 2 + 10 / tasks * generator.uniform(0.9, 1.1)
    timeline = tuple(
        PastTask(started_at_s=start, finished_at_s=start + length_s, node="n")
        for start in (length_s * (task // 4) for task in range(tasks))
    )
    phase = PastPhase(
        name="map", kind="map", tasks=tasks, avg_s=length_s, max_s=length_s, timeline=timeline
    )
    return PastRun(
        run_id=f"run-{number}",
        profile="words",
        source="sluice",
        phases=(phase,),
        elapsed_s=length_s * tasks / 4 + 1,
    )


@pytest.fixture
def runs():
    generator = random.Random(1)
    return [run(number, generator) for number in range(6)]


@pytest.fixture
def made(monkeypatch):
    """The measurements of each fit that is made."""
    given = []

    def counted(fit):
        def fitted(found):
            given.append(found)
            return fit(found)

        return fitted

    for name in ("fitted_curve", "fitted_overhead"):
        monkeypatch.setattr(fit_memory, name, counted(getattr(fit_memory, name)))
    return given


def test_a_recalled_calibration_is_the_one_that_was_made(runs):
    records = Records()
    plain = calibration({"words": runs})
    first = calibration({"words": runs}, fits=FitMemory(records))
    again = calibration({"words": runs}, fits=FitMemory(records))

    assert repr(plain) == repr(first) == repr(again)


def test_the_same_runs_cost_no_fit(runs, made):
    records = Records()
    calibration({"words": runs}, fits=FitMemory(records))
    before = len(made)
    calibration({"words": runs}, fits=FitMemory(records))

    assert 0 < before == len(made)


def test_a_new_run_costs_no_fit_of_another_profile(runs, made):
    records = Records()
    others = [run(number, random.Random(9)) for number in range(10, 14)]
    calibration({"words": runs, "other": others}, fits=FitMemory(records))
    before = len(made)
    calibration({"words": runs, "other": [*others, runs[0]]}, fits=FitMemory(records))
    with_a_new_run = len(made) - before
    calibration({"other": [*others, runs[0]]}, fits=FitMemory(Records()))

    assert 0 < with_a_new_run <= len(made) - before - with_a_new_run
