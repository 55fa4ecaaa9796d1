"""An admin's way: logs and a configuration, what would change, the file to apply, and the diff."""

import json
import random

from tests.cli.terminal import sluice
from tests.ingest.scheduler_configs.configs import FAIR, KUEUE, YUNIKORN

from sluice.reporting.report.document_charts import charts_of

OLD = """<?xml version="1.0"?>
<configuration>
  <property><name>yarn.scheduler.capacity.root.queues</name><value>etl,adhoc</value></property>
  <property><name>yarn.scheduler.capacity.root.etl.capacity</name><value>75</value></property>
  <property><name>yarn.scheduler.capacity.root.etl.maximum-capacity</name><value>75</value></property>
  <property><name>yarn.scheduler.capacity.root.adhoc.capacity</name><value>25</value></property>
  <property><name>yarn.scheduler.capacity.root.adhoc.maximum-capacity</name><value>25</value></property>
  <property><name>yarn.scheduler.capacity.root.adhoc.acl_submit_applications</name><value>*</value></property>
</configuration>
"""  # as the files are
NEW = OLD.replace(">25<", ">50<").replace(">75<", ">50<")


def history():
    """Sixty small jobs in two queues: `adhoc` asks for more than a quarter of four containers."""
    rng = random.Random(5)
    jobs = [
        {
            "id": f"{queue}-{number}",
            "pool": queue,
            "submitted_at_s": 40 * number + rng.random(),
            "deadline_s": 120,
            "maps": {"tasks": tasks, "avg_s": 15 + 10 * rng.random()},
        }
        for queue, tasks in (("etl", 2), ("adhoc", 2))
        for number in range(30)
    ]
    return {"version": 1, "cluster": {"containers": 4}, "jobs": jobs}


