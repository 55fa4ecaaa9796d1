"""`ray list tasks --detail`: attempts, failures, JSON and YAML."""

import json

import pytest
import yaml

from sluice.ingest.logs.formats import read_log
from sluice.model.errors import InvalidInput

T0 = 1_767_600_000_000


def task(number, function, start, end, *, attempt=0, state="FINISHED", kind="NORMAL_TASK"):
    """One attempt with the fields of Ray's TaskState. Instants: milliseconds after T0, or None."""
    return {
        "task_id": f"{number:040x}01000000", "attempt_number": attempt, "name": function,
        "state": state, "job_id": "01000000", "actor_id": None, "type": kind,
        "func_or_class_name": function, "parent_task_id": "ff" * 24, "node_id": "6a" * 28,
        "worker_id": "7b" * 28, "worker_pid": 4242, "error_type": None, "language": "PYTHON",
        "required_resources": {"CPU": 1.0}, "placement_group_id": None,
        "creation_time_ms": T0, "start_time_ms": None if start is None else T0 + start,
        "end_time_ms": None if end is None else T0 + end, "error_message": None,
    }  # fmt: skip


TASKS = [
    task(0, "main", 0, 9_000, kind="DRIVER_TASK"),
    task(1, "read", 1_000, 3_000), task(2, "read", 1_000, 4_000),
    task(3, "train", 4_000, 5_000, state="FAILED"), task(3, "train", 5_500, 8_500, attempt=1),
    task(4, "train", 4_000, 4_500, state="FAILED"),
    task(5, "train", None, None, state="PENDING_NODE_ASSIGNMENT"),
]  # fmt: skip


@pytest.fixture
def file(tmp_path):
    def of(tasks, name="tasks.json"):
        path = tmp_path / name
        path.write_text(json.dumps(tasks) if name.endswith(".json") else yaml.safe_dump(tasks))
        return path

    return of


@pytest.mark.parametrize("name", ["tasks.json", "tasks.yaml"])
def test_a_function_is_a_stage_of_the_tasks_that_ended_well(file, name):
    log = read_log(file(TASKS, name))
    (run,) = log.runs

    assert log.format == "ray"
    assert [(one.name, one.tasks, one.avg_s, one.failed) for one in run.phases] == [
        ("read", 2, 2.5, 0), ("train", 1, 3.0, 2),
    ]  # fmt: skip
    assert (run.elapsed_s, run.submitted_at_s) == (7.5, T0 / 1000 + 1)
    assert {one.why.split()[-1] for one in log.skipped} == {"driver", "end"}


def test_a_list_without_detail_says_what_to_ask_for(file):
    short = [{key: one[key] for key in one if not key.endswith("_ms")} for one in TASKS]
    with pytest.raises(InvalidInput, match="ray list tasks --detail"):
        read_log(file(short))
