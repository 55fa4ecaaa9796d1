"""Orders of stages on equal slots: valid schedules, true bounds, proofs against brute force."""

import random
from itertools import permutations

import pytest
from tests.effort import share_of

from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.stages.bounds import Bounds, bounds_of
from sluice.planning.stages.branch_and_bound import proved
from sluice.planning.stages.list_schedules import improved, in_gaps, without_idling
from sluice.planning.stages.problem import StageProblem
from sluice.planning.stages.solver import StageMethod, solve_stages
from sluice.planning.stages.task_graph import TaskGraph, makespan

# A short task opens the critical path. Without idling a long one takes the slot that it needs.
WORTH_WAITING = TaskGraph(slots=2, lengths=(5, 1, 10, 10, 10), after=((), (), (1,), (1,), (2, 3)))


def drawn(draw, tasks, *, whole=True):
    """A random graph of so many tasks, whose names are in no order."""
    names = draw.sample(range(tasks), tasks)
    after = [()] * tasks
    for place, task in enumerate(names):
        before = [one for one in names[:place] if draw.random() < draw.choice((0.1, 0.4))]
        after[task] = tuple(sorted(before))
    lengths = [draw.randint(1, 9) if whole else draw.uniform(0.1, 9) for _ in range(tasks)]
    return TaskGraph(slots=draw.randint(1, 4), lengths=tuple(lengths), after=tuple(after))


def posed(graph):
    """Each task as a stage of its own."""
    return StageProblem(
        graph=graph, unit=1, stages=tuple(map(str, range(len(graph.lengths)))),
        stage_of=tuple(range(len(graph.lengths))), places=(0,) * len(graph.lengths),
        stage_graph=graph, work=graph.lengths,
    )  # fmt: skip


def solved(graph, method=StageMethod.AUTO, *, evaluations=20_000):
    budget = SearchBudget(lambda: 0.0, evaluations=evaluations)
    return solve_stages(posed(graph), method, budget, random.Random(0))


def test_the_longest_path_first_asks_nothing_of_the_budget():
    """Of 1,500 tasks, which only a search by stage can move, too."""
    wide = TaskGraph(slots=7, lengths=(3, 5) * 750, after=((),) * 1500)
    for graph in (WORTH_WAITING, wide):
        budget = SearchBudget(lambda: 0.0, evaluations=1000)
        found = solve_stages(posed(graph), StageMethod.CRITICAL_PATH, budget, random.Random(0))

        assert (budget.evaluations, found.picked) == (0, StageMethod.CRITICAL_PATH)


def least_makespan(graph):
    """By every order: each task at the first instant from which on a slot is free."""
    best = sum(graph.lengths)
    for order in permutations(range(len(graph.lengths))):
        used = [0] * (best + max(graph.lengths) + 1)
        ends: dict[int, int] = {}
        for task in order:
            if any(one not in ends for one in graph.after[task]):
                break
            start = max((ends[one] for one in graph.after[task]), default=0)
            length = graph.lengths[task]
            while any(used[at] == graph.slots for at in range(start, start + length)):
                start += 1
            for at in range(start, start + length):
                used[at] += 1
            ends[task] = start + length
            if ends[task] >= best:
                break
        else:
            best = max(ends.values())
    return best


def check(graph, starts):
    """Nothing starts before what it waits for has ended, and slots are never short."""
    ends = [start + length for start, length in zip(starts, graph.lengths, strict=True)]
    for task, before in enumerate(graph.after):
        assert starts[task] >= 0
        assert all(ends[one] <= starts[task] for one in before)
    for at in starts:
        running = sum(start <= at < end for start, end in zip(starts, ends, strict=True))
        assert running <= graph.slots


def test_an_idle_slot_may_be_worth_it():
    plain = without_idling(WORTH_WAITING, [0, 1, 2, 3, 4])

    assert makespan(WORTH_WAITING, plain) == 25
    assert solved(WORTH_WAITING, StageMethod.CRITICAL_PATH).is_proved is False
    best = solved(WORTH_WAITING, StageMethod.EXACT)
    assert (makespan(WORTH_WAITING, best.starts), best.is_proved) == (21, True)


