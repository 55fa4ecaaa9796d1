"""From a history to a scheduler: which combination is best, and running with it."""

import json
import os
import subprocess
import sys


def sluice(folder, *arguments):
    """A command in a folder, with a state folder of its own."""
    env = os.environ | {"SLUICE_HOME": str(folder / "home"), "COLUMNS": "80"}
    return subprocess.run(
        [sys.executable, "-m", "sluice", *arguments],
        cwd=folder, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_from_a_day_to_a_run_with_the_advised_preset(tmp_path):
    day = sluice(tmp_path, "workload", "day", "--seed", "3", "--hours", "0.2", "--nodes", "2")
    (tmp_path / "day.yaml").write_text(day.stdout)
    advice = sluice(tmp_path, "advise", "day.yaml", "--seconds", "1", "--out", "best.yaml")
    assert advice.returncode == 0, advice.stderr
    assert advice.stdout.startswith("Run ")
    assert "The history:" in advice.stdout
    document = json.loads(sluice(tmp_path, "advise", "day.yaml", "--seconds", "1", "--json").stdout)
    assert {"preset", "features", "difference", "parts", "regret", "tried", "abstained"} <= set(
        document
    )
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.txt").write_text("a b\n")
    (tmp_path / "job.yaml").write_text(
        "version: 1\ncluster: {nodes: 2, node: {map_slots: 1, reduce_slots: 1}}\n"
        "jobs: [{id: a, run: {input: [in/*.txt], output: out, mapper: cat}}]\n"
    )
    run = sluice(tmp_path, "run", "job.yaml", "--preset", "auto", "--json")
    assert run.returncode == 0, run.stderr
    assert "preset auto (" in run.stderr
    assert "History: day.yaml." in run.stderr
    composition = json.loads(run.stdout)["composition"]
    of_runs = sluice(tmp_path, "advise", "--all-runs", "--seconds", "1")
    assert of_runs.returncode == 0, of_runs.stderr
    assert of_runs.stdout.startswith("Run ")
    both = sluice(tmp_path, "advise", "day.yaml", "--all-runs")
    assert (both.returncode, both.stdout) == (2, "")
    for axis in ("order", "goals", "slots", "copies"):
        assert composition[axis] == document["preset"][axis]
    sluice(tmp_path, "advise", "day.yaml", "--seconds", "1")
    same = sluice(tmp_path, "simulate", "day.yaml", "--preset", "best.yaml", "--json")
    auto = sluice(tmp_path, "simulate", "day.yaml", "--preset", "auto", "--json")
    assert json.loads(same.stdout)["digest"] == json.loads(auto.stdout)["digest"]


def test_without_advice_auto_says_how_to_get_it(tmp_path):
    (tmp_path / "w.yaml").write_text(
        "{version: 1, cluster: {containers: 1}, jobs: [{id: a, maps: {tasks: 1, avg_s: 1}}]}"
    )
    found = sluice(tmp_path, "simulate", "w.yaml", "--preset", "auto")
    assert (found.returncode, found.stdout) == (2, "")
    assert "sluice advise" in found.stderr


def test_the_recommended_presets_have_names(tmp_path):
    day = sluice(tmp_path, "workload", "day", "--hours", "0.1", "--nodes", "2")
    (tmp_path / "day.yaml").write_text(day.stdout)
    found = {}
    for name in ("roomy", "contended"):
        done = sluice(tmp_path, "simulate", "day.yaml", "--preset", name, "--json")
        assert done.returncode == 0, done.stderr
        found[name] = json.loads(done.stdout)["composition"]
    assert found["roomy"]["slots"] == "lent"
    assert found["contended"]["slots"] == "resources"
    assert {one["goals"] for one in found.values()} == {"guarded"}
    rented = sluice(tmp_path, "simulate", "day.yaml", "--preset", "rented")
    assert rented.returncode == 0
    assert "no node has a VM type" in rented.stderr
    unknown = sluice(tmp_path, "simulate", "day.yaml", "--preset", "rommy")
    assert "roomy" in unknown.stderr
