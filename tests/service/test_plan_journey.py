"""From a workload with a budget to a better plan, in a terminal, with a service between.

A user guesses lengths, looks at the plans under a budget, picks one, serves its queues, submits its
jobs, and plans again from what they took.
"""

import os
import pty
import re
import sys

import pytest
import yaml
from tests import warm_start
from tests.service.services import TEXT, serving

GUESSED_S, SLEPT_S = 12, 0.6
TASKS = {"counts": 6, "sums": 3}
FILE = """version: 1
cluster:
  nodes: 3
  node: {{map_slots: 3, reduce_slots: 1}}
  map_slots_per_vm: 3
  reduce_slots_per_vm: 1
prices: {{vm_hour_usd: 3.6}}
limits: {{budget_usd_min: 0.001, budget_usd_max: {budget_usd}, vms_max: 3}}
jobs:
  - id: counts
    {lengths[0]}
    run: {{input: [counts/*.txt], output: 'out/{{job_id}}', mapper: sh -c 'sleep {slept_s}; cat'}}
  - id: sums
    {lengths[1]}
    run: {{input: [sums/*.txt], output: 'out/{{job_id}}', mapper: sh -c 'sleep {slept_s}; cat'}}
"""


class Terminal:
    """A terminal of 100 columns in the folder of a service."""

    def __init__(self, folder):
        self.folder = folder
        self.env = os.environ | {
            "SLUICE_HOME": str(folder / "home"), "COLUMNS": "100", "TERM": "xterm",
        }  # fmt: skip

    def type(self, *words):
        """Run a command; its exit code, and what the user reads, without colours."""
        ours, its = pty.openpty()
        process = warm_start.Popen(
            [sys.executable, "-m", "sluice", *words],
            cwd=self.folder, env=self.env, stdin=its, stdout=its, stderr=its,
        )  # fmt: skip
        os.close(its)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux: the other end is closed
                break
            if not part:
                break
            shown += part
        os.close(ours)
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r", "")
        return process.wait(), text


def seconds(text):
    """The makespan of the plan that is named first."""
    found = re.search(r"Plan \d+ ends in ([\d.]+) s", text)
    assert found, text
    return float(found[1])


def workload(lengths, budget_usd):
    return FILE.format(lengths=lengths, budget_usd=budget_usd, slept_s=SLEPT_S)


@pytest.mark.slow
def test_a_plan_is_picked_put_to_work_and_the_next_is_better(tmp_path):
    terminal = Terminal(tmp_path)
    for name, tasks in TASKS.items():
        (tmp_path / name).mkdir()
        for number in range(tasks):
            (tmp_path / name / f"{number}.txt").write_bytes(TEXT)
    guesses = [
        f"maps: {{tasks: {tasks}, avg_s: {GUESSED_S}, max_s: {GUESSED_S}}}"
        for tasks in TASKS.values()
    ]
    (tmp_path / "nightly.yaml").write_text(workload(guesses, 1.0))

    code, shown = terminal.type("plan", "nightly.yaml")
    assert code == 0, shown
    assert "2 Pareto-optimal plans" in shown
    guessed_s = seconds(shown)
    assert guessed_s >= GUESSED_S

    code, shown = terminal.type("plan", "nightly.yaml", "--choose", "2")
    assert (code, "nightly-plan-2.yaml" in shown) == (0, True), shown
    chosen = yaml.safe_load((tmp_path / "nightly-plan-2.yaml").read_text())
    assert [pool["id"] for pool in chosen["pools"]] == ["counts", "sums"]

    queues = {key: chosen[key] for key in ("version", "cluster", "prices", "pools")}
    config = yaml.safe_dump(queues | {"scheduler": {"tasks": "fair"}})
    with serving(tmp_path, "--config", "serve.yaml", "--listen", "none", config=config) as service:
        code, shown = terminal.type("submit", "nightly-plan-2.yaml", "--wait")
        assert code == 0, shown
        assert shown.count("accepted and ends at") == 2
        assert shown.count(" done at ") == 2
        rows = service.settled()
        assert {row["queue"] for row in rows.values()} == {"counts", "sums"}
        for job_id, row in rows.items():
            assert service.output(job_id) == TEXT * TASKS[row["name"]], row

        code, shown = terminal.type("profiles")
        assert code == 0, shown
        assert "counts" in shown
        assert "sums" in shown

        (tmp_path / "next.yaml").write_text(workload(["profile: counts", "profile: sums"], 1.0))
        code, shown = terminal.type("plan", "next.yaml")
        assert code == 0, shown
        assert SLEPT_S <= seconds(shown) < guessed_s / 2
