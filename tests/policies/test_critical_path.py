"""The order by the longest path: against list scheduling of the planner, and its reason."""

import json
import random
from unittest.mock import Mock

import pytest

import sluice
from sluice.model.lengths import ConstantLengths
from sluice.planning.stages.list_schedules import without_idling
from sluice.planning.stages.problem import stage_problem
from sluice.planning.stages.search import longest_first
from sluice.planning.stages.task_graph import makespan
from sluice.policies.orders.critical_path import _paths_s


def workload(jobs, containers):
    given = {"version": 1, "cluster": {"containers": containers}, "jobs": jobs}
    return sluice.parse_workload(json.dumps(given))


def simulated(given):
    return sluice.simulate(given, tasks="order=critical-path+slots=containers")


def stage(name, tasks, avg_s, after):
    return {"name": name, "tasks": tasks, "avg_s": avg_s, "after": after}


def drawn_jobs(draw):
    for number in range(draw.randint(1, 3)):
        names = [f"s{at}" for at in range(draw.randint(1, 6))]
        yield {
            "id": f"j{number}",
            "phases": [
                stage(
                    name,
                    draw.randint(1, 4),
                    draw.randint(1, 9),
                    [one for one in names[:at] if draw.random() < 0.4],
                )
                for at, name in enumerate(names)
            ],
        }


def test_it_is_list_scheduling_by_the_longest_path():
    """A second method: the planner's, which knows no events."""
    draw = random.Random(4)
    shorter = 0
    for _ in range(40):
        containers = draw.randint(1, 5)
        given = workload(list(drawn_jobs(draw)), containers)
        problem = stage_problem(given.jobs, containers, given.source)
        graph = problem.graph
        planned = without_idling(graph, longest_first(graph, graph.tails))
        found = simulated(given)

        assert found.makespan_s == makespan(graph, planned) / problem.unit
        shorter += found.makespan_s < sluice.simulate(given, tasks="fifo").makespan_s
    assert shorter > 5


def test_a_stage_says_how_much_is_behind_it():
    jobs = [
        {"id": "plain", "phases": [stage("a", 1, 5, [])]},
        {"id": "deep", "phases": [stage("b", 1, 1, []), stage("c", 1, 6, ["b"])]},
    ]
    found = simulated(workload(jobs, 1))
    first = next(iter(found.attempts))

    assert (str(first.phase.job_id), first.started_at_s) == ("deep", 0)
    assert "longest path (7 s) to the end of a job" in first.reason.text()


def test_maps_and_the_reduces_behind_them_are_one_path():
    jobs = [
        {"id": "maps", "maps": {"tasks": 1, "avg_s": 6}},
        {"id": "both", "maps": {"tasks": 1, "avg_s": 2}, "reduces": {"tasks": 1, "avg_s": 5}},
    ]
    given = {"version": 1, "cluster": {"map_slots": 1, "reduce_slots": 1}, "jobs": jobs}
    found = sluice.simulate(sluice.parse_workload(json.dumps(given)), tasks="order=critical-path")

    assert {job.job_id: job.finished_at_s for job in found.jobs} == {"maps": 8, "both": 7}


@pytest.mark.interpreted
def test_a_path_is_that_of_the_longest_tasks_from_a_stage_to_the_end():
    """A diamond: the last stage reads from two that read from the first. The last one fetches."""
    shapes = [((), 2.0, None), ((0,), 3.0, None), ((0,), 1.0, None), ((1, 2), 4.0, 1.0)]
    phases = [
        Mock(
            after=after,
            phase=Mock(
                tasks=3,
                lengths=ConstantLengths(0.5, longest_s),
                fetch=fetch_s and ConstantLengths(0.5, fetch_s),
            ),
        )
        for after, longest_s, fetch_s in shapes
    ]

    assert _paths_s(Mock(phases=phases)) == [10.0, 8.0, 6.0, 5.0]
