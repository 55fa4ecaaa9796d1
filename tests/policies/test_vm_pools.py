"""Pools of VMs at task level: jobs have nodes to themselves, as the planner decides."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import sluice
from sluice.api.simulate import Scheduling, simulated
from sluice.core.reasons import ReasonCode
from sluice.core.transitions import JobState

TWO_TYPES = """\
version: 1
server_units: 4
vm_types:
  - {id: small, units: 1, vms: 4, map_slots: 1, reduce_slots: 1}
  - {id: large, units: 2, vms: 2, map_slots: 2, reduce_slots: 1}
"""
JOBS = """\
jobs:
  - {id: a, deadline_s: 60, maps: {tasks: 8, avg_s: 10}, reduces: {tasks: 1, avg_s: 5}}
  - {id: b, submitted_at_s: 5, deadline_s: 30, maps: {tasks: 4, avg_s: 10}}
  - {id: c, submitted_at_s: 6, deadline_s: 90, maps: {tasks: 6, avg_s: 10}}
"""


def run(text, *settings, seed=0):
    """The scheduler at the end of a simulation, and the rows of the jobs."""
    how = Scheduling(tasks="vm-pools", settings=settings, seed=seed)
    scheduler, result = simulated(sluice.parse_workload(text), how)
    return scheduler, result.document()["vm_pools"]


def shared_nodes(state):
    """Nodes that ran tasks of two jobs at one time."""
    spans: dict[str, list[tuple[float, float, str]]] = {}
    for attempt in state.closed:
        spans.setdefault(attempt.node.node_id, []).append(
            (attempt.started_at_s, attempt.finished_at_s, attempt.key.job_id)
        )
    return [
        (node, before, after)
        for node, found in spans.items()
        for before, after in pairwise(sorted(found))
        if before[1] > after[0] and before[2] != after[2]
    ]


def test_each_job_runs_on_vms_of_its_own():
    scheduler, rows = run(TWO_TYPES + JOBS)
    nodes: dict[str, set[str]] = {}
    for attempt in scheduler.state.closed:
        nodes.setdefault(attempt.key.job_id, set()).add(attempt.node.node_id)

    assert {"a", "b", "c"} == set(rows["jobs"])
    for job, row in rows["jobs"].items():
        assert row["met"], job
        assert {node.rpartition("-")[0] for node in nodes[job]} == {row["vm_type"]}
        assert len(nodes[job]) == row["vms"]
    assert [] == shared_nodes(scheduler.state)


HUNG = """\
version: 1
server_units: 12
vm_types:
  - {id: small, units: 2, vms: 20, map_slots: 2, reduce_slots: 1}
jobs:
  - {id: a, maps: {tasks: 60, avg_s: 20}, reduces: {tasks: 8, avg_s: 30},
     deadline_s: 2000, predictions: {small: {"10": 100}}}
  - {id: b, maps: {tasks: 40, avg_s: 20}, submitted_at_s: 10,
     deadline_s: 2000, predictions: {small: {"10": 100}}}
"""


@pytest.mark.parametrize("seed", range(1, 4))
def test_hung_tasks_are_copied_to_other_vms_of_their_job(seed):
    ends_s = {}
    for tasks in ("vm-pools", "vm-pools+copies=late"):
        how = Scheduling(tasks=tasks, settings=("p_hang=0.03",), seed=seed)
        scheduler, result = simulated(sluice.parse_workload(HUNG), how)
        assert result.makespan_s is not None
        ends_s[tasks] = result.makespan_s
        assert shared_nodes(scheduler.state) == []
        copies = [one for one in scheduler.state.closed if one.is_copy]
        assert bool(copies) is ("copies" in tasks)

    assert ends_s["vm-pools+copies=late"] < 300 < ends_s["vm-pools"]


@pytest.mark.parametrize(
    ("vms", "at_s", "reason"),
    [(10, 110.0, ReasonCode.HAS_COPY), (1, 1000.0, ReasonCode.NO_SLOT_FOR_COPY)],
)
def test_why_says_whether_another_vm_of_the_job_has_room_for_a_copy(vms, at_s, reason):
    text = HUNG.replace('"10"', f'"{vms}"')
    how = Scheduling(
        tasks="vm-pools+copies=late", settings=("p_hang=0.03", "task_timeout_s=none"), seed=3
    )
    scheduler, _ = simulated(sluice.parse_workload(text), how, until_s=at_s)
    tasks, state = scheduler.policies.tasks, scheduler.state
    first = [one for one in state.running.values() if not one.is_copy]

    assert reason in {tasks.explain_copy(one, state, state.now_s).code for one in first}


def test_unit_seconds_are_those_of_the_vms_held():
    _, rows = run(TWO_TYPES + JOBS)
    units = {"small": 1, "large": 2}

    for row in rows["jobs"].values():
        held_s = row["finished_at_s"] - row["started_at_s"]
        assert row["unit_s"] == pytest.approx(held_s * row["vms"] * units[row["vm_type"]])
    assert rows["unit_s"] == pytest.approx(sum(row["unit_s"] for row in rows["jobs"].values()))


def test_planned_times_are_whole_ticks():
    """Job a takes 45 s on one large VM, and is planned for 49 s; b waits until 7 s."""
    rows = run(TWO_TYPES + JOBS, "vm_tick_s=7")[1]["jobs"]

    assert (49, 45) == (rows["a"]["planned_until_s"], rows["a"]["finished_at_s"])
    assert (7, 28) == (rows["b"]["started_at_s"], rows["b"]["planned_until_s"])


@pytest.mark.parametrize(
    ("of_file", "change", "starts_s"),
    [
        ("", (), {"d": 4, "c": 7, "b": 17, "a": 19, "e": 43}),
        ("windows: {bound_s: 2}\n", (), {"d": 4, "c": 7, "e": 19, "a": 39, "b": 65}),
        ("", ("vm_window_s=2",), {"d": 4, "c": 7, "e": 19, "a": 39, "b": 65}),
    ],
)
def test_a_job_is_not_reserved_beyond_the_longest_window(of_file, change, starts_s):
    """With a bound of 2 s, e runs before b; without one after it."""
    text = """\
