"""Commands that prepare a workload for the same work give the same answer."""

import pytest
from tests.store.histories import past_run

import sluice
from sluice.bootstrap.live.live_run import begin
from sluice.bootstrap.live.run_options import RunOptions
from sluice.engines.progress import Unwatched
from sluice.model.history import PastPhase, PastTask
from sluice.store.profiles import Profiles
from sluice.store.run_record import RunIdentity

FILE = """\
version: 1
cluster: {containers: 4}
jobs:
  - {id: etl, pool: prod, profile: etl}
"""
QUEUES = """<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>prod,dev</value></property>
<property><name>yarn.scheduler.capacity.root.prod.capacity</name><value>80</value></property>
<property><name>yarn.scheduler.capacity.root.dev.capacity</name><value>20</value></property>
</configuration>"""


class Listener(Unwatched):
    """Keeps what a run says."""

    def __init__(self):
        self.messages = []

    def on_message(self, message):
        self.messages.append(message)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A workload whose profile has 60 s outside its tasks, and a configuration of queues."""
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SLUICE_STORE", raising=False)
    (tmp_path / "jobs.yaml").write_text(FILE)
    (tmp_path / "queues.xml").write_text(QUEUES)
    timeline = tuple(PastTask(started_at_s=50.0, finished_at_s=60.0) for _ in range(4))
    maps = PastPhase(name="map", kind="map", tasks=4, avg_s=10.0, max_s=10.0, timeline=timeline)
    runs = [
        past_run(
            f"run-{n}",
            maps,
            profile="etl",
            submitted_at_s=86400.0 * n,
            elapsed_s=70.0,
            slots={"map": 4, "container": 4},
        )
        for n in range(5)
    ]
    with Profiles.open() as profiles:
        profiles.add(runs)
    return tmp_path


def test_a_time_is_predicted_under_a_configuration_of_queues_too(files):
    """It was lost there: the queues came before the prediction."""
    plain = sluice.simulate(files / "jobs.yaml")
    in_queues = sluice.simulate(files / "jobs.yaml", config=files / "queues.xml")
    compared = sluice.compare(files / "jobs.yaml", [], config=files / "queues.xml", seeds=2)

    assert plain.makespan_s == pytest.approx(70, rel=0.1)
    assert in_queues.makespan_s == pytest.approx(plain.makespan_s)
    (row,) = compared.rows
    assert in_queues.makespan_s == pytest.approx(row.document()["makespan_s"])


@pytest.mark.parametrize(("nodes", "is_noted"), [(None, True), (2, False)])
def test_notes_on_a_run_are_about_the_nodes_of_its_options(tmp_path, monkeypatch, nodes, is_noted):
    """With `--nodes 2` a slow task is copied, whatever the file's cluster is."""
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    (tmp_path / "text").write_text("a\n")
    run = f"{{input: [{tmp_path}/text], output: {tmp_path}/out, mapper: cat}}"
    text = f"{{version: 1, cluster: {{map_slots: 1}}, jobs: [{{id: a, run: {run}}}]}}"
    (tmp_path / "jobs.yaml").write_text(text)
    listener = Listener()
    setup = begin(
        sluice.load_workload(tmp_path / "jobs.yaml"),
        RunIdentity(source="jobs.yaml", folder=str(tmp_path), sha256=""),
        RunOptions(tasks="fair+copies=late", nodes=nodes),
        listener,
    )
    setup.journal.close()

    assert is_noted is any("no slow task is copied" in one for one in listener.messages)
