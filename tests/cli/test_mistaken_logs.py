"""A log that is given where a workload or a table is expected."""

from pathlib import Path

import pytest
from tests.cli.terminal import sluice

LOGS = Path(__file__).resolve().parents[1] / "data" / "logs"


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


def test_a_workload_with_a_mistake_is_no_log(tmp_path):
    (tmp_path / "jobs.yaml").write_text("version: 1\njobs: [{id: a, maps: {tasks: 0, avg_s: 1}}]\n")

    answer = sluice("simulate", str(tmp_path / "jobs.yaml"))

    assert "it is a log" not in answer.err
    assert "this job has no task" in answer.err
