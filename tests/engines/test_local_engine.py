"""The local engine with real processes: every way an attempt can end, and that nothing is left."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests import skips

from sluice.core.events import (
    Event,
    FailureKind,
    NodeJoined,
    NodeLost,
    TaskFailed,
    TaskFinished,
    TaskProgress,
    TaskStarted,
)
from sluice.engines.agent import kernel
from sluice.engines.agent.attempts import Running
from sluice.engines.base import Attempt, Limits
from sluice.engines.local.engine import LocalEngine
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.errors import EngineUnavailable
from sluice.model.ids import JobId, NodeId

PATIENCE_S = 20.0
WORK = """
    import os, signal, subprocess, sys, time

    LOADED_BY = None

    class Failed(Exception):
        def __init__(self, message, blames):
            super().__init__(message)
            self.blames = blames

    def preload(work):
        global LOADED_BY
        LOADED_BY = os.getpid()
        with open(work["preloads"], "a") as file:
            file.write("loaded\\n")
        if work.get("crash_at_preload"):
            print("cannot be loaded", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(work.get("preload_s", 0))

    def perform(work, place):
        return {name: value for name, value in globals().items() if name.startswith("do_")}[
            "do_" + work["kind"]
        ](work, place)

    def do_answer(work, place):
        os.write(place["progress_fd"], b'{"fraction": 0.5, "shuffled_at_s": 0.25}\\nno json\\n')
        return {
            "outputs": [place["scratch"], place["node_id"], str(LOADED_BY)],
            "counters": {"input_bytes": 7, "output_records": 3},
            "shuffled_at_s": 0.25,
        }

    def do_blame(work, place):
        raise Failed("map output 3 is gone", [(0, 3)])

    def do_raise(work, place):
        raise ValueError("a bug in user code")

    def do_leave(work, place):
        sys.exit(work["code"])

    def do_hang(work, place):
        time.sleep(600)

    def do_children(work, place):
        subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
        return {"outputs": [], "counters": {}, "shuffled_at_s": None}

    def do_grow(work, place):
        return bytearray(1 << 32)
"""


@dataclass
class Bench:
    """An engine at work, and the events that it has shown so far."""

    engine: LocalEngine
    clock: Callable[[], float]
    heard: list[Event]
    epoch: int = 1
    scratch: Path | None = None  # of its nodes

    def launch(
        self, work, task=0, *, node="n0", limits=None, grace_s=1.0, epoch=None
    ) -> AttemptKey:
        key = AttemptKey(JobId("j"), 0, task, 1)
        self.engine.launch(
            Attempt(
                key=key,
                epoch=self.epoch if epoch is None else epoch,
                node_id=NodeId(node),
                slot=0,
                work={"job_name": "job"} | work,
                limits=limits or Limits(),
                kill_grace_s=grace_s,
            )
        )
        return key

    def wait_for(self, kind, key=None, count=1, patience_s=PATIENCE_S) -> list[Any]:
        until_s = time.monotonic() + patience_s
        while True:
            found = [
                event
                for event in self.heard
                if isinstance(event, kind) and (key is None or event.key == key)
            ]
            if len(found) >= count:
                return found
            assert time.monotonic() < until_s, f"no {kind} among {self.heard}"
            self.heard += self.engine.events(1.0)

    def run(self, work, **options):
        key = self.launch(work, **options)
        return self.wait_for((TaskFinished, TaskFailed), key)[0]


def shell(script: str, **more) -> dict[str, Any]:
    return {"kind": "command", "argv": ["/bin/sh", "-c", script], **more}


@pytest.fixture
def bench(tmp_path, monkeypatch) -> Iterator[Bench]:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "agent_test_work.py").write_text(textwrap.dedent(WORK))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    zero_s = time.monotonic()

    def clock() -> float:
        return time.monotonic() - zero_s

    engine = LocalEngine((Node(node_id=NodeId("n0"), map_slots=4),), tmp_path / "s", 1, clock)
    engine.start()
    made = Bench(engine, clock, [])
    made.wait_for(NodeJoined)
    yield made
    engine.stop(kill_running=True)
    assert [] == marked(tmp_path / "s")


@pytest.fixture
def hosted(tmp_path) -> dict[str, Any]:
    """Work that is done in an interpreter host."""
    return {
        "module": "agent_test_work",
        "host": "job",
        "preloads": str(tmp_path / "preloads"),
        "kind": "answer",
    }


def marked(scratch: Path) -> list[int]:
    """The living processes that bear the mark of a node under `scratch`."""
    mark = os.fsencode(f"SLUICE_NODE={scratch.resolve()}")
    found = []
    for pid in kernel.all_pids():
        try:
            environ = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if any(entry.startswith(mark) for entry in environ.split(b"\0")):
            found.append(pid)
    return found


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that is not reaped yet has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rsplit(")", 1)[1].split()[0] in "ZX"


def left_of(pids: list[int]) -> list[int]:
    """Those that are there even after a while: a killed process takes a moment to end."""
    until_s = time.monotonic() + PATIENCE_S
    while (left := [pid for pid in pids if not is_gone(pid)]) and time.monotonic() < until_s:
        time.sleep(0.01)
    return left


def pid_in(path: Path) -> int:
    until_s = time.monotonic() + PATIENCE_S
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < until_s
        time.sleep(0.005)
    return int(path.read_text())


# --- commands -------------------------------------------------------------------------------------


def test_a_command_that_ends_well_shows_what_it_took(bench):
    before_s = bench.clock()
    done = bench.run(shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"))

    assert isinstance(done, TaskFinished)
    assert done.usage is not None
    assert before_s <= done.finished_at_s <= done.at_s <= bench.clock()
    assert 0 < done.usage.cpu_s <= done.usage.wall_s * 2
    assert done.usage.wall_s <= bench.clock() - before_s
    assert 1 << 20 < done.usage.rss_bytes_max < 1 << 28
    assert [done.key] == [event.key for event in bench.heard if isinstance(event, TaskStarted)]


def test_an_exit_code_is_shown_with_the_last_lines_of_stderr(bench):
    failed = bench.run(shell("seq 1 30 >&2; printf 'caf\\351' >&2; exit 3"))

    assert failed.kind is FailureKind.EXIT
    first, *rest = failed.detail.split("\n")
    assert first == "exit code 3"
    assert rest == [str(number) for number in range(12, 31)] + ["caf\N{REPLACEMENT CHARACTER}"]


def test_a_huge_stderr_comes_back_bounded(bench):
    failed = bench.run(shell("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1"))

    assert len(failed.detail) < 5000


def test_a_signal_from_elsewhere_is_a_failure(bench):
    failed = bench.run(shell("kill -SEGV $$"))

    assert (failed.kind, failed.detail) == (
        FailureKind.EXIT,
        "the task's process was ended by SIGSEGV",
    )


def test_a_command_that_does_not_exist_fails_and_says_so(bench):
    failed = bench.run({"kind": "command", "argv": ["no-such-program-anywhere"]})

    assert failed.kind is FailureKind.EXIT
    assert "exit code 127" in failed.detail
    assert "no-such-program-anywhere" in failed.detail


def test_a_command_without_words_is_rejected(bench):
    assert bench.run({"kind": "command", "argv": []}).kind is FailureKind.REJECTED


def test_a_word_that_is_no_text_is_rejected(bench):
    assert bench.run({"kind": "command", "argv": ["true", 7]}).kind is FailureKind.REJECTED


def test_any_text_passes_through_arguments_environment_and_folder(bench, tmp_path):
    nasty = "a b'c\"d\\e\n$(f)*é\udce9"
    folder = tmp_path / "fol der 'with\nquotes\""
    folder.mkdir()
    script = (
        "import json, os, sys;"
        "json.dump([sys.argv[1:], os.environ['X'], os.getcwd()], open('o', 'w'))"
    )
    done = bench.run(
        {
            "kind": "command",
            "argv": [sys.executable, "-c", script, nasty, ""],
            "env": {"X": nasty},
            "cwd": str(folder),
        }
    )

    assert isinstance(done, TaskFinished)
    assert json.loads((folder / "o").read_text()) == [[nasty, ""], nasty, str(folder)]


def test_a_command_has_its_own_session_no_input_and_default_signals(bench, tmp_path):
    script = (
        "ps -o sid= -p $$ | tr -d ' ' > sid; echo $$ > pid; readlink /proc/self/fd/0 > stdin;"
        "cat /proc/self/status > status; ls /proc/self/fd > fds"
    )
    bench.run(shell(script, cwd=str(tmp_path)))

    assert (tmp_path / "sid").read_text() == (tmp_path / "pid").read_text()
    assert (tmp_path / "stdin").read_text() == "/dev/null\n"
    status = dict(line.split("\t", 1) for line in (tmp_path / "status").read_text().splitlines())
    for name in ("SigBlk:", "SigIgn:", "SigCgt:"):
        # 32 and 33 belong to the C library: a shell may hold one of them, and nobody may change it.
        assert int(status[name], 16) & ~(0b11 << 31) == 0, name
    assert len((tmp_path / "fds").read_text().split()) == 4  # 0, 1, 2 and the folder it lists


def test_two_hundred_commands_are_each_shown_exactly_once(bench):
    for task in range(200):
        bench.launch({"kind": "command", "argv": ["/bin/true"]}, task)
    bench.wait_for(TaskFinished, count=200)
    bench.heard += bench.engine.events(0.1)

    for kind in (TaskStarted, TaskFinished):
        keys = [event.key.task for event in bench.heard if isinstance(event, kind)]
        assert sorted(keys) == list(range(200))


# --- kills and limits -----------------------------------------------------------------------------


def test_a_kill_is_shown_once_all_is_gone(bench, tmp_path):
    key = bench.launch(shell("sleep 600 & echo $! > child; wait", cwd=str(tmp_path)))
    child = pid_in(tmp_path / "child")
    bench.engine.kill(key, "preempted")
    bench.engine.kill(key, "again")
    failed = bench.wait_for(TaskFailed, key)[0]

    assert (failed.kind, failed.detail) == (FailureKind.KILLED, "preempted")
    assert is_gone(child)


def test_a_process_may_clean_up_within_its_grace(bench, tmp_path):
    script = "trap 'echo bye > last; exit 0' TERM; echo $$ > up; while :; do sleep 0.01; done"
    key = bench.launch(shell(script, cwd=str(tmp_path)), grace_s=10)
    pid_in(tmp_path / "up")
    bench.engine.kill(key, "preempted")

    assert (
        bench.wait_for(TaskFailed, key)[0].kind is FailureKind.KILLED
    )  # although it exited with 0
    assert (tmp_path / "last").read_text() == "bye\n"


def test_a_process_that_ignores_sigterm_is_gone_after_its_grace(bench, tmp_path):
    script = "trap '' TERM; echo $$ > up; while :; do sleep 0.01; done"
    key = bench.launch(shell(script, cwd=str(tmp_path)), grace_s=0.2)
    pid = pid_in(tmp_path / "up")
    asked_at_s = bench.clock()
    bench.engine.kill(key, "preempted")
    failed = bench.wait_for(TaskFailed, key)[0]

    assert failed.kind is FailureKind.KILLED
    assert failed.finished_at_s >= asked_at_s + 0.2
    assert is_gone(pid)


def test_a_kill_right_after_the_launch_kills(bench):
    keys = [bench.launch(shell("sleep 600"), task, grace_s=0.1) for task in range(20)]
    for key in keys:
        bench.engine.kill(key, "changed my mind")

    assert {FailureKind.KILLED} == {e.kind for e in bench.wait_for(TaskFailed, count=20)}


def test_a_kill_of_what_has_ended_changes_nothing(bench):
    done = bench.run(shell("true"))
    bench.engine.kill(done.key, "late")

    assert [] == bench.engine.events(0.1)


@pytest.mark.parametrize("shed", ["", "env -i "])
@pytest.mark.parametrize("code", [0, 1])
def test_a_grandchild_in_a_session_of_its_own_does_not_survive(bench, tmp_path, shed, code):
    """Not even one that shed the mark of its attempt as well."""
    hide = f"{shed}setsid /bin/sh -c 'echo $$ > pid; while :; do /bin/sleep 0.1; done' &"
    script = f"{hide} while [ ! -s pid ]; do sleep 0.01; done; exit {code}"
    bench.run(shell(script, cwd=str(tmp_path)))

    assert is_gone(pid_in(tmp_path / "pid"))


def test_what_one_attempt_left_in_the_background_harms_no_other(bench, tmp_path):
    """A daemon of a running attempt lives as long as that attempt does."""
    script = "(setsid sleep 600 & echo $! > pid); while [ ! -e go ]; do sleep 0.01; done"
    key = bench.launch(shell(script, cwd=str(tmp_path)))
    daemon = pid_in(tmp_path / "pid")
    bench.run(shell("true"), task=1)

    assert not is_gone(daemon)
    (tmp_path / "go").touch()
    assert bench.wait_for(TaskFinished, key)
    assert is_gone(daemon)


def test_a_mapper_that_never_ends_hits_its_idle_limit(bench):
    failed = bench.run(shell("while :; do :; done"), limits=Limits(idle_s=0.4), grace_s=0.1)

    assert failed.kind is FailureKind.TIMEOUT
    assert "idle_s=0.4" in failed.detail


def test_a_command_whose_children_come_and_go_is_not_idle(tmp_path):
    """A child that has ended takes its bytes out of the sum: any change is a sign of life."""
    order = {"id": "a", "work": {}, "limits": {"idle_s": 10.0}, "grace_s": 1.0}
    running = Running(order, tmp_path / "log")
    for at_s, bytes_moved in ((100.0, 500), (105.0, 200), (112.0, 200)):
        running.look(at_s, bytes_moved)

    assert running.overdue(114.9) is None
    ending = running.overdue(115.0)
    assert ending is not None
    assert "idle_s=10" in ending.detail


def test_a_command_that_moves_bytes_is_not_idle(bench):
    script = "i=0; while [ $i -lt 12 ]; do sleep 0.1; echo x; i=$((i+1)); done"

    assert isinstance(bench.run(shell(script), limits=Limits(idle_s=0.6)), TaskFinished)


def test_the_wall_limit_ends_what_runs_too_long(bench):
    failed = bench.run(shell("yes > /dev/null"), limits=Limits(wall_s=0.3), grace_s=0.1)

    assert failed.kind is FailureKind.TIMEOUT
    assert "wall_s=0.3" in failed.detail


def test_a_file_beyond_the_output_limit_is_a_failure(bench, tmp_path):
    work = shell("exec head -c 100000 /dev/zero > big", cwd=str(tmp_path))
    failed = bench.run(work, limits=Limits(output_bytes=5000))

    assert failed.kind is FailureKind.EXIT
    assert "output_bytes=5000" in failed.detail


def test_more_memory_than_the_limit_is_a_failure(bench):
    work = {"kind": "command", "argv": [sys.executable, "-c", "bytearray(1 << 32)"]}
    failed = bench.run(work, limits=Limits(memory_bytes=1 << 30))

    assert failed.kind is FailureKind.EXIT
    assert "memory_bytes=1073741824" in failed.detail


# --- work in interpreter hosts --------------------------------------------------------------------


def test_work_in_a_host_shows_progress_outputs_and_counters(bench, hosted, tmp_path):
    done = bench.run(hosted)

    assert isinstance(done, TaskFinished)
    assert done.usage is not None
    scratch, node_id, _ = done.outputs
    assert Path(scratch).is_relative_to(tmp_path / "s")
    assert node_id == "n0"
    assert (done.usage.input_bytes, done.usage.output_records) == (7, 3)
    (progress,) = [event for event in bench.heard if isinstance(event, TaskProgress)]
    assert progress.fraction == 0.5
    started_at_s = done.finished_at_s - done.usage.wall_s
    assert done.shuffled_at_s == pytest.approx(started_at_s + 0.25, abs=1e-3)
    assert progress.shuffled_at_s == pytest.approx(started_at_s + 0.25, abs=1e-3)


def test_user_code_is_loaded_once_per_host(bench, hosted, tmp_path):
    hosts = {bench.run(hosted, task=task).outputs[2] for task in range(5)}

    assert len(hosts) == 1
    assert (tmp_path / "preloads").read_text() == "loaded\n"


def test_work_without_a_host_of_its_own_loads_nothing_of_the_user(bench, hosted, tmp_path):
    done = bench.run(hosted | {"host": None})

    assert isinstance(done, TaskFinished)
    assert not (tmp_path / "preloads").exists()


def test_a_failure_that_explains_itself_names_who_is_to_blame(bench, hosted):
    failed = bench.run(hosted | {"kind": "blame"})

    assert failed.kind is FailureKind.EXIT
    assert failed.detail.startswith("map output 3 is gone")
    assert failed.blames == ((0, 3),)


def test_a_bug_in_user_code_is_shown_with_its_traceback(bench, hosted):
    failed = bench.run(hosted | {"kind": "raise"})

    assert failed.kind is FailureKind.EXIT
    assert failed.detail.startswith("exit code 1\n")
    assert failed.detail.endswith("ValueError: a bug in user code")


@pytest.mark.parametrize(
    ("code", "heard"),
    [(0, "it ended without a result"), (5, "exit code 5"), ("so long", "exit code 1\nso long")],
)
def test_user_code_that_exits_is_no_success(bench, hosted, code, heard):
    assert bench.run(hosted | {"kind": "leave", "code": code}).detail == heard


def test_a_module_that_crashes_its_host_harms_only_its_own_work(bench, hosted):
    failed = bench.run(hosted | {"host": "bad", "crash_at_preload": True})

    assert failed.kind is FailureKind.EXIT
    assert "process was ended by SIGSEGV" in failed.detail
    assert "cannot be loaded" in failed.detail
    assert isinstance(bench.run(hosted, task=1), TaskFinished)


def test_a_module_that_cannot_be_imported_is_shown(bench, hosted):
    failed = bench.run(hosted | {"module": "no_such_module_anywhere"})

    assert failed.kind is FailureKind.EXIT
    assert "No module named 'no_such_module_anywhere'" in failed.detail


def test_a_module_that_never_loads_hits_the_limit(bench, hosted):
    failed = bench.run(hosted | {"preload_s": 600}, limits=Limits(wall_s=0.3))

    assert failed.kind is FailureKind.TIMEOUT
    assert isinstance(bench.run(hosted, task=1), TaskFinished)


def test_work_that_waits_for_its_host_can_be_taken_back(bench, hosted, tmp_path):
    key = bench.launch(hosted | {"preload_s": 0.5})
    until_s = time.monotonic() + PATIENCE_S
    while not (tmp_path / "preloads").exists() and time.monotonic() < until_s:
        bench.heard += bench.engine.events(0.01)
    bench.engine.kill(key, "preempted")

    assert bench.wait_for(TaskFailed, key)[0].kind is FailureKind.KILLED
    assert isinstance(bench.run(hosted, task=1), TaskFinished)
    assert [] == [e for e in bench.heard if isinstance(e, TaskStarted) and e.key == key]


def test_work_in_a_host_can_be_killed(bench, hosted):
    key = bench.launch(hosted | {"kind": "hang"})
    bench.wait_for(TaskStarted, key)
    bench.engine.kill(key, "preempted")

    assert bench.wait_for(TaskFailed, key)[0].kind is FailureKind.KILLED


def test_work_that_shows_nothing_hits_its_idle_limit(bench, hosted):
    failed = bench.run(hosted | {"kind": "hang"}, limits=Limits(idle_s=0.3))

    assert failed.kind is FailureKind.TIMEOUT


def test_usage_counts_the_children_that_the_work_waited_for(bench, hosted):
    assert bench.run(hosted | {"kind": "children"}).usage.cpu_s > 0.05


def test_memory_that_python_work_is_refused_is_shown(bench, hosted):
    failed = bench.run(hosted | {"kind": "grow"}, limits=Limits(memory_bytes=1 << 30))

    assert "memory_bytes=1073741824" in failed.detail


# --- launches that are answered at once -----------------------------------------------------------


def test_the_same_attempt_runs_once(bench, tmp_path):
    work = shell("echo ran >> runs; sleep 0.1", cwd=str(tmp_path))
    for _ in range(3):
        bench.launch(work)
    bench.wait_for(TaskFinished)
    bench.launch(work)
    bench.heard += bench.engine.events(0.2)

    assert (tmp_path / "runs").read_text() == "ran\n"
    assert len([event for event in bench.heard if isinstance(event, TaskFinished)]) == 1


@pytest.mark.parametrize(
    ("options", "kind"),
    [({"node": "elsewhere"}, FailureKind.NODE_FAULT), ({"epoch": 2}, FailureKind.REJECTED)],
)
def test_what_cannot_be_launched_is_rejected_at_once(bench, options, kind):
    key = bench.launch(shell("true"), **options)
    (failed,) = bench.engine.events(0)

    assert (failed.key, failed.kind) == (key, kind)


@pytest.mark.parametrize("name", ["../../up", "a/b", ".hidden", "", "x" * 300, "new\nline"])
def test_a_hostile_attempt_id_never_becomes_a_path(bench, tmp_path, name):
    before = sorted(tmp_path.rglob("*"))
    failed = bench.run({"kind": "command", "argv": ["/bin/true"], "job_name": name})

    if name:  # an empty name makes an id that is ugly, and safe
        assert failed.kind is FailureKind.REJECTED
    assert sorted(tmp_path.rglob("*")) == before


def test_reconcile_shows_the_nodes_and_attempts_that_exist(bench):
    key = bench.launch(shell("sleep 600"), grace_s=0.1)
    bench.run(shell("true"), task=1)
    snapshot = bench.engine.reconcile()

    assert [node.node_id for node in snapshot.nodes] == ["n0"]
    assert snapshot.attempts == (key,)


# --- nothing is left ------------------------------------------------------------------------------


HIDDEN = "setsid sh -c 'echo $$ > hidden; while :; do sleep 0.1; done' & sleep 600"


def test_a_killed_agent_is_a_lost_node_that_comes_back(bench, hosted, tmp_path):
    key = bench.launch(shell(HIDDEN, cwd=str(tmp_path)))
    in_host = bench.launch(hosted | {"kind": "hang"}, task=1)
    pids = [pid_in(tmp_path / "hidden")]
    bench.wait_for(TaskStarted, in_host)
    agent_pid = bench.engine._agents[NodeId("n0")].pid
    pids += [pid for pid in marked(tmp_path / "s") if pid != agent_pid]
    os.kill(agent_pid, signal.SIGKILL)
    (lost,) = bench.wait_for(NodeLost)

    assert (lost.node_id, lost.reason) == ("n0", "its agent ended: signal SIGKILL")
    assert [] == left_of(pids)
    assert len(pids) >= 4
    assert len(bench.wait_for(NodeJoined, count=2)) == 2
    assert isinstance(bench.run(shell("true"), task=2), TaskFinished)
    assert [] == [e for e in bench.heard if isinstance(e, TaskFailed) and e.key == key]


def test_a_daemon_without_a_mark_does_not_outlive_a_killed_agent(bench, tmp_path):
    if bench.engine._agents[NodeId("n0")]._enclosure is None:
        skips.skip("this account may make no control group")
    hide = "env -i setsid /bin/sh -c 'echo $$ > hidden; while :; do /bin/sleep 0.1; done' &"
    bench.launch(shell(f"{hide} sleep 600", cwd=str(tmp_path)))
    daemon = pid_in(tmp_path / "hidden")
    os.kill(bench.engine._agents[NodeId("n0")].pid, signal.SIGKILL)
    bench.wait_for(NodeLost)

    assert [] == left_of([daemon])
    bench.wait_for(NodeJoined, count=2)
    enclosure = bench.engine._agents[NodeId("n0")]._enclosure
    bench.engine.stop(kill_running=True)
    assert not enclosure.group.exists()


def test_a_frozen_agent_is_a_lost_node_that_comes_back(tmp_path):
    """It keeps its pipes open, and only its silence shows that nothing goes on."""
    nodes = (Node(node_id=NodeId("n0"), map_slots=1),)
    engine = LocalEngine(nodes, tmp_path / "s", 1, time.monotonic, lease_s=2.0)
    engine.start()
    bench = Bench(engine, time.monotonic, [])
    try:
        bench.wait_for(NodeJoined)
        key = bench.launch(shell("sleep 600"))
        bench.wait_for(TaskStarted, key)
        pids = marked(tmp_path / "s")
        os.kill(engine._agents[NodeId("n0")].pid, signal.SIGSTOP)
        (lost,) = bench.wait_for(NodeLost)

        assert (lost.node_id, lost.reason) == ("n0", "no heartbeat for 2 s")
        assert [] == left_of(pids)
        assert len(bench.wait_for(NodeJoined, count=2)) == 2
        assert isinstance(bench.run(shell("true"), task=1), TaskFinished)
        assert [] == [e for e in bench.heard if isinstance(e, TaskFailed)]
    finally:
        engine.stop(kill_running=True)


def test_an_idle_agent_keeps_its_lease(tmp_path):
    nodes = (Node(node_id=NodeId("n0"), map_slots=1),)
    engine = LocalEngine(nodes, tmp_path / "s", 1, time.monotonic, lease_s=2.0)
    engine.start()
    bench = Bench(engine, time.monotonic, [])
    try:
        bench.wait_for(NodeJoined)
        until_s = time.monotonic() + 4.0
        while (left_s := until_s - time.monotonic()) > 0:
            bench.heard += engine.events(left_s)
    finally:
        engine.stop(kill_running=True)

    assert [type(event) for event in bench.heard] == [NodeJoined]


def test_an_attempt_that_keeps_killing_its_agent_does_not_go_on_for_ever(bench):
    for task in range(20):
        if isinstance(bench.heard[-1], NodeLost):
            break
        bench.launch(shell("kill -9 $PPID"), task)
        bench.wait_for(NodeLost, count=task + 1)
        bench.heard += bench.engine.events(1.0)

    assert len([event for event in bench.heard if isinstance(event, NodeLost)]) == 6


PROGRAM = """
    import sys, time
    from pathlib import Path
    from sluice.core.events import NodeJoined
    from sluice.model.attempts import AttemptKey
    from sluice.engines.base import Attempt
    from sluice.engines.local.engine import LocalEngine
    from sluice.model.cluster import Node

    nodes = tuple(Node(node_id=f"n{number}") for number in range(2))
    engine = LocalEngine(nodes, Path(sys.argv[1]), 1, time.monotonic)
    engine.start()
    joined = 0
    while joined < 2:
        joined += sum(isinstance(event, NodeJoined) for event in engine.events(10))
    for node in nodes:
        work = {"kind": "command", "job_name": node.node_id, "cwd": sys.argv[2]}
        work["argv"] = ["/bin/sh", "-c", sys.argv[3]]
        key = AttemptKey("j", 0, 0, 1)
        engine.launch(Attempt(key=key, epoch=1, node_id=node.node_id, slot=0, work=work))
    while True:
        engine.events(10)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_engine_that_is_killed_leaves_nothing(tmp_path, number):
    argv = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path / "s"), str(tmp_path)]
    argv.append(HIDDEN.replace("> hidden", "> $SLUICE_ATTEMPT"))
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(argv, env=env) as engine:
        pids = [pid_in(tmp_path / f"n{node}-0-0-1-e1") for node in range(2)]
        pids += marked(tmp_path / "s")
        engine.send_signal(number)

    assert len(pids) >= 8
    assert [] == left_of(pids)
    assert [] == marked(tmp_path / "s")


