"""Pools of VMs that change their sizes while tasks run on them."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.policies.test_vm_pools import TWO_TYPES, run, shared_nodes

import sluice
from sluice.core.transitions import JobState

RULE = "reconfigure: {window_s: 45, beta: 1.5, vm_change_server_s: 0.5}\n"
# Eight reduces take 20 s on four small VMs, and 40 s on two large ones, for twice the units.
REDUCES = "reduces: {tasks: 8, avg_s: 10}"
JOBS = f"""\
jobs:
  - {{id: a, deadline_s: 50, {REDUCES}}}
  - {{id: b, deadline_s: 50, {REDUCES}}}
  - {{id: c, deadline_s: 45, {REDUCES}}}
  - {{id: d, submitted_at_s: 50, deadline_s: 25, {REDUCES}}}
  - {{id: e, submitted_at_s: 50, deadline_s: 25, {REDUCES}}}
"""
CHANGING = TWO_TYPES + RULE + JOBS
UNITS = {"small": 1, "large": 2}


def most_units(rows):
    """The most units that jobs held at once."""
    changes = sorted(
        (at_s, sign * row["vms"] * UNITS[row["vm_type"]])
        for row in rows["jobs"].values()
        for at_s, sign in ((row["started_at_s"], 1), (row["finished_at_s"], -1))
    )
    return max(sum(units for _, units in changes[: place + 1]) for place in range(len(changes)))


def most_units_at_work(state):
    """The most units of VMs that ran tasks at once. A job may have lost some of its VMs before."""
    spans = [
        (one.started_at_s, one.finished_at_s, one.node.node_id, UNITS[one.node.node.vm_type])
        for one in state.closed
    ]
    instants = [first for first, *_ in spans]
    at_work = [
        {node: units for first, last, node, units in spans if first <= at_s < last}
        for at_s in instants
    ]
    return max(sum(found.values()) for found in at_work)


def test_without_a_change_a_job_is_late():
    _, rows = run(CHANGING)

    assert [] == rows["reconfigurations"]
    assert ["e"] == [job for job, row in rows["jobs"].items() if not row["met"]]


def test_pools_that_follow_the_work_meet_all_deadlines():
    scheduler, rows = run(CHANGING, "vm_reconfigure=true")
    (change,) = (one for one in rows["reconfigurations"] if one["done"])

    assert (45.0, {"small": 8, "large": 0}) == (change["at_s"], change["vms"])
    assert [] == [job for job, row in rows["jobs"].items() if not row["met"]]
    assert {"small"} == {rows["jobs"][job]["vm_type"] for job in "abde"}
    assert 50 == rows["jobs"]["d"]["started_at_s"] == rows["jobs"]["e"]["started_at_s"]
    assert [] == shared_nodes(scheduler.state)
    assert 8 == most_units(rows)


def test_tasks_see_the_changes_that_the_schedule_of_jobs_says():
    workload = sluice.parse_workload(CHANGING)
    planned = sluice.pools(workload, reconfigure=True, tick_s=0).document()
    _, rows = run(CHANGING, "vm_reconfigure=true")

    assert planned["reconfigurations"] == rows["reconfigurations"]
    assert {
        job: (row["vm_type"], row["vms"], row["started_at_s"], row["finished_at_s"])
        for job, row in planned["jobs"].items()
    } == {
        job: (row["vm_type"], row["vms"], row["started_at_s"], row["finished_at_s"])
        for job, row in rows["jobs"].items()
    }


def test_vms_of_a_running_job_change_their_type_when_it_ends():
    """Job c still runs at the check: its large VMs make room for small ones only afterwards."""
    text = CHANGING.replace("window_s: 45", "window_s: 30")
    scheduler, rows = run(text, "vm_reconfigure=true")
    (change,) = (one for one in rows["reconfigurations"] if one["done"])

    assert 30 == change["at_s"] < rows["jobs"]["c"]["finished_at_s"]
    assert 8 == most_units(rows)
    assert [] == shared_nodes(scheduler.state)
    used = {attempt.node.node_id for attempt in scheduler.state.closed}
    assert "small-5" in used


def test_a_new_vm_serves_when_the_change_has_taken_its_time():
    """A small VM costs 4 server-seconds, 16 s of its quarter of a server."""
    text = CHANGING.replace("vm_change_server_s: 0.5", "vm_change_server_s: 4, beta: 1.01")
    text = text.replace("beta: 1.5, ", "").replace("deadline_s: 25", "deadline_s: 35")
    _, rows = run(text, "vm_reconfigure=true")
    assert not any(one["done"] for one in rows["reconfigurations"])  # 24 for a saving of 20

    text = text.replace("vm_change_server_s: 4", "vm_change_server_s: 2")
    _, rows = run(text, "vm_reconfigure=true")
    starts = sorted(rows["jobs"][job]["started_at_s"] for job in "de")
    assert [50, 53] == starts  # 45 s and 2 * 4 / 1


# Reduces need as much on both types, but a large VM runs three maps at once for two units.
MIXED = (
    (TWO_TYPES + RULE).replace("map_slots: 2", "map_slots: 3").replace("s: 45", "s: 60")
    + """\
