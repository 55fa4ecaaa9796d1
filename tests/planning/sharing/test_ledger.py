"""The fairness ledger: hand-made histories, and its laws on random ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.planning.sharing import ledger as ledger_module
from sluice.planning.sharing.ledger import demand_members, ledger_of, nice_period_s
from sluice.planning.sharing.use_curves import TaskUse, UseCurve, static_curve

LATE = (
    [TaskUse("busy", 0.0, start, start + 10.0, 1.0) for start in (0.0, 0.0)]
    + [TaskUse("late", 10.0, 10.0, 20.0, 1.0)] * 2
    + [TaskUse("busy", 0.0, 20.0, 30.0, 1.0)] * 2
)  # fmt: skip


def test_a_loan_and_its_return():
    """Two containers, one each: busy has both for 10 s, then late, then busy again."""
    ledger = ledger_of(LATE, {"busy": 1, "late": 1}, 2.0, period_s=10.0)

    assert {"busy": 1.0, "late": 1.0} == ledger.shares
    owed = [[period.tenants[name].owed for name in ("busy", "late")] for period in ledger.periods]
    assert [[-10.0, 10.0], [0.0, 0.0], [-10.0, 10.0]] == owed
    first = ledger.periods[0].tenants
    assert (10.0, 20.0, 0.0, 10.0) == (
        first["busy"].entitled, first["busy"].used, first["busy"].lent, first["busy"].borrowed,
    )  # fmt: skip
    assert 10.0 == first["late"].lent


def test_fairness_is_measured_against_a_fixed_share():
    """On one container busy's 40 s of work take 40 s: it has 10 of 10, 10 of 20 and 40 of 30."""
    ledger = ledger_of(LATE, {"busy": 1, "late": 1}, 2.0, period_s=10.0)

    assert [2.0, 1.0, 40 / 30] == [period.tenants["busy"].fairness for period in ledger.periods]
    assert [None, 2.0, 1.0] == [period.tenants["late"].fairness for period in ledger.periods]
    assert pytest.approx(1 / 3) == ledger.total.benefit
    assert 0.0 == ledger.total.loss


def test_no_tenant_lends_more_than_it_leaves_idle():
    """On nodes that are lost meanwhile, a runs three containers of its one; b leaves one idle."""
    ledger = ledger_of([TaskUse("a", 0.0, 0.0, 10.0, 3.0)], {"a": 1, "b": 1}, 2.0, period_s=10.0)

    tenants = ledger.periods[0].tenants
    assert (20.0, 10.0) == (tenants["a"].borrowed, tenants["b"].lent)


