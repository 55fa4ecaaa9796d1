"""What every engine with real processes keeps: the same tests over pipes and over a network."""

import os
import signal
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests.engines.test_local_engine import Bench, left_of, marked, pid_in, shell

from sluice.core.events import (
    FailureKind,
    NodeJoined,
    NodeLost,
    TaskFailed,
    TaskFinished,
    TaskProgress,
    TaskStarted,
)
from sluice.engines.agent_engine import AgentEngine
from sluice.engines.base import Limits
from sluice.engines.cluster.handshake import new_token, token_key
from sluice.engines.cluster.node_servers import LocalServersLauncher
from sluice.engines.cluster.remote_agent import Access
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.engines.local.engine import LocalEngine
from sluice.model.cluster import Node
from sluice.model.ids import NodeId

NODES = (Node(node_id=NodeId("n0"), map_slots=4), Node(node_id=NodeId("n1"), map_slots=4))
HIDDEN = "setsid sh -c 'echo $$ > hidden; while :; do sleep 0.1; done' & sleep 600"
WORK = """
    import os

    def preload(work):
        pass

    def perform(work, place):
        os.write(place["progress_fd"], b'{"fraction": 0.5, "shuffled_at_s": 0.0}\\n')
        outputs = [place["scratch"], *(f"part-{n}-\N{SNOWMAN}" for n in range(work["outputs"]))]
        return {"outputs": outputs, "counters": {"input_bytes": 7}, "shuffled_at_s": 0.0}
"""


def local(scratch, clock, lease_s):
    return LocalEngine(NODES, scratch, 1, clock, lease_s=lease_s)


def network(scratch, clock, lease_s):
    token = new_token()
    access = Access(key=token_key(token), lease_s=lease_s)
    settings = ServerSettings(token=token)
    return AgentEngine(LocalServersLauncher(NODES, scratch, access, 1, settings), 1, clock)


@pytest.fixture(params=[local, network])
def start(request, tmp_path, monkeypatch):
    """Starts an engine with two nodes; nothing of it is left after the test."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "contract_work.py").write_text(textwrap.dedent(WORK), "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    engines = []
    zero_s = time.monotonic()

    def started(lease_s=None):
        def clock():
            return time.monotonic() - zero_s

        engine = request.param(tmp_path / "s", clock, lease_s)
        engines.append(engine)
        engine.start()
        bench = Bench(engine, clock, [])
        bench.wait_for(NodeJoined, count=len(NODES))
        return bench

    yield started
    for engine in engines:
        engine.stop(kill_running=True)
    assert [] == left_of(marked(tmp_path / "s"))


@pytest.fixture
def bench(start):
    return start()


def agent_of(scratch, attempt_pid):
    """The agent that an attempt's leader is a child of."""
    stat = Path(f"/proc/{attempt_pid}/stat").read_text()
    agent = int(stat.rpartition(")")[2].split()[1])
    assert agent in marked(scratch)
    assert Path(f"/proc/{agent}/comm").read_text() == "sluice-agent\n"
    return agent


def ends(bench):
    """How many reports say that an attempt has ended, by task."""
    return sorted(e.key.task for e in bench.told if isinstance(e, TaskFinished | TaskFailed))


