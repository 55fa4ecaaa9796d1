"""Jobs of stages as task graphs: barriers, jobs after jobs, units, many tasks, refusals."""

import json
import random

import pytest

import sluice
from sluice.model.errors import InvalidInput
from sluice.planning.stages.problem import in_units, stage_problem
from sluice.planning.stages.solver import starts_as_given
from sluice.planning.stages.task_graph import makespan


def workload(jobs, containers=2):
    given = {"version": 1, "cluster": {"containers": containers}, "jobs": jobs}
    return sluice.parse_workload(json.dumps(given))


def problem(jobs, containers=2):
    given = workload(jobs, containers)
    return stage_problem(given.jobs, containers, given.source)


def stage(name, tasks, avg_s, after=None):
    return {"name": name, "tasks": tasks, "avg_s": avg_s} | (
        {} if after is None else {"after": after}
    )


def drawn_job(draw, name, earlier):
    phases: list[dict[str, object]] = []
    for number in range(draw.randint(1, 4)):
        after = [one["name"] for one in phases if draw.random() < 0.5]
        phases.append(stage(f"s{number}", draw.randint(1, 5), draw.randint(1, 6), after))
    job = {"id": name, "phases": phases}
    after = [one for one in earlier if draw.random() < 0.3]
    return job | ({"after": after} if after else {})


def test_the_order_of_the_file_takes_as_long_as_a_simulation_first_in_first_out():
    """A second method: the simulator, of the same jobs."""
    draw = random.Random(2)
    for _ in range(25):
        jobs = [drawn_job(draw, f"j{number}", ()) for number in range(draw.randint(1, 4))]
        containers = draw.randint(1, 5)
        ours = problem(jobs, containers)
        simulated = sluice.simulate(workload(jobs, containers), tasks="fifo")
        assert makespan(ours.graph, starts_as_given(ours)) / ours.unit == simulated.makespan_s


def test_a_job_waits_for_all_stages_of_the_jobs_before_it_wherever_they_are():
    jobs = [
        {"id": "late", "after": ["early"], "phases": [stage("z", 1, 1)]},
        {"id": "early", "phases": [stage("a", 2, 3), stage("b", 1, 4, [])]},
    ]
    found = sluice.order(workload(jobs, 3))

    assert found.times["late/z"] == (4, 5)
    assert found.is_proved


def test_many_tasks_have_a_barrier_in_place_of_all_their_edges():
    jobs = [{"id": "wide", "phases": [stage("a", 600, 2), stage("b", 600, 3), stage("c", 5, 7)]}]
    found = sluice.order(workload(jobs, 100), method="auto", evaluations=10)

    assert len(found.problem.graph.lengths) == 1205 + 3
    assert sum(map(len, found.problem.graph.after)) < 5000
    assert (found.makespan_s, found.is_proved) == (6 * 2 + 6 * 3 + 7, True)


def test_the_bound_of_many_tasks_counts_their_work_before_and_behind():
    """500 tasks of 1 s on 10 slots precede and follow one of 5 s: that is 105 s in any order."""
    phases = [stage("a", 500, 1), stage("b", 1, 5), stage("c", 500, 1)]
    found = sluice.order(workload([{"id": "j", "phases": phases}], 10), evaluations=10)

    assert found.document()["bounds"] == {"makespan_lower_s": 105}
    assert found.is_proved


@pytest.mark.parametrize(
    ("avg_s", "unit"), [((2, 3), 1), ((0.5, 1.25), 100), ((0.001, 2), 1000), ((1 / 3, 1), 1)]
)
def test_times_are_whole_numbers_of_a_unit_where_they_have_one(avg_s, unit):
    phases = [stage(f"s{at}", 1, one) for at, one in enumerate(avg_s)]
    found = problem([{"id": "j", "phases": phases}])

    assert found.unit == unit
    assert found.graph.is_whole == (avg_s[0] != 1 / 3)


@pytest.mark.parametrize(
    ("jobs", "options", "message"),
    [
        ([{"id": "g", "gang": True, "phases": [stage("a", 2, 1)]}], {}, "gang is given"),
        ([{"id": "d", "driver_s": 3, "phases": [stage("a", 2, 1)]}], {}, "driver_s is 3"),
        ([{"id": "j", "phases": [stage("a", 2, 1)]}], {"method": "mk-jr"}, "the jobs have stages"),
        ([{"id": "j", "phases": [stage("a", 2, 1)]}], {"method": "x"}, "'x' is not known"),
        ([{"id": "j", "phases": [stage("a", 2, 1)]}], {"objective": "tct"}, "not for jobs of stag"),
        ([{"id": "j", "phases": [stage("a", 2, 1)]}], {"map_slots": 3}, "run in containers"),
    ],
)
def test_what_cannot_be_ordered_is_refused(jobs, options, message):
    with pytest.raises(InvalidInput, match=message):
        sluice.order(workload(jobs), **options)


def test_jobs_of_maps_and_reduces_have_no_critical_path():
    jobs = [{"id": "m", "maps": {"tasks": 1, "avg_s": 1}}]
    given = {"version": 1, "cluster": {"map_slots": 1, "reduce_slots": 1}, "jobs": jobs}

    with pytest.raises(InvalidInput, match="'critical-path' is for jobs of stages"):
        sluice.order(sluice.parse_workload(json.dumps(given)), method="critical-path")


def test_the_answer_has_a_table_a_chart_and_the_workload_in_its_order():
    jobs = [
        {"id": "short", "phases": [stage("a", 1, 1)]},
        {"id": "long", "phases": [stage("b", 1, 4), stage("c", 1, 4)]},
        {"id": "wide", "phases": [stage("d", 3, 2)]},
    ]
    found = sluice.order(workload(jobs, 2))

    assert found.order[0] == "long/b"
    assert found.makespan_s == 8
    assert found.reordered().jobs[0].job_id == "long"
    assert found.reordered_document()["jobs"][0]["id"] == "long"
    assert len(found.rows()) == 4
    assert "running" in str(found.plot().spec)
    document = found.document()
    assert document["stages"]["long/c"] == {"started_at_s": 4, "finished_at_s": 8}
    assert document["completions_s"]["long"] == 8


@pytest.mark.parametrize(("unit", "counted"), [(10, [1, 25, 3]), (0, [0.1, 2.5, 0.31])])
def test_lengths_are_counted_in_whole_parts_of_a_second_where_there_are_such(unit, counted):
    assert in_units([0.1, 2.5, 0.31], unit) == counted
