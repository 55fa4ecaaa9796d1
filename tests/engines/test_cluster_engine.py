"""The engine over a network that is cut, garbled or hostile: nothing is lost, nothing doubled."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests.engines.fault_proxy import FaultProxy
from tests.engines.test_engine_contract import agent_of, ends
from tests.engines.test_local_engine import Bench, is_gone, left_of, marked, pid_in, shell

from sluice.core.events import NodeJoined, NodeLost, TaskFailed, TaskFinished, TaskStarted
from sluice.engines.agent_engine import AgentEngine
from sluice.engines.cluster.handshake import new_token, token_key
from sluice.engines.cluster.launcher import NetworkLauncher
from sluice.engines.cluster.node_servers import NodeServerProcess
from sluice.engines.cluster.remote_agent import Access
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.engines.cluster.wire import framed
from sluice.model.cluster import Node
from sluice.model.ids import NodeId

N0 = Node(node_id=NodeId("n0"), map_slots=4)
PATIENCE_S = 20.0


class Cluster:
    """One node server, and engines that connect to it."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.token = new_token()
        self.servers, self.engines, self.proxies = [], [], []
        self._zero_s = time.monotonic()

    def clock(self):
        return time.monotonic() - self._zero_s

    def serve(self, **settings):
        made = ServerSettings(
            token=self.token, node_id="n0", scratch=str(self.scratch / "root"), **settings
        )
        self.servers.append(NodeServerProcess(made))
        return self.servers[-1]

    def proxy(self, target, **faults):
        self.proxies.append(FaultProxy(target, **faults))
        return self.proxies[-1]

    def connect(self, address, *, epoch=1, lease_s=None, token=None, node=N0, **access):
        key = token_key(token or self.token)
        launcher = NetworkLauncher(
            (node,), {node.node_id: address}, Access(key=key, lease_s=lease_s, **access), epoch
        )
        engine = AgentEngine(launcher, epoch, self.clock)
        self.engines.append(engine)
        engine.start()
        return Bench(engine, self.clock, [])

    def close(self):
        for proxy in self.proxies:
            proxy.probability = 0.0
        for engine in self.engines:
            engine.stop(kill_running=True)
        for proxy in self.proxies:
            proxy.close()
        for server in self.servers:
            server.end()


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path / "s")
    yield made
    made.close()
    assert [] == left_of(marked(tmp_path / "s"))


def wait_until(is_done):
    until_s = time.monotonic() + PATIENCE_S
    while not is_done():
        assert time.monotonic() < until_s
        time.sleep(0.01)


# --- a network with faults ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_lost_or_doubled_over_a_network_with_faults(
    cluster, tmp_path, monkeypatch, seed
):
    # A frame of the handshake that is lost costs this much.
    monkeypatch.setattr("sluice.engines.cluster.remote_agent.HANDSHAKE_S", 1.0)
    proxy = cluster.proxy(cluster.serve(closed_lease_s=30).address, probability=0.04, seed=seed)
    bench = cluster.connect(proxy.address, lease_s=30)
    bench.wait_for(NodeJoined)
    tasks = range(150)
    killed = set(tasks[5::10])
    for task in tasks:
        script = f"echo {task} >> runs; {'exec sleep 600' if task in killed else ''}"
        key = bench.launch(shell(script, cwd=str(tmp_path)), task, grace_s=0.1)
        if task in killed:
            bench.engine.kill(key, "preempted")
        bench.heard += bench.engine.events(0.0)
    bench.wait_for((TaskFinished, TaskFailed), count=len(tasks))
    bench.heard += bench.engine.events(0.2)

    assert ends(bench) == list(tasks)
    failed = {
        event.key.task: event.detail for event in bench.heard if isinstance(event, TaskFailed)
    }
    assert failed == dict.fromkeys(killed, "preempted")
    assert {type(event) for event in bench.heard} == {
        NodeJoined, TaskStarted, TaskFinished, TaskFailed,
    }  # fmt: skip
    ran = [int(task) for task in (tmp_path / "runs").read_text().split()]
    assert len(ran) == len(set(ran))
    assert set(tasks) - killed <= set(ran)
    assert sum(proxy.faults.values()) >= 5
    assert proxy.connections >= 5


