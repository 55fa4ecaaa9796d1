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


@pytest.mark.parametrize("tasks", ["ltyarn", "mlrf", "karma", "order=ltrf+slots=lent"])
def test_policies_that_share_in_the_long_run_count_them(tasks):
    assert said(tasks) == []


def test_without_queues_nothing_is_said():
    plain = {key: value for key, value in DOCUMENT.items() if key != "queues"}

    assert said("fair", plain) == []


def test_validate_lists_queues_as_queues_and_compare_says_it_once(tmp_path):
    path = tmp_path / "w.json"
    path.write_text(json.dumps(DOCUMENT))
    validated = command("validate", path)
    compared = command("compare", path, "--schedulers", "fair,fifo,ltrf", "--seeds", 1)

    assert "queues" in validated.out
    assert "pools" not in validated.out
    assert json.loads(command("validate", path, "--json").out)["queues"] == ["root", "a", "b"]
    assert compared.err.count("decide nothing under fair, fifo: take") == 1
