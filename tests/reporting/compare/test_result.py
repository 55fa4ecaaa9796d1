"""Schedulers compared: means and spreads that are easy to check by hand."""

import pytest
from tests.reporting.run.run_results import paper_jobs, result_of
from tests.runs import even_nodes, map_reduce, totals
from tests.skips import required

import sluice
from sluice.model.prices import Prices
from sluice.model.workload import Workload
from sluice.reporting.compare.result import MeasureSpread, compared

ONE_MAP = [map_reduce("j", 4, 30.0)]


def workload(jobs, cluster=None, prices=None):
    return Workload(cluster=cluster, jobs=tuple(jobs), prices=prices)


def runs_of(*slots, jobs=ONE_MAP):
    """One run on each number of map slots: 4 maps of 30 s take 120, 60, 60, 30 s on 1 to 4."""
    return [result_of(totals(count, 1), jobs) for count in slots]


def only_row(runs, **more):
    (row,) = compared({"fifo": runs}, workload(ONE_MAP, **more)).rows
    return row.document()


def test_a_row_has_mean_spread_minimum_and_maximum():
    """Makespans 120, 60 and 30: mean 70, deviations 50, -10 and -40, squares 4200, over two."""
    row = only_row(runs_of(1, 2, 4))

    assert ("fifo", 3) == (row["scheduler"], row["runs"])
    assert pytest.approx(70.0) == row["makespan_s"]
    assert pytest.approx(2100**0.5) == row["makespan_s_sd"]
    assert (30.0, 120.0) == (row["makespan_s_min"], row["makespan_s_max"])


def test_one_run_has_no_spread():
    row = only_row(runs_of(2))

    assert (60.0, 0.0, 60.0, 60.0) == tuple(
        row[f"makespan_s{part}"] for part in ("", "_sd", "_min", "_max")
    )


def test_the_spread_is_that_of_a_sample():
    assert MeasureSpread(mean=2.0, sd=2**0.5, least=1.0, most=3.0) == MeasureSpread.of([1.0, 3.0])
    assert MeasureSpread(mean=0.1, sd=0.0, least=0.1, most=0.1) == MeasureSpread.of([0.1] * 7)


@pytest.mark.parametrize("values", [[], [None], [1.0, None, 2.0]])
def test_a_mean_over_some_of_the_runs_would_mislead(values):
    """A scheduler that finished only its easy runs must not look good."""
    assert MeasureSpread.of(values) is None


def test_every_measure_of_the_worked_example():
    """The ordering spec, section 3: makespan 44, completions 16, 8, 26 and 44."""
    result = result_of(totals(8, 4), paper_jobs())
    row = compared({"fifo": [result]}, workload(paper_jobs())).rows[0].document()

    assert (44.0, 94.0, 94.0, 23.5) == (
        row["makespan_s"], row["total_completion_s"], row["total_response_s"],
        row["mean_response_s"],
    )  # fmt: skip
    # Maps hold 10*4 + 4*2 + 2*6 + 24*6 slot-seconds of 8 * 44, reduces 16 + 8 + 40 + 48 of 4 * 44.
    assert pytest.approx(204 / 352) == row["map_slots_used"]
    assert pytest.approx(112 / 176) == row["reduce_slots_used"]


def test_responses_count_from_submission():
    jobs = [map_reduce("a", 1, 30.0), map_reduce("b", 1, 30.0, at_s=10.0)]
    result = result_of(totals(1, 1), jobs)
    row = compared({"fifo": [result]}, workload(jobs)).rows[0].document()

    assert (90.0, 80.0, 40.0) == (
        row["total_completion_s"], row["total_response_s"], row["mean_response_s"]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("billing_s", "usd"),
    # Three nodes at 1.20 an hour. 4 maps on 3 slots: 60 s, one begun hour or one minute each.
    [(3600.0, 3.6), (60.0, 0.06), (0.0, 0.06), (45.0, 3 * 1.2 * 90 / 3600)],
)
def test_cost_is_the_rent_of_all_nodes_over_the_makespan(billing_s, usd):
    prices = Prices(vm_hour_usd=1.2, billing_s=billing_s)
    result = result_of(even_nodes(3, 1, 1), ONE_MAP)

    assert pytest.approx(usd) == only_row([result], prices=prices)["cost_usd"]


def test_without_a_price_or_an_end_there_is_no_cost():
    prices = Prices(vm_hour_usd=1.2)
    stuck = result_of(totals(1, 1), ONE_MAP, p_hang=1.0, task_timeout_s=None)

    assert only_row(runs_of(1))["cost_usd"] is None
    row = only_row([stuck], prices=prices)
    assert (None, None, None) == (row["cost_usd"], row["makespan_s"], row["makespan_s_sd"])


def test_idle_kinds_of_slots_have_no_share():
    row = only_row([result_of(totals(1, 0), ONE_MAP)])

    assert (1.0, None) == (row["map_slots_used"], row["reduce_slots_used"])


def test_rows_are_in_the_given_order_and_deadlines_are_counted():
    jobs = tuple(map_reduce(f"j{n}", 4, 30.0) for n in range(3))
    table = compared({name: runs_of(1) for name in ("yarn-like", "fair", "fifo")}, workload(jobs))

    assert ["yarn-like", "fair", "fifo"] == [row.scheduler for row in table.rows]
    assert 0 == table.deadlines


def test_deadlines_met_are_counted_run_by_run():
    """Deadlines at 50 and 70 s: one slot meets none of them, two meet one, four both."""
    source = sluice.parse_workload("""
    version: 1
    cluster: {map_slots: 2}
    jobs:
      - {id: a, maps: {tasks: 4, avg_s: 30}, deadline_s: 50}
      - {id: b, maps: {tasks: 1, avg_s: 30}, deadline_s: 100}
    """)
    table = sluice.compare(source, ["fifo"], seeds=2)

    met = table.rows[0].spreads["deadlines_met"]

    assert 2 == table.document()["deadlines"]
    assert MeasureSpread(mean=1.0, sd=0.0, least=1, most=1) == met


def test_a_frame_has_a_row_for_each_scheduler():
    pandas = required("pandas")
    table = compared({"a": runs_of(1), "b": runs_of(2)}, workload(ONE_MAP))
    frame = table.to_frame()

    assert isinstance(frame, pandas.DataFrame)
    assert [120.0, 60.0] == list(frame["makespan_s"])
    assert "<table" in table._repr_html_()
