"""Ordering problems for tests: the spec's examples, random ones, and the searches over them.

A row is (maps, length of a map, reduces, length of a reduce), as the spec writes `m x tm, r x tr`.
"""

import itertools
import random

from hypothesis import strategies as st
from tests.strategies import lengths_s

from sluice.planning.ordering.compilation import plain_kernels
from sluice.planning.ordering.flow_arrays import flow_arrays_of
from sluice.planning.ordering.kernel_loading import BlockingLoader
from sluice.planning.ordering.loads import loads_of
from sluice.planning.ordering.objectives import Objective
from sluice.planning.ordering.problem import OrderedJob, OrderingProblem
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.ordering.search_context import SearchContext
from sluice.planning.ordering.solver import OrderingMethod, solve

EXAMPLE_A = ((8, 4), [(10, 4, 2, 8), (4, 2, 4, 2), (2, 6, 4, 10), (24, 6, 6, 8)])
EXAMPLE_B = [(10, 9, 1, 10), (8, 11, 1, 15)]
FILL, TAIL = (8, 1, 116, 1), (8, 1, 1, 30)
G3 = ((1, 4), [(7, 1, 1, 30), (7, 1, 1, 30), (7, 1, 1, 30), FILL, TAIL])
G4 = ((1, 100), [(1, 1, 1, 50), (50, 1, 100, 1)])
G5 = ((2, 2), [(5, 3, 0, 0), (2, 4, 3, 2), (1, 9, 0, 0), (3, 1, 2, 6)])
G6 = ((1, 1), [(1, 5, 1, 2), (1, 1, 1, 6), (1, 9, 1, 7), (1, 3, 1, 8), (1, 10, 1, 4)])


def problem(slots, rows):
    """Jobs J0, J1, ... with equal tasks."""
    return OrderingProblem(
        map_slots=slots[0],
        reduce_slots=slots[1],
        jobs=tuple(
            OrderedJob(
                name=f"J{number}",
                maps=((maps, float(map_s)),) if maps else (),
                reduces=((reduces, float(reduce_s)),) if reduces else (),
            )
            for number, (maps, map_s, reduces, reduce_s) in enumerate(rows)
        ),
    )


def loads(slots, rows):
    return loads_of(problem(slots, rows))


def values(made, order):
    """Makespan and total completion of an order, by the plain kernels."""
    return plain_kernels().evaluate(flow_arrays_of(made, plain_kernels()), list(order))


def all_values(made, kernels=None):
    """The same for all orders, by order."""
    kernels = kernels or plain_kernels()
    flow = flow_arrays_of(made, kernels)
    jobs = range(len(made.jobs))
    return {
        order: kernels.evaluate(flow, kernels.integers(order))
        for order in itertools.permutations(jobs)
    }


def context(made, *, seconds=None, evaluations=10**9, may_compile=False, clock=lambda: 0.0):
    """A search context; by default with plain kernels, no clock, and no limit."""
    budget = SearchBudget(clock, seconds=seconds, evaluations=evaluations)
    return SearchContext(made, budget, loader=BlockingLoader() if may_compile else None)


def solved(made, method, objective="makespan", *, seed=0, **budget):
    """The result of a method."""
    place = context(made, **budget)
    return solve(place, OrderingMethod(method), Objective(objective), random.Random(seed))


@st.composite
def runs(draw, *, tasks_max, listed_max=5):
    """Equal tasks, or one length for each task."""
    if draw(st.integers(0, 3)) == 0:
        return tuple(
            (1, length) for length in draw(st.lists(lengths_s, min_size=1, max_size=listed_max))
        )
    return ((draw(st.integers(1, tasks_max)), draw(lengths_s)),)


@st.composite
def ordered_jobs(draw, *, name, tasks_max):
    """Map-only, reduce-only, or both."""
    shape = draw(st.sampled_from(["both", "both", "both", "maps", "reduces"]))
    return OrderedJob(
        name=name,
        maps=() if shape == "reduces" else draw(runs(tasks_max=tasks_max)),
        reduces=() if shape == "maps" else draw(runs(tasks_max=tasks_max)),
    )


@st.composite
def problems(draw, *, jobs_min=1, jobs_max=5, tasks_max=12, slots_max=7):
    """Random problems; sometimes two jobs are equal."""
    count = draw(st.integers(jobs_min, jobs_max))
    made = [draw(ordered_jobs(name=f"J{number}", tasks_max=tasks_max)) for number in range(count)]
    if count > 1 and draw(st.integers(0, 3)) == 0:
        made[-1] = OrderedJob(name=made[-1].name, maps=made[0].maps, reduces=made[0].reduces)
    slots = st.integers(1, slots_max)
    return OrderingProblem(map_slots=draw(slots), reduce_slots=draw(slots), jobs=tuple(made))
