"""The time that tasks do not explain, by models whose answer is exact."""

import pytest

from sluice.estimate.overhead import Overhead, UnexplainedTime, fitted_overhead
from sluice.estimate.run_setting import PhaseSetting, RunSetting


def setting(tasks, slots=2):
    return RunSetting(0, (PhaseSetting("map", tasks, slots),))


def runs_of(left_s, counts=(4, 8, 12, 20), slots=2):
    return [UnexplainedTime(setting(tasks, slots), left_s(tasks), 100.0) for tasks in counts]


@pytest.mark.parametrize(
    ("left_s", "name", "at_s"),
    [
        (lambda _: 7.0, "constant", 7),
        (lambda _: -7.0, "constant", -7),
        (lambda tasks: 3.0 + tasks / 2, "by wave", 18),
    ],
)
def test_the_model_that_explains_all_settings_is_taken(left_s, name, at_s):
    """On 2 slots, 30 tasks are 15 waves."""
    found = fitted_overhead(runs_of(left_s))

    assert found.model.name == name
    assert found.model.at_s(setting(30)) == pytest.approx(at_s)
    assert found.error == pytest.approx(0, abs=1e-9)


def test_tasks_count_where_waves_do_not_explain_the_time():
    """One wave each: 3 s and a quarter of a second for each task."""
    found = fitted_overhead(runs_of(lambda tasks: 3.0 + tasks / 4, slots=50))

    assert found.model == Overhead(
        name="by task", fixed_s=pytest.approx(3), per_s=pytest.approx(0.25)
    )
    assert found.model.at_s(setting(100, 50)) == pytest.approx(28)


def test_no_overhead_needs_no_model():
    found = fitted_overhead(runs_of(lambda _: 0.0))

    assert (found.model.name, found.model.at_s(setting(9))) == ("none", 0)


def test_overhead_does_not_fall_with_more_tasks():
    found = fitted_overhead(runs_of(lambda tasks: 50.0 - tasks))

    assert found.model.per_s == 0


def test_of_two_settings_the_median_is_the_answer():
    """Each counts once, whatever its repetitions."""
    two = [*runs_of(lambda tasks: 1.0 * tasks, (4, 8)), *runs_of(lambda _: 4.0, (4,))]
    found = fitted_overhead(two)

    assert (found.model, found.error) == (Overhead(name="constant", fixed_s=6.0), None)
    assert fitted_overhead(runs_of(lambda tasks: 1.0 * tasks, (4, 8, 12))).error is not None


def test_repetitions_of_a_setting_count_by_their_median():
    """The slow one of three is left out."""
    runs = runs_of(lambda _: 7.0)
    slow = [UnexplainedTime(setting(4), 7.0, 100.0), UnexplainedTime(setting(4), 900.0, 999.0)]
    found = fitted_overhead([*runs, *slow])

    assert found.model.name == "constant"
    assert found.model.fixed_s == pytest.approx(7)
