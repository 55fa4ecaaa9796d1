"""Orders of jobs that wait for each other, against the simulator and against all orders."""

import itertools
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.terminal import sluice

import sluice as package
from sluice.model.errors import InvalidInput
from sluice.planning.ordering import exact
from sluice.planning.ordering.flow_arrays import outcome_of
from sluice.planning.ordering.loads import loads_of
from sluice.planning.ordering.problem import OrderedJob, OrderingProblem
from sluice.planning.ordering.waiting_jobs import WaitingJobs, bounds_of


def random_workload(draw, jobs):
    """Each job after up to two of those before it; some without reduces, some without maps."""
    made = []
    for place in range(jobs):
        phases = draw.choice([("maps", "reduces"), ("maps", "reduces"), ("maps",), ("reduces",)])
        job = {name: {"tasks": draw.randint(1, 6), "avg_s": draw.randint(1, 9)} for name in phases}
        waits = sorted(draw.sample(range(place), draw.randint(0, min(place, 2))))
        after = {"after": [f"j{one}" for one in waits]} if waits else {}
        made.append({"id": f"j{place}", **job, **after})
    slots = {"map_slots": draw.randint(1, 3), "reduce_slots": draw.randint(1, 3)}
    return {"version": 1, "cluster": slots, "jobs": made}


def problem_of(workload):
    places = {job["id"]: place for place, job in enumerate(workload["jobs"])}

    def runs(job, phase):
        return ((job[phase]["tasks"], float(job[phase]["avg_s"])),) if phase in job else ()

    return OrderingProblem(
        **workload["cluster"],
        jobs=tuple(
            OrderedJob(name=job["id"], maps=runs(job, "maps"), reduces=runs(job, "reduces"))
            for job in workload["jobs"]
        ),
        after=tuple(tuple(places[one] for one in job.get("after", ())) for job in workload["jobs"]),
    )


@pytest.mark.parametrize("seed", range(40))
def test_an_order_ends_as_the_simulator_says(seed):
    draw = random.Random(seed)
    workload = random_workload(draw, draw.randint(2, 7))
    order = draw.sample(range(len(workload["jobs"])), len(workload["jobs"]))
    shuffled = {**workload, "jobs": [workload["jobs"][job] for job in order]}

    simulated = package.simulate(shuffled, tasks="fifo").document()["jobs"]
    found = outcome_of(problem_of(workload), order)

    ends_s = {job["id"]: end_s for job, end_s in zip(workload["jobs"], found.ended_s, strict=True)}
    assert ends_s == pytest.approx({name: job["finished_at_s"] for name, job in simulated.items()})
    starts_s = {job["id"]: at_s for job, at_s in zip(workload["jobs"], found.began_s, strict=True)}
    assert starts_s == pytest.approx({name: job["started_at_s"] for name, job in simulated.items()})


@pytest.mark.parametrize("objective", ["makespan", "tct"])
@pytest.mark.parametrize("seed", range(8))
def test_exact_is_the_best_of_all_orders(seed, objective):
    draw = random.Random(seed)
    workload = random_workload(draw, 5)
    problem = problem_of(workload)

    found = package.order(workload, method="exact", objective=objective)

    outcomes = [outcome_of(problem, order) for order in itertools.permutations(range(5))]
    if objective == "makespan":
        assert found.makespan_s == min(one.makespan_s for one in outcomes)
    else:
        assert found.outcome.total_completion_s == min(one.total_completion_s for one in outcomes)
    assert found.is_proved


@pytest.mark.parametrize("seed", range(12))
def test_the_bounds_enclose_all_orders(seed):
    draw = random.Random(seed)
    problem = problem_of(random_workload(draw, 5))
    loads = loads_of(problem)

    for order in itertools.permutations(range(5)):
        outcome, bounds = outcome_of(problem, order), bounds_of(problem, loads, order)
        assert bounds.makespan_lower_s <= outcome.makespan_s * (1 + 1e-9)
        assert outcome.makespan_s <= bounds.makespan_upper_s * (1 + 1e-9)
        assert bounds.tct_lower_s <= outcome.total_completion_s * (1 + 1e-9)


def test_the_bounds_of_a_chain_and_a_job_next_to_it():
    """Two map slots and one reduce slot; j1 waits for j0. Each job has 2 x 4 s of maps, 3 s.

    The chain takes 2 x (4 + 3) s. Graham's bound: 24 / 2 s of maps, 9 s of reduces, and where a
    task of the chain holds all up, at most 14 s of it.
    """
    job = {"maps": {"tasks": 2, "avg_s": 4}, "reduces": {"tasks": 1, "avg_s": 3}}
    jobs = [{"id": f"j{number}", **job} for number in range(3)]
    jobs[1]["after"] = ["j0"]
    problem = problem_of({"cluster": {"map_slots": 2, "reduce_slots": 1}, "jobs": jobs})
    bounds = bounds_of(problem, loads_of(problem), (0, 1, 2))

    assert (15, 35) == (bounds.makespan_lower_s, bounds.makespan_upper_s)
    assert bounds.makespan_upper_all_s == 35
    assert bounds.mk_jr_excess == pytest.approx(20 / 15)
    assert bounds.tct_lower_s == 7 + 11 + 15