@pytest.mark.parametrize(
    ("slots", "lengths", "after", "starts"),
    [
        # The second slot is free again at 1.5 s, and the third task waits for the first alone.
        (2, (1.5, 2.5, 1.0), ((), (), (0,)), [0, 0, 1.5]),
        # Of two that could run at 3 s the one in front starts, and the other one at its end.
        (1, (3, 2, 4), ((), (0,), (0,)), [0, 3, 5]),
        # A barrier holds no slot: one that is next starts while none is free, ..
        (1, (2, 0, 3), ((), (), ()), [0, 0, 2]),
        # .. but no task does, although a barrier is behind it.
        (1, (2, 3, 0), ((), (), ()), [0, 2, 2]),
        # What waits for a barrier starts as the last task before the barrier ends.
        (2, (2, 3, 0, 1), ((), (), (0, 1), (2,)), [0, 0, 3, 3]),
    ],
)
def test_without_idling_a_task_starts_as_soon_as_a_slot_is_free(slots, lengths, after, starts):
    graph = TaskGraph(slots=slots, lengths=lengths, after=after)

    assert starts == without_idling(graph, range(len(lengths)))


@pytest.mark.parametrize(
    ("slots", "lengths", "after", "ranks", "starts"),
    [
        # The third task fills the 3 s in which the second one waits for the first.
        (2, (3, 4, 3), ((), (0,), ()), [0, 1, 2], [0, 3, 0]),
        # With one slot there is no gap.
        (1, (3, 2, 1), ((), (0,), ()), [0, 1, 2], [0, 3, 5]),
        # The fourth task just fits before two others that take both slots, ..
        (2, (3, 4, 4, 3), ((), (0,), (0,), ()), [0, 1, 2, 3], [0, 3, 3, 0]),
        # .. and one that is longer starts behind them.
        (2, (3, 4, 4, 4), ((), (0,), (0,), ()), [0, 1, 2, 3], [0, 3, 3, 7]),
        # Up to 3 s and from then on two of three slots are in use: the last task fits across.
        (3, (3, 3, 3, 3, 4), ((), (0,), (0,), (), ()), [0, 1, 2, 3, 4], [0, 3, 3, 0, 0]),
        # A barrier needs no slot.
        (1, (1, 4, 0, 2), ((), (), (0,), ()), [0, 1, 2, 3], [0, 1, 1, 5]),
        (1, (0.5, 0.25), ((), ()), [1, 0], [0.25, 0]),
    ],
)
def test_in_gaps_a_task_starts_at_the_first_gap_that_holds_it(slots, lengths, after, ranks, starts):
    graph = TaskGraph(slots=slots, lengths=lengths, after=after)

    assert starts == in_gaps(graph, ranks)


@pytest.mark.slow
def test_proofs_agree_with_every_order_of_small_graphs():
    draw = random.Random(7)
    searched_too_long = 0
    for _ in range(share_of(300)):
        graph = drawn(draw, draw.randint(2, 6))
        least = least_makespan(graph)
        assert bounds_of(graph).makespan <= least
        for method in (StageMethod.EXACT, StageMethod.AUTO):
            found = solved(graph, method)
            check(graph, found.starts)
            assert (makespan(graph, found.starts), found.is_proved) == (least, True)
            assert found.lower == least
        searched = solved(graph, StageMethod.SEARCH, evaluations=200)
        searched_too_long += makespan(graph, searched.starts) > least
    assert searched_too_long == 0


