"""`sluice fairness` and `compare --ledger`: figures that agree with each other, and refusals."""

import json
from pathlib import Path

import pytest
from tests.cli.terminal import result_of, sluice

import sluice as package

TENANTS = str(Path(__file__).parents[2] / "examples" / "tenants.yaml")
LOG = str(Path(__file__).parents[1] / "data" / "logs" / "jhist")


def document(*words):
    answer = sluice(*words, "--json")
    assert (0, 1) == (answer.code, answer.out.count("\n")), answer
    return json.loads(answer.out, parse_constant=pytest.fail)


def test_the_ledger_of_a_simulation_adds_up():
    found = document("fairness", "--file", TENANTS, "--tasks", "ltrf", "--period-s", "300")

    assert {"etl": 2.0, "ads": 2.0, "adhoc": 2.0} == {
        name: row["share"] for name, row in found["tenants"].items()
    }
    assert [7200, 1800, 1200] == [row["used"] for row in found["tenants"].values()]
    assert 0 == pytest.approx(sum(row["owed"] for row in found["tenants"].values()), abs=1e-6)
    assert 6 == len(found["periods"])
    assert [0, 300] == [period["started_at_s"] for period in found["periods"][:2]]
    assert 4 == len(found["lorenz"])
    used = [period["tenants"]["etl"]["used"] for period in found["periods"]]
    assert 7200 == pytest.approx(sum(used))


def test_python_gives_the_same_document():
    by_words = document("fairness", "--file", TENANTS, "--tasks", "mlrf")

    assert result_of(by_words) == package.fairness(source=TENANTS, tasks="mlrf").document()


def test_rules_are_compared_on_one_history():
    found = document(
        "compare", TENANTS, "--schedulers", "mlrf,ltrf,karma,decay", "--seeds", "1", "--ledger"
    )  # fmt: skip

    assert ["mlrf", "ltrf", "karma", "decay"] == list(found["ledgers"])
    lent = {name: one["tenants"]["ads"]["lent"] for name, one in found["ledgers"].items()}
    assert lent["ltrf"] > lent["mlrf"]
    single = document("fairness", "--file", TENANTS, "--tasks", "ltrf")
    assert result_of(single) == found["ledgers"]["ltrf"]


def test_people_get_tables_of_both():
    ledger = sluice("fairness", "--file", TENANTS, "--misreports")
    rules = sluice("compare", TENANTS, "--schedulers", "mlrf,ltrf", "--seeds", "1", "--ledger")

    for words in ("borrowed", "honest", "owed most"):
        assert words in ledger.out
    assert "worst loss" in rules.out
    assert (0, 0) == (ledger.code, rules.code)


def test_an_imported_history_has_a_ledger_under_each_rule():
    words = ("--from-log", LOG, "--schedulers", "mlrf,ltrf", "--seeds", "1", "--ledger")
    found = document("compare", *words)

    for ledger in found["ledgers"].values():
        assert sum(row["used"] for row in ledger["tenants"].values()) > 0


def test_a_chart_shows_debts_degrees_gains_and_the_lorenz_curve(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert 0 == sluice("fairness", "--file", TENANTS, "--plot", "ledger.json").code
    views = json.loads((tmp_path / "ledger.json").read_text())["vconcat"]
    assert ["Owed", "Fairness degree", "Benefit and loss", "Lorenz curve"] == [
        view["title"]["text"] for view in views
    ]
    found = document("fairness", "--file", TENANTS)
    drawn = [row["value"] for row in views[2]["data"]["values"]]
    assert drawn == [one[what] for one in found["periods"] for what in ("benefit", "loss")]
    lorenz = [row["value"] for row in views[3]["data"]["values"] if row["what"] == "tenants"]
    assert lorenz == found["lorenz"]


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (("no-such-run",), "no recorded run"),
        (("--file", TENANTS, "--period-s", "0"), "period_s"),
        (("--file", TENANTS, "--period-s", "0.01"), "periods"),
        (("--file", TENANTS, "--period-s", "soon"), "--period-s"),
        (("--tasks", "ltrf"), "--file"),
        (("--file", "missing.yaml"), "missing.yaml"),
    ],
)
def test_bad_input_is_refused(words, fragment, tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    answer = sluice("fairness", *words)

    assert (2, "") == (answer.code, answer.out)
    assert fragment in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["WRONG"], "fairness: there is no recorded run 'WRONG'"),
        ([], "fairness: no run is recorded yet"),
        (["WRONG", "--file", TENANTS], "RUN: it is given together with --file"),
    ],
)
def test_a_message_about_a_run_names_no_option_that_the_verb_lacks(words, said):
    answer = sluice("fairness", *words)

    assert (2, "") == (answer.code, answer.out)
    assert said in answer.err
    assert "--run" not in answer.err


SHORT = b"""
{version: 1, cluster: {nodes: 2, node: {containers: 2}}, pools: [{id: a}, {id: b}], jobs: [
 {id: x, pool: a, maps: {tasks: 6, avg_s: 0.2}}, {id: y, pool: b, maps: {tasks: 3, avg_s: 0.1}}]}
"""


def test_a_short_run_is_in_container_seconds():
    """In hours each amount would be less than a thousandth."""
    short = sluice("fairness", "--file", "-", "--tasks", "ltrf", stdin=SHORT)
    long = sluice("fairness", "--file", TENANTS, "--tasks", "ltrf")

    assert "container-seconds" in short.out
    assert "container-hours" not in short.out
    assert "1.2" in short.out
    assert "0.001" not in short.out
    assert "container-hours" in long.out
