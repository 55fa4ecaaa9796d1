"""Admission to pools of VMs: refusals, and the least deadline that would be accepted."""

from typing import Any

import pytest
from tests.policies.test_vm_pools import TWO_TYPES

import sluice
from sluice.api.simulate import Scheduling, simulated
from sluice.core.transitions import JobState

# 20 s on the small VMs, and as long on the large ones.
MAPS = "maps: {tasks: 8, avg_s: 10}"
HASTY = (
    f"jobs:\n  - {{id: hasty, deadline_s: 12, {MAPS}}}\n  - {{id: calm, deadline_s: 90, {MAPS}}}\n"
)
ONE_POOL = TWO_TYPES.replace("vms: 2", "vms: 0")


def run(text, *settings, admission="vm-pools", tasks="vm-pools"):
    how = Scheduling(tasks=tasks, admission=admission, settings=settings)
    scheduler, result = simulated(sluice.parse_workload(text), how)
    return scheduler, result.document()


def test_a_job_that_idle_pools_cannot_serve_is_refused_with_an_offer():
    scheduler, made = run(TWO_TYPES + HASTY)
    refused = made["vm_pools"]["refused"]

    assert {"refused": 1, "done": 1} == made["states"]
    assert {"hasty": 20.0} == {job: row["least_deadline_at_s"] for job, row in refused.items()}
    assert "the least deadline that would be accepted: 20 s" in made["jobs"]["hasty"]["reason"]
    assert JobState.REFUSED is scheduler.state.jobs["hasty"].state
    assert ["calm"] == list(made["vm_pools"]["jobs"])


def test_the_offer_is_accepted_and_nothing_less():
    for deadline_s, state in ((20, "done"), (19.9, "refused")):
        _, made = run(TWO_TYPES + HASTY.replace("deadline_s: 12", f"deadline_s: {deadline_s}"))
        assert state == made["jobs"]["hasty"]["state"]


def test_without_admission_a_late_job_runs_and_the_offer_is_reported():
    text = TWO_TYPES + HASTY
    _, made = run(text, admission="all")
    row = made["vm_pools"]["jobs"]["hasty"]

    assert (False, 20.0) == (row["met"], row["least_deadline_at_s"])
    assert {} == made["vm_pools"]["refused"]
    source = sluice.parse_workload(text)
    story = sluice.story("hasty", source=source, tasks="vm-pools").document()
    assert "the least that would have been accepted: 20 s" in str(story)
    assert "can no longer meet its deadline" in str(story)


def test_a_job_that_loses_its_chance_while_it_waits_is_shown_when_it_could_have_ended():
    """All four small VMs are taken for 20 s; the second job needs all of them for 20 s."""
    text = ONE_POOL + (
        f"jobs:\n  - {{id: first, deadline_s: 20, {MAPS}}}\n"
        f"  - {{id: second, submitted_at_s: 1, deadline_s: 30, {MAPS}}}\n"
    )
    _, made = run(text)

    assert {"done": 2} == made["states"]
    rows = made["vm_pools"]["jobs"]
    assert {"first": None, "second": 40.0} == {
        job: row["least_deadline_at_s"] for job, row in rows.items()
    }
    why = sluice.why(
        "second", source=sluice.parse_workload(text), tasks="vm-pools", admission="vm-pools",
        at_s=15,
    )  # fmt: skip
    assert "the least that would have been accepted: 40 s" in why.reason.text()
    later = text.replace("deadline_s: 30", "deadline_s: 39")  # 40 s after the start
    assert run(later)[1]["vm_pools"]["jobs"]["second"]["met"]


def test_why_explains_a_refusal_with_its_offer():
    answer = sluice.why(
        "hasty", source=sluice.parse_workload(TWO_TYPES + HASTY), tasks="vm-pools",
        admission="vm-pools",
    )  # fmt: skip

    assert "the least deadline that would be accepted: 20 s" in answer.detail
    assert "20 s" in str(answer.document())


def test_immediate_service_refuses_who_would_wait():
    text = ONE_POOL + (
        f"jobs:\n  - {{id: first, deadline_s: 20, {MAPS}}}\n"
        f"  - {{id: second, submitted_at_s: 1, deadline_s: 60, {MAPS}}}\n"
        f"  - {{id: third, submitted_at_s: 20, deadline_s: 60, {MAPS}}}\n"
    )
    _, waits = run(text)
    _, made = run(text, "vm_service=immediate")

    assert {"done": 3} == waits["states"]
    assert ["refused"] == [made["jobs"]["second"]["state"]]
    assert 40.0 == made["vm_pools"]["refused"]["second"]["least_deadline_at_s"]
    rows = made["vm_pools"]["jobs"]
    assert {"first": 0, "third": 20} == {job: row["started_at_s"] for job, row in rows.items()}


@pytest.mark.parametrize("rule", ["vm-aware", "instant-opt"])
def test_immediate_service_is_that_of_the_schedule_of_jobs(rule):
    jobs = "".join(
        f"  - {{id: j{number}, submitted_at_s: {3 * number}, deadline_s: {20 + 7 * number},"
        f" maps: {{tasks: {5 + number}, avg_s: 6}}}}\n"
        for number in range(6)
    )
    text = f"{TWO_TYPES}jobs:\n{jobs}"
    planned: Any = sluice.pools(
        sluice.parse_workload(text), policy=rule, service="immediate", tick_s=0
    ).document()
    _, made = run(text, "vm_service=immediate", f"vm_rule={rule}")

    assert planned["missed"]
    assert set(planned["missed"]) == set(made["vm_pools"]["refused"])
    assert {
        job: (row["vm_type"], row["vms"], row["started_at_s"])
        for job, row in planned["jobs"].items()
        if row["met"]
    } == {
        job: (row["vm_type"], row["vms"], row["started_at_s"])
        for job, row in made["vm_pools"]["jobs"].items()
    }


def test_what_does_not_go_together_is_refused():
    with pytest.raises(sluice.InvalidInput, match="--admission vm-pools"):
        run(TWO_TYPES + HASTY, "vm_service=immediate", admission="all")
    with pytest.raises(sluice.InvalidInput, match="--tasks vm-pools"):
        run(TWO_TYPES + HASTY, tasks="fifo")
