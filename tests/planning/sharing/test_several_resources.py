"""Several resources: DRF and long-term DRF, divisible and with whole tasks."""

import random
from fractions import Fraction

import pytest
from tests.planning.sharing_problems import by_member, problem

from sluice.model.members import Member
from sluice.planning.sharing.dominant import TaskStream, share_tasks
from sluice.planning.sharing.fluid import allocations, share_out
from sluice.planning.sharing.misreports import best_misreport
from sluice.planning.sharing.problem import SharingOptions, sharing_problem

NINE_CPU = {"cpu": 9, "memory_gb": 18}
A_TASK, B_TASK = {"cpu": 1, "memory_gb": 4}, {"cpu": 3, "memory_gb": 1}


def shared(capacities, rows, *, keeps_leftovers=True, **options):
    """A problem; rows: (task, demands, weight) of each member."""
    members = [
        Member(member_id=f"u{number}", task=task, demands=tuple(demands), weight=weight)
        for number, (task, demands, weight) in enumerate(rows, start=1)
    ]
    how = SharingOptions(keeps_leftovers=keeps_leftovers, **options)
    return sharing_problem(capacities, members, how)


def tasks_of(history):
    """Tasks by member, then by step."""
    sizes = history.problem.task_units
    rows = by_member([step.allocated for step in history.steps])
    return [[units / size for units in row] for row, size in zip(rows, sizes, strict=True)]


def random_case(seed):
    """(capacities, rows): up to three resources, tasks that fit, and steps without work."""
    draw = random.Random(seed)
    names = ["cpu", "memory_gb", "gpu"][: draw.randint(1, 3)]
    capacities = {name: draw.randint(4, 20) for name in names}
    rows = []
    for _ in range(draw.randint(2, 4)):
        task = {name: draw.randint(0, capacities[name]) for name in names}
        task[draw.choice(names)] = draw.randint(1, 4)
        demands = [draw.choice([0, 1, 3, 50]) for _ in range(6)]
        rows.append((task, demands, draw.choice([1, 2])))
    return capacities, rows


@pytest.mark.parametrize("is_whole", [False, True])
def test_drf_divides_as_published(is_whole):
    """Ghodsi et al., NSDI 2011, section 4.1: 3 tasks of A and 2 of B, both two thirds."""
    rows = [(A_TASK, [10], 1), (B_TASK, [10], 1)]

    history = share_out(shared(NINE_CPU, rows, policy="mlrf", is_whole=is_whole))

    assert [[3], [2]] == tasks_of(history)
    assert (Fraction(2, 3), Fraction(2, 3)) == history.steps[0].allocated


@pytest.mark.parametrize(
    ("policy", "tasks", "dominant"), [("mlrf", (45, 45), (10, 15)), ("ltrf", (54, 36), (12, 12))]
)
def test_the_reference_run_of_long_term_drf(policy, tasks, dominant):
    """Spec 8.5: A is idle for five steps, then runs 4:1 for nine steps, then 3:2."""
    rows = [(A_TASK, [0] * 5 + [9] * 15, 1), (B_TASK, [9] * 20, 1)]

    history = share_out(shared(NINE_CPU, rows, policy=policy, is_whole=True))

    assert tasks == tuple(map(sum, tasks_of(history)))
    assert dominant == history.steps[-1].accumulated
    if policy == "ltrf":
        assert [4] * 9 + [3] * 6 == tasks_of(history)[0][5:]


def test_fixed_halves_of_the_reference_run():
    """Spec 8.5: halves would be 30 and 20 tasks where only whole tasks fit a half."""
    rows = [(A_TASK, [0] * 5 + [9] * 15, 1), (B_TASK, [9] * 20, 1)]
    halves = share_out(shared(NINE_CPU, rows, policy="static"))

    assert [30, 20] == [sum(int(count) for count in row) for row in tasks_of(halves)]


def test_divisible_long_term_drf_levels_the_dominant_shares():
    """All that A lent in five steps comes back in five: only A runs, limited by memory."""
    rows = [(A_TASK, [0] * 5 + [9] * 15, 1), (B_TASK, [9] * 20, 1)]

    history = share_out(shared(NINE_CPU, rows, policy="ltrf"))

    assert [Fraction(9, 2)] * 5 + [3] * 10 == tasks_of(history)[0][5:]
    assert history.steps[-1].accumulated[0] == history.steps[-1].accumulated[1]


