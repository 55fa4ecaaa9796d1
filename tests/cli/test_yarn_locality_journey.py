"""A user asks what YARN's locality delay is worth on a cluster with racks."""

import json
import shutil
from collections import Counter
from pathlib import Path

from tests.cli.terminal import sluice

QUEUES = Path(__file__).resolve().parents[2] / "examples/queues"
FAIR = '<allocations><queue name="nightly"><weight>1</weight></queue></allocations>'
WORKLOAD = """
version: 1
cluster: {nodes: 12, racks: 3, node: {containers: 3}}
pools: [{id: root.nightly}]
jobs: [{id: scan, pool: root.nightly, maps: {tasks: 120, avg_s: 8}}]
settings: {replicas: 1}
"""


def ran(*settings, queues="capacity-scheduler.xml"):
    """Tasks by their distance from their input."""
    words = [word for one in settings for word in ("--set", f"yarn.{one}")]
    shown = sluice(
        "simulate", "w.yaml", "--tasks", "yarn", "--config", queues, "--trace", "t.jsonl", *words
    )
    assert shown.code == 0, shown.err
    rows = [json.loads(row) for row in Path("t.jsonl").read_text().splitlines()]
    return Counter(row["locality"] for row in rows)


def test_a_longer_wait_brings_more_tasks_to_their_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(QUEUES / "capacity-scheduler.xml", tmp_path)
    Path("fair-scheduler.xml").write_text(FAIR)
    Path("w.yaml").write_text(WORKLOAD)

    usual = ran()
    assert usual == ran("node_locality_delay=40", "rack_locality_delay=-1"), "as YARN's defaults"
    none = ran("node_locality_delay=-1", "rack_locality_delay=0")
    assert usual.total() == none.total() == 120
    assert usual["node"] > none["node"]

    fair = "fair-scheduler.xml"
    waits = ran("node_locality_threshold=1", "rack_locality_threshold=1", queues=fair)
    assert waits["node"] > ran(queues=fair)["node"]


def test_the_delay_of_the_other_scheduler_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("fair-scheduler.xml").write_text(FAIR)
    Path("w.yaml").write_text(WORKLOAD)
    shown = sluice(
        "simulate", "w.yaml", "--tasks", "yarn", "--config", "fair-scheduler.xml",
        "--set", "yarn.node_locality_delay=3",
    )  # fmt: skip
    assert shown.code == 2
    assert "node_locality_delay has no effect" in shown.err
    assert "node_locality_threshold" in shown.err
