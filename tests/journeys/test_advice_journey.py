"""From a history to a scheduler: which combination is best, and running with it."""

import json
import os
import sys
from pathlib import Path

import pytest
from tests import warm_start

LOGS = Path(__file__).parents[1] / "data" / "logs"
JOB = (
    "version: 1\ncluster: {nodes: 2, node: {map_slots: 1, reduce_slots: 1}}\n"
    "jobs: [{id: a, run: {input: [in/*.txt], output: out, mapper: cat}}]\n"
)


def job_in(folder):
    """A job that `run` runs, in a folder."""
    (folder / "in").mkdir()
    (folder / "in" / "one.txt").write_text("a b\n")
    (folder / "job.yaml").write_text(JOB)


def sluice(folder, *arguments, typed=None):
    """A command in a folder, with a state folder of its own. typed: its standard input."""
    env = os.environ | {"SLUICE_HOME": str(folder / "home"), "COLUMNS": "80"}
    return warm_start.run(
        [sys.executable, "-m", "sluice", *arguments],
        cwd=folder, env=env, capture_output=True, text=True, check=False, input=typed,
    )  # fmt: skip


def done(folder, *arguments, typed=None):
    """The output of a command that succeeds: all lines of standard output, then those of errors."""
    found = sluice(folder, *arguments, typed=typed)
    assert found.returncode == 0, found.stderr
    return " ".join(found.stdout.split()), " ".join(found.stderr.split())


def test_from_a_day_to_a_run_with_the_advised_preset(tmp_path):
    day = sluice(tmp_path, "workload", "day", "--seed", "3", "--hours", "0.2", "--nodes", "2")
    (tmp_path / "day.yaml").write_text(day.stdout)
    advice = sluice(tmp_path, "advise", "day.yaml", "--seconds", "0.2", "--out", "best.yaml")
    assert advice.returncode == 0, advice.stderr
    assert advice.stdout.startswith("Run ")
    assert "The history:" in advice.stdout
    document = json.loads(
        sluice(tmp_path, "advise", "day.yaml", "--seconds", "0.2", "--json").stdout
    )
    assert {"preset", "features", "difference", "parts", "regret", "tried", "abstained"} <= set(
        document
    )
    job_in(tmp_path)
    run = sluice(tmp_path, "run", "job.yaml", "--preset", "auto", "--json")
    assert run.returncode == 0, run.stderr
    assert "preset auto (" in run.stderr
    assert "History: day.yaml." in run.stderr
    composition = json.loads(run.stdout)["composition"]
    digest = json.loads(run.stdout)["advice"]
    assert f"preset auto ({digest})." in run.stderr
    recorded, _ = done(tmp_path, "runs", "show", json.loads(run.stdout)["run_id"])
    assert f"advice {digest}" in recorded
    again = sluice(tmp_path, "run", "job.yaml", "--resume", "--json")
    assert json.loads(again.stdout)["advice"] == digest, "a later advice changes no run"
    done(tmp_path, "report", json.loads(run.stdout)["run_id"], "-o", "page.html")
    assert digest in (tmp_path / "page.html").read_text()
    same = sluice(tmp_path, "simulate", "day.yaml", "--preset", "best.yaml", "--json")
    auto = sluice(tmp_path, "simulate", "day.yaml", "--preset", "auto", "--json")
    assert json.loads(same.stdout)["digest"] == json.loads(auto.stdout)["digest"]
    assert json.loads(auto.stdout)["advice"] == digest
    assert "advice" not in json.loads(same.stdout)
    of_runs = sluice(tmp_path, "advise", "--all-runs", "--seconds", "0.2")
    assert of_runs.returncode == 0, of_runs.stderr
    assert of_runs.stdout.startswith("Run ")
    both = sluice(tmp_path, "advise", "day.yaml", "--all-runs")
    assert (both.returncode, both.stdout) == (2, "")
    for axis in ("order", "goals", "slots", "copies"):
        assert composition[axis] == document["preset"][axis]


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("sls", "22 jobs of 2 pools, 216 tasks"),
        ("spark", "8 jobs of 8 pools, 13,910 tasks"),
        ("spark/application_1516285256255_0012", "1 job of 1 pool, 20 tasks"),
    ],
)
def test_four_commands_from_a_log_to_a_run(tmp_path, log, said):
    """Each prints a sentence that says what it found; the log is named from another folder."""
    path = os.path.relpath(LOGS / log, tmp_path)
    stdout, stderr = done(tmp_path, "validate", "--from-log", path)
    wanted = f"{path} is a valid workload: {said}"
    assert "".join(stdout.split()).startswith("".join(wanted.split()))  # a long path is broken
    assert f"Next: sluice advise --from-log {path}" in stderr
    stdout, stderr = done(tmp_path, "advise", "--from-log", path, "--seconds", "0.2")
    assert stdout.startswith("Run fair: of ")
    assert "hardly a job waits" in stdout  # but for the driver, which comes first in Spark
    assert f"Next: sluice compare --from-log {path} --schedulers fair,auto" in stderr
    stdout, stderr = done(
        tmp_path, "compare", "--from-log", path, "--schedulers", "fair,auto", "--seeds", "1"
    )
    assert " auto " in stdout
    assert "preset auto (" in stderr
    job_in(tmp_path)
    _, stderr = done(tmp_path, "run", "job.yaml", "--preset", "auto")
    assert "Run fair: of " in stderr
    assert f"History: {path}." in stderr