jobs:
  - {id: a, deadline_s: 50, reduces: {tasks: 8, avg_s: 10}}
  - {id: b, deadline_s: 50, reduces: {tasks: 8, avg_s: 10}}
  - {id: m, submitted_at_s: 1, deadline_s: 100, maps: {tasks: 6, avg_s: 12}}
  - {id: c, submitted_at_s: 50, deadline_s: 25, reduces: {tasks: 8, avg_s: 10}}
  - {id: d, submitted_at_s: 51, deadline_s: 60, maps: {tasks: 6, avg_s: 10}}
"""
)


@pytest.mark.parametrize(
    ("change", "at_s", "small", "large", "change_server_s"),
    [
        ("vm_reconfigure=true", 60, 6, 1, 3 * 0.5),
        ("vm_check_s=50", 50, 6, 1, 3 * 0.5),
        ("vm_servers=1", 60, 4, 0, 2 * 0.5),
        ("vm_weighted=false", 60, 7, 0, 5 * 0.5),
        ("vm_keep_largest=true", 60, 4, 2, 0.0),
        ("vm_change_server_s=2", 60, 6, 1, 3 * 2.0),
    ],
)
def test_each_setting_of_a_change_shows_in_the_new_sizes(
    change, at_s, small, large, change_server_s
):
    _, rows = run(MIXED, "vm_reconfigure=true", change)
    (first, *_) = rows["reconfigurations"]

    assert (at_s, {"small": small, "large": large}) == (first["at_s"], first["vms"])
    assert first["change_server_s"] == pytest.approx(change_server_s)


def test_a_change_saves_as_many_times_its_cost_as_the_setting_says():
    """It saves 20 server-seconds, and costs 3."""
    for beta, is_done in (("6.6", True), ("6.7", False)):
        _, rows = run(CHANGING, "vm_reconfigure=true", f"vm_beta={beta}")
        (first, *_) = rows["reconfigurations"]
        assert (20.0, 3.0, is_done) == (
            first["benefit_server_s"], first["change_server_s"], first["done"],
        )  # fmt: skip


def test_server_seconds_are_those_of_a_server_with_the_units_of_the_setting():
    """Half the units are twice the servers."""
    costs = [
        run(MIXED, "vm_reconfigure=true", f"vm_server_units={units}")[1]["reconfigurations"][0]
        for units in (4, 2)
    ]

    assert [82.0, 164.0] == [cost["observed_server_s"] for cost in costs]


def test_a_change_needs_the_units_of_a_server():
    text = CHANGING.replace("server_units: 4\n", "")
    with pytest.raises(sluice.InvalidInput, match="server_units is missing"):
        run(text, "vm_reconfigure=true")


def test_more_servers_leave_room_for_more_vms():
    _, rows = run("servers: 4\n" + CHANGING, "vm_reconfigure=true")

    assert [] == [job for job, row in rows["jobs"].items() if not row["met"]]


@st.composite
def files(draw):
    """Jobs that want small VMs or large ones, on pools that are checked often."""
    jobs = []
    for number in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(["maps", "reduces"]))
        tasks, avg_s = draw(st.integers(1, 8)), draw(st.integers(1, 10))
        jobs.append(
            f"  - {{id: j{number}, submitted_at_s: {draw(st.integers(0, 60))}, deadline_s:"
            f" {draw(st.integers(5, 90))}, {kind}: {{tasks: {tasks}, avg_s: {avg_s}}}}}\n"
        )
    rule = "reconfigure: {window_s: 15, beta: 1.01, vm_change_server_s: 0.2}\n"
    return TWO_TYPES + rule + "jobs:\n" + "".join(jobs)


@pytest.mark.slow
@settings(max_examples=12)
@given(text=files(), seed=st.integers(0, 50), is_faulty=st.booleans())
def test_whatever_changes_all_jobs_end_within_the_servers(text, seed, is_faulty):
    faults = ("node_mtbf_s=60", "node_repair_s=10", "jitter=0.3", "p_slow=0.1", "task_failure=0.05")
    how = ("vm_reconfigure=true", *(faults if is_faulty else ()))
    scheduler, rows = run(text, *how, seed=seed)
    event(f"changed: {any(one['done'] for one in rows['reconfigurations'])}")

    states = {job.state for job in scheduler.state.jobs.values()}
    assert states <= {JobState.DONE, JobState.FAILED}
    assert [] == shared_nodes(scheduler.state)
    assert not scheduler.state.closed or most_units_at_work(scheduler.state) <= 8
    assert is_faulty or not rows["jobs"] or most_units(rows) <= 8
    again, _ = run(text, *how, seed=seed)
    assert [one.key for one in scheduler.state.closed] == [one.key for one in again.state.closed]