version: 1
server_units: 4
vm_types: [{id: small, units: 1, vms: 2, map_slots: 1, reduce_slots: 1}]
jobs:
  - {id: a, submitted_at_s: 8, deadline_s: 74, maps: {tasks: 4, avg_s: 13}}
  - {id: b, submitted_at_s: 9, deadline_s: 39, maps: {tasks: 2, avg_s: 13}}
  - {id: c, submitted_at_s: 7, deadline_s: 38, maps: {tasks: 1, avg_s: 12}}
  - {id: d, submitted_at_s: 4, deadline_s: 33, maps: {tasks: 1, avg_s: 13}}
  - {id: e, submitted_at_s: 7, deadline_s: 35, maps: {tasks: 8, avg_s: 5}}
"""
    rows = run(of_file + text, *change)[1]["jobs"]

    assert starts_s == {job: row["started_at_s"] for job, row in rows.items()}


@st.composite
def files(draw, *, tight=1.0):
    """Jobs of even waves on two pools; deadlines from tight to loose."""
    jobs = []
    for number in range(draw(st.integers(1, 6))):
        maps, avg_s = draw(st.integers(1, 8)), draw(st.integers(1, 12))
        least_s = avg_s * -(-maps // 4)  # on all VMs of a pool
        deadline_s = least_s + int(tight * draw(st.integers(0, 60)))
        jobs.append(
            f"  - {{id: j{number}, submitted_at_s: {draw(st.integers(0, 30))},"
            f" deadline_s: {deadline_s}, maps: {{tasks: {maps}, avg_s: {avg_s}}}}}\n"
        )
    return TWO_TYPES + "jobs:\n" + "".join(jobs)


@pytest.mark.slow
@settings(max_examples=25)
@given(text=files(tight=2.0))
def test_tasks_run_as_the_schedule_of_jobs_says(text):
    """Predictions are exact here, so that both levels decide alike while no deadline is missed."""
    planned = sluice.pools(sluice.parse_workload(text), tick_s=0)
    scheduler, rows = run(text)
    event(f"missed: {len(planned.missed)}")

    assert [] == shared_nodes(scheduler.state)
    if not planned.missed:
        assert rows["jobs"] == {
            job: {
                "vm_type": one["vm_type"],
                "vms": one["vms"],
                "started_at_s": one["started_at_s"],
                "planned_until_s": pytest.approx(one["finished_at_s"]),
                "finished_at_s": pytest.approx(one["finished_at_s"]),
                "unit_s": pytest.approx(4 * one["cost_server_s"]),
                "met": True,
                "least_deadline_at_s": None,
            }
            for job, one in planned.document()["jobs"].items()
        }


@pytest.mark.slow
@settings(max_examples=25)
@given(text=files(), rule=st.sampled_from(["vm-aware", "instant-opt"]), seed=st.integers(0, 50))
def test_whatever_happens_all_jobs_end_and_share_no_node(text, rule, seed):
    """Nodes are lost and come back, tasks are slow and fail, deadlines are missed."""
    scheduler, rows = run(
        text, f"vm_rule={rule}", "node_mtbf_s=60", "node_repair_s=10", "node_timeout_s=5",
        "jitter=0.2", "p_slow=0.1", "task_failure=0.05", seed=seed,
    )  # fmt: skip
    state = scheduler.state
    event(f"late: {sum(not row['met'] for row in rows['jobs'].values())}")

    assert {job.state for job in state.jobs.values()} <= {JobState.DONE, JobState.FAILED}
    assert [] == shared_nodes(state)
    for job, row in rows["jobs"].items():
        assert row["started_at_s"] >= state.jobs[job].job.submitted_at_s
    again, _ = run(
        text, f"vm_rule={rule}", "node_mtbf_s=60", "node_repair_s=10", "node_timeout_s=5",
        "jitter=0.2", "p_slow=0.1", "task_failure=0.05", seed=seed,
    )  # fmt: skip
    assert [one.key for one in state.closed] == [one.key for one in again.state.closed]


def test_a_job_without_a_deadline_or_one_that_is_too_soon_runs_all_the_same():
    text = TWO_TYPES + (
        "jobs:\n  - {id: free, maps: {tasks: 2, avg_s: 10}}\n"
        "  - {id: hasty, deadline_s: 3, maps: {tasks: 2, avg_s: 10}}\n"
    )
    scheduler, rows = run(text)

    assert {job.state for job in scheduler.state.jobs.values()} == {JobState.DONE}
    assert (True, False) == tuple(rows["jobs"][name]["met"] for name in ("free", "hasty"))


def test_vms_that_boot_start_tasks_later_and_are_held_longer():
    plain, booted = (
        run(TWO_TYPES + JOBS, "vm_rule=instant-opt", f"vm_boot_s={boot_s}")[1] for boot_s in (0, 5)
    )

    assert booted["jobs"]["a"]["finished_at_s"] == plain["jobs"]["a"]["finished_at_s"] + 5
    assert booted["unit_s"] > plain["unit_s"]


def test_a_job_that_takes_longer_than_planned_keeps_its_vms():
    """The prediction is far too short: jobs that wait for these VMs are planned again."""
    text = TWO_TYPES.replace("vms: 2", "vms: 0").replace("vms: 4", "vms: 1") + (
        "jobs:\n"
        "  - {id: long, deadline_s: 99, maps: {tasks: 1, avg_s: 50},"
        " predictions: {small: {'1': 10}}}\n"
        "  - {id: next, submitted_at_s: 1, deadline_s: 99, maps: {tasks: 1, avg_s: 5},"
        " predictions: {small: {'1': 5}}}\n"
    )
    scheduler, rows = run(text)

    assert [] == shared_nodes(scheduler.state)
    assert 50 == rows["jobs"]["long"]["finished_at_s"] == rows["jobs"]["next"]["started_at_s"]


def why(text, job, at_s, *settings):
    return sluice.why(
        job, source=sluice.parse_workload(text), tasks="vm-pools", at_s=at_s, settings=settings
    ).reason.text()


def test_why_says_which_vms_a_job_waits_for():
    text = TWO_TYPES.replace("vms: 2", "vms: 0").replace("vms: 4", "vms: 1") + (
        "jobs:\n  - {id: first, deadline_s: 30, maps: {tasks: 2, avg_s: 10}}\n"
        "  - {id: second, submitted_at_s: 1, deadline_s: 60, maps: {tasks: 1, avg_s: 10}}\n"
    )

    assert "all slots of its 1 VM of small are busy" == why(text, "first", 5)
    assert "it has a reservation for 1 VM of small from 20 s on" == why(text, "second", 5)
    said = sluice.story("second", source=sluice.parse_workload(text), tasks="vm-pools")
    assert "got 1 VM of small" in str(said.document())


def test_why_gives_instants_to_a_tenth_of_a_second():
    """The first job has two tasks of 10.13 s, on a VM that boots for 1.26 s."""
    text = TWO_TYPES.replace("vms: 2", "vms: 0").replace("vms: 4", "vms: 1") + (
        "jobs:\n  - {id: first, deadline_s: 30, maps: {tasks: 2, avg_s: 10.13}}\n"
        "  - {id: second, submitted_at_s: 1, deadline_s: 60, maps: {tasks: 1, avg_s: 10}}\n"
    )
    boots = "vm_boot_s=1.26", "vm_tick_s=0"

    assert "its VMs boot until 1.3 s" == why(text, "first", 1, *boots)
    assert "all slots of its 1 VM of small are busy" == why(text, "first", 2, *boots)
    expected = "it has a reservation for 1 VM of small from 21.5 s on"
    assert expected == why(text, "second", 5, *boots)


@pytest.mark.slow
@settings(max_examples=10)
@given(text=files(tight=3.0))
def test_why_gives_the_reasons_of_the_schedule_of_jobs(text):
    """Predictions are exact here, so that both levels explain alike while no deadline is missed."""
    workload = sluice.parse_workload(text)
    job_id = workload.jobs[-1].job_id
    if sluice.pools(workload, tick_s=0).missed:
        return
    expected: Any = sluice.vm_choice(workload, job_id, tick_s=0).document()
    made: Any = sluice.why(job_id, source=workload, tasks="vm-pools").document()["vms"]
    rows = zip(made.pop("alternatives"), expected.pop("alternatives"), strict=True)

    expected["why"] = expected["why"].replace("It runs on", "It ran on", 1)
    for name in ("finished_at_s", "cost_server_s", "unit_s"):
        assert made.pop(name) == pytest.approx(expected.pop(name))
    assert expected == made
    for row, other in rows:
        for one in (row, other):
            del one["configuration"]  # the nodes of a scheduler have no types with slots
        assert row == pytest.approx(other)


@pytest.mark.parametrize(
    ("job", "at_s", "words"),
    [
        ("first", 5, "It runs on 1 VM of small from 0 s, planned to 20 s, for 5 server-seconds."),
        ("second", 5, "It has a reservation for 1 VM of small from 20 s to 30 s"),
        ("second", 5, "It waits to 20 s, when job first ends and its VMs are free."),
        ("hasty", 5, "It misses its deadline at 2 s: no VMs were free in time. The least deadline"),
        ("hasty", 99, "No VMs were free in time for its deadline at 4 s. The least deadline"),
        ("free", 99, "It has no deadline. No other cluster is cheaper."),
        ("hasty", 99, "It ran on 1 VM of small"),
    ],
)
def test_why_says_at_any_instant_what_is_known_of_the_vms(job, at_s, words):
    text = TWO_TYPES.replace("vms: 2", "vms: 0").replace("vms: 4", "vms: 1") + (
        "jobs:\n  - {id: first, deadline_s: 30, maps: {tasks: 2, avg_s: 10}}\n"
        "  - {id: second, submitted_at_s: 1, deadline_s: 60, maps: {tasks: 1, avg_s: 10}}\n"
        "  - {id: hasty, submitted_at_s: 2, deadline_s: 2, maps: {tasks: 1, avg_s: 10}}\n"
        "  - {id: free, submitted_at_s: 2, maps: {tasks: 1, avg_s: 10}}\n"
    )
    found = sluice.why(job, source=sluice.parse_workload(text), tasks="vm-pools", at_s=at_s)
    made: Any = found.document()["vms"]

    assert words in made["why"]


def test_without_units_of_a_server_costs_are_unit_seconds():
    text = (TWO_TYPES + JOBS).replace("server_units: 4\n", "")
    made: Any = sluice.why("a", source=sluice.parse_workload(text), tasks="vm-pools").document()
    made = made["vms"]

    assert (None, 90) == (made["cost_server_s"], made["unit_s"])
    assert "for 90 unit-seconds" in made["why"]


def test_other_runs_have_no_vms_to_explain():
    workload = sluice.parse_workload(TWO_TYPES + JOBS)

    assert "vms" not in sluice.why("a", source=workload, tasks="fifo").document()


def test_a_cluster_without_vm_types_is_served_first_in_first_out():
    text = (
        "version: 1\ncluster: {map_slots: 2}\n"
        "jobs: [{id: a, maps: {tasks: 3, avg_s: 10}}, {id: b, maps: {tasks: 1, avg_s: 10}}]\n"
    )
    notes: list[str] = []
    made = sluice.simulate(sluice.parse_workload(text), tasks="vm-pools", on_message=notes.append)

    assert made.makespan_s == sluice.simulate(sluice.parse_workload(text)).makespan_s
    assert "no node has a VM type" in notes[0]


@pytest.mark.parametrize(
    ("job", "what"),
    [
        ("{id: a, deadline_s: 9, predictions: {small: {'9': 3}}, maps: {tasks: 1, avg_s: 3}}",
         "no prediction of it fits"),
        ("{id: a, deadline_s: 9, maps: {tasks: 1}, run: {input: [x], output: y, mapper: cat}}",
         "gives no predictions"),
    ],
)  # fmt: skip
def test_jobs_that_pools_cannot_serve_are_refused(job, what, tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    with pytest.raises(sluice.InvalidInput, match=what):
        run(f"{TWO_TYPES}jobs: [{job}]\n")


# --- customers who name their cluster -------------------------------------------------------------

NAMED = """\
jobs:
  - {id: own, maps: {tasks: 8, avg_s: 10}, vm_request: {vm_type: large, vms: 2}}
  - {id: soon, submitted_at_s: 1, maps: {tasks: 4, avg_s: 10},
     vm_request: {vm_type: large, vms: 1, start_within_s: 5}}
  - {id: later, submitted_at_s: 1, maps: {tasks: 4, avg_s: 10},
     vm_request: {vm_type: large, vms: 1, start_within_s: 60}}
  - {id: free, submitted_at_s: 2, deadline_s: 90, maps: {tasks: 4, avg_s: 10}}