def test_a_log_as_a_file_is_advised_on_from_a_pipe(tmp_path):
    done(tmp_path, "validate", "--from-log", str(LOGS / "sls"), "--out", "jobs.yaml")
    text = (tmp_path / "jobs.yaml").read_text()
    of_pipe, said = done(tmp_path, "advise", "-", "--seconds", "0.2", typed=text)
    assert "compare" not in said  # nothing can read the pipe again
    of_file, said = done(tmp_path, "advise", "jobs.yaml", "--seconds", "0.2")
    assert of_pipe == of_file
    assert "Next: sluice compare jobs.yaml --schedulers fair,auto" in said


def test_recommended_presets_and_advice_are_rows_of_a_comparison(tmp_path):
    day = sluice(tmp_path, "workload", "day", "--hours", "0.1", "--nodes", "2")
    (tmp_path / "day.yaml").write_text(day.stdout)
    roomy = "order=fair+goals=guarded+slots=lent+copies=late"
    found = json.loads(
        sluice(
            tmp_path, "compare", "day.yaml", "--schedulers", f"roomy,{roomy},roomy+copies=none",
            "--seeds", "1", "--json",
        ).stdout
    )["rows"]  # fmt: skip
    assert [row["scheduler"] for row in found] == ["roomy", roomy, "roomy+copies=none"]
    alike, same, other = (row["mean_response_s"] for row in found)
    assert alike == same != other
    ablated = json.loads(
        sluice(tmp_path, "compare", "day.yaml", "--ablate", "contended", "--json").stdout
    )["rows"]
    assert len(ablated) == 4
    missing = sluice(tmp_path, "compare", "day.yaml", "--schedulers", "fair,auto")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "sluice advise FILE" in missing.stderr


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
    for name in ("roomy", "busy", "contended"):
        done = sluice(tmp_path, "simulate", "day.yaml", "--preset", name, "--json")
        assert done.returncode == 0, done.stderr
        found[name] = json.loads(done.stdout)["composition"]
    assert found["roomy"]["slots"] == found["busy"]["slots"] == "lent"
    assert [found[name]["admission"] for name in found] == ["all", "capacity", "all"]
    assert found["contended"]["slots"] == "resources"
    assert {one["goals"] for one in found.values()} == {"guarded"}
    rented = sluice(tmp_path, "simulate", "day.yaml", "--preset", "rented")
    assert rented.returncode == 0
    assert "no node has a VM type" in rented.stderr
    unknown = sluice(tmp_path, "simulate", "day.yaml", "--preset", "rommy")
    assert "roomy" in unknown.stderr