def test_from_a_history_to_a_file_and_its_difference(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.json").write_text(json.dumps(history()))
    (tmp_path / "old.xml").write_text(OLD)
    (tmp_path / "new.xml").write_text(NEW)
    words = ["whatif", "--config", "new.xml", "--against", "old.xml", "--seeds", "4"]

    shown = sluice(*words, "--file", "jobs.json", "--export", "out.xml")
    assert 0 == shown.code, shown.err
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "wins" in shown.out
    sentence = shown.out.split(" queue ")[0]
    assert sentence.startswith("root.adhoc waits "), "the answer is the first line"
    assert "less at p95" in sentence
    assert "  met" in shown.out, "the share of deadlines"
    assert "-root.adhoc.capacity = 25" in shown.out
    assert "+root.adhoc.capacity = 50" in shown.out
    assert "acl_submit_applications" in shown.err, "what the model does not read is listed"
    exported = (tmp_path / "out.xml").read_text()
    assert "Roll back" in exported

    said = sluice(*words, "--file", "jobs.json", "--json", "--plot", "plot.json").out
    found = json.loads(said)
    adhoc = found["queues"]["root.adhoc"]
    assert ["root.adhoc"] == found["winners"]
    assert adhoc["new"]["wait_s"]["p95"] < adhoc["old"]["wait_s"]["p95"]
    assert adhoc["difference"]["wait_s_p95"]["high"] < 0

    # The chart shows these figures, and a report draws the same one.
    plotted = json.loads((tmp_path / "plot.json").read_text())
    (row,) = [
        one for one in plotted["vconcat"][1]["data"]["values"] if one["queue"] == "root.adhoc"
    ]
    assert 1000 * adhoc["difference"]["wait_s_p95"]["mean"] == row["mean"]
    assert "waits less" == row["verdict"]
    assert [json.loads(json.dumps(one.spec)) for one in charts_of(found, "it")] == [plotted]
    assert {"jobs", "wait_s", "slowdown"} <= adhoc["old"].keys()
    assert found["unknown_keys"]

    again = json.loads(
        sluice("whatif", "--config", "out.xml", "--against", "new.xml", "--seeds", "4",
               "--file", "jobs.json", "--json").out
    )  # fmt: skip
    assert [] == again["winners"] + again["losers"], "the exported file is the same configuration"


def test_logs_are_a_history(tmp_path, monkeypatch):
    """The job's queue is the one that its log names; `default` takes what has no other."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.xml").write_text(OLD.replace("adhoc", "default"))
    logs = "tests/data/logs/jhist"
    from tests.test_tidy import HOUSE

    answer = sluice("whatif", "--history", HOUSE / logs, "--config", "one.xml", "--seeds", "1",
                    "--containers", "8", "--json")  # fmt: skip

    found = json.loads(answer.out)
    assert {"root.default", "root.etl"} >= found["queues"].keys() > {"root.etl"}
    assert found["queues"]["root.default"]["old"] is None
    assert found["queues"]["root.default"]["new"]["jobs"] > 0


def test_other_schedulers_files_are_taken(tmp_path):
    (tmp_path / "jobs.json").write_text(json.dumps(history()))
    for name, text, more in (
        ("fair-scheduler.xml", FAIR, []),
        ("queues.yaml", YUNIKORN, []),
        ("kueue.yaml", KUEUE, ["--map", "adhoc=adhoc-cq"]),
    ):
        (tmp_path / name).write_text(text)
        answer = sluice("whatif", "--file", tmp_path / "jobs.json", "--config", tmp_path / name,
                        "--seeds", "1", "--containers", "8", *more, "--json")  # fmt: skip
        assert 0 == answer.code, answer.err
        assert 2 == len(json.loads(answer.out)["queues"])


def test_what_cannot_be_used_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.json").write_text(json.dumps(history()))
    (tmp_path / "old.xml").write_text(OLD)
    config = ["--config", "old.xml"]
    for words, text in (
        ([*config], "neither is given"),
        (["--file", "jobs.json", "--history", "x", *config], "both are given"),
        (["--file", "jobs.json", *config, "--map", "adhoc"], "POOL=QUEUE"),
        (["--file", "jobs.json", *config, "--map", "adhoc=none"], "no leaf queue 'none'"),
        (["--file", "jobs.json", *config, "--containers", "0"], "--containers"),
        (["--file", "jobs.json", "--config", "missing.xml"], "missing.xml"),
        (["--file", "jobs.json", "--config", "jobs.json"], "known scheduler"),
        (["--file", "jobs.json", *config, "--export", "old.xml"], "--export"),
    ):
        answer = sluice("whatif", *words)
        assert (2, "") == (answer.code, answer.out), words
        assert text in answer.err, answer.err


def test_capacities_are_suggested_for_a_goal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.json").write_text(json.dumps(history()))
    (tmp_path / "old.xml").write_text(OLD)
    words = ["whatif", "--file", "jobs.json", "--config", "old.xml", "--seeds", "2"]

    found = sluice(*words, "--suggest", "root.adhoc.wait_s_p95<15", "--export", "out.xml", "--json")
    document = json.loads(found.out)
    assert 0 == found.code, found.err
    assert document["suggestion"]["met"]
    assert document["suggestion"]["value"] <= 15
    etl = document["queues"]["root.etl"]
    before, after = (max(1.0, etl[side]["wait_s"]["p95"]) for side in ("old", "new"))
    assert after <= 1.1 * before
    assert "+root.adhoc." in document["diff"]
    assert "suggested" not in (tmp_path / "out.xml").read_text().split("<configuration>")[1]

    shown = sluice(*words, "--suggest", "root.adhoc.wait_s_p95<15")
    assert "Goal met: " in shown.out
    missed = sluice(*words, "--suggest", "root.etl.slowdown_p50 < 0.5")
    assert (1, True) == (missed.code, "Goal not met" in missed.out)
    for goal, text in (("root.adhoc<3", "not a goal"), ("root.x.wait_s_p95<3", "'root.x'")):
        refused = sluice(*words, "--suggest", goal)
        assert 2 == refused.code
        assert text in refused.err


TWO_QUEUES = """
kind: ClusterQueue
metadata: {name: etl}
spec:
  cohort: all
  namespaceSelector: {}
  resourceGroups:
    - flavors: [{name: spot, resources: [{name: cpu, nominalQuota: 3, borrowingLimit: 1}]}]
---
kind: ClusterQueue
metadata: {name: adhoc}
spec:
  cohort: all
  resourceGroups:
    - flavors: [{name: spot, resources: [{name: cpu, nominalQuota: 1, borrowingLimit: 0}]}]
"""


def test_queues_of_kueue_are_suggested_as_queues_of_kueue(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.json").write_text(json.dumps(history()))
    (tmp_path / "kueue.yaml").write_text(TWO_QUEUES)
    words = ["whatif", "--file", "jobs.json", "--config", "kueue.yaml", "--seeds", "2"]
    goal = ["--suggest", "root.all.adhoc.wait_s_p95<40"]

    found = sluice(*words, *goal, "--export", "new.yaml")

    assert 0 == found.code, found.err
    assert "+ClusterQueue adhoc cpu borrowingLimit = " in found.out
    written = (tmp_path / "new.yaml").read_text()
    assert "kind: ClusterQueue" in written
    assert "namespaceSelector: {}" in written, "what is not read is kept"
    again = sluice(
        "whatif", "--file", "jobs.json", "--config", "new.yaml", "--json", "--seeds", "1"
    )
    suggested = sluice(*words, *goal, "--json")
    values = [json.loads(one.out)["queues"]["root.all.adhoc"]["new"] for one in (again, suggested)]
    assert values[0]["jobs"] == values[1]["jobs"]
    wait_s = json.loads(again.out)["queues"]["root.all.adhoc"]["new"]["wait_s"]["p95"]
    assert wait_s <= 40

    as_xml = sluice(*words, *goal, "--export", "new.xml")
    assert "<configuration>" in (tmp_path / "new.xml").read_text()
    assert "+root.all.adhoc.maximum-capacity = " in as_xml.out


def test_queues_of_yarn_are_not_written_as_yaml(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.json").write_text(json.dumps(history()))
    (tmp_path / "old.xml").write_text(OLD)

    refused = sluice("whatif", "--file", "jobs.json", "--config", "old.xml", "--export", "new.yaml")

    assert 2 == refused.code
    assert "not read from a Kubernetes file" in refused.err
    assert not (tmp_path / "new.yaml").exists()
