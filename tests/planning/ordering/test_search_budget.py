"""The rest of a budget, by a clock that a test sets, and searches that stop in time."""

import itertools
import random

import pytest
from tests.planning.order_problems import context, problem

from sluice.planning.ordering import solver
from sluice.planning.ordering.annealing import evaluated
from sluice.planning.ordering.branch_and_bound import BranchAndBound
from sluice.planning.ordering.objectives import Objective, weighted_objective
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.ordering.solver import OrderingMethod, solve

ROWS = [(3 + job % 4, 2 + job, 1 + job % 3, 9 - job) for job in range(9)]


class Clock:
    """A clock that a test sets."""

    now_s = 100.0

    def __call__(self):
        return self.now_s


def test_a_budget_counts_from_its_creation_or_its_restart():
    clock = Clock()
    budget = SearchBudget(clock, seconds=10.0)
    assert (budget.elapsed_s, budget.share, budget.left_s(1.0)) == (0, 0, 10)

    clock.now_s = 104.0
    assert (budget.elapsed_s, budget.share) == (4, 0.4)
    assert (budget.left_s(1.0), budget.left_s(0.5)) == (6, 1)
    budget.restart()
    assert (budget.elapsed_s, budget.left_s(0.5)) == (0, 5)


def test_of_two_limits_the_one_that_is_nearer_counts():
    clock = Clock()
    budget = SearchBudget(clock, seconds=10.0, evaluations=8)
    clock.now_s, budget.evaluations = 101.0, 2
    assert budget.share == 0.25

    clock.now_s = 109.0
    assert budget.share == 0.9
    budget.evaluations = 10
    assert budget.share == 1.25


def test_nothing_is_left_of_a_budget_of_nothing():
    assert SearchBudget(Clock(), seconds=0.0).share == 1
    assert SearchBudget(Clock(), evaluations=0).share == 0
    spent = SearchBudget(Clock(), evaluations=0)
    spent.evaluations = 1
    assert spent.share == 1


def test_half_a_second_is_a_budget():
    clock = Clock()
    budget = SearchBudget(clock, seconds=0.5)
    clock.now_s += 0.25

    assert budget.share == 0.5


def test_without_a_limit_no_share_is_spent():
    budget = SearchBudget(Clock())
    budget.evaluations = 1000

    assert budget.share == 0
    assert (budget.left_s(1.0), budget.left_evaluations(1.0)) == (None, None)


@pytest.mark.parametrize(("until", "left"), [(1.0, 7), (0.5, 2), (0.3, 1), (0.1, 1)])
def test_one_evaluation_is_always_left(until, left):
    """Of 10, less the 3 that were made."""
    budget = SearchBudget(Clock(), evaluations=10)
    budget.evaluations = 3

    assert budget.left_evaluations(until) == left


def test_a_branch_and_bound_search_stops_when_its_patience_is_over():
    """Each look at the clock takes a second."""
    seconds = itertools.count()
    place = context(problem((2, 2), ROWS), seconds=1000.0, evaluations=None,
                    clock=lambda: float(next(seconds)))  # fmt: skip
    first = evaluated(place, range(9))
    tree = BranchAndBound(place, first, weighted_objective(Objective.TCT, 1.0, 1.0))

    assert not tree.search(1.0, patience_s=20.0)
    assert next(seconds) < 50


def cuts_of_a_search(monkeypatch, place):
    """How many cuts a search tries; it has half of its budget behind it then, and 70 % after."""
    asked = []
    sweep = solver.cut_sweep

    def noted(place, *, cuts_max):
        asked.append(cuts_max)
        return sweep(place, cuts_max=cuts_max)

    monkeypatch.setattr(solver, "cut_sweep", noted)
    solve(place, OrderingMethod.SEARCH, Objective.BOTH, random.Random(1))
    (found,) = asked
    return found


def test_the_cuts_of_a_search_take_a_fifth_of_its_evaluations(monkeypatch):
    place = context(problem((2, 2), ROWS), evaluations=1000)

    assert cuts_of_a_search(monkeypatch, place) == pytest.approx(200, rel=0.1)


def test_the_cuts_of_a_search_take_a_fifth_of_its_seconds(monkeypatch):
    """Each look at the clock takes a second, and so does an order."""
    seconds = itertools.count()
    place = context(problem((2, 2), ROWS), seconds=80.0, evaluations=None,
                    clock=lambda: float(next(seconds)))  # fmt: skip

    assert cuts_of_a_search(monkeypatch, place) == pytest.approx(80 / 5, abs=6)
