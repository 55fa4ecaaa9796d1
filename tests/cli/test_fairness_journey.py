"""A user's way: import a month, compare four rules, read the ledger, choose one, run under it."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from tests.cli.terminal import result_of, sluice_process
from tests.month_of_history import BEGAN_S, DAY_S, write_month

PAGE = Path(__file__).parents[2] / "docs" / "sharing.md"
TITLE = "## From last month's history to a rule\n"
RULES = ["mlrf", "ltrf", "karma", "decay"]
WEEK_S = 7 * DAY_S


def blocks(kind):
    """The fenced blocks of a kind in the section of the page."""
    section = PAGE.read_text().partition(TITLE)[2].partition("\n## ")[0]
    return re.findall(rf"^```{kind}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def commands(block):
    """The words of each command of a block, without `sluice`."""
    lines = block.replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.slow
def test_from_a_month_of_history_to_a_run_and_its_ledger(tmp_path):
    """The commands of the page, each as a process, in a folder of its own."""
    env = {"SLUICE_HOME": str(tmp_path / "home"), "PYTHONPATH": ":".join(sys.path)}
    (before, after), (jobs,) = map(commands, blocks("sh")), blocks("yaml")

    def answer(words):
        found = sluice_process(*words, env=env, cwd=tmp_path)
        assert found.code == 0, found
        return found

    def document(words):
        return json.loads(answer([*words, *([] if "--json" in words else ["--json"])]).out)

    month = write_month(tmp_path / "history", seed=7)
    imported, compared, of_one = map(document, before)
    assert month == tuple(sum(one[what] for one in imported["files"]) for what in ("new", "tasks"))
    assert list(compared["ledgers"]) == RULES
    for ledger in compared["ledgers"].values():
        assert {"etl": 2.0, "ads": 2.0, "adhoc": 1.0} == {
            name: row["share"] for name, row in ledger["tenants"].items()
        }
        assert ledger["periods"][-1]["ended_at_s"] > 29 * DAY_S
        assert [WEEK_S, 2 * WEEK_S] == [one["ended_at_s"] for one in ledger["periods"][:2]]
    assert of_one["periods"] == compared["ledgers"]["ltrf"]["periods"]

    def owed_to_ads(rule):
        return compared["ledgers"][rule]["periods"][1]["tenants"]["ads"]["owed"]

    chosen = min(RULES, key=owed_to_ads)
    assert owed_to_ads(chosen) < owed_to_ads("mlrf") / 2 == max(map(owed_to_ads, RULES)) / 2
    run, read, read_all = after
    assert [chosen] == run[-1:], "the page chooses as the ledger says"

    (tmp_path / "jobs.yaml").write_text(jobs)
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"part-{number}").write_text("a b\nb c\n")
    ran = document(run)
    assert {"done"} == {job["state"] for job in ran["jobs"].values()}

    ledger = document(read)
    assert (chosen, {"etl", "ads", "adhoc"}) == (ledger["scheduler"], set(ledger["tenants"]))
    assert ledger["tenants"]["etl"]["share"] == pytest.approx(0.8)
    assert ledger["tenants"]["ads"]["cpu_s"] > 0
    assert "owed" in answer(read).out
    run_id = json.loads(answer(["runs", "--json"]).out)["runs"][-1]["id"]
    assert result_of(ledger) == result_of(document(["fairness", run_id]))
    assert result_of(ledger)["tenants"] == result_of(document(read_all))["tenants"]


def test_the_month_is_the_same_for_a_seed_and_spans_four_weeks(tmp_path):
    written = [write_month(tmp_path / name, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))]
    texts = [
        [path.read_text() for path in sorted((tmp_path / name).iterdir())] for name in ("a", "b")
    ]

    assert written[0] == written[1] != written[2]
    assert texts[0] == texts[1]
    submitted = [json.loads(text.splitlines()[1])["event"] for text in texts[0]]
    times = [next(iter(one.values()))["submitTime"] / 1000 - BEGAN_S for one in submitted]
    assert min(times) < DAY_S
    assert max(times) > 4 * WEEK_S
