"""A driver that crashed: its nodes go on for a while, and the next driver takes over what runs."""

import os
import signal
import subprocess
import sys
import time

import pytest
from tests.engines.fakes import HEADER, scheduler
from tests.engines.test_cluster_live_run import local, parts, run
from tests.engines.test_live_run import WANTED, counted, wordcount
from tests.engines.test_local_engine import Bench, left_of, marked, shell

from sluice.core.events import NodeJoined, TaskFinished
from sluice.core.transitions import AttemptState
from sluice.engines.agent_engine import AgentEngine
from sluice.engines.base import Attempt
from sluice.engines.cluster.handshake import new_token, token_key
from sluice.engines.cluster.launcher import NetworkLauncher
from sluice.engines.cluster.node_servers import NodeServerProcess
from sluice.engines.cluster.remote_agent import Access
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.engines.driver import Driver
from sluice.engines.job_runner import JobRunner
from sluice.engines.live_settings import LiveSettings
from sluice.engines.mapreduce.layout import prepare
from sluice.engines.run_clock import RunClock
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.reporting.run.figures import measured_profiles
from sluice.store.journal import Journal
from sluice.store.rows import EntryKind, entries

NODES = tuple(Node(node_id=f"n{number}", map_slots=2, reduce_slots=1) for number in range(2))
PATIENCE_S = 60.0
REATTACH_S = 120.0
PAUSE_S = 1.0

# The map that waits for a file, so that it runs while the driver is killed, and long after.
WAITING_MAP = """
import os, sys, time
with open("runs", "a") as runs:
    runs.write(os.environ["SLUICE_ATTEMPT"] + "\\n")
while not os.path.exists("go"):
    time.sleep(0.02)
for line in sys.stdin:
    for word in line.split():
        print(word, 1, sep="\\t")
"""

DRIVER = """
import sys
from pathlib import Path
from tests.engines.test_reattach import drive_first
drive_first(Path(sys.argv[1]), sys.argv[2], [int(port) for port in sys.argv[3:]])
"""


class Servers:
    """Node servers that do not belong to the driver."""

    def __init__(self, folder):
        self.token = new_token()
        self.folder = folder
        self.servers = [
            NodeServerProcess(
                ServerSettings(
                    token=self.token,
                    node_id=node.node_id,
                    scratch=str(folder / node.node_id),
                    reattach_s=REATTACH_S,
                )
            )
            for node in NODES
        ]

    @property
    def ports(self):
        return [server.address[1] for server in self.servers]

    def end(self):
        for server in self.servers:
            server.end()
        assert [] == left_of(pid for node in NODES for pid in marked(self.folder / node.node_id))


@pytest.fixture
def servers(tmp_path):
    made = Servers(tmp_path / "nodes")
    yield made
    made.end()


def engine_of(token, ports, epoch, clock):
    addresses = {node.node_id: ("127.0.0.1", port) for node, port in zip(NODES, ports, strict=True)}
    access = Access(key=token_key(token), lease_s=30.0)
    launcher = NetworkLauncher(NODES, addresses, access, epoch, adopts=epoch > 1)
    return AgentEngine(launcher, epoch, clock)


def drive(folder, source, journal, token, ports):
    clock = RunClock()
    return Driver(
        engine=engine_of(token, ports, journal.epoch, clock.now_s),
        scheduler=scheduler(),
        journal=journal,
        source=source,
        jobs=source.jobs,
        clock=clock,
        settings=LiveSettings(reattach_s=REATTACH_S),
    ).run()


def drive_first(folder, token, ports):
    """Run the driver that is killed, in a process of its own."""
    source = JobRunner([prepare(wordcount(folder))], folder / "scratch")
    with Journal.create(folder, HEADER, source.records()) as journal:
        drive(folder, source, journal, token, ports)


