"""Options that change one thing, each by what it changes."""

import json

import pytest
from tests.cli.terminal import sluice
from tests.subject import HOUSE


def answered(*words):
    found = sluice(*words)
    assert found.code == 0, found.err
    return found.out


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (("--cv", "0", "--stragglers", "0"), "{contention: none}"),
        (
            ("--cv", "0.7", "--stragglers", "0"),
            "{contention: none, spread: lognormal, spread_cv: 0.7}",
        ),
        (
            ("--cv", "0", "--stragglers", "0.2"),
            "{contention: none, p_slow: 0.2, slow_factor: 3..6}",
        ),
    ],
)
def test_a_day_has_the_spread_and_the_stragglers_that_are_asked_for(words, settings):
    day = answered("workload", "day", "--hours", "0.1", "--nodes", "2", *words)

    assert day.splitlines()[-1] == f"settings: {settings}"


def test_par_charges_a_member_that_was_idle(tmp_path):
    """Member b asks for nothing in three steps: with the charge it gets no more than its share."""
    path = tmp_path / "members.json"
    members = [{"id": "a", "demands": [2] * 6}, {"id": "b", "demands": [0] * 3 + [2] * 3}]
    path.write_text(json.dumps({"version": 1, "capacity": 2, "members": members}))

    def used(*words):
        found = json.loads(answered("share", path, "--policy", "ltrf", *words, "--json"))
        return [found["steps"][-1][name]["accumulated"] for name in "ab"]

    assert used() == [6, 6]
    assert used("--par") == [9, 3]


def test_advice_says_if_no_combination_keeps_to_a_bound(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    path = tmp_path / "day.yaml"
    path.write_text(answered("workload", "day", "--hours", "0.1", "--nodes", "2"))
    words = ("advise", path, "--seconds", "0.1", "--keep")

    assert "No combination keeps to all bounds" in answered(*words, "makespan_s<=1")
    assert "No combination keeps" not in answered(*words, "makespan_s>=1")


def test_a_value_that_the_log_of_a_history_lacks_is_in_the_answer():
    examples, logs = HOUSE / "examples", HOUSE / "tests" / "data" / "logs"
    words = (
        "whatif", "--history", logs / "rumen" / "wordcount.json", "--map", "*=root.nightly",
        "--config", examples / "queues" / "halves.xml", "--json",
    )  # fmt: skip

    for containers in (2, 7):
        found = json.loads(answered(*words, "--history-set", f"containers={containers}"))
        assert f"containers = {containers}: as asked for." in found["notes"]
