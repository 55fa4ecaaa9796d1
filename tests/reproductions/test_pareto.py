"""The evaluation of the pareto paper: its measures, its peers, and the fast experiments."""

from importlib.util import find_spec

import pytest
from tests.planning.pareto_reference import all_plans, are_alike, undominated

from sluice.planning.pareto.plan_search import PlanSearch
from sluice.reproductions import REPRODUCTIONS
from sluice.reproductions.pareto.evaluation import EVALUATION, _enumerated
from sluice.reproductions.pareto.measures import overspent, points_of, volume_ratio
from sluice.reproductions.pareto.peers import Judge
from sluice.reproductions.pareto.tuning import greedy_s
from sluice.reproductions.pareto.workloads import taobao, yahoo


def made(name, seeds):
    """An experiment, run."""
    return EVALUATION.makers[name](seeds, lambda _: None)


def test_it_is_known_by_name():
    assert REPRODUCTIONS["pareto"].endswith("pareto.evaluation:EVALUATION")
    assert len(EVALUATION.makers) == 8


def test_the_peers_judge_as_the_planner_does():
    """Or a comparison would compare models, not searches."""
    import random

    import numpy as np

    problem = yahoo(4, 3)
    judge, draw = Judge(problem), random.Random(1)
    frontier, _ = points_of(problem, PlanSearch.EXACT)
    slots = judge.slots(np.array([[draw.random() for _ in judge.tasks] for _ in range(50)]))

    for makespan_s, usd in judge.judged(slots).tolist():
        assert any(
            time_s <= makespan_s * (1 + 1e-9) and cost <= usd + 1e-9 for time_s, cost in frontier
        )
    full_s, full_usd = judge.judged(judge.tasks[None, :])[0].tolist()
    assert full_s == pytest.approx(frontier[0][0])
    assert full_usd >= frontier[0][1] - 1e-9


def test_trying_all_combinations_finds_the_exact_frontier():
    for seed in (3, 5):
        problem = taobao(2, seed)
        exact, _ = points_of(problem, PlanSearch.EXACT)

        assert are_alike(_enumerated(problem)[0], exact)


def test_the_referee_agrees_on_a_small_draw():
    from dataclasses import replace

    problem = yahoo(8, 0)
    small = [job for job in problem.jobs if job.maps.tasks * job.reduces.tasks < 400][:2]
    problem = replace(problem, jobs=tuple(small))

    assert are_alike(points_of(problem, PlanSearch.EXACT)[0], undominated(*all_plans(problem)))


def test_overspending_is_relative_to_the_cheapest_plan_that_is_as_fast():
    exact = [(10.0, 8.0), (20.0, 4.0)]

    assert overspent([(15.0, 12.0), (20.0, 4.0)], exact) == pytest.approx(0.25)
    assert volume_ratio(exact, exact) == 1.0
    assert volume_ratio([(20.0, 4.0)], exact) == pytest.approx(1.0)


def test_a_greedy_schedule_uses_the_slot_that_is_free_first():
    assert greedy_s([4.0, 1.0, 1.0, 1.0], slots=2) == 4.0


@pytest.mark.parametrize("name", ["task-adjustment", "model-accuracy"])
def test_an_experiment_shows_paper_and_ours_and_why(name):
    experiment = made(name, 1)

    assert experiment.rows
    assert set(experiment.columns) >= set(experiment.rows[0])
    assert any(column.startswith("paper") for column in experiment.columns)
    assert len(experiment.why) > 80
    assert experiment.chart.png().startswith(b"\x89PNG")


def test_scanned_task_counts_are_never_slower_than_given_ones():
    rows = made("task-adjustment", 1).rows

    assert all(row["scan s"] <= row["given s"] for row in rows)
    assert max(row["saved s"] for row in rows) > 200


@pytest.mark.slow
def test_nothing_is_better_than_the_exact_frontier():
    """The peers that only benchmarks need may not be installed; the table says so, then."""
    rows = made("frontier-quality", 1).rows

    peers = {"NSGA-II", "GDE3"} if find_spec("pymoode") else set()
    assert {row["search"] for row in rows} == {"exact", "slots", "RRS"} | peers
    assert all(row["hypervolume"] <= 1 + 1e-9 for row in rows)


@pytest.mark.slow
def test_the_closed_form_is_as_cheap_as_every_other_way():
    rows = made("buffer-tuning", 1).rows

    for job in {row["job"] for row in rows}:
        costs = {row["way"]: row["I/O $"] for row in rows if row["job"] == job}
        assert costs["closed form"] <= min(costs.values()) * (1 + 1e-9)


@pytest.mark.slow
def test_the_exact_sweep_misses_nothing_of_all_combinations():
    rows = made("against-optimal", 2).rows

    assert all(row["gap"] <= 1e-9 for row in rows if row["search"] == "exact")
    assert all(row["gap"] >= -1e-9 for row in rows)
