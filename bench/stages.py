"""How good are the orders of stages that one second finds, and how many are proved?

Random graphs of 50 and 100 tasks on 2, 4, 8 and 16 slots, layered as the Standard Task Graphs are:
each task reads 1 to 4 tasks of the layers before it. Budgets, over all of them: 97 % proved
optimal; on average at most 0.1 % above the lower bound; one second each at most. The peer is the
order of the file, first in, first out, as `simulate --tasks fifo` runs it. Growth: graphs of 100
to 10,000 stages by the longest path, at most 25 times the time for ten times the stages.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import random
import sys
import time
from statistics import fmean

from bench._figures import verdict

from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.stages.problem import StageProblem
from sluice.planning.stages.solver import StageMethod, StageSchedule, solve_stages, starts_as_given
from sluice.planning.stages.task_graph import TaskGraph, makespan

GRAPHS = 25
SLOTS = (2, 4, 8, 16)
SECONDS = 1.0
PROVED_MIN, ABOVE_MAX, GROWTH_MAX = 0.97, 0.001, 25.0


def drawn(draw: random.Random, tasks: int, slots: int) -> StageProblem:
    """A random graph in layers of 1 to 12 tasks."""
    after: list[tuple[int, ...]] = []
    first = layer = 0
    while len(after) < tasks:
        first, layer = layer, len(after)
        for _ in range(min(draw.randint(1, 12), tasks - layer)):
            before = range(max(0, first - draw.choice((0, 0, 5))), layer)
            count = min(len(before), draw.randint(1, 4))
            after.append(tuple(sorted(draw.sample(before, count))))
    lengths = tuple(draw.choice((draw.randint(1, 10), draw.randint(1, 40))) for _ in after)
    graph = TaskGraph(slots=slots, lengths=lengths, after=tuple(after))
    return StageProblem(
        graph=graph, unit=1, stages=tuple(map(str, range(tasks))), stage_of=tuple(range(tasks)),
        places=(0,) * tasks, stage_graph=graph, work=lengths,
    )  # fmt: skip


def timed(problem: StageProblem, method: StageMethod) -> tuple[StageSchedule, float]:
    """The schedule, and its seconds."""
    began_s = time.perf_counter()
    found = solve_stages(
        problem, method, SearchBudget(time.perf_counter, seconds=SECONDS), random.Random(0)
    )
    return found, time.perf_counter() - began_s


def assert_valid(problem: StageProblem, starts: tuple[float, ...]) -> None:
    """Nothing starts too early, and no instant needs more slots than there are."""
    graph = problem.graph
    ends = [start + length for start, length in zip(starts, graph.lengths, strict=True)]
    for task, before in enumerate(graph.after):
        assert all(ends[one] <= starts[task] for one in before)
    changes = sorted([(end, -1) for end in ends] + [(start, 1) for start in starts])
    used = 0
    for _, change in changes:
        used += change
        assert used <= graph.slots


def quality() -> list[bool]:
    """Proofs, distance from the bound, and the longest search; next to first in, first out."""
    draw = random.Random(1)
    proved, above, fifo_above, longest_s = 0, [], [], 0.0
    for tasks in (50, 100):
        for slots in SLOTS:
            for _ in range(GRAPHS):
                problem = drawn(draw, tasks, slots)
                found, took_s = timed(problem, StageMethod.AUTO)
                assert_valid(problem, found.starts)
                longest_s = max(longest_s, took_s)
                proved += found.is_proved
                above.append(makespan(problem.graph, found.starts) / found.lower - 1)
                plain = makespan(problem.graph, starts_as_given(problem))
                fifo_above.append(plain / found.lower - 1)
    share, mean = proved / len(above), fmean(above)
    print(f"{len(above)} graphs: {share:.1%} proved, {mean:.3%} above the bound on average")
    print(f"first in, first out: {fmean(fifo_above):.1%} above, at worst {max(fifo_above):.1%}")
    fits = [share >= PROVED_MIN, mean <= ABOVE_MAX, longest_s <= SECONDS + 0.2]
    print(f"the longest search took {longest_s:.2f} s{verdict(fits=all(fits))}")
    return fits


def growth() -> list[bool]:
    """Seconds by the longest path for 100, 1,000 and 10,000 stages."""
    times = []
    for tasks in (100, 1000, 10_000):
        problem = drawn(random.Random(2), tasks, 16)
        found, took_s = timed(problem, StageMethod.CRITICAL_PATH)
        assert_valid(problem, found.starts)
        times.append(took_s)
        print(f"{tasks} stages: {took_s:.3f} s")
    factor = max(times[1] / times[0], times[2] / times[1])
    print(f"ten times the stages: {factor:.1f} times{verdict(fits=factor <= GROWTH_MAX)}")
    return [factor <= GROWTH_MAX]


if __name__ == "__main__":
    sys.exit(0 if all([*quality(), *growth()]) else 1)
