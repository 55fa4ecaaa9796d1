"""`sluice share`: the document that other programs read, tables, notes and refusals."""

import json
from pathlib import Path

import pytest
from tests.cli.terminal import result_of, sluice
from tests.skips import required

import sluice as package

MEMBERS = """\
version: 1
capacity: 200
members:
  - {id: A, weight: 1, demands: [40, 80, 160, 120]}
  - {id: B, demands: [200, 120, 100, 100]}
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Table 5.1 as a file in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "members.yaml").write_text(MEMBERS)
    return "members.yaml"


def document(*words):
    answer = sluice("share", *words, "--json")
    assert (0, 1) == (answer.code, answer.out.count("\n")), answer
    return json.loads(answer.out, parse_constant=pytest.fail)


def test_the_document_has_what_programs_read(file):
    found = document(file, "--policy", "ltrf", "--discount-price", "0.5")

    assert {
        "demand_new": 40, "demand_total": 40, "allocated": 40, "accumulated": 40, "counted": 40,
        "lent": 60,
    } == found["steps"][0]["A"]  # fmt: skip
    assert (160, 130, -60) == tuple(
        found["steps"][0]["B"][name] for name in ("allocated", "counted", "lent")
    )
    assert [360, 360] == [found["steps"][3][name]["counted"] for name in "AB"]
    assert ({"A": 1.25, "B": 1.0}, 0.25, 0.0) == (
        found["fairness"], found["benefit"], found["loss"],
    )  # fmt: skip


def test_python_gives_the_same_document(file):
    for policy in ("static", "mlrf", "ltrf", "karma", "decay"):
        by_words = result_of(document(file, "--policy", policy))
        assert by_words == package.share(file, policy=policy).document()


def test_a_member_without_static_use_has_no_fairness(file, tmp_path):
    (tmp_path / "idle.yaml").write_text(MEMBERS.replace("40, 80, 160, 120", "0, 0, 0, 0"))

    assert {"A": None, "B": 1.3} == document("idle.yaml", "--policy", "mlrf")["fairness"]


def test_leftovers_can_be_dropped(file):
    kept, dropped = document(file), document(file, "--leftovers", "drop")

    assert (160, 120) == tuple(one["steps"][1]["B"]["demand_total"] for one in (kept, dropped))


def test_the_input_may_come_from_stdin(file):
    answer = sluice("share", "-", "--json", stdin=MEMBERS.encode())

    assert 0 == answer.code
    assert 1.25 == json.loads(answer.out)["fairness"]["A"]


def test_people_get_tables(file):
    answer = sluice("share", file, "--misreports")

    assert 0 == answer.code
    for words in ("160 / 280", "fairness", "the truth", "benefit"):
        assert words in answer.out


def test_the_search_finds_a_gain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lie.json").write_text(
        '{"version": 1, "capacity": 3, "members": [{"id": "a", "demands": [2, 3, 2]},'
        ' {"id": "b", "demands": [3, 1, 2]}, {"id": "c", "demands": [0, 3, 1]}]}'
    )
    found = document("lie.json", "--leftovers", "drop", "--misreports")["misreports"]["a"]

    assert {"honest": 3.0, "best": 3.25, "gain": 0.25, "exhaustive": True}.items() <= found.items()


def test_a_chart_is_written(file, tmp_path):
    assert 0 == sluice("share", file, "--plot", "out.json").code
    assert "vconcat" in json.loads((tmp_path / "out.json").read_text())


def test_an_option_without_effect_is_reported(file):
    answer = sluice("share", file, "--policy", "mlrf", "--alpha", "0.5")

    assert (0, "note: alpha has no effect with the policy mlrf\n") == (answer.code, answer.err)


def test_a_frame_has_a_row_for_each_step_and_member(file):
    required("pandas")

    assert (8, ["A", "B"]) == (
        len(package.share(file).to_frame()),
        sorted(set(package.share(file).to_frame()["member"])),
    )


RESOURCES = """\
version: 1
capacities: {cpu: 9, memory_gb: 18}
members:
  - {id: A, task: {cpu: 1, memory_gb: 4}, demands: [0, 9, 9]}
  - {id: B, task: {cpu: 3, memory_gb: 1}, demands: [9, 9, 9]}
"""


@pytest.fixture
def resources(tmp_path, monkeypatch):
    """The cluster of the DRF paper as a file in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "resources.yaml").write_text(RESOURCES)
    return "resources.yaml"


def test_several_resources_are_divided_by_dominant_shares(resources):
    memoryless = document(resources, "--policy", "mlrf")
    long_term = document(resources, "--policy", "ltrf", "--whole-units")

    assert "capacity" not in memoryless
    assert {"cpu": 9, "memory_gb": 18} == memoryless["capacities"]
    assert {"cpu": 3, "memory_gb": 1} == memoryless["tasks"]["B"]
    second = memoryless["steps"][1]
    assert [3, 2] == [second[name]["allocated"] for name in "AB"]
    assert {"cpu": 3, "memory_gb": 12} == second["A"]["resources"]
    assert [2 / 3, 2 / 3] == pytest.approx([second[name]["dominant"] for name in "AB"])
    assert 9 == second["A"]["demand_new"]
    assert {"cpu": 1, "memory_gb": 31 / 54} == pytest.approx(memoryless["utilization"])
    assert [4, 4] == [step["A"]["allocated"] for step in long_term["steps"][1:]]


