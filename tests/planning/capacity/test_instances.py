"""Drawn instances of the capacity problem keep to the ranges of their sources."""

import numpy as np
import pytest

from sluice.planning.capacity.instances import InstanceKind, draw_classes, draw_rent


@pytest.fixture
def rent():
    return draw_rent(np.random.default_rng(1), 50.0)


def test_on_demand_costs_more_than_reserved():
    for seed in range(50):
        drawn = draw_rent(np.random.default_rng(seed), 5.0)
        assert 5 <= drawn.reserved_usd < drawn.on_demand_usd <= 40
        assert 5.0 == drawn.reserved_vms


def test_a_tight_instance_refuses_for_what_half_or_one_and_a_half_vms_cost(rent):
    drawn = draw_classes(np.random.default_rng(2), 400, rent, InstanceKind.TIGHT)
    worth = drawn.penalty_usd / drawn.needs()

    assert (drawn.jobs_min >= 0).all()
    assert (drawn.jobs_min <= drawn.jobs_max).all()
    assert (drawn.jobs_min == drawn.jobs_max).any(), "the most is within the range"
    assert (drawn.jobs_min == 0).any()
    assert worth.min() >= 0.5 * rent.reserved_usd - 1e-9
    assert worth.max() <= 1.5 * rent.on_demand_usd + 1e-9


def test_an_instance_of_the_table_has_its_own_deadlines_and_penalties(rent):
    drawn = draw_classes(np.random.default_rng(3), 400, rent, InstanceKind.TABLE)

    assert 600 <= drawn.deadline_s.min() <= drawn.deadline_s.max() <= 1200
    assert 250 <= drawn.penalty_usd.min() <= drawn.penalty_usd.max() <= 2500
    assert (drawn.jobs_min >= 10).all()
    assert (drawn.jobs_min <= drawn.jobs_max).all()


def test_an_instance_of_the_text_takes_nine_jobs_of_ten_at_least(rent):
    drawn = draw_classes(np.random.default_rng(4), 100, rent, InstanceKind.TEXT)

    assert (drawn.jobs_min == np.round(0.9 * drawn.jobs_max)).all()
    ratio = drawn.penalty_usd / drawn.needs() / rent.reserved_usd
    assert ratio == pytest.approx(np.full(100, ratio[0]))
