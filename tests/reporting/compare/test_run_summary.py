"""Waits, slowdowns and fairness of one run, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reporting.run.run_results import result_of
from tests.runs import map_reduce, totals

from sluice.model.ids import JobId
from sluice.model.workload import Workload
from sluice.reporting.compare.run_summary import RunSummary, jain_index, slowdown
from sluice.reporting.run.slowdowns import percentile

LENGTHS_S = (("a", 30.0), ("b", 60.0), ("c", 5.0))


def test_waits_and_slowdowns_of_three_jobs_in_a_row():
    """On one slot, jobs of 30, 60 and 5 s wait 0, 30 and 90 s; alone the last counts as 10 s."""
    jobs = [map_reduce(name, 1, length_s, pool=name) for name, length_s in LENGTHS_S]
    alone_s = dict(LENGTHS_S)
    workload = Workload(cluster=None, jobs=tuple(jobs))
    summary = RunSummary.of(result_of(totals(1, 0), jobs), workload, alone_s)

    assert [0.0, 30.0, 90.0] == [job.wait_s for job in summary.jobs]
    assert [1.0, 1.5, 9.5] == [job.slowdown for job in summary.jobs]
    assert 30.0 == summary.figures["wait_s_p50"]
    assert pytest.approx(84.0) == summary.figures["wait_s_p95"]
    assert pytest.approx(12.0**2 / (3 * (1 + 2.25 + 90.25))) == summary.figures["jain"]
    assert pytest.approx(0.0) == summary.figures["idle_share"]


def test_without_the_times_alone_there_is_no_slowdown():
    jobs = [map_reduce("a", 1, 30.0)]
    workload = Workload(cluster=None, jobs=tuple(jobs))
    summary = RunSummary.of(result_of(totals(1, 0), jobs), workload)

    assert (None, None) == (summary.figures["slowdown_p99"], summary.figures["jain"])


def test_a_job_that_never_ends_has_no_slowdown():
    jobs = [map_reduce("a", 1, 30.0)]
    stuck = result_of(totals(1, 1), jobs, p_hang=1.0, task_timeout_s=None)
    summary = RunSummary.of(stuck, Workload(cluster=None, jobs=tuple(jobs)), {JobId("a"): 30.0})

    assert (None, 0) == (summary.jobs[0].slowdown, summary.figures["jobs_done"])


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_slowdown_is_never_below_1(response_s, alone_s):
    found = slowdown(response_s, alone_s)

    assert found is not None
    assert found >= 1


@given(st.lists(st.floats(1, 1e6), min_size=1))
def test_jain_is_between_one_of_n_and_1(values):
    index = jain_index(values)

    assert index is not None
    assert 1 / len(values) - 1e-9 <= index <= 1 + 1e-9


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_a_percentile_is_among_the_values(values, share):
    rising = sorted(values)
    found = percentile(rising, share)

    assert found is not None
    assert rising[0] - 1e-6 <= found <= rising[-1] + 1e-6
