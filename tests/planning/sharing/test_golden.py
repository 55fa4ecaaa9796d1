"""The fluid model against the tables of the LTYARN chapter and the examples of its spec."""

from fractions import Fraction

import pytest
from tests.planning.sharing_problems import GOLDEN, by_member, problem

from sluice.planning.sharing.dominant import TaskStream, share_tasks
from sluice.planning.sharing.fluid import share_out
from sluice.planning.sharing.misreports import best_misreport, useful_units

TABLES = ("table_1_1", "table_5_1a", "table_5_1b", "table_5_1c", "ltrf_can_lose")


def texts(numbers):
    return [None if number is None else str(number) for number in numbers]


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_of_a_table_is_exact(name):
    """Tables 1.1 and 5.1(a) to (c), and erratum E13; fractions, not rounded numbers."""
    given, expected = GOLDEN[name]["input"], GOLDEN[name]["steps"]
    history = share_out(
        problem(
            given["R"],
            by_member(given["new_demand"]),
            weights=given["weights"],
            policy=given["policy"],
            discount_price=float(Fraction(given["discount"])),
            keeps_leftovers=given["backlog"],
        )
    )

    assert len(expected) == len(history.steps)
    for step, cells in zip(history.steps, expected, strict=True):
        assert cells["demand"] == texts(step.demand_total)
        assert cells["alloc"] == texts(step.allocated)
        assert cells["total"] == texts(step.counted)
        assert cells["preempt"] == texts(map(abs, step.lent))
        assert cells["beta"] == texts(step.fairness)
        assert (cells["psi"], cells["omega"]) == (str(step.benefit), str(step.loss))


def test_under_reporting_gains_a_quarter_unit():
    """Spec 8.2: 3 useful units when honest, 13/4 with the report (0, 2, 2)."""
    given = problem(3, by_member([(2, 3, 0), (3, 1, 3), (2, 2, 1)]))

    assert ["3/2", "1/2", "1"] == texts(useful_units(given, 0, (2, 3, 2)))
    assert ["0", "3/2", "7/4"] == texts(useful_units(given, 0, (0, 2, 2)))
    found = best_misreport(given, 0)
    assert (True, Fraction(3), Fraction(13, 4)) == (found.is_exhaustive, found.honest, found.best)


@pytest.mark.parametrize(("users", "bunched"), [(2, 40), (3, 45), (4, 48)])
def test_bunching_pays_under_a_discount(users, bunched):
    """Spec 8.2: endless work, half price; one user asks for nothing in every second step."""
    demands = [[users] * 40 for _ in range(users)]
    demands[0] = [0 if step % 2 == 0 else users for step in range(40)]

    half = share_out(problem(users, demands, discount_price=0.5)).steps[-1]

    assert bunched == half.accumulated[0]
    full = share_out(problem(users, demands)).steps[-1]
    assert full.accumulated[0] <= 40, "without a discount there is nothing to gain"


def test_two_users_that_take_turns_gain_more():
    """Spec 8.2: 47.1 and 45.4 instead of 40; the honest two fall to 33.7."""
    demands = [[0, 4] * 20, [4, 0] * 20, [4] * 40, [4] * 40]

    used = share_out(problem(4, demands, discount_price=0.5)).steps[-1].accumulated

    assert [47.1, 45.4, 33.7, 33.7] == [round(float(units), 1) for units in used]


def test_a_dummy_demand_doubles_the_outcome_where_idle_members_are_charged():
    """Spec 8.3: why PAR is off for members that are merely idle."""
    honest, busy = [0] * 50 + [2] * 50, [2] * 100

    assert [50, 150] == list(
        share_out(problem(2, [honest, busy], charges_late=True)).steps[-1].accumulated
    )
    dummy = share_out(problem(2, [[0.01, *honest[1:]], busy], charges_late=True)).steps[-1]
    assert Fraction("99.99") == dummy.accumulated[0] - Fraction("0.01")
    assert Fraction("100") == share_out(problem(2, [honest, busy])).steps[-1].accumulated[0]


@pytest.mark.parametrize("is_whole", [True, False])
def test_karma_keeps_the_guaranteed_part(is_whole):
    """Spec 8.4: with alpha = 0 the loss of E13 cannot happen."""
    demands = by_member([(0, 2, 0), (3, 1, 3), (3, 1, 3), (3, 1, 3)])

    history = share_out(problem(3, demands, policy="karma", alpha=0.0, is_whole=is_whole))

    assert [(0, 2, 0), (1, 1, 1), (1, 1, 1), (1, 1, 1)] == [s.allocated for s in history.steps]
    assert 0 == history.steps[-1].loss


def test_drf_divides_as_published():
    """Ghodsi et al., NSDI 2011, section 4.1: 3 tasks of A and 2 of B on 9 cpu and 18 GB."""
    both = [TaskStream(name="A", demands=((1, 4),)), TaskStream(name="B", demands=((3, 1),))]

    history = share_tasks((9, 18), both, 1)

    assert {"A": (3,), "B": (2,)} == history.tasks
    assert {"A": Fraction(2, 3), "B": Fraction(2, 3)} == history.dominant


def test_weighted_drf_follows_the_weights():
    """A member of weight 2 gets twice the dominant share of one with equal tasks."""
    both = [
        TaskStream(name="A", demands=((1, 1),), weight=2),
        TaskStream(name="B", demands=((1, 1),)),
    ]

    assert {"A": (8,), "B": (4,)} == share_tasks((12, 24), both, 1).tasks


def test_long_term_drf_returns_what_was_lent():
    """Spec 8.5: A is idle for 5 steps, then runs 4:1 for nine steps, then 3:2."""
    a = TaskStream(name="A", demands=((1, 4),), idle_steps=frozenset(range(5)))
    b = TaskStream(name="B", demands=((3, 1),))

    memoryless = share_tasks((9, 18), [a, b], 20)
    long_term = share_tasks((9, 18), [a, b], 20, remembers="dominant")

    assert (45, 45) == (sum(memoryless.tasks["A"]), sum(memoryless.tasks["B"]))
    assert {"A": 10, "B": 15} == memoryless.dominant
    assert (54, 36) == (sum(long_term.tasks["A"]), sum(long_term.tasks["B"]))
    assert {"A": 12, "B": 12} == long_term.dominant
    assert (4,) * 9 + (3,) * 6 == long_term.tasks["A"][5:]


def test_remembering_sums_by_resource_rewards_alternating():
    """Spec 8.5: 150 tasks instead of 120 for the liar, 180 instead of 240 for the other."""
    both = [
        TaskStream(name="liar", demands=((4, 1), (1, 8))),
        TaskStream(name="steady", demands=((2, 4),)),
    ]

    right = share_tasks((24, 48), both, 40, remembers="dominant").tasks
    wrong = share_tasks((24, 48), both, 40, remembers="resources").tasks

    assert [120, 240] == [sum(right[name]) for name in ("liar", "steady")]
    assert [150, 180] == [sum(wrong[name]) for name in ("liar", "steady")]
