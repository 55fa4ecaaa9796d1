"""Cut sweep, annealing, and `auto`. Source: ordering spec, sections 10.3 and 10.4."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import first_of
from tests.planning.order_problems import EXAMPLE_A, context, problem, problems, solved, values
from tests.skips import required

from sluice.planning.ordering import rules
from sluice.planning.ordering.annealing import _next_size, anneal, evaluated
from sluice.planning.ordering.compilation import compiled_kernels, kernel_functions, plain_kernels
from sluice.planning.ordering.kernels.annealing_kernel import apply_move, pick_places
from sluice.planning.ordering.loads import loads_of
from sluice.planning.ordering.objectives import (
    Objective,
    WeightedObjective,
    tolerance,
    weighted_objective,
)
from sluice.planning.ordering.solver import OrderingMethod, solve
from sluice.planning.ordering.workloads import FACEBOOK_JOBS, benchmarks, facebook, varied

unit = st.floats(0, 1, exclude_max=True)


@settings(max_examples=40, deadline=None)
@given(problems(jobs_max=7))
def test_a_sweep_gives_a_frontier_between_the_two_rules(made):
    """No order on it is dominated, by the others or by the rules at its ends."""
    known = loads_of(made)
    frontier = solved(made, "sweep").frontier
    pairs = [(point.makespan_s, point.total_s) for point in frontier]

    assert pairs == sorted(pairs)
    assert len(set(pairs)) == len(pairs)
    assert [total for _, total in pairs] == sorted((total for _, total in pairs), reverse=True)
    for rule in (rules.mk_jr, rules.tct):
        last_s, total_s = values(made, rule(known))
        assert any(a <= last_s and b <= total_s for a, b in pairs)


def test_the_objective_picks_from_the_frontier():
    made = facebook(20, random.Random(2))
    frontier = solved(made, "sweep").frontier

    assert len(frontier) > 2
    assert frontier[0] == solved(made, "sweep", "makespan").best
    assert frontier[-1] == solved(made, "sweep", "tct").best
    both = solved(made, "sweep", "both").best
    least = frontier[0].makespan_s, frontier[-1].total_s
    ratios = [one.makespan_s / least[0] + one.total_s / least[1] for one in frontier]
    assert min(ratios) == both.makespan_s / least[0] + both.total_s / least[1]


@settings(max_examples=40, deadline=None)
@given(problems(jobs_max=8), st.sampled_from(["makespan", "tct", "both"]), st.integers(1, 200))
def test_a_search_is_never_worse_than_the_rules(made, objective, evaluations):
    known = loads_of(made)
    answer = solved(made, "search", objective, evaluations=evaluations)

    assert sorted(answer.best.order) == list(known.jobs)
    assert (answer.best.makespan_s, answer.best.total_s) == values(made, answer.best.order)
    if objective != "both":
        measure = ["makespan", "tct"].index(objective)
        rule = (rules.mk_jr, rules.tct)[measure]
        ours = (answer.best.makespan_s, answer.best.total_s)[measure]
        assert ours <= values(made, rule(known))[measure]


@pytest.mark.parametrize("method", ["search", "auto", "exact"])
@pytest.mark.parametrize("objective", ["makespan", "tct", "both"])
def test_the_same_seed_and_evaluations_give_the_same_answer(method, objective):
    made = facebook(12, random.Random(4))
    answers = [solved(made, method, objective, seed=seed, evaluations=300) for seed in (1, 1, 2)]

    assert answers[0] == answers[1]


def test_annealing_improves_the_total_of_a_workload():
    """300 steps are better than every rule."""
    made = facebook(30, random.Random(6))
    known = loads_of(made)
    best_rule = min(values(made, rule(known))[1] for rule in (rules.tct, rules.mk_tct_jr))

    assert solved(made, "search", "tct", evaluations=400).best.total_s < 0.99 * best_rule


def test_annealing_stops_at_the_lower_bound():
    """In flow-shop form the makespan of Johnson's order equals the bound."""
    made = problem((1, 1), [(1, 3, 1, 4), (1, 5, 1, 2), (1, 1, 1, 6)])
    place = context(made)

    answer = solve(place, OrderingMethod.SEARCH, Objective.MAKESPAN, random.Random(0))

    assert answer.is_proved
    assert place.budget.evaluations <= 4


def test_auto_proves_small_problems_and_searches_large_ones():
    assert OrderingMethod.EXACT is solved(problem(*EXAMPLE_A), "auto").picked
    large = solved(benchmarks(14), "auto", "tct", evaluations=50)

    assert OrderingMethod.SEARCH is large.picked
    assert not large.is_proved


def test_annealing_ends_at_its_share_of_the_budget():
    """The limit is exact to the step, also for a share of it."""
    made = benchmarks(12)
    place = context(made, evaluations=200)
    start = evaluated(place, tuple(range(12)))
    anneal(place, start, weighted_objective(Objective.TCT, 1, 1), random.Random(0), until=0.5)

    assert 100 == place.budget.evaluations


@given(unit, unit, unit, st.integers(2, 60))
def test_a_step_picks_two_different_positions(kind, place, other, jobs):
    start, end = pick_places(kind, place, other, jobs)

    assert start != end
    assert 0 <= start < jobs
    assert 0 <= end < jobs


