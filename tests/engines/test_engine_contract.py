"""The rules that every engine keeps: over pipes, over a network, over Ray, and the made-up one.

The made-up one runs no processes. `NOT_MADE_UP` names the tests that need some, with the reason.
"""

import os
import random
import signal
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests.effort import first_of
from tests.engines import test_cluster_live_run as cluster_live_run
from tests.engines.fakes import FakeEngine
from tests.engines.local_servers import LocalServersLauncher
from tests.engines.ray_lives import RayLives
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
from sluice.core.transitions import JobState
from sluice.engines.agent import kernel
from sluice.engines.agent_engine import AgentEngine
from sluice.engines.base import Limits
from sluice.engines.cluster.handshake import new_token, token_key
from sluice.engines.cluster.remote_agent import Access
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.engines.local.engine import LocalEngine
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase, RunSpec
from sluice.model.slot_kind import SlotKind

# Each test over most engines on each day, so that all engines are met each day.
pytestmark = pytest.mark.in_turn(2)
RAY = (pytest.mark.slow, pytest.mark.xdist_group("ray"))
NODES = tuple(
    Node(node_id=NodeId(f"n{number}"), map_slots=4, reduce_slots=1) for number in range(2)
)
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


def started(make, scratch, lease_s):
    """A bench on an engine of its own."""
    zero_s = time.monotonic()

    def clock():
        return time.monotonic() - zero_s

    engine = make(scratch, clock, lease_s)
    engine.start()
    bench = Bench(engine, clock, [], scratch=scratch)
    bench.wait_for(NodeJoined, count=len(NODES))
    return bench