"""


@pytest.mark.parametrize(
    ("deadline", "lost"), [("", "start in time"), ("deadline_s: 30, ", "meet its deadline")]
)
def test_a_story_says_what_a_job_that_names_its_cluster_can_no_longer_do(deadline, lost):
    text = TWO_TYPES + NAMED.replace("{id: soon, ", "{id: soon, " + deadline)
    found = sluice.story("soon", source=sluice.parse_workload(text), tasks="vm-pools").document()

    assert f"can no longer {lost}" in str(found)


@pytest.mark.parametrize("rule", ["vm-aware", "instant-opt"])
def test_a_job_gets_the_cluster_that_its_customer_names(rule):
    """The second and third wait for the first; the second was to start within 5 s."""
    scheduler, rows = run(TWO_TYPES + NAMED, f"vm_rule={rule}")
    jobs = rows["jobs"]

    assert ("large", 2) == (jobs["own"]["vm_type"], jobs["own"]["vms"])
    assert [("large", 1)] * 2 == [(jobs[n]["vm_type"], jobs[n]["vms"]) for n in ("soon", "later")]
    assert [True, False, True, True] == [jobs[n]["met"] for n in ("own", "soon", "later", "free")]
    assert 0 == jobs["own"]["started_at_s"]
    assert 20 == jobs["later"]["started_at_s"]
    assert [] == shared_nodes(scheduler.state)


def test_a_limit_is_the_length_that_is_planned():
    text = TWO_TYPES + (
        "jobs: [{id: a, limit_s: 500, maps: {tasks: 4, avg_s: 10},"
        " vm_request: {vm_type: large, vms: 1}}]\n"
    )
    _, rows = run(text)

    assert 500 == rows["jobs"]["a"]["planned_until_s"]
    assert 20 == rows["jobs"]["a"]["finished_at_s"]
    assert rows["jobs"]["a"]["met"]


# --- servers that are shut down -------------------------------------------------------------------

POWER = """\
power: {down_after_s: 60, up_s: 30}
jobs:
  - {id: a, deadline_s: 120, maps: {tasks: 4, avg_s: 10}}
  - {id: b, submitted_at_s: 400, deadline_s: 120, maps: {tasks: 4, avg_s: 10}}
