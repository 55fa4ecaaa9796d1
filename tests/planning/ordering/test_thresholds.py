"""From how many jobs, orders or seconds on a search of an order does something else."""

import math
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from tests.planning.order_problems import problem
from tests.runs import map_reduce

from sluice.model.errors import InvalidInput
from sluice.planning.ordering import batch_orderer, cut_sweep, exact, solver, waiting_jobs
from sluice.planning.ordering.batch_orderer import BatchOrderer
from sluice.planning.ordering.objectives import Objective
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.ordering.search_context import KernelUse
from sluice.planning.ordering.solver import OrderingMethod
from sluice.planning.ordering.waiting_jobs import WaitingJobs

FOUND = SimpleNamespace(makespan_s=1.0, total_s=1.0)


class Search(SimpleNamespace):
    """As much of a search as decides: its jobs, its budget, and what it expects to take."""

    def __init__(self, jobs=9, expected_s=0.0, each_s=0.0, **budget):
        super().__init__(jobs=jobs, loads=None, requested=[], waited_s=[], asked=[])
        self._now_s, self._each_s, self._expected_s = 0.0, each_s, expected_s
        self.budget = SearchBudget(lambda: self._now_s, **budget)

    def expects_s(self, orders):
        self.asked.append(orders)
        return self._expected_s

    def values(self, _):
        self._now_s += self._each_s

    def request_compiled(self, use):
        self.requested.append(use)

    def adopt_compiled(self, wait_s=0.0):
        self.waited_s.append(wait_s)


@pytest.fixture(autouse=True)
def no_orders(monkeypatch):
    """No test of this file is about an order or its values."""
    monkeypatch.setattr(cut_sweep.rules, "tct", lambda _: ())
    monkeypatch.setattr(cut_sweep.rules, "mk_jr", lambda *_: ())
    monkeypatch.setattr(cut_sweep, "evaluated", lambda *_: FOUND)


# --- the cut sweep --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("jobs", "cuts"),
    [
        (1, 2), (398, 399), (399, 400), (400, 400), (25_000, 400), (25_001, 399),
        (909_091, 10), (5_000_000, 2), (20_000_000, 2),
    ],
)  # fmt: skip
def test_at_most_400_cuts_are_tried_and_ten_million_places(monkeypatch, jobs, cuts):
    evaluated = Mock(return_value=FOUND)
    monkeypatch.setattr(cut_sweep, "evaluated", evaluated)
    cut_sweep.cut_sweep(Search(jobs))

    assert cuts == evaluated.call_count


@pytest.mark.parametrize(("expected_s", "requested"), [(1.0, []), (1.001, [KernelUse.ANNEALING])])
def test_cuts_of_over_a_second_are_worth_compiled_kernels(expected_s, requested):
    place = Search(5, expected_s)
    cut_sweep.cut_sweep(place)

    assert ([6], requested) == (place.asked, place.requested)


# --- methods --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "jobs", "expected_s", "requested"),
    [
        ("exact", 9, 0.5, []),
        ("exact", 9, 0.501, [KernelUse.PROOF]),
        ("exact", 64, 0.501, [KernelUse.PROOF]),
        ("exact", 65, 0.501, [KernelUse.ANNEALING]),
        ("auto", 13, 0.501, [KernelUse.PROOF]),
        ("auto", 14, 0.501, [KernelUse.ANNEALING]),
        ("search", 9, 0.501, [KernelUse.ANNEALING]),
    ],
)
def test_orders_of_over_half_a_second_are_worth_compiled_kernels(
    monkeypatch, method, jobs, expected_s, requested
):
    proof = SimpleNamespace(best=None, is_proved=False, lower=0.0)
    for name in ("_exact", "search"):
        monkeypatch.setattr(solver, name, lambda *_, **__: proof)
    place = Search(jobs, expected_s)
    place.problem = SimpleNamespace(has_waiting=False)
    solver.solve(place, OrderingMethod(method), Objective.TCT, None)

    assert ([5], requested) == (place.asked, place.requested)


@pytest.mark.parametrize(
    ("seconds", "waited_s"), [(None, 2.0), (3.0, 1.5), (4.0, 2.0), (9.0, 4.0), (100.0, 4.0)]
)
def test_kernels_are_waited_for_as_long_as_plain_orders_take_or_half_of_the_time(
    monkeypatch, seconds, waited_s
):
    monkeypatch.setattr(
        solver, "search", lambda *_: SimpleNamespace(best=None, is_proved=0, lower=0)
    )
    place = Search(9, 4.0, seconds=seconds)
    place.problem = SimpleNamespace(has_waiting=False)
    solver.solve(place, OrderingMethod.SEARCH, Objective.TCT, None)

    assert [waited_s] == place.waited_s


@pytest.mark.parametrize(
    ("jobs", "may_fail", "until"), [(9, True, 1.0), (10, True, 0.5), (10, False, 1.0)]
)
def test_auto_keeps_half_of_its_budget_for_a_search_with_ten_jobs_or_more(
    monkeypatch, jobs, may_fail, until
):
    shares = []

    def noted(*_, until=1.0):
        shares.append(until)
        return SimpleNamespace(is_proved=True)

    monkeypatch.setattr(solver, "exact", noted)
    solver._exact(Search(jobs), Objective.TCT, None, may_fail=may_fail)

    assert [until] == shares


@pytest.mark.parametrize(("jobs", "steps"), [(2, 8), (7, 20_160), (8, None)])
def test_few_jobs_need_no_more_steps_than_show_all_their_orders(jobs, steps):
    assert solver._enough(jobs) == steps