def test_people_get_tasks_and_the_use_of_each_resource(resources):
    answer = sluice("share", resources, "--misreports", "--plot", "out.json")

    assert 0 == answer.code
    for words in ("4.5 / 1", "tasks", "memory_gb used", "dominant shares", "honest"):
        assert words in answer.out
    chart = json.loads(Path("out.json").read_text())
    assert "Use of each resource" in json.dumps(chart["vconcat"][1]["title"])
    used = {row["step"]: row["used"] for row in chart["vconcat"][1]["data"]["values"]
            if row["resource"] == "cpu"}  # fmt: skip
    assert 1.0 == used[1]


def test_gains_by_false_demands_are_in_tasks(resources):
    found = document(resources, "--policy", "mlrf", "--misreports")["misreports"]["B"]

    assert (7.0, 0.0, [9, 9, 9]) == (found["honest"], found["gain"], found["reports"])


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        (("cpu: 9", "cpu: 0"), (), "capacities.cpu"),
        (("{cpu: 9, memory_gb: 18}", "{}"), (), "capacities"),
        (("version: 1", "version: 1\ncapacity: 3"), (), "capacity is given together"),
        (("task: {cpu: 1, memory_gb: 4}, ", ""), (), 'member "A": task is missing'),
        (("cpu: 1, memory_gb: 4", "cpu: 0"), (), "task takes nothing"),
        (("cpu: 1, memory_gb: 4", "gpu: 1"), (), "task.gpu is not one of the capacities"),
        (("memory_gb: 4", "memory_gb: 19"), (), "above the capacity of 18"),
        (("memory_gb: 4", "memory_gb: -4"), (), "memory_gb is -4"),
        (("", ""), ("--policy", "karma"), "karma shares one resource"),
        (("", ""), ("--policy", "static", "--whole-units"), "Use mlrf or ltrf"),
        (("0, 9, 9", "0, 9.5, 9"), ("--whole-units",), "demands[1] is 9.5"),
        (("capacities: {cpu: 9, memory_gb: 18}", "capacity: 9"), (), "task is given with one"),
    ],
)
def test_bad_resources_are_refused(resources, change, words, said):
    text = RESOURCES.replace(change[0], change[1], 1) if change[0] else RESOURCES
    Path(resources).write_text(text)

    answer = sluice("share", resources, *words)

    assert (2, "") == (answer.code, answer.out)
    assert said.replace('"', "'") in answer.err.replace('"', "'")


@pytest.mark.parametrize(
    ("change", "words", "field"),
    [
        (("capacity: 200", "capacity: 0"), (), "capacity"),
        (("capacity: 200", "capacity: .inf"), (), "capacity"),
        (("capacity: 200\n", ""), (), "capacity"),
        (("weight: 1", "weight: 0"), (), "weight"),
        (("40, 80", "-1, 80"), (), "demands"),
        (("40, 80", "80"), (), "demands"),
        (("id: B", "id: A"), (), "id"),
        (("id: B", "id: ''"), (), "id"),
        (("", ""), ("--policy", "fair"), "policy"),
        (("", ""), ("--discount-price", "0"), "discount_price"),
        (("", ""), ("--discount-price", "1.5"), "discount_price"),
        (("", ""), ("--policy", "karma", "--alpha", "2"), "alpha"),
        (("", ""), ("--policy", "karma", "--alpha", "x"), "alpha"),
        (("", ""), ("--policy", "karma", "--initial-credits", "-1"), "initial_credits"),
        (("", ""), ("--policy", "decay", "--half-life-steps", "0"), "half_life_steps"),
        (("", ""), ("--round-steps", "0"), "round_steps"),
        (("", ""), ("--round-steps", "1.5"), "round_steps"),
        (("", ""), ("--round-steps", "2", "--whole-units"), "round_steps"),
        (("", ""), ("--leftovers", "sell"), "leftovers"),
        (("200", "201"), ("--policy", "karma", "--alpha", "0", "--whole-units"), "alpha"),
        (("40, 80", "40.5, 80"), ("--whole-units",), "demands"),
    ],
)
def test_bad_input_is_refused_with_the_field(file, tmp_path, change, words, field):
    (tmp_path / file).write_text(MEMBERS.replace(change[0], change[1], 1) if change[0] else MEMBERS)

    answer = sluice("share", file, *words)

    assert (2, "") == (answer.code, answer.out)
    assert field.replace("_", "-") in answer.err.replace("_", "-")
    assert "Traceback" not in answer.err


def test_shares_that_are_no_whole_units_name_the_capacity_that_would_do(tmp_path):
    path = tmp_path / "members.yaml"
    path.write_text(
        "version: 1\ncapacity: 201\n"
        "members: [{id: A, demands: [40]}, {id: B, weight: 3, demands: [9]}]"
    )
    answer = sluice("share", path, "--policy", "static", "--whole-units")

    assert 2 == answer.code
    assert "capacity: static guarantees 50.25 units to 'A'" in answer.err
    assert "Give a multiple of 4, or leave out whole units." in answer.err