@pytest.fixture(scope="module", autouse=True)
def modules(tmp_path_factory):
    """The code of the work, where every engine finds it."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "contract_work.py").write_text(textwrap.dedent(WORK), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield


@pytest.fixture(scope="module")
def ray_lives(modules, tmp_path_factory):
    """One cluster for all tests here."""
    lives = RayLives(tmp_path_factory.mktemp("ray"), NODES)
    try:
        lives.started(lives.engine()).engine.stop(kill_running=True)
        yield lives
    finally:
        lives.end()


MEASURED = "a made-up attempt uses nothing that could be measured"
NO_PROCESS = "it has no processes that could be left, stopped or killed"
NO_TEXT = "no bytes are written, sent or read"
NOT_MADE_UP = {
    "test_an_attempt_that_ends_well_is_measured": MEASURED,
    "test_work_in_an_interpreter_shows_progress_and_all_its_outputs": MEASURED,
    "test_a_failure_shows_the_last_lines_of_a_large_log": NO_TEXT,
    "test_any_text_arrives_as_it_is": NO_TEXT,
    "test_a_command_of_a_megabyte_arrives": NO_TEXT,
    "test_a_kill_is_shown_once_all_is_gone": NO_PROCESS,
    "test_a_killed_agent_is_a_lost_node_that_comes_back": NO_PROCESS,
    "test_a_frozen_agent_is_a_lost_node_that_comes_back": NO_PROCESS,
    "test_a_node_that_is_slow_is_not_lost": NO_PROCESS,
    "test_a_disk_that_is_full_fails_the_attempt_and_not_the_node": NO_TEXT,
    "test_a_log_that_cannot_be_opened_is_a_fault_of_the_node": NO_TEXT,
    "test_stop_ends_what_runs_and_leaves_nothing": NO_PROCESS,
}


def made_up():
    """A bench on an engine in made-up time."""
    engine = FakeEngine(NODES, epoch=1)
    engine.is_strict = False  # a launch that is wrong is answered, as by the others
    engine.start()
    bench = Bench(engine, engine.clock.now_s, [])
    bench.wait_for(NodeJoined, count=len(NODES))
    return bench


def pytest_generate_tests(metafunc):
    if "start" in metafunc.fixturenames:
        engines = [local, network, pytest.param("ray", marks=RAY)]
        if metafunc.function.__name__ not in NOT_MADE_UP:
            engines.append(made_up)
        metafunc.parametrize("start", engines, indirect=True)


def test_the_tests_that_the_made_up_engine_does_without_exist():
    assert NOT_MADE_UP.keys() <= globals().keys()


@pytest.fixture
def start(request, tmp_path):
    """Starts an engine with two nodes; nothing of it is left after the test."""
    if request.param is made_up:
        yield made_up
        return
    is_ray = request.param == "ray"
    lives = request.getfixturevalue("ray_lives") if is_ray else None
    scratch = lives.scratch if lives else tmp_path / "s"
    benches = []

    def start(lease_s=None):
        if lives:
            benches.append(lives.started(lives.engine(lease_s=lease_s)))
        else:
            benches.append(started(request.param, scratch, lease_s))
        return benches[-1]

    yield start
    for bench in benches:
        bench.engine.stop(kill_running=True)
    # The node servers of Ray's nodes wait for the next life.
    assert [] == left_of([pid for pid in marked(scratch) if not lives or is_agent(pid)])


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


def is_agent(pid):
    """Whether a process is that of an agent."""
    return kernel.process_name(pid) == "sluice-agent"


def lose_node_of(bench, key):
    """Have the node of a running attempt lost; it comes back."""
    if isinstance(bench.engine, FakeEngine):
        bench.engine.lose(bench.engine.launched[key.task].node_id, back_s=0.5)
        return
    mark = f"SLUICE_ATTEMPT=job-0-{key.task}-1-".encode()
    pids = (
        pid for pid in marked(bench.scratch) if mark in Path(f"/proc/{pid}/environ").read_bytes()
    )
    os.kill(agent_of(bench.scratch, next(pids)), signal.SIGKILL)


def ends(bench):
    """How many reports say that an attempt has ended, by task."""
    return sorted(e.key.task for e in bench.heard if isinstance(e, TaskFinished | TaskFailed))


def test_an_attempt_that_ends_well_is_measured(bench):
    before_s = bench.clock()
    done = bench.run(shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"))

    assert isinstance(done, TaskFinished)
    assert before_s <= done.finished_at_s <= done.at_s <= bench.clock()
    assert 0 < done.usage.wall_s <= done.finished_at_s - before_s
    assert done.usage.rss_bytes_max > 1 << 20
    assert [done.key] == [event.key for event in bench.heard if isinstance(event, TaskStarted)]


def test_work_in_an_interpreter_shows_progress_and_all_its_outputs(bench):
    work = {"module": "contract_work", "host": "h", "kind": "python", "outputs": 20_000}
    done = bench.run(work, node="n1")

    assert isinstance(done, TaskFinished)
    assert len(done.outputs) == 20_001
    assert done.outputs[-1] == "part-19999-\N{SNOWMAN}"
    assert done.usage.input_bytes == 7
    assert [0.5] == [event.fraction for event in bench.heard if isinstance(event, TaskProgress)]


def test_a_failure_shows_the_last_lines_of_a_large_log(bench):
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


@pytest.mark.parametrize("count", first_of([100, pytest.param(2_000, marks=pytest.mark.slow)], 1))
def test_many_attempts_on_two_nodes_are_each_shown_exactly_once(bench, tmp_path, count):
    """Of 10,000 `python -m bench.cluster --checked 10000` says the same."""
    for task in range(count):
        work = shell(f"echo {task} >> runs", cwd=str(tmp_path))
        bench.launch(work, task, node=f"n{task % 2}")
    bench.wait_for(TaskFinished, count=count, patience_s=count)
    bench.heard += bench.engine.events(0.1)

    for kind in (TaskStarted, TaskFinished):
        keys = [event.key.task for event in bench.heard if isinstance(event, kind)]
        assert sorted(keys) == list(range(count))
    ran = (tmp_path / "runs").read_text().split()
    assert sorted(map(int, ran)) == list(range(count))


def test_a_kill_is_shown_once_all_is_gone(bench, tmp_path):
    key = bench.launch(shell(HIDDEN, cwd=str(tmp_path)))
    hidden = pid_in(tmp_path / "hidden")
    bench.engine.kill(key, "preempted")
    bench.engine.kill(key, "again")
    failed = bench.wait_for(TaskFailed, key)[0]
    bench.engine.kill(key, "late")
    bench.heard += bench.engine.events(0.1)

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
    bench.heard += bench.engine.events(0.2)

    assert (tmp_path / "runs").read_text() == "ran\n"
    assert ends(bench) == [0]


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"node": "elsewhere"}, FailureKind.NODE_FAULT),
        ({"epoch": 0}, FailureKind.REJECTED),  # of a former life
        ({"epoch": 999}, FailureKind.REJECTED),
    ],
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


def test_reconcile_shows_the_nodes_and_attempts_that_exist(bench):
    key = bench.launch(shell("sleep 600"), grace_s=0.1, node="n1")
    bench.run(shell("true"), task=1)
    snapshot = bench.engine.reconcile()

    assert sorted(node.node_id for node in snapshot.nodes) == ["n0", "n1"]
    assert snapshot.attempts == (key,)


def test_a_killed_agent_is_a_lost_node_that_comes_back(bench, tmp_path):
    key = bench.launch(shell(f"echo $$ > pid; {HIDDEN}", cwd=str(tmp_path)))
    other = bench.launch(shell("while [ ! -e go ]; do sleep 0.01; done", cwd=str(tmp_path)), 1,
                         node="n1")  # fmt: skip
    pid, hidden = pid_in(tmp_path / "pid"), pid_in(tmp_path / "hidden")
    os.kill(agent_of(bench.scratch, pid), signal.SIGKILL)
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
    os.kill(agent_of(bench.scratch, pid), signal.SIGSTOP)
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
    agent = agent_of(bench.scratch, pid_in(tmp_path / "pid"))
    os.kill(agent, signal.SIGSTOP)
    for task in range(1, 20):
        bench.launch(shell("true"), task)
    bench.heard += bench.engine.events(0.5)
    os.kill(agent, signal.SIGCONT)
    bench.wait_for(TaskFinished, count=19)

    assert [] == [event for event in bench.heard if isinstance(event, NodeLost)]


def test_a_disk_that_is_full_fails_the_attempt_and_not_the_node(bench):
    for folder in bench.scratch.rglob("log"):
        (folder / f"job-0-0-1-e{bench.epoch}.log").symlink_to("/dev/full")
    failed = bench.run(shell("echo nowhere to write"))

    assert failed.kind is FailureKind.EXIT
    assert isinstance(bench.run(shell("true"), task=1), TaskFinished)


def test_a_log_that_cannot_be_opened_is_a_fault_of_the_node(bench):
    for folder in bench.scratch.rglob("log"):
        (folder / f"job-0-0-1-e{bench.epoch}.log").symlink_to(folder / "none" / "here")
    failed = bench.run(shell("echo nowhere to write"))

    assert failed.kind is FailureKind.NODE_FAULT
    assert isinstance(bench.run(shell("true"), task=1), TaskFinished)


def test_a_node_that_was_lost_comes_back_and_its_attempts_end_no_more(bench):
    lost, other = (bench.launch(shell("sleep 2"), n, node=f"n{n}", grace_s=0.1) for n in range(2))
    bench.wait_for(TaskStarted, count=2)
    lose_node_of(bench, lost)

    assert bench.wait_for(NodeLost)[0].node_id == "n0"
    assert bench.wait_for(NodeJoined, count=3)[2].node.node_id == "n0"
    assert isinstance(bench.run(shell("true"), task=2), TaskFinished)
    assert isinstance(bench.wait_for(TaskFinished, other)[0], TaskFinished)
    assert lost not in bench.engine.reconcile().attempts
    bench.heard += bench.engine.events(0.1)
    assert ends(bench) == [1, 2]


def test_stop_ends_what_runs_and_leaves_nothing(bench, tmp_path):
    bench.launch(shell(HIDDEN, cwd=str(tmp_path)), grace_s=0.2)
    hidden = pid_in(tmp_path / "hidden")
    bench.engine.stop(kill_running=True)

    assert [] == left_of([hidden])


def test_stop_ends_what_runs_and_still_shows_it(bench):
    key = bench.launch(shell("sleep 600"), grace_s=0.2)
    bench.engine.stop(kill_running=True)

    assert bench.wait_for(TaskFailed, key)[0].kind is FailureKind.KILLED
    bench.launch(shell("true"), task=1)
    assert bench.wait_for(TaskFailed, count=2)[1].kind is FailureKind.NODE_FAULT
    assert [] == [event for event in bench.heard if isinstance(event, NodeLost)]


def test_stop_may_wait_for_what_runs(bench):
    key = bench.launch(shell("sleep 0.3"))
    bench.engine.stop(kill_running=False)

    assert bench.wait_for(TaskFinished, key)


# --- a driver, whole jobs, a bad network ----------------------------------------------------------


@pytest.mark.parametrize(
    "make", [cluster_live_run.local, cluster_live_run.network, pytest.param("ray", marks=RAY)]
)
def test_all_that_is_shuffled_arrives(request, tmp_path, make):
    """2 MB; `python -m bench.shuffle` moves 1 GB."""
    if make == "ray":
        lives = request.getfixturevalue("ray_lives")

        def make(_folder, journal, clock):
            return lives.engine(clock=clock.now_s, serves=journal.epoch)

    folder = tmp_path / "run"
    _, result = cluster_live_run.run(folder, make, make_job=shuffle)

    assert {entry.state for entry in result.jobs.values()} == {JobState.DONE}
    assert lines_of(folder / "out") == lines_of(folder / "in")


def shuffle(folder, *, pause_s):
    """A job whose maps and reduces change nothing. pause_s: it does not pause."""
    assert pause_s == 0.0
    rng = random.Random(7)
    (folder / "in").mkdir()
    for number in range(8):
        lines = (f"{rng.getrandbits(64):x}\t{rng.randbytes(40).hex()}\n" for _ in range(2_500))
        (folder / "in" / str(number)).write_text("".join(lines))
    spec = RunSpec(
        folder=str(folder), input=("in",), output="out", mapper=("cat",), reducer=("cat",)
    )
    reduces = Phase(name="reduce", kind=SlotKind.REDUCE, tasks=2, after=())
    return Job(job_id=JobId("shuffle/1"), pool=PoolId("p"), phases=(reduces,), run=spec)


def lines_of(folder):
    """All lines of the files of a folder, sorted."""
    texts = (path.read_text() for path in folder.iterdir() if path.name[0] != ".")
    return sorted(line for text in texts for line in text.splitlines())


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_the_next_life_of_a_driver_takes_over_what_runs_on_ray(ray_lives, tmp_path):
    first = ray_lives.started(ray_lives.engine())
    script = "echo $$ >> runs; while [ ! -e go ]; do sleep 0.02; done"
    keys = [
        first.launch(shell(script, cwd=str(tmp_path)), task, node=f"n{task % 2}")
        for task in range(6)
    ]
    first.wait_for(TaskStarted, count=6)
    running = list(first.engine._open.values())
    ray_lives.crash(first.engine)
    engine = ray_lives.engine()
    engine.adopt(running, since_s=0.0)
    later = ray_lives.started(engine)
    try:
        assert set(engine.reconcile().attempts) == set(keys)
        (tmp_path / "go").touch()
        later.wait_for(TaskFinished, count=6)
        later.heard += engine.events(0.2)
    finally:
        engine.stop(kill_running=True)

    assert ends(later) == list(range(6))
    assert len((tmp_path / "runs").read_text().split()) == 6


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_nothing_is_lost_or_doubled_over_a_network_with_faults_on_ray(
    ray_lives, tmp_path, monkeypatch
):
    """Frames are cut off, dropped, repeated, swapped, changed and delayed."""
    # A frame of the handshake that is lost costs this much.
    monkeypatch.setattr("sluice.engines.cluster.remote_agent.HANDSHAKE_S", 1.0)
    engine = ray_lives.engine(faults={"probability": 0.04, "seed": 3})
    bench = ray_lives.started(engine)
    try:
        for task in range(100):
            bench.launch(
                shell(f"echo {task} >> runs", cwd=str(tmp_path)), task, node=f"n{task % 2}"
            )
            bench.heard += engine.events(0.0)
        bench.wait_for(TaskFinished, count=100, patience_s=60.0)
        bench.heard += engine.events(0.2)
    finally:
        for proxy in engine.launcher.proxies:
            proxy.probability = 0.0
        engine.stop(kill_running=True)

    assert ends(bench) == list(range(100))
    ran = [int(task) for task in (tmp_path / "runs").read_text().split()]
    assert sorted(ran) == list(range(100))
    assert sum(sum(proxy.faults.values()) for proxy in engine.launcher.proxies) >= 5
