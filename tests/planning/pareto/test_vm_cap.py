"""Choices under a cap on VMs, and the bound that skips most work, against brute force."""

import itertools
import math
import random

import pytest
from tests.planning.pareto_problems import offer

from sluice.planning.pareto.pricing import JobChoice, PlanEntry
from sluice.planning.pareto.vm_cap import JobChoices, _Bound, cheapest

OFFER = offer(1, 1, 1.0)


def entry(vms, usd):
    return PlanEntry(1.0, usd, 0.0, vms, JobChoice(OFFER, vms, 1, vms, 1, None))


def random_options(draw):
    """One to four entries; entries with more VMs cost less."""
    options = JobChoices()
    for _ in range(draw.randint(1, 4)):
        options.offer(entry(draw.randint(1, 9), float(draw.randint(1, 30))))
    return options


def least_usd(jobs, vms_max):
    return min(
        (
            math.fsum(one.cost_usd for one in taken)
            for taken in itertools.product(*(choices.entries for choices in jobs))
            if sum(one.vms for one in taken) <= vms_max
        ),
        default=None,
    )


@pytest.mark.parametrize("seed", range(300))
def test_the_cheapest_entries_that_fit_are_those_of_all_combinations(seed):
    draw = random.Random(seed)
    jobs = [random_options(draw) for _ in range(draw.randint(1, 4))]
    vms_max = draw.randint(1, 30)
    wanted = least_usd(jobs, vms_max)
    if wanted is None:
        return
    taken = cheapest(jobs, vms_max)

    assert math.fsum(one.cost_usd for one in taken) == wanted
    assert sum(one.vms for one in taken) <= vms_max


@pytest.mark.parametrize("seed", range(300))
def test_the_bound_never_exceeds_the_optimum(seed):
    """This holds before and after `sharpen`, and `sharpen` never lowers the bound."""
    draw = random.Random(seed)
    jobs = [random_options(draw) for _ in range(draw.randint(1, 4))]
    bound = _Bound(jobs, vms_max := draw.randint(1, 30))
    for number in range(len(jobs)):
        bound.reprice(number)
    wanted = least_usd(jobs, vms_max)

    assert bound.is_open == (wanted is not None)
    if wanted is not None:
        before = bound.usd()
        bound.sharpen()
        assert before <= bound.usd() + 1e-6
        assert bound.usd() <= wanted


def test_choices_keep_only_undominated_entries():
    options = JobChoices()

    taken = [
        options.offer(entry(*one)) for one in ((3, 9.0), (3, 9.0), (2, 9.0), (5, 4.0), (4, 12.0))
    ]
    assert taken == [True, False, True, True, False]
    assert (options.vms, options.usd) == ([2, 5], [9.0, 4.0])
