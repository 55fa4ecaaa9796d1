"""The evaluation of Cura: the worked example, and what must hold on drawn loads.

Acceptance: Cura spec, end of section 8.
"""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.effort import IS_THOROUGH, first_of
from tests.planning.pool_problems import over_capacity

from sluice.planning.pools.baselines import dedicated, per_job
from sluice.planning.pools.least_servers import on_servers
from sluice.planning.pools.online import first_miss, vm_aware
from sluice.planning.pools.work_bound import work_bound
from sluice.reproductions import REPRODUCTIONS
from sluice.reproductions.cura import figures, published_size, response_parts, thousand_jobs
from sluice.reproductions.cura.evaluation import EVALUATION
from sluice.reproductions.cura.prediction_error import off_by
from sluice.reproductions.cura.workloads import Load


def made(name, seeds=1):
    (experiment,) = EVALUATION.run([name], seeds, lambda _: None).experiments
    json.dumps(experiment.document(), allow_nan=False)
    assert experiment.why
    return experiment


def drawn(seed=0, *, error=0.0, jobs=50, **load):
    return figures.problem(Load(jobs=jobs, **load), seed, error=error)


def test_it_is_registered():
    assert "cura" in REPRODUCTIONS


def test_the_worked_example():
    rows = {row["reading"]: row for row in made("table-5").rows}

    assert "7" == rows["as printed"]["missed"]
    assert 0.17 == round(rows["jobs 7, 10 of type 4"]["above optimum %"], 2)
    assert 0.61 == round(rows["also job 15 of type 1"]["above optimum %"], 2)


def test_pair_costs_agree():
    assert all(row["spec"] == row["ours"] for row in made("pair-costs").rows)


def test_the_decision_to_reconfigure():
    assert ["yes", "no", "no", "yes"] == [row["changes"] for row in made("reconfiguration").rows]


def test_a_load_is_the_same_for_the_same_seed():
    assert Load(jobs=20).draw(3) == Load(jobs=20).draw(3) != Load(jobs=20).draw(4)


def test_the_fastest_cluster_meets_every_deadline_even_after_booting():
    for deadlines in ("uniform", "exponential", "poisson"):
        problem = drawn(mean_deadline_s=100, deadlines=deadlines)
        assert () == per_job(problem).missed == dedicated(problem).missed


@pytest.mark.parametrize("mean_s", [100, 200])
def test_light_jobs_need_at_most_half_the_servers(mean_s):
    """Acceptance (ii), (iii)."""
    problem = drawn(mean_deadline_s=mean_s)
    ours = figures.cura(problem)

    assert () == ours.missed
    assert [] == over_capacity(ours)
    assert 2 * ours.servers <= per_job(problem).servers
    assert 2 * ours.servers <= dedicated(problem).servers


def test_heavy_jobs_need_fewer_servers_in_pools_than_in_clusters_of_their_own():
    problem = drawn(mean_deadline_s=400, weight="heavy")
    ours = figures.cura(problem)

    assert () == ours.missed
    assert ours.servers < dedicated(problem).servers < per_job(problem).servers


def test_pools_that_match_jobs_of_100_gb_are_the_wrong_ones():
    """Spec, section 8: 383 servers with equal pools, 984 where pools follow equation (9)."""
    problem = drawn(mean_deadline_s=1000, sizes=("extra-large",), jobs=25)

    assert figures.cura(problem, figures.EQUAL).servers < per_job(problem).servers
    assert figures.cura(problem, figures.EQUAL).servers < figures.cura(problem).servers


@pytest.mark.parametrize("seed", range(3))
def test_a_margin_of_error_shortens_the_response_for_at_most_half_more_servers(seed):
    """Acceptance (iv), on a steady load: it lasts three times the mean deadline."""
    load = {"jobs": 500, "mean_deadline_s": 800, "rate_per_s": 0.2}
    exact, careful = (
        figures.cura(figures.problem(Load(error=0.7, **load), seed, error=error))
        for error in (0.0, 0.7)
    )

    assert () == exact.missed == careful.missed
    assert exact.servers <= careful.servers <= 1.5 * exact.servers
    responses = [one.mean_response_s or 0.0 for one in (careful, exact)]
    assert responses == sorted(responses)


@pytest.mark.parametrize("mean_s", [100, 200, 400])
def test_pools_that_match_the_jobs_need_no_more_servers_than_equal_pools(mean_s):
    """Acceptance (v)."""
    problem = drawn(mean_deadline_s=mean_s, jobs=40)

    assert figures.cura(problem).servers <= figures.cura(problem, figures.EQUAL).servers


def test_more_servers_do_not_lower_the_success():
    """Acceptance (vi): mean of three seeds, within 1 %."""
    rates = []
    for servers in (4, 8, 12, 20):
        problems = [drawn(seed, mean_deadline_s=200, jobs=50) for seed in range(3)]
        missed = [
            len(vm_aware(on_servers(one, servers, figures.matched_shares(one))).missed)
            for one in problems
        ]
        rates.append(1 - sum(missed) / 150)

    assert all(after >= before - 0.01 for before, after in pairwise(rates))
    assert rates[0] < rates[-1]