def drive_again(folder, servers):
    rows = [entry for entry in entries(folder) if entry.kind is EntryKind.PREPARED]
    source = JobRunner.reopened(
        [wordcount(folder)], dict(row.prepared() for row in rows), folder / "scratch"
    )
    with Journal.reopened(folder) as journal:
        return drive(folder, source, journal, servers.token, servers.ports).result


def wait_until(is_done, driver):
    until_s = time.monotonic() + PATIENCE_S
    while not is_done():
        assert driver.poll() is None, "the driver ended by itself"
        assert time.monotonic() < until_s
        time.sleep(0.02)


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def test_a_resumed_run_takes_over_what_runs(servers, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    wordcount(folder)
    (folder / "map.py").write_text(WAITING_MAP)
    path = os.pathsep.join(sys.path)
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder), servers.token, *map(str, servers.ports)],
        env=os.environ | {"PYTHONPATH": path},
    )
    try:
        wait_until(lambda: len(lines_of(folder / "runs")) == 4, driver)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    time.sleep(PAUSE_S)
    (folder / "go").touch()  # they end, and nobody is there to hear of it
    time.sleep(PAUSE_S)
    result = drive_again(folder, servers)

    run(tmp_path / "local", local)
    assert counted(folder) == WANTED
    assert parts(folder) == parts(tmp_path / "local")
    runs = lines_of(folder / "runs")
    assert len(runs) == len(set(runs)) == 8
    assert {attempt.state for attempt in result.closed} == {AttemptState.DONE}
    assert {name.rpartition("-e")[2] for name in runs} == {"1", "2"}
    for attempt in result.closed:
        assert 0.0 <= attempt.started_at_s <= attempt.finished_at_s
    adopted = {int(name.split("-")[-3]) for name in runs if name.endswith("-e1")}
    assert len(adopted) == 4
    maps = [attempt for attempt in result.closed if attempt.phase.index == 0]
    for attempt in (one for one in maps if one.task in adopted):
        length_s = attempt.finished_at_s - attempt.started_at_s
        # Their ends are reported later, and the pause after them is no part of their length.
        assert abs(length_s - attempt.usage.wall_s) < PAUSE_S / 2
        assert length_s > PAUSE_S
    (profile,) = measured_profiles(result.jobs.values(), result.closed).values()
    assert profile["phases"][0]["max_s"] > PAUSE_S


def attempt_of(task, epoch):
    return Attempt(
        key=AttemptKey("j", 0, task, 1),
        epoch=epoch,
        node_id=NODES[0].node_id,
        slot=0,
        work={"job_name": "job"} | shell("true"),
    )


def test_ends_that_a_crashed_driver_had_acknowledged_are_shown_again(servers, tmp_path):
    """It may not have journaled them."""
    first = engine_of(servers.token, servers.ports, 1, time.monotonic)
    first.start()
    bench = Bench(first, time.monotonic, [])
    bench.wait_for(NodeJoined, count=2)
    work = shell("while [ ! -e go ]; do sleep 0.01; done", cwd=str(tmp_path))
    bench.launch(work, 1)
    bench.launch(work, 2)
    bench.run(shell("true"), task=0)
    bench.heard += first.events(1.5)  # with a heartbeat, which acknowledges it

    second = engine_of(servers.token, servers.ports, 2, time.monotonic)
    second.adopt([attempt_of(0, 2), attempt_of(1, 2)], since_s=0.0)
    second.start()
    later = Bench(second, time.monotonic, [])
    later.wait_for(NodeJoined, count=2)
    snapshot = second.reconcile()
    assert snapshot.attempts == (AttemptKey("j", 0, 1, 1),)
    (done,) = later.wait_for(TaskFinished)
    assert done.key.task == 0
    (tmp_path / "go").touch()
    later.wait_for(TaskFinished, AttemptKey("j", 0, 1, 1))
    later.heard += second.events(0.2)

    # The attempt for which no driver waits was killed, and is not reported.
    assert {event.key.task for event in later.heard if isinstance(event, TaskFinished)} == {0, 1}
    second.stop(kill_running=True)
    first.stop(kill_running=True)
