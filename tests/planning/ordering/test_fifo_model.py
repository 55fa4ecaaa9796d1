"""The evaluator of orders against the simulator: the real driver under FIFO, at heartbeat 0.

Completions are equal to the last bit: waves are counted, yet every end is rounded as the simulator
rounds it, one addition a task.
"""

import math
import random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.effort import share_of
from tests.planning.order_problems import EXAMPLE_A, EXAMPLE_B, problem, values
from tests.runs import completions_s, map_reduce, simulate, totals
from tests.strategies import job_lists

from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload
from sluice.planning.ordering.flow_arrays import outcome_of
from sluice.planning.ordering.kernels.slot_groups import advanced
from sluice.planning.ordering.kernels.sort_and_heap import pop_first, push, sort_by_instant
from sluice.planning.ordering.problem import OrderedJob, OrderingProblem, problem_of

slots = st.integers(1, 9)


def check_against_the_simulator(jobs, map_slots, reduce_slots):
    cluster = totals(map_slots, reduce_slots)
    made = problem_of(Workload(cluster=cluster, jobs=tuple(jobs)))
    state = simulate(cluster, jobs)
    simulated = [state.jobs[job.job_id] for job in jobs]
    ends = [entry.finished_at_s for entry in simulated]
    event(f"jobs of one phase: {sum(len(job.phases) == 1 for job in jobs)}")
    event(f"a job overtakes: {ends != sorted(ends)}")
    event(f"more slots than tasks: {map_slots > sum(job.tasks for job in jobs)}")

    outcome = outcome_of(made, range(len(jobs)))

    assert ends == list(outcome.ended_s)
    assert [entry.started_at_s for entry in simulated] == list(outcome.began_s)
    assert max(ends) == outcome.makespan_s


@settings(max_examples=50, deadline=None)
@given(job_lists(is_staggered=False, tasks_max=12), slots, slots)
def test_every_job_ends_when_the_simulator_says(jobs, map_slots, reduce_slots):
    check_against_the_simulator(jobs, map_slots, reduce_slots)


def random_jobs(draw, tasks_max):
    """Up to nine jobs with any phases, and one style of lengths: whole, tenths, few, quarters."""
    length_s = draw.choice(
        [
            lambda: float(draw.randint(1, 12)),
            lambda: draw.randint(1, 99) / 10,
            lambda: draw.choice([0.1, 0.2, 0.3, 0.7]),
            lambda: draw.randint(1, 40) / 4,
        ]
    )

    def phase(is_there):
        tasks = draw.randint(1, draw.choice([4, 12, tasks_max])) if is_there else 0
        if tasks and draw.random() < 0.3:
            return tasks, tuple(length_s() for _ in range(tasks))
        return tasks, length_s()

    jobs = []
    for number in range(draw.randint(1, 7)):
        shape = draw.choice(["both", "both", "both", "maps", "reduces"])
        jobs.append(map_reduce(f"j{number}", *phase(shape != "reduces"), *phase(shape != "maps")))
    return jobs


def check_many(seed, cases, tasks_max):
    draw = random.Random(seed)
    for _ in range(cases):
        cluster = totals(draw.randint(1, 9), draw.randint(1, 9))
        jobs = random_jobs(draw, tasks_max)
        made = problem_of(Workload(cluster=cluster, jobs=tuple(jobs)))
        expected = completions_s(simulate(cluster, jobs))

        assert expected == list(outcome_of(made, range(len(jobs))).ended_s)


@pytest.mark.no_invariants
def test_two_hundred_random_workloads_end_as_simulated():
    """They include map-only and reduce-only jobs, more slots than tasks, and decimals."""
    check_many(seed=1, cases=200, tasks_max=20)


@pytest.mark.slow
@pytest.mark.no_invariants
def test_many_more_random_workloads_end_as_simulated():
    check_many(seed=2, cases=share_of(2000), tasks_max=60)


@pytest.mark.no_invariants
@settings(max_examples=20, deadline=None)
@given(st.integers(500, 3000), st.integers(1, 99), slots, st.integers(1, 40))
def test_a_thousand_waves_of_tenths_are_counted_without_an_error(maps, tenths, map_slots, others):
    """A tenth is not a binary number, so the sums have a specific rounding error."""
    jobs = [
        map_reduce("long", maps, tenths / 10, 3, 0.7),
        map_reduce("short", others, 0.3, others, 1.1),
    ]

    check_against_the_simulator(jobs, map_slots, 2)