# --- the same with 1,000 jobs, as many as the spec has --------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mean_s", [100, 200])
def test_half_the_servers_are_enough_for_a_thousand_light_jobs(mean_s):
    """Acceptance (ii), (iii): on half of the fewer servers of the two baselines."""
    problem = drawn(mean_deadline_s=mean_s, jobs=1000)
    servers = min(per_job(problem).servers, dedicated(problem).servers) // 2
    ours = vm_aware(on_servers(problem, servers, figures.matched_shares(problem)))

    assert () == ours.missed
    assert [] == over_capacity(ours)
    starts = {one.job.order: one.started_at_s or 0.0 for one in ours.outcomes}
    assert all(starts[job.order] >= job.submitted_at_s for job in problem.jobs)


@pytest.mark.slow
@pytest.mark.parametrize(("mean_s", "servers"), first_of([(100, 75), (200, 67)], 1))
def test_a_thousand_jobs_need_more_servers_with_equal_pools(mean_s, servers):
    """Acceptance (v). The spec has 68 and 61 with matched pools, found by its prototype."""
    problem = drawn(mean_deadline_s=mean_s, jobs=1000)

    assert first_miss(on_servers(problem, servers, figures.matched_shares(problem))) is None
    assert first_miss(on_servers(problem, servers, figures.EQUAL)) is not None


@pytest.mark.slow
def test_more_servers_do_not_lower_the_success_of_a_thousand_jobs():
    """Acceptance (vi): mean of three seeds, within 1 %; of one seed in the quicker run."""
    seeds = range(3 if IS_THOROUGH else 1)
    problems = [drawn(seed, mean_deadline_s=200, jobs=1000) for seed in seeds]
    rates = [
        1
        - sum(len(vm_aware(_matched(one, servers)).missed) for one in problems) / 1000 / len(seeds)
        for servers in (40, 60, 80)
    ]

    assert all(after >= before - 0.01 for before, after in pairwise(rates))
    assert rates[0] < rates[-1]


def _matched(problem, servers):
    return on_servers(problem, servers, figures.matched_shares(problem))


def test_clusters_by_job_need_more_servers_for_the_same_success():
    rows = made("success").rows

    assert [row["per-job"] for row in rows] == sorted(row["per-job"] for row in rows)
    assert all(row["per-job"] <= row["vm-aware"] for row in rows if row["vm-aware"] > 0.99)
    assert 1.0 == rows[-1]["per-job"] == rows[-1]["vm-aware"]


def test_the_pool_manager_makes_equal_pools_cheaper():
    rows = {row["pools"]: row for row in made("pool-manager").rows}
    equal, changed = rows["equal"], rows["equal, then reconfigured"]

    assert changed["changes"] > 0 == equal["changes"]
    assert changed["server-s per job"] < equal["server-s per job"]
    assert changed["met"] >= equal["met"]


def test_the_least_servers_are_proven():
    """Each number from the bound on was replayed, and misses the job that is named."""
    from sluice.planning.pools.least_servers import least_servers

    problem = drawn(mean_deadline_s=200, jobs=40)
    shares = figures.matched_shares(problem)
    answer = least_servers(problem, shares)

    tried = [servers for servers, _ in answer.smaller]
    assert list(range(answer.bound.servers, answer.servers)) == tried
    assert first_miss(on_servers(problem, answer.servers, shares)) is None
    for servers, job in answer.smaller[-2:]:
        assert job in vm_aware(on_servers(problem, servers, shares)).missed
    for servers in range(1, answer.bound.servers):
        assert first_miss(on_servers(problem, servers, shares)) is not None


def test_servers_by_mean_deadline_are_between_the_bound_and_the_baselines(monkeypatch):
    """The experiment with 1,000 jobs, here with 40 of them."""
    monkeypatch.setattr(thousand_jobs, "JOBS", 40)
    rows: Any = thousand_jobs.least(1, lambda _: None).rows

    assert all(row["at least"] <= row["servers"] <= row["dedicated"] for row in rows)
    needed = [row["servers"] for row in rows]
    assert needed == sorted(needed, reverse=True)
    assert needed[0] > needed[-1]


@pytest.mark.slow
@pytest.mark.no_invariants
def test_the_least_servers_of_a_thousand_jobs():
    """The spec's prototype needs 68. From 55 on each number below 65 misses a deadline."""
    problem = drawn(mean_deadline_s=100, jobs=1000)
    shares = figures.matched_shares(problem)
    bound = work_bound(problem, shares)

    assert bound is not None
    assert 55 == bound.servers
    assert first_miss(on_servers(problem, 65, shares)) is None
    for servers in range(55, 65) if IS_THOROUGH else (55, 64):
        assert first_miss(on_servers(problem, servers, shares)) is not None


