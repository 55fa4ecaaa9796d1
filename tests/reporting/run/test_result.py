"""The result of a run: the document that programs read, and what notebooks show."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import skips
from tests.reporting.run.run_results import paper_jobs, paper_result, result_of, stormy_result
from tests.runs import map_reduce, scheduler_of, totals
from tests.strategies import clusters, job_lists

from sluice.core.events import JobSubmitted, NodeJoined, Tick
from sluice.core.protocols import AdmissionPolicy, Refuse
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.scheduler import Policies, Scheduler
from sluice.model.errors import InvalidInput
from sluice.policies.defaults import KeepPools, ReleaseOnArrival
from sluice.policies.orders.fifo import Fifo
from sluice.reporting.extras import MissingExtra, required
from sluice.reporting.run.result import RunResult


def test_the_papers_example_reads_as_in_the_contract():
    """Ordering spec, section 3: makespan 44, total completion 94, all jobs at 0."""
    document = paper_result().document()

    assert (44.0, 94.0, 94.0) == tuple(
        document[name] for name in ("makespan_s", "total_completion_s", "total_response_s")
    )
    assert {"map_slots": 204 / 352, "reduce_slots": 112 / 176} == document["utilisation"]
    assert {"done": 56, "failed": 0, "killed": 0, "lost": 0} == document["attempts"]
    assert {
        "submitted_at_s": 0.0, "started_at_s": 4.0, "finished_at_s": 8.0,
        "deadline_met": None, "state": "done",
    }.items() <= document["jobs"]["J2"].items()  # fmt: skip


def test_makespan_counts_from_the_first_submission():
    jobs = [map_reduce("a", 1, 5.0, at_s=100.0), map_reduce("b", 1, 5.0, at_s=103.0)]
    result = result_of(totals(1, 0), jobs)

    assert (10.0, 215.0, 12.0) == (
        result.makespan_s, result.total_completion_s, result.total_response_s,
    )  # fmt: skip


@settings(max_examples=40)
@given(clusters(), job_lists(), st.integers(0, 99))
def test_a_document_is_always_plain_json(cluster, jobs, seed):
    """No NaN, no infinity and no value of ours; shares are shares."""
    result = result_of(cluster, jobs, seed=seed, jitter=0.2)
    document = json.loads(json.dumps(result.document(), allow_nan=False))

    assert document == result.document()
    assert all(0 < share <= 1 + 1e-9 for share in document["utilisation"].values() if share)
    assert sum(job.tasks for job in result.jobs) == document["attempts"]["done"]


def test_a_job_that_never_ended_has_no_finish():
    """A result in the middle of a run counts only ended attempts."""
    scheduler, cluster = scheduler_of(), totals(1, 1)
    scheduler.handle(NodeJoined(0.0, cluster.nodes[0]))
    for job in paper_jobs()[:2]:
        scheduler.handle(JobSubmitted(0.0, job))
    scheduler.handle(Tick(0.0))
    document = RunResult.of(scheduler.state, cluster, seed=0, events=4).document()

    assert (None, 0.0, "running") == (
        document["makespan_s"], document["total_completion_s"], document["jobs"]["J1"]["state"],
    )  # fmt: skip
    assert (None, "queued") == tuple(
        document["jobs"]["J2"][name] for name in ("finished_at_s", "state")
    )
    json.dumps(document, allow_nan=False)


class _RefuseAll(AdmissionPolicy):
    def decide(self, job, state):
        return Refuse(Reason(ReasonCode.NO_NODE))


def test_a_refused_job_counts_in_no_sum():
    """It ended without running: a scheduler must not look better, or worse, for it."""
    policies = Policies(
        admission=_RefuseAll(), release=ReleaseOnArrival(), tasks=Fifo(), pools=KeepPools()
    )
    scheduler = Scheduler(policies)
    scheduler.handle(JobSubmitted(5.0, map_reduce("a", 1)))
    result = RunResult.of(scheduler.state, totals(1, 0), seed=0, events=1)

    assert (None, 0.0, None) == (
        result.makespan_s, result.total_completion_s, result.mean_response_s,
    )  # fmt: skip
    assert {"refused": 1} == result.states
    assert "no node is up" == result.document()["jobs"]["a"]["reason"]


@pytest.mark.parametrize(("deadline_at_s", "met"), [(44.0, True), (43.9, False)])
def test_a_deadline_is_met_up_to_its_very_instant(deadline_at_s, met):
    from dataclasses import replace

    *first, last = paper_jobs()
    result = result_of(totals(8, 4), [*first, replace(last, deadline_at_s=deadline_at_s)])

    assert met is result.document()["jobs"]["J4"]["deadline_met"]
    assert (int(met), 1) == (result.deadlines_met, result.deadlines)


def test_extra_fields_have_no_infinities():
    result = paper_result()
    result = RunResult(
        **{name: getattr(result, name) for name in RunResult.__dataclass_fields__}
        | {"extra": {"rounds": [{"at_s": float("inf")}, (1, float("nan"))]}}
    )

    assert [{"at_s": None}, [1, None]] == result.document()["rounds"]


def test_measured_profiles_are_next_to_predictions():
    rows = result_of(totals(8, 4), [map_reduce("a", 10, 4.0, 2, 8.0)]).measured()["a"]["phases"]

    assert [("map", 10, 4.0, 4.0, 0.0), ("reduce", 2, 8.0, 8.0, 0.0)] == [
        tuple(row[name] for name in ("name", "tasks", "avg_s", "predicted_avg_s", "error"))
        for row in rows
    ]
    assert {None} == {row["input_bytes"] for row in rows}


def test_frames_hold_the_trace_and_the_jobs():
    skips.required("pandas")
    result = stormy_result()

    assert len(list(result.trace())) == len(result.to_frame())
    assert ["J1", "J2", "J3", "J4"] == list(result.jobs_frame()["job"])
    assert result.total_completion_s == pytest.approx(result.jobs_frame()["finished_at_s"].sum())


def test_a_missing_library_is_named_with_its_extra():
    with pytest.raises(MissingExtra, match=r'drawing needs no_such_thing.*"sluice\[plot\]"'):
        required("no_such_thing.inside", extra="plot", what="drawing")


def test_a_notebook_shows_ids_as_text():
    """A job's id is the user's word; it must not become markup."""
    shown = result_of(totals(1, 1), [map_reduce("<script>", 1)])._repr_mimebundle_()

    assert "&lt;script&gt;" in shown["text/html"]
    assert "<script>" not in shown["text/html"]


def test_an_unknown_chart_is_an_error_with_the_known_ones():
    with pytest.raises(InvalidInput, match="gantt, jobs, slots, utilisation, waiting"):
        paper_result().plot("pie")