def test_work_goes_on_while_the_network_is_cut(cluster, tmp_path):
    proxy = cluster.proxy(cluster.serve().address)
    bench = cluster.connect(proxy.address, lease_s=30)
    bench.wait_for(NodeJoined)
    work = shell(
        "touch up; while [ ! -e go ]; do sleep 0.01; done; echo >> done", cwd=str(tmp_path)
    )
    bench.launch(work)
    wait_until((tmp_path / "up").exists)
    proxy.cut()
    (tmp_path / "go").touch()
    wait_until((tmp_path / "done").exists)
    bench.launch(shell("true"), task=1)  # waits for the network, too
    bench.heard += bench.engine.events(0.1)
    assert ends(bench) == []
    proxy.heal()
    bench.wait_for(TaskFinished, count=2)

    assert ends(bench) == [0, 1]
    assert (tmp_path / "done").read_text() == "\n"


def test_instants_are_right_although_the_end_is_known_late(cluster, tmp_path):
    """The network is cut for a while; the attempt had ended before."""
    proxy = cluster.proxy(cluster.serve().address)
    bench = cluster.connect(proxy.address, lease_s=30)
    bench.wait_for(NodeJoined)
    bench.launch(shell("touch up; while [ ! -e go ]; do sleep 0.01; done; touch done",
                       cwd=str(tmp_path)))  # fmt: skip
    wait_until((tmp_path / "up").exists)
    proxy.cut()
    (tmp_path / "go").touch()
    wait_until((tmp_path / "done").exists)
    wait_until(lambda: [] == attempts_under(tmp_path / "s"))
    ended_by_s = bench.clock() + 0.25
    wait_until(lambda: bench.clock() > ended_by_s)
    proxy.heal()
    (done,) = bench.wait_for(TaskFinished)

    assert done.finished_at_s < ended_by_s < done.at_s


def attempts_under(scratch):
    """Processes of attempts, by the mark of their node."""
    found = []
    for pid in marked(scratch):
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            continue
        if not name.startswith("sluice"):
            found.append(pid)
    return found


def test_a_network_that_stays_cut_is_a_lost_node(cluster, tmp_path):
    server = cluster.serve(closed_lease_s=1.0)
    proxy = cluster.proxy(server.address)
    bench = cluster.connect(proxy.address, lease_s=3.0)
    bench.wait_for(NodeJoined)
    bench.launch(shell("echo $$ > pid; exec sleep 600", cwd=str(tmp_path)))
    pid = pid_in(tmp_path / "pid")
    proxy.cut()
    (lost,) = bench.wait_for(NodeLost)

    assert lost.reason.startswith("no heartbeat for 3 s (")
    assert [] == left_of([pid])
    wait_until(server.ended)
    assert "exit code 0" in server.ended()
    assert "no sign of the driver" in server.ended()


# --- processes that are killed or frozen ----------------------------------------------------------


def test_a_killed_node_server_is_a_lost_node_and_leaves_nothing(cluster, tmp_path):
    server = cluster.serve()
    bench = cluster.connect(server.address, lease_s=3.0)
    bench.wait_for(NodeJoined)
    hidden = "setsid sh -c 'echo $$ > hidden; while :; do sleep 0.1; done' & sleep 600"
    bench.launch(shell(f"echo $$ > pid; {hidden}", cwd=str(tmp_path)))
    pids = [pid_in(tmp_path / "pid"), pid_in(tmp_path / "hidden")]
    pids.append(agent_of(tmp_path / "s", pids[0]))
    os.kill(server.pid, signal.SIGKILL)

    assert [] == left_of(pids)
    assert "onnection refused" in bench.wait_for(NodeLost)[0].reason