def test_what_outlived_engine_and_agents_is_swept_by_the_next_engine(tmp_path):
    engine = LocalEngine((Node(node_id=NodeId("n0")),), tmp_path, 1, time.monotonic)
    engine.start()
    engine.stop(kill_running=True)
    (folder,) = tmp_path.glob("node-*")
    with subprocess.Popen(["sleep", "600"], env={"SLUICE_NODE": str(folder.resolve())}) as left:
        again = LocalEngine((Node(node_id=NodeId("n0")),), tmp_path, 2, time.monotonic)
        again.start()
        again.stop(kill_running=True)

        assert left.wait(PATIENCE_S) == -signal.SIGKILL


def test_two_engines_do_not_share_a_scratch_folder(bench, tmp_path):
    other = LocalEngine((Node(node_id=NodeId("n0")),), tmp_path / "s", 1, bench.clock)
    with pytest.raises(EngineUnavailable, match="another engine"):
        other.start()

    assert isinstance(bench.run(shell("true")), TaskFinished)


def test_stop_ends_what_runs_and_still_shows_it(bench, tmp_path):
    key = bench.launch(shell(HIDDEN, cwd=str(tmp_path)), grace_s=0.2)
    hidden = pid_in(tmp_path / "hidden")
    bench.engine.stop(kill_running=True)

    assert is_gone(hidden)
    assert bench.wait_for(TaskFailed, key)[0].kind is FailureKind.KILLED
    bench.launch(shell("true"), task=1)
    assert bench.wait_for(TaskFailed, count=2)[1].kind is FailureKind.NODE_FAULT


def test_stop_may_wait_for_what_runs(bench):
    key = bench.launch(shell("sleep 0.3"))
    bench.engine.stop(kill_running=False)

    assert bench.wait_for(TaskFinished, key)
