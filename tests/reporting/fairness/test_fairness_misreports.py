"""The search for false demands asks the rule of the run: its price, credits and half-life."""

import pytest

from sluice.planning.sharing.use_curves import TaskUse
from sluice.policies.ltyarn.rules import ShareRules
from sluice.reporting.fairness.result import FairnessResult
from sluice.reporting.fairness.tenants import TenantUse

STEP_S, STEPS = 10.0, 4


@pytest.fixture
def busy():
    """Three tenants with equal shares; each could use all three containers in every step."""
    tasks = [
        TaskUse(name, STEP_S * step, STEP_S * step, STEP_S * (step + 1), 3.0)
        for name in "abc"
        for step in range(STEPS)
    ]
    return TenantUse(
        tasks=tuple(tasks),
        weights=dict.fromkeys("abc", 1.0),
        capacity=3.0,
        cpu_s={},
        ends_at_s=STEP_S * STEPS,
    )


@pytest.mark.parametrize(("price", "best"), [(1.0, 4.0), (0.5, 4.5)])
def test_bunching_pays_under_a_discount_only(busy, price, best):
    """Spec 8.2: a member that asks for nothing in every second step gains an eighth."""
    rules = ShareRules(price=price)
    found = FairnessResult.of(busy, "ltyarn", period_s=STEP_S, misreports=True, rules=rules)

    for row in found.document()["misreports"].values():
        assert (4.0, best) == (row["honest"], row["best"])


def test_rounds_of_one_step_leave_nothing_to_bunch_for(busy):
    """Use is forgotten at each step, so that nothing lent is ever returned."""
    rules = ShareRules(price=0.5, round_s=STEP_S)
    found = FairnessResult.of(busy, "ltyarn", period_s=STEP_S, misreports=True, rules=rules)

    assert [0.0] * 3 == [row["gain"] for row in found.document()["misreports"].values()]


def test_without_a_shared_part_karma_leaves_nothing_to_gain(busy):
    found = FairnessResult.of(
        busy, "karma", period_s=STEP_S, misreports=True, rules=ShareRules(alpha=0.0)
    )

    assert [0.0] * 3 == [row["gain"] for row in found.document()["misreports"].values()]