@pytest.mark.parametrize("method", ["mk-jr", "tct", "sweep", "search", "auto"])
def test_each_method_names_jobs_after_those_that_they_wait_for(method):
    workload = random_workload(random.Random(2), 9)

    found = package.order(workload, method=method, evaluations=300)

    place = {name: number for number, name in enumerate(found.order)}
    for job in workload["jobs"]:
        assert all(place[one] < place[job["id"]] for one in job.get("after", ()))
    again = {**workload, "jobs": sorted(workload["jobs"], key=lambda job: place[job["id"]])}
    assert package.simulate(again, tasks="fifo").makespan_s == pytest.approx(found.makespan_s)


@pytest.mark.parametrize("objective", ["makespan", "tct"])
@pytest.mark.parametrize("seed", range(8))
def test_orders_behind_those_that_jobs_wait_for_are_enough(seed, objective, monkeypatch):
    """The best of them is the best of all permutations."""
    workload = random_workload(random.Random(seed), 6)
    of_all = package.order(workload, objective=objective, method="exact")
    monkeypatch.setattr(exact, "ENUMERATED_JOBS_MAX", 0)
    found = package.order(workload, objective=objective, method="exact")

    assert of_all.answer.is_proved
    assert found.answer.is_proved
    assert (found.makespan_s, found.outcome.total_completion_s)[
        objective == "tct"
    ] == pytest.approx((of_all.makespan_s, of_all.outcome.total_completion_s)[objective == "tct"])


def test_many_jobs_in_few_orders_are_proved():
    """Two chains of six have 924 orders; search reaches the same and cannot say that it is best."""
    draw = random.Random(4)
    workload = random_workload(draw, 12)
    for place, job in enumerate(workload["jobs"]):
        job["after"] = [f"j{place - 2}"] if place > 1 else []
    found = package.order(workload, objective="both", seconds=20)

    assert found.answer.is_proved
    searched = package.order(workload, objective="both", method="search", evaluations=500)
    assert found.makespan_s <= searched.makespan_s or (
        found.outcome.total_completion_s < searched.outcome.total_completion_s
    )


@given(st.integers(0, 6), st.randoms(use_true_random=False))
def test_orders_in_turn_are_the_permutations_that_keep_to_all_waits(jobs, draw):
    after = [tuple(one for one in range(place) if draw.random() < 0.4) for place in range(jobs)]
    expected = {
        order
        for order in itertools.permutations(range(jobs))
        if all(order.index(one) < order.index(job) for job in range(jobs) for one in after[job])
    }
    found = exact._orders_in_turn(after, len(expected))

    assert set(found) == expected
    assert len(found) == len(expected)
    assert not expected or exact._orders_in_turn(after, len(expected) - 1) is None


def test_a_search_of_many_jobs_is_no_worse_than_the_file_and_the_same_again():
    workload = random_workload(random.Random(7), 30)

    found = package.order(workload, method="search", evaluations=400, seed=3)
    again = package.order(workload, method="search", evaluations=400, seed=3)

    assert found.order == again.order
    assert found.makespan_s <= package.order(workload, method="input").makespan_s
    assert found.bounds.makespan_lower_s <= found.makespan_s


def test_millions_of_tasks_are_refused():
    job = OrderedJob(name="a", maps=((1_000_001, 1.0),))
    last = OrderedJob(name="b", maps=((1, 1.0),))
    problem = OrderingProblem(map_slots=1, reduce_slots=1, jobs=(job, last), after=((), (0,)))

    with pytest.raises(InvalidInput, match="1,000,002 tasks"):
        WaitingJobs(problem)


JOBS = """
version: 1
cluster: {map_slots: 3, reduce_slots: 2}
jobs:
  - {id: extract, maps: {tasks: 7, avg_s: 12}, reduces: {tasks: 3, avg_s: 6}}
  - {id: rates, maps: {tasks: 4, avg_s: 30}, reduces: {tasks: 2, avg_s: 60}}
  - {id: clean, after: [extract], maps: {tasks: 5, avg_s: 6}, reduces: {tasks: 4, avg_s: 14}}
  - {id: report, after: [clean, rates], maps: {tasks: 6, avg_s: 6}, reduces: {tasks: 1, avg_s: 4}}
"""


def test_from_a_file_to_a_file_in_the_better_order(tmp_path):
    path, better = tmp_path / "nightly.yaml", tmp_path / "better.yaml"
    path.write_text(JOBS)

    found = json.loads(sluice("order", path, "--json").out)
    written = sluice("order", path, "--out", better)
    run = json.loads(sluice("simulate", better, "--tasks", "fifo", "--json").out)

    assert written.code == 0
    assert found["proved_optimal"]
    assert found["printed_bounds"] == {"makespan_upper_s": None}
    assert run["makespan_s"] == found["makespan_s"]
    assert found["bounds"]["makespan_lower_s"] <= found["makespan_s"]
    assert found["makespan_s"] <= found["bounds"]["makespan_upper_s"]