@pytest.mark.parametrize("is_temporary", [True, False])
def test_a_temporary_folder_goes_with_its_server_where_the_starter_is_gone(tmp_path, is_temporary):
    scratch = tmp_path / "scratch"
    start = f"""if True:
        import pathlib, time
        from sluice.engines.cluster.handshake import new_token
        from sluice.engines.cluster.node_servers import NodeServerProcess
        from sluice.engines.cluster.server_settings import ServerSettings
        settings = ServerSettings(
            token=new_token(), node_id="n", scratch={str(scratch)!r},
            scratch_is_temporary={is_temporary},
        )
        server = NodeServerProcess(settings)
        while not pathlib.Path({str(scratch)!r}, "lock").exists():
            assert not server.ended()
            time.sleep(0.01)
        print(server.pid, flush=True)
        time.sleep(600)
    """
    with subprocess.Popen([sys.executable, "-c", start], stdout=subprocess.PIPE) as starter:
        pid = int(starter.stdout.readline())
        starter.kill()
    assert [] == left_of([pid])
    assert scratch.exists() is not is_temporary


def test_a_node_server_that_is_asked_to_end_says_so_at_once(cluster, tmp_path):
    server = cluster.serve()
    bench = cluster.connect(server.address, lease_s=600)
    bench.wait_for(NodeJoined)
    bench.launch(shell("echo $$ > pid; exec sleep 600", cwd=str(tmp_path)))
    pid = pid_in(tmp_path / "pid")
    os.kill(server.pid, signal.SIGTERM)
    (lost,) = bench.wait_for(NodeLost)

    assert lost.reason == "its node server ended: a signal asked for it"
    assert [] == left_of([pid])


@pytest.mark.parametrize("is_over", [True, False])
def test_a_server_in_a_container_ends_with_the_agent_that_its_driver_ends(
    cluster, tmp_path, is_over
):
    """A manager that lost the node does not end the container: its process would live on."""
    server = cluster.serve(reattach_s=60, ends_with_agent=is_over)
    launcher = NetworkLauncher(
        (N0,), {N0.node_id: server.address}, Access(key=token_key(cluster.token), lease_s=60), 1
    )
    engine = AgentEngine(launcher, 1, cluster.clock)
    cluster.engines.append(engine)
    engine.start()
    bench = Bench(engine, cluster.clock, [])
    bench.wait_for(NodeJoined)
    bench.launch(shell("echo $$ > pid; exec sleep 600", cwd=str(tmp_path)))
    pid = pid_in(tmp_path / "pid")
    launcher.leave(N0, "the manager counts it as lost")
    bench.wait_for(NodeLost)

    assert [] == left_of([pid])
    if is_over:
        wait_until(server.ended)
        assert "exit code 0" in server.ended()
    else:
        time.sleep(0.5)
        assert server.ended() == ""


def test_a_node_server_that_was_started_again_does_not_pass_for_the_former_one(cluster, tmp_path):
    """Its attempts are gone: the node is lost, and joins again."""
    server = cluster.serve()
    proxy = cluster.proxy(server.address)
    bench = cluster.connect(proxy.address, lease_s=30)
    bench.wait_for(NodeJoined)
    key = bench.launch(shell("echo $$ > pid; exec sleep 600", cwd=str(tmp_path)))
    pid_in(tmp_path / "pid")
    proxy.cut()
    server.kill()
    proxy._target = cluster.serve().address
    proxy.heal()
    (lost,) = bench.wait_for(NodeLost)

    assert "started again" in lost.reason
    bench.wait_for(NodeJoined, count=2)
    assert isinstance(bench.run(shell("true"), task=1), TaskFinished)
    assert key.task not in ends(bench)


