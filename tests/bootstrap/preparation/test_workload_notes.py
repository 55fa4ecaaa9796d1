"""Queues of a file that decide nothing are not ignored in silence."""

import json

import pytest
from tests.cli.terminal import sluice as command

import sluice

DOCUMENT = {
    "version": 1,
    "cluster": {"map_slots": 4, "reduce_slots": 1},
    "queues": [
        {"id": "root"},
        {"id": "a", "parent": "root", "weight": 9},
        {"id": "b", "parent": "root", "weight": 1},
    ],
    "jobs": [
        {"id": "x", "pool": "a", "maps": {"tasks": 8, "avg_s": 5}},
        {"id": "y", "pool": "b", "maps": {"tasks": 8, "avg_s": 5}},
    ],
}


def said(tasks, document=DOCUMENT):
    found: list[str] = []
    workload = sluice.parse_workload(json.dumps(document))
    sluice.simulate(workload, tasks=tasks, on_message=found.append)
    return [one for one in found if "`queues`" in one]


@pytest.mark.parametrize("tasks", ["fair", "fifo", "dynamicmr", "static", "fair+copies=late"])
def test_policies_that_know_no_queues_say_so(tasks):
    (note,) = said(tasks)

    assert f"decide nothing under {tasks}" in note


def ends(weight, **share):
    """When x and y end under fair, with queues of a weight or a share of b."""
    queues = [{"id": "a"}, {"id": "b", "weight": weight, **share}]
    workload = sluice.parse_workload(json.dumps(DOCUMENT | {"queues": queues}))
    return [job.finished_at_s for job in sluice.simulate(workload, tasks="fair").jobs]


def test_the_note_is_true_of_fair_where_weights_count_and_shares_do_not():
    (note,) = said("fair")

    assert ends(9) != ends(1) == ends(1, share_max=1) == ends(1, share_min=3)
    assert note.startswith("`queues` count as pools with weights, and their parents and shares")


@pytest.mark.parametrize("tasks", ["ltyarn", "mlrf", "karma", "order=ltrf+slots=lent"])
def test_policies_that_share_in_the_long_run_count_them(tasks):
    assert said(tasks) == []


def test_without_queues_nothing_is_said():
    plain = {key: value for key, value in DOCUMENT.items() if key != "queues"}

    assert said("fair", plain) == []


@pytest.mark.parametrize(
    ("cpu", "demand", "lacks"),
    [(0, None, "no node has resources"), (100, None, "no job has"), (100, {"cpu": 25}, None)],
)
@pytest.mark.parametrize("shared", ["dominant", "units"])
def test_dominant_shares_of_nothing_are_noted(cpu, demand, lacks, shared):
    """All tasks would count 0, so that the first queue came first for ever."""
    jobs = [one | ({"demand": {"map": demand}} if demand else {}) for one in DOCUMENT["jobs"]]
    cluster = {"nodes": 1, "node": {"containers": 4, "cpu": cpu}}
    workload = sluice.parse_workload(json.dumps(DOCUMENT | {"cluster": cluster, "jobs": jobs}))
    found: list[str] = []
    given = {"ltyarn.shared": shared}
    sluice.simulate(workload, tasks="ltyarn", settings=given, on_message=found.append)
    noted = [one for one in found if "dominant" in one]

    assert [lacks in one for one in noted] == [True] * (shared == "dominant" and lacks is not None)


def test_validate_lists_queues_as_queues_and_compare_says_it_once(tmp_path):
    path = tmp_path / "w.json"
    path.write_text(json.dumps(DOCUMENT))
    validated = command("validate", path)
    compared = command("compare", path, "--schedulers", "fair,fifo,ltrf", "--seeds", 1)

    assert "queues" in validated.out
    assert "pools" not in validated.out
    assert json.loads(command("validate", path, "--json").out)["queues"] == ["root", "a", "b"]
    assert compared.err.count("decide nothing under fair, fifo: take") == 1


INFEASIBLE = """version: 1
cluster: {nodes: 2, node: {map_slots: 1, reduce_slots: 0, cpu: 100, memory: 8}}
jobs:
  - {id: pg, maps: {tasks: 1, avg_s: 10}, demand: {map: {cpu: %s}}}
"""


@pytest.mark.parametrize("tasks", ["fifo", "fair", "dynamicmr"])
def test_a_demand_that_no_node_holds_is_noted_where_slots_decide(tasks):
    said: list[str] = []

    sluice.simulate(sluice.parse_workload(INFEASIBLE % 200), tasks=tasks, on_message=said.append)

    assert said == [
        (
            "job 'pg': no node has room for a task of map (cpu: 200, and the largest node has 100);"
            " policies that place by slots start it anyway, ras refuses it"
        )
    ]


def test_a_demand_that_fits_is_not_noted():
    said: list[str] = []

    sluice.simulate(sluice.parse_workload(INFEASIBLE % 100), on_message=said.append)

    assert said == []


def test_ras_names_the_resource_that_is_short():
    with pytest.raises(sluice.InvalidInput, match=r"cpu: 200, and the largest node has 100"):
        sluice.simulate(sluice.parse_workload(INFEASIBLE % 200), tasks="ras")


@pytest.mark.parametrize(
    ("cluster", "settings", "is_noted"),
    [
        ({"map_slots": 4, "reduce_slots": 1}, {"speculation": "late"}, True),
        ({"nodes": 2, "node": {"map_slots": 2, "reduce_slots": 1}}, {"speculation": "late"}, False),
        ({"map_slots": 4, "reduce_slots": 1}, {}, False),
    ],
)
def test_copies_without_a_second_node_are_not_expected_in_vain(cluster, settings, is_noted):
    found: list[str] = []
    workload = sluice.parse_workload(json.dumps(DOCUMENT | {"cluster": cluster}))
    sluice.simulate(workload, settings=settings, on_message=found.append)

    assert is_noted is any("no slow task is copied" in one for one in found)


def said_of_hung_tasks(tasks, **settings):
    document = {key: DOCUMENT[key] for key in ("version", "cluster")} | {
        "jobs": [{"id": "x", "maps": {"tasks": 8, "avg_s": 5}}],
        "settings": {"p_hang": 0.1, **settings},
    }
    found: list[str] = []
    sluice.simulate(
        sluice.parse_workload(json.dumps(document)), tasks=tasks, on_message=found.append
    )
    return [one for one in found if "hangs" in one]


def test_who_does_not_copy_hung_tasks_is_noted_with_what_helps():
    until = "a task that hangs (p_hang) runs until task_timeout_s = 600"

    assert said_of_hung_tasks("ltyarn") == [f"{until}: nothing copies it; add --copies late"]
    assert said_of_hung_tasks("ltyarn+copies=late") == []
    assert said_of_hung_tasks("fair", **{"copies.speculation": "late"}) == []
    # Under a policy without copies the setting does nothing.
    assert len(said_of_hung_tasks("yarn-like", **{"copies.speculation": "late"})) == 1


def test_no_copies_are_advised_to_a_policy_that_cannot_make_them():
    (note,) = said_of_hung_tasks("easy")

    assert note.endswith("nothing copies it; give a lower task_timeout_s")


@pytest.mark.parametrize(("tasks", "notes"), [("vm-pools", 1), ("vm-pools+copies=late", 0)])
def test_copies_are_advised_to_jobs_with_vms_of_their_own(tasks, notes):
    found: list[str] = []
    sluice.simulate(
        "examples/vm-hasty.yaml", tasks=tasks, settings={"p_hang": 0.1}, on_message=found.append
    )

    hung = [one for one in found if "hangs" in one]
    assert len(hung) == notes
    assert all(one.endswith("nothing copies it; add --copies late") for one in hung)
    assert not [one for one in found if "decides nothing" in one]


def test_a_task_without_a_time_limit_hangs_for_ever():
    (note,) = said_of_hung_tasks("fair", task_timeout_s=None)

    assert note.startswith("a task that hangs (p_hang) runs for ever: ")