def test_no_servers_are_enough_for_a_deadline_that_no_cluster_meets():
    from sluice.planning.pools.least_servers import least_servers

    problem = drawn(jobs=3)
    hasty = replace(problem.jobs[0], deadline_at_s=problem.jobs[0].arrives_at_s + 1)

    assert least_servers(replace(problem, jobs=(hasty,)), figures.EQUAL).servers is None
    assert least_servers(replace(problem, jobs=())).servers is None


def test_table_6_as_printed():
    """Cost and late jobs of the published clusters. Source: Cura spec, section 7 and E22."""
    experiment = made("table-6")

    assert ["11", "12", "14"] == [
        row["job"] for row in experiment.rows if row["deadline"] == "late"
    ]
    assert "23,997.72" in experiment.why


def test_the_jobs_of_table_6_under_our_scheduler():
    """No schedule is feasible; with later deadlines the optimum is 24,019.65 (E9, E22)."""
    printed, later = made("table-6-schedules").rows

    assert (23_156.60, "12", "no") == (
        round(printed["ours: server-s"], 2), printed["missed"], printed["feasible"],
    )  # fmt: skip
    assert (24_019.65, "none") == (round(later["optimum"], 2), later["missed"])


# --- the size of the paper, the parts of the response, and jobs off their prediction --------------


def test_the_published_size_is_that_of_the_paper():
    """11,500 jobs in 100 minutes, 50 customers, 6 VM types."""
    load = Load(jobs=published_size.JOBS)
    last_s = load.jobs / load.rate_per_s

    assert (load.jobs, load.customers, len(figures.EQUAL)) == (11_500, 50, 6)
    assert 100 == pytest.approx(last_s / 60, rel=0.01)


def test_the_full_size_experiment_has_the_three_policies_and_no_miss():
    shares: list[float] = []
    rows = published_size.at_size(150, 2, lambda _, share: shares.append(share)).rows
    by_mean: dict[Any, dict[Any, Any]] = {}
    for row in rows:
        by_mean.setdefault(row["mean deadline s"], {})[row["policy"]] = row

    assert [place / 6 for place in range(6)] == pytest.approx(shares)
    assert list(published_size.MEANS_S) == list(by_mean)
    for found in by_mean.values():
        assert {"per-job", "dedicated", "cura"} == set(found)
        assert all(row["missed"] == 0 for row in found.values())
        assert all(row["least"] <= row["servers"] <= row["most"] for row in found.values())
        assert 2 * found["cura"]["servers"] < found["per-job"]["servers"]


@pytest.mark.parametrize("within", [0.0, 0.05, 0.5])
def test_enough_servers_are_close_to_a_number_that_is_not(within):
    problem = drawn(mean_deadline_s=200, jobs=60)
    shares = figures.matched_shares(problem)
    found = published_size.enough_servers(problem, shares, within=within)

    assert first_miss(on_servers(problem, found.servers, shares)) is None
    assert found.bound - 1 <= found.too_few < found.servers
    assert found.servers - found.too_few <= max(1, within * found.servers)
    if found.too_few >= found.bound:
        assert first_miss(on_servers(problem, found.too_few, shares)) is not None


def test_pools_save_at_most_the_part_of_booting_on_the_same_clusters():
    """With earlier deadlines the pools choose the clusters that the jobs would have booted."""
    for row in response_parts.of_jobs(40, 1, lambda *_: None).rows:
        same: Any = row["same clusters: shorter %"]
        earlier: Any = row["earlier deadlines: shorter %"]
        ours: Any = row["ours: shorter %"]
        assert ours <= earlier + 1
        assert earlier <= same + 1


def test_jobs_run_off_their_prediction_by_at_most_the_error_and_in_both_directions():
    problem = drawn(jobs=50)
    ratios = [
        off_by(0.4, 3)(job, job.options[0]) / job.options[0].predicted_s for job in problem.jobs
    ]

    assert 0.6 <= min(ratios) < 0.75
    assert 1.25 < max(ratios) <= 1.4
    assert ratios != [
        off_by(0.4, 4)(job, job.options[0]) / job.options[0].predicted_s for job in problem.jobs
    ]


def test_a_margin_as_large_as_the_error_meets_all_deadlines_and_no_margin_does_not():
    rows = made("prediction-error").rows

    assert [0] * len(rows) == [row["ours: missed"] for row in rows]
    assert 0 == rows[0]["no margin: missed %"]
    assert all(row["no margin: missed %"] > 0 for row in rows[1:])
    for policy in ("per-job", "dedicated", "ours"):
        servers: list[Any] = [row[f"{policy}: servers"] for row in rows]
        responses: list[Any] = [row[f"{policy}: response s"] for row in rows]
        assert sorted(servers) == servers
        assert sorted(responses, reverse=True) == responses