@pytest.mark.parametrize(
    ("place", "other", "step"),
    [
        (0.5, 0.0, (3, 4)),
        (0.5, 1 / 2**20, (3, 2)),
        (0.0, 1 / 2**20, (0, 1)),  # there is nothing before the first
        (0.9, 0.0, (5, 4)),  # and nothing after the last
        (0.5, 1 - 2 / 2**20, (3, 0)),  # 1 + 2 places: not on to 6, so back
    ],
)
def test_a_near_step_goes_forward_or_back_by_the_last_bit_of_its_draw(place, other, step):
    assert pick_places(0.0, place, other, 6) == step


@pytest.mark.parametrize(
    ("kinds", "end"), [((0.0, 0.199, 0.4, 0.699), 31), ((0.2, 0.399, 0.7, 0.999), 0)]
)
def test_half_of_the_swaps_and_half_of_the_moves_are_near(kinds, end):
    """Swaps are the kinds below 0.4."""
    assert [pick_places(kind, 0.5, 0.0, 60) for kind in kinds] == [(30, end)] * 4


@given(st.integers(2, 12), st.data(), st.booleans())
def test_the_reverse_step_undoes_a_step(jobs, data, is_swap):
    order = list(range(jobs))
    start, end = data.draw(st.sampled_from([(a, b) for a in order for b in order if a != b]))

    apply_move(order, start, end, is_swap)
    assert order != list(range(jobs))
    assert sorted(order) == list(range(jobs))
    apply_move(order, end, start, is_swap)
    assert order == list(range(jobs))


def test_steps_reach_every_position():
    draw = random.Random(0)
    steps = Counter(
        pick_places(draw.random(), draw.random(), draw.random(), 6) for _ in range(5000)
    )

    assert 30 == len(steps)


def test_no_value_between_two_steps_is_better():
    """In whole seconds 1086.2 proves 1087. With `both`, any value is possible."""
    makespan = weighted_objective(Objective.MAKESPAN, 100, 300)
    both = WeightedObjective(makespan=1, total=1, guide_makespan=1, guide_total=1)

    assert 0.9 < tolerance(makespan, 1087, 1.0) < 1
    assert tolerance(both, 1087, 1.0) < 1e-5
    assert tolerance(makespan, 1e9, 1e-3) == 1.0


def test_the_facebook_workload_has_the_sizes_of_the_table():
    """Table 3.3: 29 jobs of up to 25 maps, then the listed sizes; reduces are 5 to 25 %."""
    made = facebook(100, random.Random(9))
    maps = sorted(job.maps[0][0] for job in made.jobs)

    assert 50 == FACEBOOK_JOBS
    assert 58 <= sum(count <= 25 for count in maps) <= 60
    assert [2400, 2400, 4800, 4800] == maps[-4:]
    assert (57, 19) == (made.map_slots, made.reduce_slots)
    for job in made.jobs:
        share = job.reduces[0][0] / job.maps[0][0]
        assert job.reduces[0][0] == 1 or 0.05 - 0.5 / 20 <= share <= 0.25 + 0.5 / 4
        assert job.maps[0][1] == round(job.maps[0][1], 3) >= 0.001


def test_more_benchmarks_repeat_the_table():
    names = [job.name for job in benchmarks(10).jobs]

    assert ("Wordcount-1", "Wordcount-10") == (names[0], names[9])
    assert "Wordcount" == benchmarks(9).jobs[0].name


def test_tasks_vary_around_their_length():
    made = varied(benchmarks(2), 0.3, random.Random(1))
    lengths = [length for _, length in made.jobs[0].maps]

    assert 160 == len(lengths)
    assert all(22 * 0.7 <= length <= 22 * 1.3 for length in lengths)
    assert len(set(lengths)) > 100


def test_each_kernel_exists_once_by_name():
    assert {"evaluate", "anneal_steps", "branch", "evaluate_orders", "start_tasks"} <= set(
        kernel_functions()
    )
    assert not plain_kernels().is_compiled


@pytest.mark.slow
def test_compiled_kernels_give_the_plain_answers():
    """Equal bit for bit: for formulas, annealing steps and nodes."""
    required("numba")
    fast = compiled_kernels()
    assert fast is not None
    assert fast.is_compiled
    for seed in first_of(range(5), 2):
        draw = random.Random(seed)
        made = facebook(8 + seed, draw) if seed % 2 else varied(benchmarks(5), 0.2, draw)
        for method in ("tct", "sweep", "search", "exact"):
            for objective in ("makespan", "tct", "both"):
                answers = []
                for kernels in (plain_kernels(), fast):
                    place = context(made, evaluations=100)
                    place.use(kernels)
                    answers.append(
                        solve(
                            place, OrderingMethod(method), Objective(objective), random.Random(seed)
                        )
                    )
                assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("size", "took_s", "next_size"),
    [(64, 0.001, 128), (4096, 0.001, 4096), (64, 0.02, 64), (64, 0.05, 32), (1, 0.05, 1)],
)
def test_a_chunk_is_doubled_if_it_is_fast_and_halved_if_it_is_slow(size, took_s, next_size):
    assert _next_size(size, took_s) == next_size
