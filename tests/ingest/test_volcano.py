"""Jobs of Volcano: pods, gangs and times, JSON and YAML, and what has not ended."""

import json
from datetime import UTC, datetime

import pytest
import yaml

from sluice.ingest.logs.formats import read_live_queue, read_log
from sluice.model.errors import InvalidInput

T0 = 1_767_600_000


def at(seconds):
    return datetime.fromtimestamp(T0 + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def job(name, created, phases, *replicas, least=None, queue="research"):
    """A job with the fields of v1alpha1. phases: with their instants; the last one holds now."""
    spec = {"queue": queue, "schedulerName": "volcano", "tasks": [
        {"name": f"t{n}", "replicas": count, "template": {}} for n, count in enumerate(replicas)
    ]}  # fmt: skip
    if least is not None:
        spec["minAvailable"] = least
    last, instant = phases[-1]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": at(created)},
        "spec": spec,
        "status": {
            "state": {"phase": last, "lastTransitionTime": at(instant)},
            "conditions": [{"status": one, "lastTransitionTime": at(when)} for one, when in phases],
        },
    }  # fmt: skip


ITEMS = [
    job("a", 0, [("Pending", 0), ("Running", 10), ("Completing", 108), ("Completed", 110)], 1, 5),
    job("b", 20, [("Pending", 21), ("Running", 30), ("Failed", 50)], 4, least=2, queue="prod"),
    job("c", 30, [("Running", 31), ("Restarting", 40), ("Running", 45), ("Completed", 95)], 2),
    job("d", 60, [("Pending", 60), ("Running", 70)], 3),
    job("e", 80, [("Pending", 80)], 7),
    job("f", 90, [("Pending", 90), ("Aborted", 99)], 7),
]


@pytest.fixture
def file(tmp_path):
    def of(items, name="jobs.json"):
        path = tmp_path / name
        document = {"apiVersion": "v1", "kind": "List", "items": items}
        text = json.dumps(document) if name.endswith(".json") else yaml.safe_dump(document)
        path.write_text(text)
        return path

    return of


@pytest.mark.parametrize("name", ["jobs.json", "jobs.yaml"])
def test_a_job_is_a_gang_from_when_it_ran_to_its_end(file, name):
    log = read_log(file(ITEMS, name))

    assert log.format == "volcano"
    assert {
        str(one.job_id): (one.tasks, one.gang, one.submitted_at_s, one.phases[0].lengths.avg_s(1))
        for one in log.workload.jobs
    } == {"ml/a": (6, 6, 0, 100), "ml/b": (4, 0, 20, 20), "ml/c": (2, 2, 30, 50)}
    assert [run.succeeded for run in log.runs] == [True, False, True]
    assert {str(one.pool) for one in log.workload.jobs} == {"research", "prod"}
    assert log.skipped_count == 3
    assert "ml/f never ran" in " ".join(one.why for one in log.skipped)


def test_a_queue_is_what_runs_and_what_waits(file):
    queue, _ = read_live_queue(file(ITEMS))

    assert [(one.job_id, one.slots, one.ran_s) for one in queue.jobs] == [
        ("ml/d", 3, 40.0), ("ml/e", 7, None),
    ]  # fmt: skip
    assert queue.as_of == at(110)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "Queue"}, {"metadata": {}}, {"spec": {"tasks": []}}, {"status": None},
        {"spec": {"tasks": [{"replicas": "many"}]}}, {"metadata": None},
    ],
)  # fmt: skip
def test_what_is_not_a_job_that_ran_is_skipped_or_refused(file, wrong):
    assert len(read_log(file([ITEMS[0], ITEMS[2] | wrong]), "volcano").runs) == 1
    with pytest.raises(InvalidInput, match="no job that ran and ended"):
        read_log(file([ITEMS[0] | wrong]), "volcano")
