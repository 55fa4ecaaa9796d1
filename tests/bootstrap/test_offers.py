"""A later deadline that is offered is still kept when it is taken: later, from other futures.

Intervals are as wide as what is known allows.
"""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.bootstrap.history.known_lengths import NO_PAST, Known, known_of
from sluice.bootstrap.service.futures import Future
from sluice.bootstrap.service.promises import REACTION_S, _Promise
from sluice.estimate.length_spread import SIGMA_ASSUMED, LengthSpread
from sluice.estimate.uncertainty import LEVEL
from sluice.model.ids import JobId
from sluice.model.job import Job

JOB = Job(job_id=JobId("asked"), submitted_at_s=0.0, pool="default", phases=(), deadline_at_s=1.0)

WORKLOAD = SimpleNamespace(
    tenant="team", jobs=[SimpleNamespace(job=JOB, job_id=JOB.job_id, name="nightly")]
)


def offered_s(ends_s: list[float]) -> float:
    """The deadline that is offered to a job with these futures, in seconds from now."""
    futures = [{JOB.job_id: Future(starts_at_s=0.0, ends_at_s=end_s, state="ended", slot_s=None)}
               for end_s in ends_s]  # fmt: skip
    forecaster = SimpleNamespace(
        replica=None, now_s=0.0, futures=lambda *_, **__: futures, more_nodes=lambda _: ()
    )
    promise = _Promise(forecaster, WORKLOAD, WORKLOAD.jobs[0], [JOB], [])
    offer = promise._later_deadline(sorted(ends_s), time.monotonic() + 60)
    assert offer is not None
    assert offer["deadline_probability"] >= LEVEL
    return float(offer["change"]["deadline_s"])


def test_seconds_that_pass_until_it_is_taken_do_not_break_an_offer():
    assert offered_s([20.0] * 7) >= 22.0


@given(st.lists(st.floats(10, 1000), min_size=3, max_size=20))
def test_every_future_that_it_was_made_from_keeps_it(ends_s):
    assert offered_s(ends_s) >= max(ends_s)


def test_futures_that_differ_get_more_room():
    even, uneven = offered_s([20.0] * 7), offered_s([14.0] * 3 + [20.0] * 4)
    assert uneven == pytest.approx(even + 3, abs=1.0)


def refusing(*, below_s: float, nodes: int) -> _Promise:
    """A job of 60 s that is refused with a deadline below that, or with fewer nodes more."""

    def futures(jobs: list[Job], *, events: list[int], **_: object) -> list[dict[JobId, Future]]:
        (job,) = jobs
        deadline_s = job.deadline_at_s
        takes = deadline_s is None or deadline_s >= below_s or len(events) >= nodes
        end_s = (60.0 if deadline_s is None else min(60.0, deadline_s)) if takes else None
        state = "ended" if takes else "refused"
        return 5 * [
            {job.job_id: Future(starts_at_s=0.0, ends_at_s=end_s, state=state, slot_s=None)}
        ]

    forecaster = SimpleNamespace(
        replica=None, now_s=0.0, futures=futures, more_nodes=lambda count: [0] * count,
        other_queues=lambda _: (),
    )  # fmt: skip
    job = replace(JOB, deadline_at_s=30.0)
    return _Promise(forecaster, WORKLOAD, WORKLOAD.jobs[0], [job], [])


@given(st.integers(40, 220), st.integers(1, 8))
def test_a_refused_job_is_offered_the_least_deadline_and_nodes_that_are_asked_about(below_s, nodes):
    """Within a twentieth for the deadline, which leaves two seconds until it is taken."""
    promise = refusing(below_s=below_s, nodes=nodes)
    promise._job = promise._jobs[0]  # instead of that of the workload
    offers = {one["kind"]: one["change"] for one in promise._offers(None, time.monotonic() + 60)}

    deadline_s = offers["later_deadline"]["deadline_s"]
    assert below_s <= deadline_s <= max(62, 1.06 * below_s + 1)
    assert offers["more_vms"] == {"nodes_more": nodes}


def test_an_interval_is_no_finer_than_processes_start_and_report():
    forecaster = SimpleNamespace(replica=None, now_s=0.0)
    found = _Promise(forecaster, WORKLOAD, WORKLOAD.jobs[0], [JOB], [])._interval([20.0] * 7)
    low, middle, high = (datetime.fromisoformat(found[key]) for key in ("low", "expected", "high"))
    assert (middle - low).total_seconds() == pytest.approx(REACTION_S, abs=0.002)
    assert (high - middle).total_seconds() == pytest.approx(REACTION_S, abs=0.002)


def test_a_job_without_past_runs_is_as_uncertain_as_lengths_of_a_file():
    assert known_of(JOB, NO_PAST) == Known(spread=LengthSpread(SIGMA_ASSUMED), runs=0)


@pytest.mark.parametrize(
    ("unknown", "said"), [("new", "of fresh,"), ("foreign", "of a job of another user,")]
)
def test_a_job_without_lengths_is_named_as_its_user_names_it(unknown, said):
    new, foreign = (replace(JOB, job_id=JobId(name)) for name in ("new", "foreign"))
    jobs = [*WORKLOAD.jobs, SimpleNamespace(job=new, job_id=new.job_id, name="fresh")]
    workload = SimpleNamespace(tenant="team", jobs=jobs)
    forecaster = SimpleNamespace(
        replica=None, now_s=0.0,
        known=lambda job_id: Known(spread=None if job_id == unknown else LengthSpread(0.1)),
    )  # fmt: skip
    promise = _Promise(forecaster, workload, jobs[0], [JOB, new, foreign], [])
    assert said in str(promise._why_not())