def test_the_late_result_of_a_frozen_node_changes_nothing(cluster, tmp_path, monkeypatch):
    server = cluster.serve()
    bench = cluster.connect(server.address, lease_s=3.0)
    bench.wait_for(NodeJoined)
    monkeypatch.setattr("sluice.engines.cluster.remote_agent.CONNECT_S", 0.0)  # it has more time
    script = "echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done; echo late > result"
    key = bench.launch(shell(script, cwd=str(tmp_path)))
    agent = agent_of(tmp_path / "s", pid_in(tmp_path / "pid"))
    os.kill(server.pid, signal.SIGSTOP)
    os.kill(agent, signal.SIGSTOP)
    try:
        (lost,) = bench.wait_for(NodeLost)
        (tmp_path / "go").touch()
        wait_until((tmp_path / "result").exists)
    finally:
        os.kill(agent, signal.SIGCONT)
        os.kill(server.pid, signal.SIGCONT)
    bench.wait_for(NodeJoined, count=2)  # it has taken the next session
    assert isinstance(bench.run(shell("true"), task=1), TaskFinished)

    assert lost.reason.startswith("no heartbeat for 3 s")
    assert key.task not in ends(bench)
    assert is_gone(agent)


DRIVER = """
    import json, sys, time
    from sluice.core.events import NodeJoined
    from sluice.model.attempts import AttemptKey
    from sluice.engines.agent_engine import AgentEngine
    from sluice.engines.base import Attempt
    from sluice.engines.cluster.handshake import token_key
    from sluice.engines.cluster.launcher import NetworkLauncher
    from sluice.engines.cluster.remote_agent import Access
    from sluice.model.cluster import Node

    token, address, folder, script = json.loads(sys.argv[1])
    access = Access(key=token_key(token), lease_s=10)
    launcher = NetworkLauncher((Node(node_id="n0"),), {"n0": tuple(address)}, access, 1)
    engine = AgentEngine(launcher, 1, time.monotonic)
    engine.start()
    while not any(isinstance(event, NodeJoined) for event in engine.events(10)):
        pass
    work = {"kind": "command", "job_name": "job", "cwd": folder, "argv": ["/bin/sh", "-c", script]}
    key = AttemptKey("j", 0, 0, 1)
    engine.launch(Attempt(key=key, epoch=1, node_id="n0", slot=0, work=work))
    while True:
        engine.events(10)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_driver_that_is_gone_or_frozen_leaves_nothing(cluster, tmp_path, number):
    server = cluster.serve(driver_lease_s=4.0, closed_lease_s=0.5)
    hidden = "setsid sh -c 'echo $$ > hidden; while :; do sleep 0.1; done' & sleep 600"
    heard = json.dumps([cluster.token, server.address, str(tmp_path), f"echo $$ > pid; {hidden}"])
    argv = [sys.executable, "-c", textwrap.dedent(DRIVER), heard]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(argv, env=env) as driver:
        try:
            pids = [pid_in(tmp_path / "pid"), pid_in(tmp_path / "hidden")]
            pids.append(agent_of(tmp_path / "s", pids[0]))
            driver.send_signal(number)
            assert [] == left_of(pids)
            wait_until(server.ended)
        finally:
            driver.kill()

    assert "no sign of the driver" in server.ended()


def test_a_driver_that_is_busy_for_longer_than_its_lease_loses_no_node(cluster, tmp_path):
    server = cluster.serve(driver_lease_s=3.0, closed_lease_s=0.5)
    bench = cluster.connect(server.address, lease_s=30)
    bench.wait_for(NodeJoined)
    bench.launch(shell("while [ ! -e go ]; do sleep 0.01; done", cwd=str(tmp_path)))
    bench.wait_for(TaskStarted)
    time.sleep(4.5)  # the lease is the subject: the engine is not called for half as long again
    (tmp_path / "go").touch()
    bench.wait_for(TaskFinished)

    assert server.ended() == ""
    assert not [event for event in bench.heard if isinstance(event, NodeLost)]


def test_agents_are_kept_for_a_driver_that_may_come_back(cluster, tmp_path):
    proxy = cluster.proxy(cluster.serve(closed_lease_s=0.2, reattach_s=60).address)
    bench = cluster.connect(proxy.address, lease_s=60)
    bench.wait_for(NodeJoined)
    bench.launch(shell("echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done", cwd=str(tmp_path)))
    pid = pid_in(tmp_path / "pid")
    proxy.cut()
    bench.heard += bench.engine.events(1.5)

    assert not is_gone(pid)
    proxy.heal()
    (tmp_path / "go").touch()
    assert bench.wait_for(TaskFinished)


# --- who may connect ------------------------------------------------------------------------------


def test_a_driver_of_a_later_life_takes_over_and_the_former_one_is_refused(cluster, tmp_path):
    server = cluster.serve()
    former = cluster.connect(server.address, epoch=1)
    former.wait_for(NodeJoined)
    former.launch(shell("echo $$ > pid; exec sleep 600", cwd=str(tmp_path)))
    pid = pid_in(tmp_path / "pid")
    later = cluster.connect(server.address, epoch=2)
    later.wait_for(NodeJoined)
    lost = former.wait_for(NodeLost)[0]

    assert [] == left_of([pid])
    assert "epoch 2 (session 1) has taken this node over" in lost.reason
    assert isinstance(later.run(shell("true"), epoch=2), TaskFinished)
    for epoch in (1, 2):  # neither an earlier life, nor another driver of the same one
        again = cluster.connect(server.address, epoch=epoch)
        assert "has taken this node over" in again.wait_for(NodeLost)[0].reason
    assert isinstance(later.run(shell("true"), task=1, epoch=2), TaskFinished)
    assert [NodeJoined] == [type(e) for e in later.heard if isinstance(e, NodeJoined | NodeLost)]


def test_a_driver_with_another_token_gets_no_node_and_disturbs_nobody(cluster, monkeypatch):
    server = cluster.serve()
    bench = cluster.connect(server.address)
    bench.wait_for(NodeJoined)
    monkeypatch.setattr("sluice.engines.cluster.remote_agent.CONNECT_S", 0.5)
    stranger = cluster.connect(server.address, token=new_token(), epoch=9)
    (lost,) = stranger.wait_for(NodeLost)

    assert "the token is not the one of this run" in lost.reason
    assert isinstance(bench.run(shell("true")), TaskFinished)


def test_a_server_of_another_node_is_not_taken_for_the_right_one(cluster):
    server = cluster.serve()
    bench = cluster.connect(server.address, node=Node(node_id=NodeId("other")))

    assert "there is that of node 'n0'" in bench.wait_for(NodeLost)[0].reason


@pytest.mark.parametrize(
    "said", [b"GET / HTTP/1.1\r\n\r\n", framed(b"{}"), framed(bytes(4096)), b"\xff" * 99]
)
def test_a_peer_that_says_nonsense_gets_one_clear_refusal(cluster, said):
    server = cluster.serve()
    with socket.create_connection(server.address, PATIENCE_S) as peer:
        peer.sendall(said)
        answer = b""
        while chunk := peer.recv(4096):
            answer += chunk

    assert answer.count(b'"refused"') == 1
    bench = cluster.connect(server.address)
    bench.wait_for(NodeJoined)


def test_what_is_no_node_server_is_named(cluster, monkeypatch):
    monkeypatch.setattr("sluice.engines.cluster.remote_agent.CONNECT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        bench = cluster.connect(listener.getsockname())
        peer, _ = listener.accept()
        listener.close()
        with peer:
            peer.sendall(framed(b"220 mail.example ESMTP"))
            (lost,) = bench.wait_for(NodeLost)

    assert "it does not speak the protocol of Sluice" in lost.reason


def test_an_address_where_nothing_listens_is_a_lost_node(cluster, monkeypatch):
    monkeypatch.setattr("sluice.engines.cluster.remote_agent.CONNECT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    (lost,) = cluster.connect(address).wait_for(NodeLost)

    assert lost.reason.startswith("its node server cannot be reached: 127.0.0.1:")
    assert "onnection refused" in lost.reason


def test_the_token_is_in_no_command_line_and_no_environment(cluster):
    server = cluster.serve()
    bench = cluster.connect(server.address)
    bench.wait_for(NodeJoined)
    for pid in (server.pid, *marked(cluster.scratch)):
        for name in ("cmdline", "environ"):
            assert cluster.token.encode() not in Path(f"/proc/{pid}/{name}").read_bytes()


# --- TLS ------------------------------------------------------------------------------------------


def test_with_certificates_the_connection_is_encrypted(cluster, certificate, tmp_path):
    server = cluster.serve(certificate=certificate[0], key=certificate[1])
    tls = ssl.create_default_context(cafile=certificate[0])
    bench = cluster.connect(server.address, tls=tls)
    bench.wait_for(NodeJoined)
    words = ["x" * 100_000] * 10
    done = bench.run({"kind": "command", "argv": ["/bin/sh", "-c", 'echo $# > "$0"', "n", *words],
                      "cwd": str(tmp_path)})  # fmt: skip

    assert isinstance(done, TaskFinished)
    assert (tmp_path / "n").read_text() == "10\n"
    for task in range(1, 60):
        bench.launch(shell("true"), task)
    bench.wait_for(TaskFinished, count=60)


def test_a_certificate_that_nobody_vouches_for_is_not_accepted(cluster, certificate, monkeypatch):
    monkeypatch.setattr("sluice.engines.cluster.remote_agent.CONNECT_S", 0.5)
    server = cluster.serve(certificate=certificate[0], key=certificate[1])
    bench = cluster.connect(server.address, tls=ssl.create_default_context())

    assert "TLS: self" in bench.wait_for(NodeLost)[0].reason


def test_a_server_with_certificates_speaks_to_no_plain_driver(cluster, certificate, monkeypatch):
    monkeypatch.setattr("sluice.engines.cluster.remote_agent.HANDSHAKE_S", 0.5)
    monkeypatch.setattr("sluice.engines.cluster.remote_agent.CONNECT_S", 0.5)
    server = cluster.serve(certificate=certificate[0], key=certificate[1])

    assert "cannot be reached" in cluster.connect(server.address).wait_for(NodeLost)[0].reason


# --- started by hand ------------------------------------------------------------------------------


def server_by_hand(said):
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    argv = [sys.executable, "-m", "sluice.engines.cluster.node_server"]
    return subprocess.run(
        argv, input=said, env=env, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_node_server_says_where_it_listens_and_ends_with_its_starter(tmp_path):
    settings = {"token": new_token(), "node_id": "n0", "scratch": str(tmp_path / "root")}
    done = server_by_hand(json.dumps(settings) + "\n")

    assert done.returncode == 0
    where = json.loads(done.stdout)
    assert where["host"] == "127.0.0.1"
    assert where["port"] > 0
    assert "ends: its starter is gone" in done.stderr


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("", "its settings"),
        ("nonsense", "its settings"),
        ("[1]", "its settings"),
        ('{"token": "short", "scratch": "x", "node_id": "n"}', "the token of the run has 5"),
        ('{"tokn": "x"}', "tokn"),
        ('{"token": "%s", "scratch": "x", "node_id": ""}' % ("x" * 40), "node_id"),
        ('{"token": "%s", "scratch": "", "node_id": "n"}' % ("x" * 40), "scratch"),
        ('{"token": "%s", "scratch": "x", "node_id": "n", "port": 99999}' % ("x" * 40), "65535"),
        ('{"token": "%s", "scratch": "x", "node_id": "n", "reattach_s": "1"}' % ("x" * 40), "sec"),
        (
            '{"token": "%s", "scratch": "x", "node_id": "n", "certificate": "/no/such.pem"}'
            % ("x" * 40),
            "/no/such.pem",
        ),
    ],
)
def test_settings_that_cannot_be_used_get_one_clear_message(tmp_path, monkeypatch, said, named):
    monkeypatch.chdir(tmp_path)
    done = server_by_hand(said + "\n")

    assert done.returncode == 2
    assert named in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []
