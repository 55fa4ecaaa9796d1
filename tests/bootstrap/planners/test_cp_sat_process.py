"""CP-SAT in its own process: against the branch and bound, and beside highspy."""

import random
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given, settings
from tests.planning.pool_problems import example, problems
from tests.planning.stages.test_stage_orders import drawn, posed, solved
from tests.skips import required

import sluice
from sluice.bootstrap.planners import cp_sat_process
from sluice.bootstrap.planners.cp_sat_process import cp_proof_apart, cp_sat_apart
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.pools.offline_optimum import branch_and_bound
from sluice.planning.stages.bounds import bounds_of
from sluice.planning.stages.solver import StageMethod, solve_stages
from sluice.planning.stages.task_graph import TaskGraph, makespan


@pytest.fixture(autouse=True, scope="module")
def or_tools():
    return required("ortools")


@settings(max_examples=5, deadline=None)
@given(problems(jobs_max=5))
def test_cp_sat_gives_what_the_branch_and_bound_gives(problem):
    ours, theirs = branch_and_bound(problem), cp_sat_apart(problem)

    assert ours.cost_server_s == pytest.approx(theirs.cost_server_s)
    assert theirs.is_proven


def test_cp_sat_proves_the_optimum_of_the_worked_example():
    """25,829.40 server-seconds. Source: Cura spec, section 7."""
    found = cp_sat_apart(example())

    assert (25_829.40, True) == (round(found.cost_server_s, 2), found.is_proven)


def test_a_process_that_has_planned_a_capacity_can_prove_an_optimum():
    """Highspy and OR-Tools cannot be loaded together."""
    assert sluice.capacity("examples/deadlines.yaml").document()["status"] == "ok"

    found = sluice.offline_optimum("examples/vm-pools.yaml")

    assert ("cp-sat", True) == (found.optimum.method, found.optimum.is_proven)


def test_a_child_that_fails_is_an_error(monkeypatch):
    monkeypatch.setattr(cp_sat_process, "__name__", "sluice.no_such_module")

    with pytest.raises(subprocess.CalledProcessError):
        cp_sat_apart(example())


def test_stages_are_proved_as_by_branch_and_bound():
    draw = random.Random(4)
    for _ in range(6):  # each in a process of its own
        graph = drawn(draw, draw.randint(2, 9))
        worst = [float(sum(graph.lengths[:place])) for place in range(len(graph.lengths))]
        first = worst if not any(graph.after) else list(solved(graph, StageMethod.AUTO).starts)
        found = cp_proof_apart(graph, bounds_of(graph), list(map(int, first)), 10.0)

        ends = [s + n for s, n in zip(found.starts, graph.lengths, strict=True)]
        for task, before in enumerate(graph.after):
            assert all(ends[one] <= found.starts[task] for one in before)
        assert all(sum(s <= at < e for s, e in zip(found.starts, ends, strict=True)) <= graph.slots
                   for at in found.starts)  # fmt: skip
        proved = solved(graph, StageMethod.EXACT)
        assert proved.is_proved
        assert makespan(graph, found.starts) == found.lower == proved.lower


def layered(seed):
    """40 tasks in layers, whose bound is below the optimum."""
    draw = random.Random(seed)
    lengths: list[int] = []
    after: list[tuple[int, ...]] = []
    before: list[int] = []
    for _ in range(draw.randint(3, 8)):
        layer = []
        for _ in range(draw.randint(3, 9)):
            layer.append(len(lengths))
            lengths.append(draw.randint(5, 40))
            some = draw.sample(before, min(len(before), draw.randint(1, 3))) if before else ()
            after.append(tuple(sorted(some)))
        before = layer
    return TaskGraph(slots=draw.choice([3, 4, 5]), lengths=tuple(lengths), after=tuple(after))


def test_it_goes_on_where_branch_and_bound_gives_up():
    graph, clock = layered(25), iter(range(10**9))
    alone = solved(graph, evaluations=20_000)
    budget = SearchBudget(lambda: next(clock) / 1000, seconds=20.0)
    found = solve_stages(
        posed(graph), StageMethod.EXACT, budget, random.Random(0),
        lambda graph, bounds, first, _: cp_proof_apart(graph, bounds, first, 60.0),
    )  # fmt: skip

    assert (alone.lower, makespan(graph, alone.starts), alone.is_proved) == (160, 161, False)
    assert (found.lower, makespan(graph, found.starts), found.is_proved) == (161, 161, True)


def test_lengths_that_are_not_whole_are_left_to_branch_and_bound():
    graph = replace(layered(25), lengths=tuple(one + 0.37 for one in layered(25).lengths))
    clock = iter(range(10**9))
    budget = SearchBudget(lambda: next(clock) / 1000, seconds=2.0)
    found = solve_stages(
        posed(graph), StageMethod.EXACT, budget, random.Random(0), lambda *_: pytest.fail("asked")
    )

    assert not found.is_proved
