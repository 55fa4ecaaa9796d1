"""Counter-offers of a refusal: each is admitted when it is asked again, one step less is not."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import sluice
from sluice.core.transitions import JobState
from sluice.model.ids import NodeId

HOW = {"tasks": "yarn-like", "admission": "capacity"}
DEADLINES = Path(__file__).parents[3] / "examples" / "deadlines.yaml"


@st.composite
def crowded(draw):
    """Few containers and two to five jobs, most of which have a tight deadline."""
    nodes, containers = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    jobs = []
    for number in range(draw(st.integers(2, 5))):
        job = {
            "id": f"j{number}",
            "submitted_at_s": draw(st.sampled_from([0, 0, 7, 31])),
            "deadline_s": draw(st.integers(15, 160)),
            "maps": {"tasks": draw(st.integers(1, 14)), "avg_s": draw(st.integers(4, 12))},
        }
        penalty_usd = draw(st.none() | st.integers(0, 300))
        if penalty_usd is not None:
            job["penalty_usd"] = penalty_usd / 100
        jobs.append(job)
    document = {
        "version": 1,
        "cluster": {"nodes": nodes, "node": {"containers": containers}},
        "prices": {"on_demand_vm_usd": 0.4, "reserved_vm_usd": draw(st.sampled_from([0.01, 0.2]))},
        "jobs": jobs,
    }
    return sluice.parse_workload(json.dumps(document))


def is_admitted(workload, job, **changed):
    """Ask again with another deadline, penalty or number of nodes."""
    nodes = workload.cluster.nodes
    more = changed.pop("more_vms", 0)
    if "deadline_s" in changed:
        changed["deadline_at_s"] = job.submitted_at_s + changed.pop("deadline_s")
    added = tuple(replace(nodes[-1], node_id=NodeId(f"added-{number}")) for number in range(more))
    asked = replace(job, **changed)
    workload = replace(
        workload,
        cluster=replace(workload.cluster, nodes=(*nodes, *added)),
        jobs=tuple(asked if one is job else one for one in workload.jobs),
    )
    rows = {row.job_id: row for row in sluice.simulate(workload, **HOW).jobs}
    return rows[job.job_id].state != JobState.REFUSED.value


def check_offers(workload, job):
    """Ask with each offer, and with one step less. Returns the kinds that are offered."""
    found = sluice.why(job.job_id, source=workload, **HOW)
    numbers: dict[str, Any] = dict(found.reason.numbers)
    assert found.state is JobState.REFUSED
    if "least_deadline_s" in numbers:
        deadline_s = numbers["least_deadline_s"]
        assert is_admitted(workload, job, deadline_s=deadline_s)
        assert not is_admitted(workload, job, deadline_s=deadline_s - 1)
        assert f"a deadline of {deadline_s} s" in found.detail
    else:
        assert not is_admitted(workload, job, deadline_s=1e6)
    if "least_penalty_usd" in numbers:
        cents = round(100 * numbers["least_penalty_usd"])
        assert is_admitted(workload, job, penalty_usd=cents / 100)
        assert not is_admitted(workload, job, penalty_usd=(cents - 1) / 100)
        assert f"a penalty of ${cents / 100:.2f}" in found.detail
    else:
        assert not is_admitted(workload, job, penalty_usd=1e6)
    if "least_more_vms" in numbers:
        vms = numbers["least_more_vms"]
        assert is_admitted(workload, job, more_vms=vms)
        assert not is_admitted(workload, job, more_vms=vms - 1)
        assert f"{vms} more VM" in found.detail
    return sorted(name for name in numbers if name.startswith("least_") and name != "least_s")


@settings(max_examples=25, deadline=None)
@given(crowded())
def test_each_offer_is_admitted_when_asked_again_and_one_step_less_is_refused(workload):
    rows = {row.job_id: row for row in sluice.simulate(workload, **HOW).jobs}
    for job in workload.jobs:
        if rows[job.job_id].state == JobState.REFUSED.value:
            event(f"offers: {check_offers(workload, job)}")


@pytest.mark.parametrize("job_id", ["etl-3", "urgent", "report-1"])
def test_the_offers_of_the_example_look_to_the_rounds_in_which_promised_jobs_have_ended(job_id):
    """Promised containers are free after 200 s, and the deadline of a job may wait for them."""
    workload = sluice.load_workload(DEADLINES)
    job = next(one for one in workload.jobs if one.job_id == job_id)

    assert "least_deadline_s" in check_offers(workload, job)
    numbers: dict[str, Any] = dict(sluice.why(job_id, source=workload, **HOW).reason.numbers)
    assert numbers["least_deadline_s"] < math.inf