def test_an_attempt_that_ends_well_is_measured(bench):
    before_s = bench.clock()
    done = bench.run(shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"))

    assert isinstance(done, TaskFinished)
    assert before_s <= done.finished_at_s <= done.at_s <= bench.clock()
    assert 0 < done.usage.wall_s <= done.finished_at_s - before_s
    assert done.usage.rss_bytes_max > 1 << 20
    assert [done.key] == [event.key for event in bench.told if isinstance(event, TaskStarted)]


def test_work_in_an_interpreter_tells_progress_and_all_its_outputs(bench):
    work = {"module": "contract_work", "host": "h", "kind": "python", "outputs": 20_000}
    done = bench.run(work, node="n1")

    assert isinstance(done, TaskFinished)
    assert len(done.outputs) == 20_001
    assert done.outputs[-1] == "part-19999-\N{SNOWMAN}"
    assert done.usage.input_bytes == 7
    assert [0.5] == [event.fraction for event in bench.told if isinstance(event, TaskProgress)]


def test_a_failure_tells_the_last_lines_of_a_large_log(bench):
    script = "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo the end >&2; exit 3"
    failed = bench.run(shell(script))

    assert (failed.kind, failed.detail.split("\n")[0]) == (FailureKind.EXIT, "exit code 3")
    assert failed.detail.endswith("the end")
    assert len(failed.detail) < 6000


def test_any_text_arrives_as_it_is(bench, tmp_path):
    nasty = "a b'c\"d\\e\n$(f)*é\udce9\N{SNOWMAN}"
    script = "import os, sys; open('o', 'wb').write(os.fsencode(sys.argv[1] + os.environ['X']))"
    argv = [sys.executable, "-c", script, nasty]
    work = {"kind": "command", "argv": argv, "env": {"X": nasty}, "cwd": str(tmp_path)}

    assert isinstance(bench.run(work), TaskFinished)
    assert os.fsdecode((tmp_path / "o").read_bytes()) == 2 * nasty


def test_a_command_of_a_megabyte_arrives(bench, tmp_path):
    words = ["x" * 100_000] * 10
    bench.run({"kind": "command", "argv": ["/bin/sh", "-c", 'echo $# > "$0"', "n", *words],
               "cwd": str(tmp_path)})  # fmt: skip

    assert (tmp_path / "n").read_text() == "10\n"


def test_many_attempts_on_two_nodes_are_each_told_exactly_once(bench, tmp_path):
    for task in range(300):
        work = shell(f"echo {task} >> runs", cwd=str(tmp_path))
        bench.launch(work, task, node=f"n{task % 2}")
    bench.wait_for(TaskFinished, count=300)
    bench.told += bench.engine.events(0.1)

    for kind in (TaskStarted, TaskFinished):
        keys = [event.key.task for event in bench.told if isinstance(event, kind)]
        assert sorted(keys) == list(range(300))
    ran = (tmp_path / "runs").read_text().split()
    assert sorted(map(int, ran)) == list(range(300))


def test_a_kill_is_told_once_all_is_gone(bench, tmp_path):
    key = bench.launch(shell(HIDDEN, cwd=str(tmp_path)))
    hidden = pid_in(tmp_path / "hidden")
    bench.engine.kill(key, "preempted")
    bench.engine.kill(key, "again")
    failed = bench.wait_for(TaskFailed, key)[0]
    bench.engine.kill(key, "late")
    bench.told += bench.engine.events(0.1)

    assert (failed.kind, failed.detail) == (FailureKind.KILLED, "preempted")
    assert [] == left_of([hidden])
    assert ends(bench) == [0]


def test_a_kill_right_after_the_launch_kills(bench):
    keys = [bench.launch(shell("sleep 600"), task, grace_s=0.1) for task in range(10)]
    for key in keys:
        bench.engine.kill(key, "changed my mind")

    assert {FailureKind.KILLED} == {e.kind for e in bench.wait_for(TaskFailed, count=10)}


def test_the_same_attempt_runs_once(bench, tmp_path):
    work = shell("echo ran >> runs; sleep 0.1", cwd=str(tmp_path))
    for _ in range(3):
        bench.launch(work)
    bench.wait_for(TaskFinished)
    bench.launch(work)
    bench.told += bench.engine.events(0.2)

    assert (tmp_path / "runs").read_text() == "ran\n"
    assert ends(bench) == [0]


@pytest.mark.parametrize(
    ("options", "kind"),
    [({"node": "elsewhere"}, FailureKind.NODE_FAULT), ({"epoch": 2}, FailureKind.REJECTED)],
)
def test_what_cannot_be_launched_is_rejected_at_once(bench, options, kind):
    key = bench.launch(shell("true"), **options)
    (failed,) = bench.engine.events(0)

    assert (failed.key, failed.kind) == (key, kind)


def test_a_launch_that_the_agent_refuses_is_answered(bench):
    assert bench.run({"kind": "command", "argv": []}).kind is FailureKind.REJECTED
    assert bench.run({"kind": "command", "argv": ["true", 7]}, task=1).kind is FailureKind.REJECTED


def test_the_limits_reach_the_agent(bench):
    failed = bench.run(shell("yes > /dev/null"), limits=Limits(wall_s=0.3), grace_s=0.1)

    assert failed.kind is FailureKind.TIMEOUT


def test_reconcile_tells_the_nodes_and_attempts_that_exist(bench):
    key = bench.launch(shell("sleep 600"), grace_s=0.1, node="n1")
    bench.run(shell("true"), task=1)
    snapshot = bench.engine.reconcile()

    assert [node.node_id for node in snapshot.nodes] == ["n0", "n1"]
    assert snapshot.attempts == (key,)


def test_a_killed_agent_is_a_lost_node_that_comes_back(bench, tmp_path):
    key = bench.launch(shell(f"echo $$ > pid; {HIDDEN}", cwd=str(tmp_path)))
    other = bench.launch(shell("while [ ! -e go ]; do sleep 0.01; done", cwd=str(tmp_path)), 1,
                         node="n1")  # fmt: skip
    pid, hidden = pid_in(tmp_path / "pid"), pid_in(tmp_path / "hidden")
    os.kill(agent_of(tmp_path / "s", pid), signal.SIGKILL)
    (lost,) = bench.wait_for(NodeLost)

    assert (lost.node_id, lost.reason) == ("n0", "its agent ended: signal SIGKILL")
    assert [] == left_of([pid, hidden])
    bench.wait_for(NodeJoined, count=3)
    assert isinstance(bench.run(shell("true"), task=2), TaskFinished)
    (tmp_path / "go").touch()
    assert isinstance(bench.wait_for(TaskFinished, other)[0], TaskFinished)
    assert key.task not in ends(bench)


def test_a_frozen_agent_is_a_lost_node_that_comes_back(start, tmp_path):
    bench = start(lease_s=2.0)
    key = bench.launch(shell("echo $$ > pid; exec sleep 600", cwd=str(tmp_path)))
    pid = pid_in(tmp_path / "pid")
    os.kill(agent_of(tmp_path / "s", pid), signal.SIGSTOP)
    (lost,) = bench.wait_for(NodeLost)

    assert (lost.node_id, lost.reason) == ("n0", "no heartbeat for 2 s")
    assert [] == left_of([pid])
    bench.wait_for(NodeJoined, count=3)
    assert isinstance(bench.run(shell("true"), task=1), TaskFinished)
    assert key.task not in ends(bench)


def test_a_node_that_is_slow_is_not_lost(start, tmp_path):
    """Its agent pauses for less than its lease; what was sent in the meantime is done then."""
    bench = start(lease_s=60.0)
    bench.launch(shell("echo $$ > pid; exec sleep 600", cwd=str(tmp_path)), grace_s=0.1)
    agent = agent_of(tmp_path / "s", pid_in(tmp_path / "pid"))
    os.kill(agent, signal.SIGSTOP)
    for task in range(1, 20):
        bench.launch(shell("true"), task)
    bench.told += bench.engine.events(0.5)
    os.kill(agent, signal.SIGCONT)
    bench.wait_for(TaskFinished, count=19)

    assert [] == [event for event in bench.told if isinstance(event, NodeLost)]


def test_stop_ends_what_runs_and_still_tells_it(bench, tmp_path):
    key = bench.launch(shell(HIDDEN, cwd=str(tmp_path)), grace_s=0.2)
    hidden = pid_in(tmp_path / "hidden")
    bench.engine.stop(kill_running=True)

    assert [] == left_of([hidden])
    assert bench.wait_for(TaskFailed, key)[0].kind is FailureKind.KILLED
    bench.launch(shell("true"), task=1)
    assert bench.wait_for(TaskFailed, count=2)[1].kind is FailureKind.NODE_FAULT
    assert [] == [event for event in bench.told if isinstance(event, NodeLost)]


def test_stop_may_wait_for_what_runs(bench):
    key = bench.launch(shell("sleep 0.3"))
    bench.engine.stop(kill_running=False)

    assert bench.wait_for(TaskFinished, key)
