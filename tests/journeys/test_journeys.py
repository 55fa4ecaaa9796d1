"""From files to an answer by the commands of a page: docs/journeys, one page for each kind of user.

`tests/test_documents.py` checks that each command prints what its page shows. Here the same
commands are run for programs, and their figures must agree with each other from step to step.
"""

import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from tests import warm_start
from tests.test_documents import COMMAND, HOUSE, blocks

PAGES = HOUSE / "docs" / "journeys"
pytestmark = [pytest.mark.no_invariants, pytest.mark.slow]


@pytest.fixture
def checkout(tmp_path):
    """The files that the pages name, in a folder with a blank and a state folder of its own."""
    folder = tmp_path / "a checkout"
    for name in ("examples", "docs"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(HOUSE / name, folder / name, ignore=ignored)
    return folder


class Walk:
    """Runs the commands of a page, one after the other, each as a process of its own."""

    def __init__(self, page, checkout):
        self.commands = [one["words"] for one in COMMAND.finditer(blocks(PAGES / page, "console"))]
        self._checkout = checkout

    def step(self, number, *more, code=0):
        """The document of a command of the page, with --json."""
        return json.loads(self.run(self.commands[number], *more, "--json", code=code))

    def run(self, words, *more, code=0):
        """Return what a command prints."""
        home = {"SLUICE_HOME": str(self._checkout.parent / "home"), "COLUMNS": "80"}
        answer = warm_start.run(
            [sys.executable, "-m", "sluice", *shlex.split(words), *more],
            cwd=self._checkout, env=os.environ | home, capture_output=True, check=False, text=True,
        )  # fmt: skip
        assert answer.returncode == code, (words, answer.stderr)
        return answer.stdout


def verbs(commands):
    return [words.split()[0] for words in commands]


def test_a_data_engineer_goes_from_logs_to_a_plan(checkout):
    """Logs -> predict -> size -> plan: the jobs, their times and the VMs agree."""
    walk = Walk("data-engineer.md", checkout)
    assert verbs(walk.commands) == ["import", "predict", "predict", "size", "plan", "simulate"]

    imported = walk.step(0)["files"]
    predicted = walk.step(1)["jobs"]
    runs = sum(one["jobs"] for one in imported)
    assert len(imported) == len(list((checkout / "examples" / "nightly").iterdir())) == runs
    assert 0.9 * runs <= sum(job["runs"] for job in predicted.values()) <= runs, "but outliers"
    for job in predicted.values():
        assert job["low_s"] < job["predicted_s"] < job["high_s"]
        assert 10 < job["overhead_s"] < 30

    (wider,) = walk.step(2)["jobs"].values()
    assert (wider["slots"], wider["cost_usd"] > 0) == (16, True)
    assert wider["predicted_s"] < predicted["sessions"]["predicted_s"]

    size = walk.step(3)
    smaller = [one for one in size["curve"] if one["nodes"] < size["nodes"]]
    assert 0.95 <= size["probability"] <= size["high"]
    assert all(one["probability"] < 0.95 for one in smaller)
    longest_s = max(job["predicted_s"] for job in predicted.values())
    assert longest_s < next(one["span_s"] for one in size["curve"] if one["nodes"] == size["nodes"])

    number = int(re.search(r"--choose (\d+)", walk.commands[4])[1])
    plan = walk.step(4)["plans"][number - 1]
    assert set(plan["jobs"]) == set(predicted)
    for name, job in plan["jobs"].items():
        assert job["low_s"] < job["high_s"]
        assert job["time_s"] > predicted[name]["overhead_s"], "start-up and commit are paid, too"
    simulated = walk.step(5)["jobs"]
    assert all(job["state"] == "done" for job in simulated.values())
    for name, job in simulated.items():
        took_s = job["finished_at_s"] - job["submitted_at_s"]
        assert took_s == pytest.approx(plan["jobs"][name]["time_s"], rel=0.35)


def test_an_administrator_goes_from_logs_and_a_file_to_a_better_file(checkout):
    """Logs + XML -> whatif -> export -> diff -> read back."""
    walk = Walk("admin.md", checkout)
    assert verbs(walk.commands) == ["whatif"] * 3

    changed = walk.step(0)
    science = changed["queues"]["root.science"]
    assert changed["winners"] == ["root.science"]
    assert science["difference"]["wait_s_p95"]["high"] < 0
    assert science["new"]["wait_s"]["p95"] < science["old"]["wait_s"]["p95"]
    assert "+root.science.capacity = 30" in changed["diff"]
    assert any("acl_submit" in key for key in changed["unknown_keys"])
    assert "Roll back" in (checkout / "new.xml").read_text()

    suggested = walk.step(1)
    assert suggested["suggestion"]["met"]
    assert suggested["suggestion"]["value"] < 30
    assert (checkout / "suggested.xml").exists()

    same = walk.step(2)
    assert same["winners"] == same["losers"] == []
    for queue, before in changed["queues"].items():
        assert same["queues"][queue]["new"]["wait_s"] == before["new"]["wait_s"], "as simulated"


def test_a_researcher_goes_from_a_policy_to_intervals_and_published_figures(checkout):
    """Own policy file -> compare with intervals -> reproduce; the same seeds, the same bytes."""
    walk = Walk("researcher.md", checkout)
    assert verbs(walk.commands) == ["simulate", "compare", "why", "reproduce"]

    alone = walk.step(0)
    rows = {row["scheduler"]: row for row in walk.step(1)["rows"]}
    assert alone["states"] == {"done": 4}
    difference = rows["shortest-remaining"]["difference"]
    assert "difference" not in rows["fair"]
    assert difference["total_response_s"]["high"] < 0 < difference["makespan_s"]["low"]
    assert rows["shortest-remaining"]["total_response_s"] < rows["fair"]["total_response_s"]
    assert "load" in walk.run(walk.commands[2])

    (table,) = walk.step(3)["experiments"]
    assert table["rows"]
    assert all(row["paper"] == row["ours"] for row in table["rows"])
    assert walk.run(walk.commands[1], "--json") == walk.run(walk.commands[1], "--json")


def test_a_python_user_goes_from_functions_to_the_next_run(checkout):
    """Functions -> run -> explain -> simulate, at a terminal; the page does it in Python."""
    page = (PAGES / "python-user.md").read_text()
    for function in ("sluice.run(", "sluice.explain(", "sluice.simulate(", "sluice.predict("):
        assert function in page
    walk = Walk("python-user.md", checkout)
    functions = re.search(r'code = """\n(.*?)\.\.\. """', page, re.DOTALL)[1]
    jobs = re.search(r'jobs = """\n(.*?)\.\.\. """', page, re.DOTALL)[1]
    text = Path(HOUSE / "LICENSE").read_text()
    (checkout / "text").mkdir()
    for number in range(4):
        (checkout / "text" / f"{number}.txt").write_text(text)
    for name, block in (("words.py", functions), ("jobs.yaml", jobs)):
        lines = [line.removeprefix("... ").removeprefix("...") for line in block.splitlines()]
        (checkout / name).write_text("\n".join([*lines, ""]))

    ran = json.loads(walk.run("run jobs.yaml --json"))
    output = Path(ran["outputs"]["words"])
    counts = dict(line.split("\t") for line in (output / "part-00000").read_text().splitlines())
    assert output == checkout / "out" / ran["run_id"]
    assert sum(map(int, counts.values())) == 4 * len(text.split())

    explained = json.loads(walk.run("explain words --json"))
    simulated = json.loads(walk.run("simulate jobs.yaml --json"))["jobs"]["words"]
    assert explained["recorded_s"] > sum(step["s"] for step in explained["critical_path"]) * 0.99
    assert simulated["tasks"] == 5
    assert simulated["finished_at_s"] == pytest.approx(explained["recorded_s"], rel=0.01)
    plain = walk.run("run words.py text --output counted")
    assert "words" in plain
    again = (checkout / "counted" / "part-00000").read_text()
    assert again == (output / "part-00000").read_text()
