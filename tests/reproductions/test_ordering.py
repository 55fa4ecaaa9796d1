"""The evaluation of job ordering: its arrivals, its measures, and the fast experiments."""

import random

import pytest
from tests.policies.test_mrorder import ARRIVALS

from sluice.estimate.flow_shop import slot_work
from sluice.planning.ordering.workloads import MAP_SLOTS, REDUCE_SLOTS, benchmarks, facebook
from sluice.policies.defaults import ReleaseOnArrival
from sluice.policies.release.on_demand import OnDemand
from sluice.policies.release.rounds import AdaptiveTimes, FixedTimes
from sluice.reproductions import REPRODUCTIONS
from sluice.reproductions.ordering import online as ordering_online
from sluice.reproductions.ordering.evaluation import EVALUATION
from sluice.reproductions.ordering.online import RunSums, arriving, gains, mrorder, ran

# Runs of thousands of tasks; the policies are held to the invariants by their own tests.
pytestmark = pytest.mark.no_invariants


def on_demand(objective):
    """The policy for an objective."""
    return OnDemand(OnDemand.Settings(objective=objective))


def made(name, seeds=1):
    """An experiment, run."""
    return EVALUATION.makers[name](seeds, lambda _: None)


def test_it_has_a_name_and_lists_what_it_leaves_out():
    assert REPRODUCTIONS["ordering"].endswith("ordering.evaluation:EVALUATION")
    tables = {f"table-3.{number}" for number in (2, 3, 4, 5)}
    figures = {f"fig-3.{number}" for number in range(4, 11)}
    assert tables | figures <= EVALUATION.makers.keys() | EVALUATION.left_out.keys()
    assert not EVALUATION.makers.keys() & EVALUATION.left_out.keys()


def test_arrivals_have_the_given_load():
    """At load 1 the busier phase could just keep up; the mean gap over many draws shows it."""
    problem = benchmarks(20)
    for load in (0.7, 3.0):
        lasts_s = [
            arriving(problem, load, random.Random(seed))[-1].submitted_at_s for seed in range(200)
        ]
        works = [slot_work(job) for job in arriving(problem, load, random.Random(0))]
        busiest_s = max(
            sum(work.map_s for work in works) / MAP_SLOTS,
            sum(work.reduce_s for work in works) / REDUCE_SLOTS,
        )
        mean_gap_s = sum(lasts_s) / len(lasts_s) / (len(works) - 1)
        assert busiest_s / (load * len(works)) == pytest.approx(mean_gap_s, rel=0.1)


def test_each_seed_has_the_same_jobs_in_another_order():
    problem = facebook(12, random.Random(3))
    one, other = (arriving(problem, 1.0, random.Random(seed)) for seed in (1, 2))

    assert sorted(job.job_id for job in one) == sorted(job.job_id for job in other)
    assert [job.job_id for job in one] != [job.job_id for job in other]
    assert one == arriving(problem, 1.0, random.Random(1))


def test_the_worked_example_gives_its_figures(monkeypatch):
    """Ordering spec, section 8, G8, through the runs that the tables are made of."""
    monkeypatch.setattr(ordering_online, "MAP_SLOTS", 2)
    monkeypatch.setattr(ordering_online, "REDUCE_SLOTS", 2)

    assert RunSums(34.0, 96.0, 67.0) == ran(ARRIVALS, ReleaseOnArrival())
    assert RunSums(43.0, 134.0, 105.0) == ran(ARRIVALS, mrorder(FixedTimes, 10.0, "makespan")())
    assert RunSums(43.0, 112.0, 83.0) == ran(ARRIVALS, mrorder(AdaptiveTimes, 4.0, "tct")())


def test_gains_are_over_the_same_arrivals_seed_by_seed():
    def stream(draw):
        return arriving(benchmarks(6), 2.0, draw)

    ways = {"arrival": ReleaseOnArrival, "on demand": lambda: on_demand("tct")}
    found = gains(ways, stream, seeds=3)

    assert [(1.0, 1.0, 1.0)] * 3 == found["arrival"]
    assert 3 == len(found["on demand"])
    jobs = stream(random.Random(1))
    by_hand = ran(jobs, ReleaseOnArrival()).over(ran(jobs, on_demand("tct")))
    assert by_hand == found["on demand"][1]


def test_the_gain_of_mrorder_is_shown_next_to_the_thesis():
    experiment = made("fig-3.9")

    assert 2 * len(ordering_online.SWEPT_LOADS) == len(experiment.rows)
    assert {"thesis: makespan %", "makespan %", "thesis: TCT %", "TCT %"} < set(experiment.columns)
    assert len(experiment.why) > 80
    assert experiment.chart is not None
    assert experiment.chart.png().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_explanation_of_the_online_runs_is_true():
    """Means over ten seeds, from load 1.5 on: on demand gains most, and costs no makespan."""
    rows = made("online", seeds=10).rows
    mean = {
        (row["load"], row["release"], row["for"], measure): float(row[measure].split()[0])
        for row in rows
        for measure in ("makespan", "TCT", "response")
    }
    for load in (1.5, 2.0, 3.0):
        best = mean[load, "on demand", "TCT", "TCT"]
        assert all(best >= value for (at, *_, what), value in mean.items()
                   if at == load and what == "TCT")  # fmt: skip
        assert mean[load, "on demand", "TCT", "makespan"] >= 0.98
        assert mean[load, "on demand", "makespan", "makespan"] >= 1.0
    assert mean[0.7, "ATI", "makespan", "makespan"] < 1.0


def test_experiments_agree_with_the_oracle():
    """Ordering spec, section 10: 687 to 906 over the orders of four benchmarks."""
    made = EVALUATION.run(["order-matters", "table-3.2", "table-3.3", "fig-3.6"], 1, lambda _: None)
    first, table, bins, bounds = made.experiments

    assert (687, 906) == (first.rows[0]["best s"], first.rows[0]["worst s"])
    assert [9, 4, 8, 7, 1, 2, 5, 6, 3] == [row["MK_JR"] for row in table.rows]
    assert 100 == pytest.approx(sum(float(row["share %"] or 0) for row in bins.rows))
    assert all(experiment.why for experiment in made.experiments)
    for row in bounds.rows:
        is_lower = str(row["bound"]).startswith("least")
        assert is_lower == (float(row["mean"] or 0) <= 1 + 1e-9)


def test_every_experiment_of_the_offline_half_is_offered():
    names = {"order-matters", "table-3.2", "table-3.3", "table-3.5"}

    assert names | {f"fig-3.{number}" for number in (4, 5, 6, 7)} <= set(EVALUATION.makers)
    assert "fig-3.10" in EVALUATION.left_out
