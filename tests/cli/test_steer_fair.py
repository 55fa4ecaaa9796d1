"""`sluice steer` on the Fair Scheduler: its file is changed, read back, and put back."""

import json

import pytest
import yaml
from tests.cli.terminal import sluice
from tests.ingest.test_history_servers import served

FILE = """<?xml version="1.0"?>
<!-- <allocations> of the site -->\r
<allocations>
  <!-- the nightly jobs -->
  <queue name="a"><weight>3.0</weight>
    <queue name="é"><maxRunningApps>4</maxRunningApps></queue></queue>
  <queue name="b"/>
  <queueMaxAppsDefault>7</queueMaxAppsDefault>
</allocations>
<!-- </allocations> ends here -->
"""
CLASS = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"


class Cluster:
    """A ResourceManager that shows the queues of its file, as they are when it is asked."""

    def __init__(self, path):
        self.path = path
        self.reads = True

    def get(self, path):
        if path.startswith("/ws/v1/cluster/scheduler"):
            return {"scheduler": {"schedulerInfo": {"rootQueue": self._shown()}}}
        for name, value in (
            ("yarn.resourcemanager.scheduler.class", CLASS),
            ("yarn.scheduler.fair.allocation.file", str(self.path)),
        ):
            if path.startswith("/conf") and name in path:
                return {"property": {"value": value}}
        return None

    def _shown(self):
        most = 12 if self.reads and "<maxRunningApps>12" in self.path.read_text() else 7
        return {
            "queueName": "root",
            "childQueues": {"queue": [
                {"queueName": "root.a", "maxApps": 7},
                {"queueName": "root.a.new", "maxApps": 7},
                {"queueName": "root.b", "maxApps": most},
            ]},
        }  # fmt: skip


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "fair-scheduler.xml"
    path.write_bytes(FILE.encode())
    return Cluster(path)


def steer(cluster, plan, *words):
    if isinstance(plan, dict):
        (cluster.path.parent / "plan.yaml").write_text(yaml.safe_dump({"version": 1, **plan}))
        plan = "plan.yaml"
    with served(cluster) as (address, _):
        return sluice("steer", plan, "--address", address, "--user", "me", *words)


PLAN = {
    "queues": {
        "root.a": {"weight": 1.5},
        "root.b": {"maxRunningApps": 12, "minResources": "1024 mb, 2 vcores"},
    }
}


def test_queues_change_in_the_file_and_come_back_byte_for_byte(cluster):
    done = steer(cluster, PLAN, "--json")
    assert done.code == 0, done.err
    changed = {
        (one["target"], one["setting"]): (one["before"], one["after"])
        for one in json.loads(done.out)["changes"]
    }
    assert changed == {
        ("root.a", "weight"): ("3.0", "1.5"),
        ("root.b", "maxRunningApps"): (None, "12"),
        ("root.b", "minResources"): (None, "1024 mb, 2 vcores"),
    }
    text = cluster.path.read_bytes().decode()
    assert "<!-- <allocations> of the site -->\r\n<allocations>" in text
    assert text.endswith("</allocations>\n<!-- </allocations> ends here -->\n")
    assert "<!-- the nightly jobs -->" in text
    assert "<maxRunningApps>4</maxRunningApps>" in text
    again = steer(cluster, PLAN)
    assert again.out.strip() == "The cluster is as the plan has it; nothing was changed."

    back = steer(cluster, "steer-undo.yaml", "--undo", "redo.yaml")
    assert back.code == 0, back.err
    assert cluster.path.read_bytes() == FILE.encode()


def test_a_dry_run_shows_the_file_and_leaves_it(cluster):
    done = steer(cluster, PLAN, "--dry-run")
    assert done.code == 0
    assert "3 values would change, in 1 call; nothing was changed." in done.out
    assert f"WRITE {cluster.path}" in done.err.replace("\n", "")
    assert cluster.path.read_bytes() == FILE.encode()


@pytest.mark.parametrize(
    ("queues", "said"),
    [
        ({"root.a": {"weigth": 2}}, "did you mean weight"),
        ({"root.a": {"weight": "heavy"}}, "weight"),
        ({"root.a": {"maxResources": "many"}}, "maxresources"),
    ],
)
def test_what_yarn_would_not_read_changes_nothing(queues, said, cluster):
    done = steer(cluster, {"queues": queues})
    assert done.code == 2
    assert said in done.err.lower()
    assert cluster.path.read_bytes() == FILE.encode()


def test_a_file_that_yarn_does_not_take_up_is_reported(cluster, monkeypatch):
    monkeypatch.setattr("sluice.engines.yarn.steering.allocations.RELOAD_S", 0.5)
    cluster.reads = False
    done = steer(cluster, {"queues": {"root.b": {"maxRunningApps": 12}}})
    assert done.code == 1
    assert "maxRunningApps of root.b is 7, not 12" in " ".join(done.out.split())


def test_a_file_on_another_machine_is_asked_for(cluster):
    cluster.path = cluster.path.with_name("elsewhere.xml")
    done = steer(cluster, PLAN)
    assert done.code == 2
    assert "is not on this machine" in done.err
    other = cluster.path.with_name("fair-scheduler.xml")
    cluster.path = other
    assert steer(cluster, PLAN, "--allocations", "fair-scheduler.xml").code == 0


def test_a_changed_file_is_still_one_of_the_fair_scheduler(cluster):
    """The file that `steer` writes can be read by `whatif` and `simulate`."""
    assert steer(cluster, {"queues": {"root.a.new": {"weight": 2}}}).code == 0
    from sluice.ingest.scheduler_configs.reading import read_queue_tree

    tree = read_queue_tree(str(cluster.path))
    weights = {queue.path: queue.capacity.value for queue in tree.queues}
    assert (weights["root.a.new"], weights["root.a"]) == (2.0, 3.0)
