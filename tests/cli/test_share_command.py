"""`sluice share`: the document that other programs read, tables, notes and refusals."""

import json

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