@settings(max_examples=300, deadline=None)
@given(
    st.floats(0, 1e6),
    st.one_of(st.floats(1e-9, 1e4), st.integers(1, 99).map(lambda tenths: tenths / 10)),
    st.integers(0, 3000),
)
def test_adding_many_times_at_once_is_adding_one_by_one(at_s, length_s, times):
    one_by_one = at_s
    for _ in range(times):
        one_by_one += length_s

    assert one_by_one == advanced(at_s, length_s, times)


def test_any_number_of_additions_is_made_at_once():
    assert 1e15 * 0.5 == advanced(0.0, 0.5, 10**15)
    assert math.isclose(1e7 * 0.1, advanced(0.0, 0.1, 10**7), rel_tol=1e-9)


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.5]), st.integers(0, 99)), max_size=40))
def test_positions_are_sorted_by_readiness_and_ties_stay(pairs):
    """The kernel has its own sort, because numba has no stable sort on lists."""
    at_s = [instant for instant, _ in pairs]
    positions = list(range(len(pairs)))
    expected = sorted(positions, key=at_s.__getitem__)
    order = list(positions)

    sort_by_instant(positions, len(positions), order, at_s, [0] * len(positions))

    assert expected == positions


@given(st.lists(st.integers(0, 50), min_size=1))
def test_the_heap_gives_the_least_first(numbers):
    heap, size = [0] * len(numbers), 0
    for number in numbers:
        size = push(heap, size, number)
    taken = []
    while size:
        taken.append(heap[0])
        size = pop_first(heap, size)

    assert sorted(numbers) == taken


def test_example_a_agrees_with_the_figure_of_the_thesis():
    """Map phases end at 8, 6, 10 and 28, jobs at 16, 8, 26 and 44."""
    outcome = outcome_of(problem(*EXAMPLE_A), range(4))

    assert [8, 6, 10, 28] == list(outcome.mapped_s)
    assert [8, 6, 10, 28] == list(outcome.reducing_s)
    assert [16, 8, 26, 44] == list(outcome.ended_s)
    assert (44, 94) == (outcome.makespan_s, outcome.total_completion_s)


@pytest.mark.parametrize(
    ("slots_each", "order", "makespan_s"),
    [(10, (0, 1), 35), (10, (1, 0), 30), (8, (0, 1), 44), (8, (1, 0), 39)],
)
def test_example_b_before_and_after_a_node_failed(slots_each, order, makespan_s):
    """Erratum E1: the other order is better both times."""
    assert makespan_s == values(problem((slots_each, slots_each), EXAMPLE_B), order)[0]


def test_a_shuffle_lengthens_every_reduce_as_in_the_simulator():
    from sluice import parse_workload
    from sluice import simulate as run

    workload = parse_workload(
        "{version: 1, cluster: {map_slots: 2, reduce_slots: 2}, jobs: [{id: a,"
        " maps: {tasks: 3, avg_s: 4}, shuffle: {avg_s: 2}, reduces: {tasks: 3, avg_s: 5}}]}"
    )

    assert run(workload).makespan_s == outcome_of(problem_of(workload), [0]).makespan_s == 22


@pytest.mark.parametrize("order", [[0, 0], [0], [0, 1, 2], [0, 2], [-1, 0]])
def test_an_order_that_is_not_a_permutation_is_refused(order):
    with pytest.raises(InvalidInput, match="order"):
        outcome_of(problem((1, 1), EXAMPLE_B), order)


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("cluster: {map_slots: 2, reduce_slots: 2}, jobs: []", "jobs is empty"),
        ("cluster: {map_slots: 2}, jobs: [{id: a, reduces: {tasks: 1, avg_s: 2}}]",
         "reduce_slots is 0, but job 'a'"),
        ("jobs: [{id: a, maps: {tasks: 1, avg_s: 2}}]", "cluster is missing"),
        ("cluster: {map_slots: 2}, jobs: [{id: a, profile: p}]", "job 'a'.*no profile 'p'"),
    ],
)  # fmt: skip
def test_workloads_that_cannot_be_ordered_are_refused(text, reported):
    from sluice import parse_workload

    with pytest.raises(InvalidInput, match=reported):
        problem_of(parse_workload(f"{{version: 1, {text}}}"))


def test_jobs_without_tasks_or_with_invalid_tasks_are_refused():
    with pytest.raises(InvalidInput, match="no task"):
        OrderedJob(name="a")
    for run in ((0, 1.0), (1, 0.0), (1, math.nan), (1, math.inf)):
        with pytest.raises(InvalidInput, match="'a'"):
            OrderedJob(name="a", maps=(run,))


def test_sums_that_would_be_infinite_are_refused():
    job = OrderedJob(name="a", maps=((10**8, 1e308),))

    with pytest.raises(InvalidInput, match="all tasks together"):
        OrderingProblem(map_slots=1, reduce_slots=1, jobs=(job,))
