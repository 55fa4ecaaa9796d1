"""A log, or queues of another scheduler, given where a workload or a table is expected."""

from pathlib import Path

import pytest
from tests.cli.terminal import sluice

LOGS = Path(__file__).resolve().parents[1] / "data" / "logs"
QUEUES = Path(__file__).resolve().parents[2] / "examples" / "queues"


@pytest.mark.parametrize("verb", ["simulate", "validate", "plan", "order"])
@pytest.mark.parametrize(
    ("log", "name"),
    [
        ("sacct/week.txt", "sacct"),
        ("spark/linelen_rdd-50MB-local2.jsonl.gz", "spark"),
        ("ray/timeline.json", "ray"),  # a JSON list, as a table may be
        ("batsim/example_workload_hpc_seed1_jobs250.json", "batsim"),
    ],
)
def test_a_log_in_place_of_a_workload_is_named(verb, log, name):
    answer = sluice(verb, str(LOGS / log))

    assert (answer.code, answer.out) == (2, "")
    assert f"{log}: it is a log of {name}. Give it by --from-log" in answer.err


KUEUE = """\
kind: ClusterQueue
metadata: {name: all}
spec:
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 10}]}]
"""


@pytest.mark.parametrize("name", ["capacity-scheduler.xml", "queue.yaml"])
def test_queues_in_place_of_a_workload_are_named(tmp_path, name):
    (tmp_path / name).write_text(KUEUE if name == "queue.yaml" else (QUEUES / name).read_text())

    answer = sluice("simulate", str(tmp_path / name))

    assert (answer.code, answer.out) == (2, "")
    what = "it has the queues of a scheduler, and no jobs. Give it by --config"
    assert f"{name}: {what}" in answer.err


@pytest.mark.parametrize("command", [["import"], ["explain"], ["advise", "--from-log"]])
def test_queues_in_place_of_a_log_are_named(tmp_path, command):
    (tmp_path / "yarn.xml").write_text((QUEUES / "capacity-scheduler.xml").read_text())

    answer = sluice(*command, str(tmp_path / "yarn.xml"))

    assert (answer.code, answer.out) == (2, "")
    assert "yarn.xml: it has the queues of a scheduler, and no jobs. Give it by" in answer.err


def test_a_job_of_slurm_is_chosen_by_the_number_that_slurm_prints():
    log = str(LOGS / "sacct" / "week.txt")

    hint = sluice("explain", log).err
    number = hint.partition("Choose one by --job: ")[2].partition(",")[0]

    assert number.isdigit(), hint
    assert "does not list single tasks" in sluice("explain", log, "--job", number).err


def test_a_workload_with_a_mistake_is_no_log(tmp_path):
    (tmp_path / "jobs.yaml").write_text("version: 1\njobs: [{id: a, maps: {tasks: 0, avg_s: 1}}]\n")

    answer = sluice("simulate", str(tmp_path / "jobs.yaml"))

    assert "it is a log" not in answer.err
    assert "this job has no task" in answer.err
