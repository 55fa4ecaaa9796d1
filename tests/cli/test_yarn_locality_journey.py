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


def ran(*settings, queues="capacity-scheduler.xml", more=()):
    """Tasks by their distance from their input."""
    words = [word for one in settings for word in ("--set", f"yarn.{one}")]
    shown = sluice(
        "simulate", "w.yaml", "--tasks", "yarn", "--config", queues, "--trace", "t.jsonl",
        *words, *more,
    )  # fmt: skip
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


def site(**properties):
    rows = "".join(
        f"<property><name>yarn.scheduler.{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    Path("yarn-site.xml").write_text(f"<configuration>{rows}</configuration>")
    return "yarn-site.xml"


def test_the_waits_are_those_of_the_files(tmp_path, monkeypatch):
    """A file says the same as the settings; a setting goes before the file."""
    monkeypatch.chdir(tmp_path)
    Path("w.yaml").write_text(WORKLOAD)
    usual = (QUEUES / "capacity-scheduler.xml").read_text()
    Path("capacity-scheduler.xml").write_text(usual)
    none = ran("node_locality_delay=-1", "rack_locality_delay=0")
    waits = {"node-locality-delay": "-1", "rack-locality-additional-delay": "0"}
    rows = "".join(
        f"<property><name>yarn.scheduler.capacity.{name}</name><value>{value}</value></property>"
        for name, value in waits.items()
    )
    Path("own.xml").write_text(usual.replace("</configuration>", f"{rows}</configuration>"))
    assert ran(queues="own.xml") == none
    assert ran("node_locality_delay=40", "rack_locality_delay=-1", queues="own.xml") == ran()

    Path("fair-scheduler.xml").write_text(FAIR)
    fair = "fair-scheduler.xml"
    wanted = ran("node_locality_threshold=1", "rack_locality_threshold=1", queues=fair)
    names: dict[str, object] = {f"fair.locality.threshold.{one}": 1 for one in ("node", "rack")}
    names["fair.assignmultiple"] = "true"
    with_site = ran(queues=fair, more=("--yarn-site", site(**names)))
    assert with_site == wanted != ran(queues=fair)


def test_a_yarn_site_says_how_many_containers_a_heartbeat_brings(tmp_path, monkeypatch):
    """YARN's default for the fair scheduler is one, which makes short tasks wait."""
    monkeypatch.chdir(tmp_path)
    few = "cluster: {nodes: 2, node: {containers: 20}}"
    Path("w.yaml").write_text(WORKLOAD.replace(WORKLOAD.splitlines()[2], few))
    Path("fair-scheduler.xml").write_text(FAIR)
    words = ("simulate", "w.yaml", "--tasks", "yarn", "--config", "fair-scheduler.xml", "--json")

    def makespan_s(**properties):
        shown = sluice(*words, "--yarn-site", site(**properties))
        assert shown.code == 0, shown.err
        return json.loads(shown.out)["makespan_s"]

    several = {"fair.assignmultiple": "true"}
    unsaid = {"minimum-allocation-mb": 1024}
    assert makespan_s(**several) < makespan_s(**unsaid)
    one = {**several, "fair.dynamic.max.assign": "false", "fair.max.assign": 1}
    assert makespan_s(**one) == makespan_s(**unsaid)


def test_what_is_wrong_with_a_wait_of_the_files_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("w.yaml").write_text(WORKLOAD)
    Path("fair-scheduler.xml").write_text(FAIR)
    words = ("simulate", "w.yaml", "--tasks", "yarn")
    name = "fair.locality.threshold.node"
    queues = ("--config", "fair-scheduler.xml", "--yarn-site", site(**{name: "2"}))
    shown = sluice(*words, *queues)
    assert shown.code == 2
    assert f"yarn-site.xml, yarn.scheduler.{name}" in shown.err
    assert "'2' is not a number from 0 to 1" in " ".join(shown.err.split())
    alone = sluice(*words, "--yarn-site", "yarn-site.xml")
    assert alone.code == 2
    assert "no configuration that it belongs to" in alone.err