"""


def test_a_job_waits_for_servers_that_are_off():
    """Each job takes one small VM for 40 s; at 400 s its server has been off since 100 s."""
    _, rows = run(TWO_TYPES + POWER)
    planned = sluice.pools(sluice.parse_workload(TWO_TYPES + POWER), tick_s=0).document()
    second = rows["jobs"]["b"]

    assert (400, 470, True) == (second["started_at_s"], second["finished_at_s"], second["met"])
    assert {"servers": 2, "server_s": 940, "off_server_s": 300 + 410, "starts": 1} == rows["power"]
    assert rows["power"] == planned["power"]
    assert 470 == planned["jobs"]["b"]["finished_at_s"]


def test_servers_stay_on_without_a_rule():
    _, rows = run(TWO_TYPES + JOBS)

    assert "power" not in rows


def test_pools_that_change_their_sizes_cannot_shut_down_servers():
    with pytest.raises(sluice.InvalidInput, match="cannot be shut down while pools change"):
        run(TWO_TYPES + POWER, "vm_reconfigure=true")


@pytest.mark.slow
@settings(max_examples=25)
@given(text=files(), seed=st.integers(0, 50))
def test_servers_are_counted_right_while_nodes_are_lost(text, seed):
    _, rows = run(
        text, "vm_power_down_s=5", "vm_power_up_s=3", "node_mtbf_s=60", "node_repair_s=10",
        "node_timeout_s=5", "jitter=0.2", "task_failure=0.05", seed=seed,
    )  # fmt: skip
    power = rows["power"]
    event(f"starts: {min(power['starts'], 3)}")

    assert 0 <= power["off_server_s"] <= power["server_s"]
