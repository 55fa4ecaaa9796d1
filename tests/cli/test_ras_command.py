"""`--tasks ras` from the command line: bad input is refused by name, charts, why, story."""

import json

import pytest
import yaml
from tests.cli.terminal import sluice

GOOD = {
    "version": 1,
    "cluster": {"nodes": 2, "node": {"cpu": 100, "io": 100, "memory": 100}},
    "jobs": [
        {
            "id": "etl",
            "deadline_s": 300,
            "maps": {"tasks": 8, "avg_s": 10},
            "reduces": {"tasks": 2, "avg_s": 10},
            "demand": {
                "map": {"cpu": 30, "io": 45, "memory": 25},
                "shuffle_per_map": {"io": 0.15},
                "reduce": {"cpu": 20, "io": 50, "memory": 60},
            },
        }
    ],
}


def changed(*path, to):
    """The good workload with one value changed, or removed if `to` is None."""
    document = json.loads(json.dumps(GOOD))
    place = document
    for step in path[:-1]:
        place = place[step]
    if to is None:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return document


@pytest.fixture
def workload(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(document):
        (tmp_path / "jobs.yaml").write_text(yaml.safe_dump(document), "utf-8")
        return "jobs.yaml"

    return write


def test_a_good_workload_runs(workload):
    answer = sluice("simulate", workload(GOOD), "--tasks", "ras", "--json")
    document = json.loads(answer.out)

    assert 0 == answer.code
    assert document["jobs"]["etl"]["deadline_met"]
    assert document["control_cycles"] >= 1
    assert {"at_s", "utility", "map_slots", "reduce_slots", "map_slots_needed"} == set(
        document["placements"]["etl"][0]
    )


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (changed("cluster", "node", "memory", to=None), ["memory is missing", "node-1"]),
        (changed("cluster", "node", to={}), ["no slots and no resources"]),
        (changed("cluster", "node", "cpu", to=-1), ["cpu"]),
        (changed("jobs", 0, "demand", to=None), ["'etl'", "demand.map is missing or all zero"]),
        (changed("jobs", 0, "demand", "reduce", to={}), ["'etl'", "demand.reduce is missing"]),
        (changed("jobs", 0, "demand", "map", "cpu", to=101), ["'etl'", "more than any node has"]),
        (changed("jobs", 0, "demand", "map", "cpu", to=-3), ["cpu"]),
        (changed("jobs", 0, "demand", "map", to={"gpu": 1}), ["gpu"]),
        (changed("jobs", 0, "demand", "maps", to={"cpu": 1}), ["maps"]),
        (changed("jobs", 0, "deadline_s", to=0), ["deadline_s"]),
    ],
)
def test_bad_input_is_refused_by_name(workload, document, words):
    answer = sluice("simulate", workload(document), "--tasks", "ras")

    assert 2 == answer.code
    assert "" == answer.out
    assert all(word in answer.err for word in words), answer.err


@pytest.mark.parametrize(
    "setting", ["period_s=0", "period_s=601", "rounds=0", "parallel_copies=0", "ras.aim=goal"]
)
def test_a_setting_out_of_range_is_refused(workload, setting):
    answer = sluice("simulate", workload(GOOD), "--tasks", "ras", "--set", setting)

    assert 2 == answer.code
    assert setting.rpartition(".")[2].partition("=")[0] in answer.err


def test_a_cluster_of_slots_alone_is_shared_by_slots(workload):
    slots = changed("cluster", to={"map_slots": 2, "reduce_slots": 1})
    del slots["jobs"][0]["demand"]
    answer = sluice("simulate", workload(slots), "--tasks", "ras", "--json")

    assert 0 == answer.code
    assert "done" == json.loads(answer.out)["jobs"]["etl"]["state"]


def test_why_names_the_resource_and_the_slots_that_the_goal_needs(workload):
    answer = sluice("why", "etl", "--file", workload(GOOD), "--tasks", "ras", "--at-s", "5")

    assert "io is short on 2 of 2 nodes" in answer.out
    assert "its goal at 300 s needs 8" in answer.out


def test_story_lists_how_slots_and_utility_change(workload):
    answer = sluice("story", "etl", "--file", workload(GOOD), "--tasks", "ras")

    text = " ".join(answer.out.split())
    assert "placed: 4 map slots, 2 reduce slots" in text
    assert "utility -0.33; its goal needs 8 map slots" in text


@pytest.mark.parametrize(
    ("plot", "file"), [("utility,slots", "jobs-utility-slots.html"), ("utility=u.json", "u.json")]
)
def test_the_charts_are_written(workload, tmp_path, plot, file):
    answer = sluice("simulate", workload(GOOD), "--tasks", "ras", "--plot", plot)

    assert 0 == answer.code
    assert (tmp_path / file).stat().st_size > 1000
    assert f"plot: {file}" in answer.err


def test_validate_refuses_the_demand_that_ras_of_the_file_refuses(tmp_path):
    """The file is valid where no policy reads the demand; a fitting demand is valid, too."""
    text = """version: 1
cluster: {{nodes: 2, node: {{map_slots: 2, cpu: 100, io: 100, memory: 100}}}}
scheduler: {{tasks: {}}}
jobs:
  - {{id: a, maps: {{tasks: 3, avg_s: 10}}, demand: {{map: {{memory: {}}}}}}}
"""
    path = tmp_path / "jobs.yaml"
    for tasks, memory, code in (("ras", 400, 2), ("ras", 40, 0), ("fifo", 400, 0)):
        path.write_text(text.format(tasks, memory))
        answer = sluice("validate", path)
        assert answer.code == code, answer
        assert ("demand.map is more than any node has" in answer.err) is (code == 2)