def test_the_level_rises_on_for_members_that_need_nothing_of_what_is_used_up():
    rows = [({"cpu": 1}, [20], 1), ({"cpu": 1}, [20], 1), ({"gpu": 1}, [20], 1)]

    history = share_out(shared({"cpu": 10, "gpu": 10}, rows, policy="mlrf"))

    assert [[5], [5], [10]] == tasks_of(history)


@pytest.mark.parametrize("seed", range(60))
def test_whole_tasks_are_those_of_a_plain_search(seed):
    """The heap starts the tasks that a search of all members for each task starts."""
    capacities, rows = random_case(seed)
    rows = [(task, [50 if more else 0 for more in demands], w) for task, demands, w in rows]
    streams = [
        TaskStream(
            name=str(number),
            demands=(tuple(task.get(name, 0) for name in capacities),),
            weight=weight,
            idle_steps=frozenset(t for t, count in enumerate(demands) if not count),
        )
        for number, (task, demands, weight) in enumerate(rows)
    ]
    for policy, remembers in (("mlrf", "nothing"), ("ltrf", "dominant")):
        found = shared(capacities, rows, policy=policy, is_whole=True, keeps_leftovers=False)
        expected = share_tasks(tuple(capacities.values()), streams, 6, remembers=remembers).tasks
        assert [list(row) for row in expected.values()] == tasks_of(share_out(found))


@pytest.mark.parametrize("policy", ["mlrf", "ltrf", "decay"])
@pytest.mark.parametrize("is_whole", [False, True])
def test_no_resource_is_overcommitted_and_none_idles_that_could_be_used(policy, is_whole):
    short = 0
    for seed in range(40):
        capacities, rows = random_case(seed)
        found = shared(capacities, rows, policy=policy, is_whole=is_whole)
        for step in share_out(found).steps:
            pairs = list(zip(step.allocated, found.needs, strict=True))
            used = [float(sum(a * need[r] for a, need in pairs)) for r in range(len(capacities))]
            assert max(used) <= 1 + 1e-9
            for member, size in enumerate(found.task_units):
                if step.demand_total[member] - step.allocated[member] < float(size) * 1e-6:
                    continue
                short += 1
                more = float(size) if is_whole else 1e-6  # another task, or a bit of one
                needs = found.needs[member]
                assert any(
                    u + more * float(need) > 1 + 1e-9
                    for u, need in zip(used, needs, strict=True)
                    if need
                )
    assert short > 100


def test_divisible_drf_never_loses():
    """The sharing incentive of DRF: at least what fixed shares of all resources give."""
    for seed in range(60):
        capacities, rows = random_case(seed)
        assert all(
            step.loss == 0 for step in share_out(shared(capacities, rows, policy="mlrf")).steps
        )


@pytest.mark.parametrize("policy", ["static", "mlrf", "ltrf", "decay"])
def test_one_resource_by_name_is_divided_as_a_capacity(policy):
    demands = [[40, 80, 160, 120], [200, 120, 100, 100]]
    by_name = shared({"units": 200}, [({"units": 1}, row, 1) for row in demands], policy=policy)

    plain = allocations(problem(200, demands, policy=policy, keeps_leftovers=True))

    found = allocations(by_name)
    assert [[float(units * 200) for units in row] for row in found] == [
        pytest.approx([float(units) for units in row]) for row in plain
    ]


def test_floating_point_follows_the_exact_rule_of_several_resources():
    for seed in range(20):
        capacities, rows = random_case(seed)
        for is_whole in (False, True):
            exact = shared(capacities, rows, policy="ltrf", is_whole=is_whole)
            longer = [(task, demands + [0] * 300, w) for task, demands, w in rows]
            rough = shared(capacities, longer, policy="ltrf", is_whole=is_whole)
            assert exact.is_exact
            assert not rough.is_exact
            for mine, other in zip(allocations(exact), allocations(rough), strict=False):
                assert [float(units) for units in mine] == pytest.approx(other, abs=1e-9)


def test_asking_for_more_tasks_gains_nothing_under_drf():
    for seed in range(6):
        capacities, rows = random_case(seed)
        rows = [(task, demands[:2], weight) for task, demands, weight in rows]
        assert 0 == best_misreport(shared(capacities, rows, policy="mlrf"), 0).gain
