"""`sluice quote` on lists of a queue, in JSON and in YAML."""

import json
import subprocess
import sys

import pytest
from tests.cli.terminal import sluice


def workload(name, created, *conditions):
    """A Workload of two pods. conditions: their types and instants."""
    return {
        "kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta1",
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": created},
        "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": 2}]},
        "status": {"conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": at} for kind, at in conditions
        ]},
    }  # fmt: skip


def test_a_queue_may_be_yaml(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    at = "2026-03-01T10:0{}:00Z".format
    items = [
        workload("done", at(0), ("Admitted", at(0)), ("Finished", at(5))),
        workload("runs", at(5), ("Admitted", at(5))),
    ]
    text = json.dumps({"items": items}, indent=1)  # JSON is YAML, too
    for name in ("queue.yaml", "queue.json"):
        (tmp_path / name).write_text(text)
    (tmp_path / "job.yaml").write_text(
        "version: 1\njobs: [{id: mine, maps: {tasks: 2, avg_s: 60}}]"
    )

    answers = [
        sluice("quote", "job.yaml", "--queue", name, "--history", name, "--json")
        for name in ("queue.yaml", "queue.json")
    ]

    assert [one.code for one in answers] == [0, 0], answers[0].err
    first, second = (json.loads(one.out) for one in answers)
    assert first["starts_in_s"] == second["starts_in_s"]
    # The one that ran took 300 s, and what is unknown of a queue makes waits longer more often.
    assert 300 <= first["starts_in_s"]["expected"] == pytest.approx(300, rel=0.1)


def test_a_listed_queue_needs_no_module_of_the_service():
    """They take a quarter of the second in which a quote of 10,000 jobs is made."""
    code = "import sys, sluice; sluice.quote, sluice.eta; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )

    assert "sluice.api.eta" in done.stdout.split()
    assert not [name for name in done.stdout.split() if name.startswith("sluice.api.service")]