@pytest.mark.parametrize(
    ("jobs", "expected_s", "budget", "is_requested"),
    [
        (8, 0.5, {"evaluations": 10}, True),
        (7, 0.5, {"evaluations": 10}, False),
        (8, 0.499, {"evaluations": 10}, False),
        (8, 0.0, {"seconds": 0.5}, True),
        (8, 9.0, {"seconds": 0.49}, False),
        (8, 0.0, {}, True),
        (8, 0.499, {"evaluations": 10, "seconds": 9.0}, False),
    ],
)
def test_half_a_second_of_annealing_is_worth_compiled_kernels(
    jobs, expected_s, budget, is_requested
):
    place = Search(jobs, expected_s, **budget)
    solver._request_if_worth_it(place, 1.0)

    assert [KernelUse.ANNEALING] * is_requested == place.requested


@pytest.mark.parametrize(
    ("each_s", "budget", "cuts"),
    [
        (0.0, {}, 400),
        (1.0, {}, 400),
        (1.0, {"evaluations": 399}, 399),
        (1.0, {"evaluations": 401}, 400),
        (1.0, {"seconds": 10.0}, 9),
        (0.0, {"seconds": 10.0}, 400),
        (0.5, {"seconds": 10.0, "evaluations": 15}, 15),
        (0.5, {"seconds": 10.0, "evaluations": 25}, 19),
        (9.0, {"seconds": 5.0}, 0),
    ],
)
def test_a_sweep_tries_what_the_rest_of_the_budget_allows(each_s, budget, cuts):
    assert solver._affordable(Search(each_s=each_s, **budget), 1.0) == cuts


# --- exact ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("orders", "expected_s", "budget", "may"),
    [
        (10, 9.0, {}, True),
        (10, 9.0, {"evaluations": 10}, True),
        (11, 9.0, {"evaluations": 10}, False),
        (10, 9.0, {"seconds": 9.0}, True),
        (10, 9.01, {"seconds": 9.0}, False),
        (11, 9.0, {"evaluations": 10, "seconds": 9.0}, False),
        (10, 9.01, {"evaluations": 10, "seconds": 9.0}, False),
    ],
)
def test_all_orders_are_tried_if_the_budget_has_room_for_the_last(orders, expected_s, budget, may):
    assert exact._is_affordable(Search(expected_s=expected_s, **budget), orders, 1.0) is may


@pytest.mark.parametrize(
    ("spent", "until", "part", "share"),
    [(0, 1.0, 0.15, 0.15), (50, 1.0, 0.1, 0.55), (50, 0.5, 0.1, 0.5), (60, 0.5, 0.1, 0.6)],
)
def test_a_part_of_the_rest_of_a_budget_is_counted_from_what_is_spent(spent, until, part, share):
    place = Search(evaluations=100)
    place.budget.evaluations = spent

    assert exact._further(place, until, part) == pytest.approx(share)


@pytest.mark.parametrize(
    ("jobs", "makespan", "total", "may"),
    [(7, 1.0, 0.0, True), (7, 0.0, 1.0, True), (7, 1.0, 1.0, False), (8, 1.0, 0.0, False)],
)
def test_all_orders_of_seven_jobs_are_tried_for_one_measure(jobs, makespan, total, may):
    goal = SimpleNamespace(makespan=makespan, total=total)
    place = Search(jobs)

    assert exact._can_be_enumerated(place, goal, 1.0) is may


@pytest.mark.parametrize(
    ("jobs", "has_waiting", "may"), [(64, True, True), (65, True, False), (2, False, False)]
)
def test_waits_are_followed_among_as_many_jobs_as_a_tree_can_search(jobs, has_waiting, may):
    place = Search(jobs)
    place.problem = SimpleNamespace(has_waiting=has_waiting)

    assert exact._may_wait(place) is may


@pytest.mark.parametrize(("most", "orders"), [(6, 6), (5, None)])
def test_orders_are_listed_up_to_a_number(most, orders):
    found = exact._orders_in_turn([()] * 3, most)

    assert (None if found is None else len({*found})) == orders


def test_no_more_evaluations_are_worth_it_than_the_budget_has():
    assert exact._evaluations_worth(Search(3, evaluations=10)) == 30
    assert exact._evaluations_worth(Search(3)) == 0


# --- jobs that wait, and rounds of MROrder --------------------------------------------------------


def test_a_million_tasks_of_jobs_that_wait_can_be_ordered(monkeypatch):
    assert waiting_jobs.TASKS_MAX == 1_000_000
    monkeypatch.setattr(waiting_jobs, "TASKS_MAX", 10)
    WaitingJobs(problem((1, 1), [(3, 1, 2, 1), (4, 1, 1, 1)]))
    with pytest.raises(InvalidInput, match=r"11 tasks.* up to 10"):
        WaitingJobs(problem((1, 1), [(3, 1, 2, 1), (4, 1, 2, 1)]))


def test_compiled_kernels_are_loaded_once_over_ten_thousand_orders_were_simulated(monkeypatch):
    """Rounds of these numbers of jobs have 10,000 orders; a round of one job has one more."""
    rounds = [7, *[6] * 6, *[5] * 5, 4, 3, 3, 2, 2]
    requested = []
    monkeypatch.setattr(
        batch_orderer.SearchContext, "request_compiled", lambda _, use: requested.append(use)
    )
    found = SimpleNamespace(best=SimpleNamespace(order=()))
    monkeypatch.setattr(batch_orderer, "enumerate_orders", lambda *_: found)
    order = BatchOrderer("tct", 7)
    for jobs in rounds:
        order([map_reduce(f"j{number}", 1, 1.0) for number in range(jobs)], 1, 1)

    assert sum(map(math.factorial, rounds)) == 10_000
    assert not requested
    order([map_reduce("last", 1, 1.0)], 1, 1)
    assert [KernelUse.ENUMERATION] == requested