def test_a_long_history_is_averaged_over_a_grid(monkeypatch):
    """Two tenants and cells for 50 steps of 12 s, which are the periods: more than its share of a
    step is borrowed, however the use changed within it.
    """
    monkeypatch.setattr(ledger_module, "CELLS_MAX", 100)
    tasks = [
        TaskUse("ab"[at // 31 % 2], at, at, min(600, at + 1 + at % 3), 1.0) for at in range(600)
    ]
    found = ledger_of(tasks, {"a": 1, "b": 1}, 2.0, period_s=12.0)
    rows = [period.tenants[name] for period in found.periods for name in "ab"]

    assert [pytest.approx(max(0.0, row.used - 12)) for row in rows] == [
        row.borrowed for row in rows
    ]
    assert 0 < sum(row.borrowed > 0 for row in rows) < len(rows) == 100


def test_a_tenant_that_waits_has_a_loss():
    """Late is ready at 0 and starts at 10: nothing of the 10 s that its share would have given."""
    tasks = [TaskUse("busy", 0, 0, 10, 1.0)] * 2 + [TaskUse("late", 0, 10, 20, 1.0)]

    ledger = ledger_of(tasks, {"busy": 1, "late": 1}, 2.0, period_s=10.0)

    late = ledger.periods[0].tenants["late"]
    assert (0.0, 0.0) == (late.fairness, late.fairness_observed)
    assert -1.0 == ledger.periods[0].loss


def test_a_fixed_share_of_half_a_container_slows_tasks_down():
    curve = static_curve([TaskUse("a", 0, 0, 10, 1.0), TaskUse("a", 5, 5, 15, 1.0)], 0.5)

    assert [2.5, 10.0] == curve.integral([5.0, 20.0]).tolist()
    assert 20.0 == curve.integral(100.0)


def test_demands_of_a_history_become_members():
    members = demand_members(LATE, {"busy": 1, "late": 2}, [0.0, 10.0, 20.0, 30.0])

    assert [(4.0, 0.0, 0.0), (0.0, 2.0, 0.0)] == [one.demands for one in members]
    assert [1, 2] == [one.weight for one in members]


@pytest.mark.parametrize(
    ("ready_at_s", "demands"),
    [
        (-1.0, (2.0, 0.0)),
        (5.0, (2.0, 0.0)),
        (10.0, (0.0, 1.0)),
        (30.0, (0.0, 1.0)),
        (31.0, (0.0, 1.0)),
    ],
)
def test_work_that_is_ready_outside_of_the_edges_counts_in_the_nearest_cell(ready_at_s, demands):
    """20 container-seconds in a cell of 10 s, or in one of 20 s."""
    task = TaskUse("a", ready_at_s, 30.0, 40.0, 2.0)
    (member,) = demand_members([task], {"a": 1}, [0.0, 10.0, 30.0])

    assert demands == member.demands


@st.composite
def histories(draw):
    """Tasks of up to three tenants; any number may run at once."""
    tasks = []
    for _ in range(draw(st.integers(1, 12))):
        ready_s = draw(st.integers(0, 20))
        start_s = ready_s + draw(st.integers(0, 5))
        length_s = draw(st.sampled_from([0.0, 0.5, 3.0, 8.0]))
        units = draw(st.sampled_from([1.0, 2.0]))
        tenant = draw(st.sampled_from("abc"))
        tasks.append(TaskUse(tenant, float(ready_s), float(start_s), start_s + length_s, units))
    return tasks


@given(histories(), st.sampled_from([2.0, 9.0, 30.0]))
def test_periods_add_up_and_what_is_lent_is_borrowed(tasks, capacity):
    ledger = ledger_of(tasks, {"a": 1, "b": 2, "c": 1}, capacity, period_s=4.0)
    work = dict.fromkeys("abc", 0.0)
    for task in tasks:
        work[task.tenant] += task.units * (task.finished_at_s - task.started_at_s)

    for name in "abc":
        total = ledger.total.tenants[name]
        assert total.used == pytest.approx(work[name])
        for field in ("used", "lent", "borrowed", "entitled"):
            rows = [getattr(period.tenants[name], field) for period in ledger.periods]
            assert sum(rows) == pytest.approx(getattr(total, field))
    most = max(UseCurve.of_spans((t.started_at_s, t.finished_at_s, t.units) for t in tasks).levels)
    if most <= capacity:
        owed = sum(row.owed for row in ledger.total.tenants.values())
        assert owed == pytest.approx(0.0, abs=1e-9)


@given(histories(), st.sampled_from([0.5, 1.0, 4.0]))
def test_a_fixed_share_does_all_the_work_and_never_exceeds_itself(tasks, share):
    mine = [task for task in tasks if task.tenant == "a"]
    curve = static_curve(mine, share)

    assert (curve.levels <= share + 1e-9).all()
    assert (np.diff(curve.times_s) >= -1e-9).all()
    work = sum(task.units * (task.finished_at_s - task.started_at_s) for task in mine)
    assert curve.integral(1e6) == pytest.approx(work)


MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400
NICE_S = (
    1, 5, 10, 30, MINUTE_S, 5 * MINUTE_S, 10 * MINUTE_S, 30 * MINUTE_S, HOUR_S, 6 * HOUR_S, DAY_S,
    7 * DAY_S,
)  # fmt: skip


@pytest.mark.parametrize(("period_s", "next_s"), [*zip(NICE_S, (*NICE_S[1:], None), strict=True)])
def test_a_period_is_a_common_one_of_which_twelve_last_until_the_end(period_s, next_s):
    """After twelve weeks there are 52 periods."""
    end_s = 12.0 * period_s
    more_s = end_s + 0.001

    assert period_s == nice_period_s(end_s)
    assert nice_period_s(more_s) == (more_s / 52 if next_s is None else next_s)
