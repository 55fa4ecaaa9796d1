"""One run with one number of slots, predicted on others by what other jobs of the engine show."""

import math
from dataclasses import replace
from statistics import median

import pytest
from tests.estimate.made_runs import MachineModel, draws

from sluice.estimate.forecast import Forecaster
from sluice.estimate.job_forecasts import JobForecasts
from sluice.estimate.prediction import Prediction
from sluice.estimate.slot_transfer import PowerSlowDown

SLOTS = (2, 4, 8, 16)
SIZE_MB = 640


def machines(processors, jobs=10, seed=0):
    """Jobs of different kinds on one machine."""
    rng = draws(seed)
    return {
        f"job-{number}": MachineModel(
            processors=processors,
            map_s=rng.uniform(1.0, 6.0),
            reduces=rng.choice((4, 8, 16)),
            reduce_s_per_mb=rng.uniform(0.02, 0.1),
            start_s=rng.uniform(2.0, 10.0),
            noise=0.05,
        )
        for number in range(jobs)
    }


def histories(processors, seed=0):
    """Nine jobs on four numbers of slots each, and `job-0` once on two slots."""
    found = {}
    for name, machine in machines(processors, seed=seed).items():
        slots = (2,) if name == "job-0" else SLOTS
        found[name] = machine.runs([(one, SIZE_MB) for one in slots], draws(name), profile=name)
    return found


def actual_s(processors, slots, seed=0):
    machine = machines(processors, seed=seed)["job-0"]
    runs = machine.runs([(slots, SIZE_MB)], draws(f"new/{slots}"), repeats=9)
    return median(run.elapsed_s for run in runs)


@pytest.mark.parametrize("processors", [1, 1000], ids=["all share one", "one for each"])
def test_one_run_is_worth_something_on_other_slots(processors):
    """On one processor more slots do not help; with one for each task they do, in full."""
    forecasts = JobForecasts(histories(processors))
    for slots in (4, 8, 16):
        found = forecasts.of("job-0", slots=slots)

        assert found.predicted_s == pytest.approx(actual_s(processors, slots), rel=0.2)
        assert found.low_s < actual_s(processors, slots) < found.high_s
        assert found.runs == 1
        assert any("as in 9 other jobs, twice the tasks at once" in note for note in found.notes)


def test_the_exponent_is_that_of_the_other_jobs():
    """Tasks that share one processor take as much longer as there are more of them."""
    shared = Forecaster(histories(1)).transferred("job-0", setting_of(histories(1), 8))
    alone = Forecaster(histories(1000)).transferred("job-0", setting_of(histories(1000), 8))

    assert shared.slot_exponent == pytest.approx(1.0, abs=0.05)
    assert alone.slot_exponent == pytest.approx(0.0, abs=0.05)
    # What moving the nine others from one setting to another missed is enough for an interval.
    assert not shared.is_transferred


def setting_of(runs, slots):
    forecaster = Forecaster(runs)
    return forecaster.estimate("job-0", slots=slots).setting


@pytest.mark.slow
def test_the_interval_holds_for_nine_in_ten_new_jobs():
    """Counted over jobs that ran on two slots only, on machines of all kinds."""
    inside, errors, naive = 0, [], []
    cases = [(p, s, slots) for p in (1, 4, 8, 1000) for s in range(2) for slots in (4, 8)]
    for processors, seed, slots in cases:
        runs = histories(processors, seed)
        found = JobForecasts(runs).of("job-0", slots=slots)
        took_s = actual_s(processors, slots, seed)
        inside += found.low_s <= took_s <= found.high_s
        errors.append(abs(math.log(found.predicted_s / took_s)))
        kept = Forecaster(runs).forecast("job-0", setting_of(runs, slots)).prediction
        assert isinstance(kept, Prediction)
        naive.append(abs(math.log(kept.elapsed_s / took_s)))

    assert inside >= 0.8 * len(cases)
    assert median(errors) < 0.15
    assert sum(errors) < 0.7 * sum(naive), "better than lengths that do not change"


def test_without_other_jobs_lengths_are_kept_and_the_answer_says_so():
    runs = {name: of[:1] for name, of in histories(1).items()}
    found = JobForecasts(runs).of("job-0", slots=8)

    assert found.predicted_s is not None
    assert not any("other jobs, twice" in note for note in found.notes)


def test_jobs_of_another_engine_show_nothing():
    runs = histories(1)
    runs["job-0"] = [replace(run, source="spark") for run in runs["job-0"]]

    assert Forecaster(runs).transferred("job-0", setting_of(runs, 8)).slot_exponent is None


def test_a_job_with_several_numbers_of_its_own_does_not_borrow():
    runs = histories(1)
    found = Forecaster(runs).transferred("job-1", setting_of_profile(runs, "job-1", 32))

    assert found.slot_exponent is None


def setting_of_profile(runs, profile, slots):
    return Forecaster(runs).estimate(profile, slots=slots).setting


@pytest.mark.parametrize(("at_once", "factor"), [(0.5, 0.5), (1.0, 0.5), (2.0, 1.0), (4.0, 2.0)])
def test_a_task_that_runs_alone_is_the_least_that_runs_at_once(at_once, factor):
    assert factor == PowerSlowDown(reference=2.0, exponent=1.0).factor(at_once)
