"""A user's way: import history, compare four rules, read the ledger, choose one, run under it."""

import json
import sys
from pathlib import Path

import pytest
from tests.cli.terminal import result_of, sluice_process

DATA = Path(__file__).parents[1] / "data" / "logs" / "jhist"
RULES = "mlrf,ltrf,karma,decay"


@pytest.mark.slow
def test_from_imported_history_to_a_run_and_its_ledger(tmp_path):
    """Each command as a process, in a folder of its own, with relative paths and piped output."""
    env = {"SLUICE_HOME": str(tmp_path / "home"), "PYTHONPATH": ":".join(sys.path)}

    def answer(*words):
        found = sluice_process(*words, env=env, cwd=tmp_path)
        assert found.code == 0, found
        return found

    (tmp_path / "history").symlink_to(DATA)
    assert json.loads(answer("import", "history", "--json").out)["files"]
    words = ("compare", "--from-log", "history", "--schedulers", RULES, "--seeds", "1", "--ledger")
    compared = json.loads(answer(*words, "--json").out)
    assert RULES.split(",") == list(compared["ledgers"])
    table = answer(*words).out
    assert "worst loss" in table
    chosen = max(compared["ledgers"], key=lambda rule: compared["ledgers"][rule]["loss"])

    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"part-{number}").write_text("a b\nb c\n")
    jobs = [
        {
            "id": name,
            "pool": name,
            "run": {"input": ["in/*"], "output": f"out/{name}", "mapper": "cat"},
        }
        for name in ("etl", "ads")
    ]
    load = {
        "version": 1,
        "cluster": {"containers": 2},
        "queues": [{"id": "etl", "weight": 2}, {"id": "ads"}],
        "jobs": jobs,
    }
    (tmp_path / "jobs.json").write_text(json.dumps(load))
    ran = json.loads(answer("run", "jobs.json", "--tasks", chosen, "--json").out)
    assert {"done"} == {job["state"] for job in ran["jobs"].values()}

    ledger = json.loads(answer("fairness", "--json").out)
    assert (chosen, {"etl", "ads"}) == (ledger["scheduler"], set(ledger["tenants"]))
    assert ledger["tenants"]["etl"]["share"] == pytest.approx(4 / 3)
    run_id = json.loads(answer("runs", "--json").out)["runs"][-1]["id"]
    again = json.loads(answer("fairness", run_id, "--json").out)
    assert result_of(ledger) == result_of(again)
    assert "owed" in answer("fairness").out
