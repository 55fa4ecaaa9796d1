"""Units in use over time, as areas that can be drawn on squared paper."""

import numpy as np
import pytest

from sluice.planning.sharing.use_curves import TaskUse, UseCurve, static_curve


def steps(curve):
    return list(zip(curve.times_s.tolist(), curve.levels.tolist(), strict=False))


def task(ready_at_s, length_s, units=1.0, *, started_at_s=None):
    started_at_s = ready_at_s if started_at_s is None else started_at_s
    return TaskUse("t", ready_at_s, started_at_s, started_at_s + length_s, units)


def test_spans_add_up_where_they_overlap():
    """1 from 0 to 4, 2 from 2 to 6, nothing from 6 to 8, 3 from 8 to 9."""
    curve = UseCurve.of_spans([(0, 4, 1), (2, 6, 2), (8, 9, 3), (5, 5, 9), (7, 6, 9)])

    assert steps(curve) == [(0, 1), (2, 3), (4, 2), (6, 0), (8, 3)]
    assert curve.integral([-1, 0, 1, 2, 3, 4, 6, 8, 9, 99]).tolist() == [
        0, 0, 1, 2, 5, 8, 12, 12, 15, 15,
    ]  # fmt: skip
    assert curve.means(np.array([0.0, 4.0, 4.0, 8.0])).tolist() == [2, 0, 1]


def test_nothing_is_used_without_spans():
    curve = UseCurve.of_spans([(3, 3, 1)])

    assert curve.integral([0, 9]).tolist() == [0, 0]


def test_a_curve_has_a_level_between_each_two_instants():
    task = TaskUse("a", 0.0, 0.0, 4.0, 1.0)
    for curve in (
        UseCurve.of_spans([]),
        UseCurve.of_spans([(1.0, 1.0, 5.0)]),
        UseCurve.of_spans([(0.0, 4.0, 1.0), (2.0, 6.0, 1.0)]),
        static_curve([task], 2.0),
    ):
        assert len(curve.times_s) == len(curve.levels) + 1


def test_on_a_share_that_is_large_enough_tasks_run_when_they_are_ready():
    curve = static_curve([task(0, 4), task(2, 4, 2.0), task(9, 1, started_at_s=20.0)], 3.0)

    assert steps(curve) == [(0, 1), (2, 3), (4, 2), (6, 0), (9, 1), (10, 0)]


def test_tasks_that_want_more_than_the_share_slow_down_together():
    """From 1 to 3 s two tasks have half of the unit: the first ends then, the other at 5 s."""
    curve = static_curve([task(0, 2), task(1, 3)], 1.0)

    assert steps(curve)[-1] == (5, 0)
    assert {level for _, level in steps(curve)[:-1]} == {1}
    assert curve.integral([5])[0] == pytest.approx(2 + 3)


def test_a_task_of_no_length_uses_nothing():
    assert steps(static_curve([task(1, 0), task(2, 3)], 1.0)) == [(2, 1), (5, 0)]
    assert static_curve([task(1, 0)], 1.0).integral([9])[0] == 0


def test_a_task_that_is_ready_as_another_ends_follows_it():
    assert static_curve([task(0, 2), task(2, 2)], 0.5).integral([4, 8]).tolist() == [2, 4]


@pytest.mark.parametrize("tasks", [[], [TaskUse("a", 1.0, 2.0, 2.0, 3.0)]])
def test_a_tenant_without_work_has_a_curve_like_any_other(tasks):
    """One level between each two neighbouring instants, also where nothing was used."""
    curve = static_curve(tasks, 2.0)

    assert len(curve.levels) == len(curve.times_s) - 1
    assert [0.0, 0.0] == curve.integral([0.0, 9.0]).tolist()
