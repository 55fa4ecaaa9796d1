"""Jobs through a chain of stages: valid schedules, true bounds, proofs against every order."""

import random
from itertools import count, pairwise, permutations

import pytest
from tests.effort import share_of
from tests.skips import required

from sluice.bootstrap.planners.cp_sat_process import cp_least_apart
from sluice.planning.flow_shops.bounds import least_makespan
from sluice.planning.flow_shops.flow_shop import FlowShop, makespan, times_of
from sluice.planning.flow_shops.solver import FlowMethod, solve_flow_shop
from sluice.planning.ordering.search_budget import SearchBudget

# Instances of 20 jobs and 5 machines: the seed of their generator, and the least makespan, as
# published by E. Taillard (European Journal of Operational Research 64, 1993, and his lists since).
TAILLARD = {
    873654221: 1278, 379008056: 1359, 1866992158: 1081, 216771124: 1293, 402959317: 1195,
    2021925980: 1206, 573109518: 1230, 88325120: 1108,
}  # fmt: skip


def taillard(seed, jobs=20, machines=5):
    """Lengths from 1 to 99, machine by machine, by the generator of Bratley, Fox and Schrage."""
    rows = []
    for _ in range(machines):
        row = []
        for _ in range(jobs):
            high, low = divmod(seed, 127773)
            seed = (16807 * low - 2836 * high) % (2**31 - 1)
            row.append(1 + int(seed / (2**31 - 1) * 99))
        rows.append(row)
    tasks = tuple(tuple((length,) for length in job) for job in zip(*rows, strict=True))
    return FlowShop(slots=(1,) * machines, tasks=tasks)


def drawn(draw, jobs, *, whole, most_slots):
    """A random shop, in which some jobs may skip some stages."""
    slots = tuple(draw.randint(1, most_slots) for _ in range(draw.randint(1, 4)))
    skipped = draw.choice((0, 0, 0.3))

    def tasks(count):
        if draw.random() < skipped:
            return ()
        drawn_tasks = draw.randint(1, 3) if count > 1 else 1
        lengths = [
            draw.randint(1, 9) if whole else draw.uniform(0.1, 9) for _ in range(drawn_tasks)
        ]
        return tuple(sorted(lengths, reverse=True))

    return FlowShop(slots=slots, tasks=tuple(tuple(map(tasks, slots)) for _ in range(jobs)))


def solved(shop, method, *, evaluations=1000):
    budget = SearchBudget(lambda: 0.0, evaluations=evaluations)
    return solve_flow_shop(shop, method, budget, random.Random(0))


def check(shop, order):
    """Each job passes its stages one after another, and slots are never short."""
    assert sorted(order) == list(range(len(shop.tasks)))
    times = times_of(shop, order)
    for job, tasks in zip(times, shop.tasks, strict=True):
        assert [span is not None for span in job] == [bool(of) for of in tasks]
        spans = [span for span in job if span is not None]
        assert all(one[1] <= later[0] for one, later in pairwise(spans))
    for stage, slots in enumerate(shop.slots):
        spans = sorted(span for job in times if (span := job[stage]) is not None)
        for at, _ in spans:  # each job that is there uses a slot when it starts
            assert slots > 1 or sum(start <= at < end for start, end in spans) <= 1
    ends = [span[1] for job in times for span in job if span is not None]
    assert max(ends, default=0) == pytest.approx(makespan(shop, order))


@pytest.mark.parametrize("most_slots", [1, 3])
def test_proofs_agree_with_every_order_of_small_shops(most_slots):
    draw = random.Random(most_slots)
    for case in range(share_of(150)):
        shop = drawn(draw, draw.randint(1, 6), whole=case % 3 > 0, most_slots=most_slots)
        least = min(makespan(shop, order) for order in permutations(range(len(shop.tasks))))
        assert least_makespan(shop) <= least + 1e-9
        for method in FlowMethod:
            found = solved(shop, method)
            check(shop, found.order)
            ours = makespan(shop, found.order)
            assert found.lower <= least + 1e-9
            assert ours >= least - 1e-9
            assert found.is_proved <= (ours == pytest.approx(least))
            if method in {FlowMethod.EXACT, FlowMethod.AUTO}:
                assert found.is_proved


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("seed", TAILLARD)
def test_published_optima_are_found_and_proved(seed):
    shop = taillard(seed)
    found = solved(shop, FlowMethod.AUTO, evaluations=100_000)

    assert (makespan(shop, found.order), found.is_proved) == (TAILLARD[seed], True)


def test_two_stages_are_bounded_by_johnsons_order():
    """In the order 0, 1, 2 it takes 9; each stage alone with its head and tail takes 8 or less."""
    shop = FlowShop(slots=(1, 1), tasks=(((1,), (2,)), ((4,), (3,)), ((2,), (1,))))

    assert least_makespan(shop) == 9
    assert min(makespan(shop, order) for order in permutations(range(3))) == 9


def test_one_order_decides_at_every_stage():
    """Two jobs on two machines: completion times by the textbook's recurrence."""
    shop = FlowShop(slots=(1, 1, 1), tasks=(((3,), (2,), (4,)), ((1,), (5,), (1,))))

    assert (makespan(shop, (0, 1)), makespan(shop, (1, 0))) == (11, 12)
    assert times_of(shop, (1, 0)) == [[(1, 4), (6, 8), (8, 12)], [(0, 1), (1, 6), (6, 7)]]


def test_a_search_without_a_proof_says_how_far_it_may_be():
    shop = taillard(7, jobs=50, machines=10)
    found = solved(shop, FlowMethod.AUTO, evaluations=300)

    assert (found.picked, found.is_proved) == (FlowMethod.SEARCH, False)
    assert least_makespan(shop) == found.lower < makespan(shop, found.order)


def open_shop(seed):
    draw = random.Random(seed)
    slots = tuple(draw.choice((1, 2, 3)) for _ in range(3 + seed % 3))
    return FlowShop(
        slots=slots, tasks=tuple(tuple((draw.randint(1, 99),) for _ in slots) for _ in range(10))
    )


@pytest.mark.parametrize(("seed", "least"), [(5, 378), (7, 345)])
def test_the_bound_of_another_solver_proves_what_branch_and_bound_leaves_open(seed, least):
    required("ortools")
    shop = open_shop(seed)
    clock = count().__next__  # a proof is over after some hundred nodes
    budget = SearchBudget(lambda: float(clock()), seconds=1000.0)
    found = solve_flow_shop(shop, FlowMethod.AUTO, budget, random.Random(0), cp_least_apart)

    assert (makespan(shop, found.order), found.lower, found.is_proved) == (least, least, True)
    assert least_makespan(shop) < least


def test_no_order_of_small_shops_is_below_the_bound_of_another_solver():
    required("ortools")
    draw = random.Random(5)
    for _ in range(6):  # each in a process of its own
        shop = drawn(draw, draw.randint(3, 5), whole=True, most_slots=3)
        least = min(makespan(shop, order) for order in permutations(range(len(shop.tasks))))
        known = least_makespan(shop)

        assert known <= cp_least_apart(shop, known, sum(map(sum, shop.work)), 5.0) <= least