@pytest.mark.parametrize("whole", [True, False])
def test_every_schedule_is_valid_and_no_bound_is_above_it(whole):
    draw = random.Random(11)
    for _ in range(40):
        graph = drawn(draw, draw.randint(1, 60), whole=whole)
        ranks = [draw.random() for _ in graph.lengths]
        bounds = bounds_of(graph)
        for starts in (without_idling(graph, ranks), in_gaps(graph, ranks)):
            better = improved(graph, starts)
            for one in (starts, better):
                check(graph, one)
                assert bounds.makespan <= makespan(graph, one) * (1 + 1e-12)
                earliest = zip(bounds.heads, one, strict=True)
                assert all(head <= start + 1e-9 for head, start in earliest)
            assert makespan(graph, better) <= makespan(graph, starts)


def test_improving_shortens_what_is_pushed_apart():
    """The gaps of a schedule that starts each task 3 s late are closed."""
    graph = TaskGraph(slots=1, lengths=(2, 2), after=((), (0,)))

    assert improved(graph, [3, 8]) == [0, 2]


def test_work_before_a_task_makes_its_head_longer():
    """Six tasks of 4 s on two slots precede the last one: it starts at 12 s, not at 4 s."""
    graph = TaskGraph(slots=2, lengths=(4,) * 6 + (1,), after=((),) * 6 + ((0, 1, 2, 3, 4, 5),))

    assert bounds_of(graph).heads[6] == 12
    assert bounds_of(graph).makespan == 13
    assert bounds_of(graph.reversed).tails[6] == 12


def test_the_work_of_an_interval_counts():
    """Three chains of 1, 4, 1 s on two slots: 12 s of work in the middle need 6 s, not 4 s."""
    chains = TaskGraph(
        slots=2,
        lengths=(1, 4, 1) * 3,
        after=tuple(before for n in (0, 3, 6) for before in ((), (n,), (n + 1,))),
    )
    found = solved(chains)

    assert bounds_of(chains).makespan == found.lower == makespan(chains, found.starts) == 10


def test_equal_tasks_are_proved_without_trying_each_in_each_place():
    graph = TaskGraph(slots=3, lengths=(7,) * 10 + (3,) * 3, after=((),) * 13)
    found = solved(graph, StageMethod.EXACT, evaluations=2_000)

    assert found.is_proved
    assert makespan(graph, found.starts) == 28


def test_with_fewer_tasks_than_slots_the_bound_is_the_longest_path():
    graph = TaskGraph(slots=4, lengths=(5, 4, 3), after=((), (0,), ()))

    assert bounds_of(graph).makespan == 9


def test_a_proof_ends_where_the_work_that_is_left_needs_all_slots():
    """Two slots do 5 + 2 and 4 + 3: nothing is shorter, though the bounds do not say so."""
    graph = TaskGraph(slots=2, lengths=(5, 4, 3, 2), after=((),) * 4)
    weak = Bounds(makespan=0, heads=(0,) * 4, tails=(0,) * 4)
    nodes = iter(range(99))
    found = proved(graph, weak, [0, 0, 4, 5], lambda: next(nodes) < 0)

    assert (found.is_proved, makespan(graph, found.starts)) == (True, 7)
    assert next(nodes) == 1  # the root alone was opened


@pytest.mark.parametrize("method", [StageMethod.AUTO, StageMethod.EXACT])
def test_a_spent_budget_gives_the_best_so_far_without_a_proof(method):
    draw = random.Random(3)
    graphs = [drawn(draw, 40) for _ in range(200)]
    every = ((graph, solved(graph, method, evaluations=1)) for graph in graphs)
    graph, found = next(one for one in every if not one[1].is_proved)

    check(graph, found.starts)
    assert found.lower < makespan(graph, found.starts)


def test_the_same_seed_gives_the_same_schedule():
    graph = drawn(random.Random(5), 60)

    assert solved(graph, evaluations=300) == solved(graph, evaluations=300)


def test_a_chain_as_long_as_a_proof_may_be_does_not_go_too_deep():
    count = 250
    graph = TaskGraph(
        slots=2, lengths=(3,) * count, after=((), *((one,) for one in range(count - 1)))
    )

    assert solved(graph, StageMethod.EXACT).is_proved
