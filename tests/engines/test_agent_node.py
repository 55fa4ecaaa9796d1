"""The node agent by itself, as another engine would start it: a program with two pipes."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sluice.engines.agent import kernel
from sluice.engines.agent.channel import Channel
from sluice.engines.agent.node import NodeAgent

PATIENCE_S = 20.0


class Talk:
    """A started agent and what is said to and by it."""

    def __init__(self, scratch: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "sluice.engines.agent", "n0", str(scratch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert self.hear()["report"] == "up"

    def say(self, **command: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def launch(self, attempt_id: str, script: str, grace_s: float = 1.0) -> None:
        work = {"kind": "command", "argv": ["/bin/sh", "-c", script]}
        self.say(do="launch", id=attempt_id, work=work, limits={}, grace_s=grace_s)

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        report = json.loads(self.process.stdout.readline())
        assert isinstance(report, dict)
        return report


@pytest.fixture
def talk(tmp_path) -> Iterator[Talk]:
    begun = Talk(tmp_path)
    with begun.process:
        yield begun
        if begun.process.stdin is not None:
            begun.process.stdin.close()
        begun.process.wait(PATIENCE_S)


def gone(pid: int, within_s: float = PATIENCE_S) -> bool:
    """Whether a process ends within a moment; one that nobody reaps counts as ended."""
    until_s = time.monotonic() + within_s
    while time.monotonic() < until_s:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.005)
    return False


def hidden_pid(path: Path) -> int:
    until_s = time.monotonic() + PATIENCE_S
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < until_s
        time.sleep(0.005)
    return int(path.read_text())


def test_a_folder_that_it_cannot_make_is_one_line(tmp_path):
    """The engine quotes the last words of an agent that ended to the user."""
    (tmp_path / "taken").write_text("a file")

    done = subprocess.run(
        [sys.executable, "-P", "-m", "sluice.engines.agent", "n0", str(tmp_path / "taken")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr == f"{tmp_path / 'taken' / 'log'}: Not a directory\n"


def test_it_answers_a_launch_with_its_start_and_one_end(talk):
    talk.launch("a", "exit 4")
    started, failed = talk.hear(), talk.hear()

    assert (started["report"], started["id"]) == ("started", "a")
    assert (failed["report"], failed["kind"], failed["detail"]) == ("failed", "exit", "exit code 4")
    assert started["at"] <= failed["at"] <= time.monotonic()


def test_it_lists_what_runs_and_starts_nothing_twice(talk):
    for _ in range(2):
        talk.launch("a", "sleep 600", grace_s=0.1)
    talk.say(do="list")
    heard = [talk.hear(), talk.hear()]

    assert [report["report"] for report in heard] == ["started", "list"]
    assert heard[1]["ids"] == ["a"]


def test_the_leader_of_an_attempt_dies_with_its_agent(talk, tmp_path):
    """By the kernel's hand: nobody sweeps here."""
    talk.launch("a", f"echo $$ > {tmp_path}/pid; exec sleep 600")
    pid = hidden_pid(tmp_path / "pid")
    talk.process.kill()

    assert gone(pid, within_s=2.0)


@pytest.mark.parametrize("shed", ["", "env -i "])
def test_when_its_input_ends_it_leaves_nothing_and_ends(talk, tmp_path, shed):
    path = tmp_path / "pid"
    talk.launch("a", f"{shed}setsid sh -c 'echo $$ > {path}; /bin/sleep 600; :' & sleep 600")
    leader, hidden = talk.hear()["pid"], hidden_pid(path)
    talk.process.stdin.close()
    talk.process.stdin = None

    assert talk.process.wait(PATIENCE_S) == 0
    assert gone(leader)
    assert gone(hidden)


def test_sigterm_ends_it_and_all_that_it_started(talk):
    talk.launch("a", "sleep 600; true")
    pid = talk.hear()["pid"]
    talk.process.terminate()

    assert talk.process.wait(PATIENCE_S) == 0
    assert gone(pid)


def test_ctrl_c_is_not_for_the_agent(talk):
    talk.process.send_signal(signal.SIGINT)
    talk.launch("a", "true")

    assert ["started", "finished"] == [talk.hear()["report"], talk.hear()["report"]]


def test_a_stopping_node_takes_no_more_work_and_ends_after_its_last_attempt(talk, tmp_path):
    talk.launch("a", f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done")
    talk.say(do="stop", kill=False)
    talk.launch("b", "true")
    heard = [talk.hear(), talk.hear()]
    (tmp_path / "go").touch()
    heard.append(talk.hear())

    heard = [(report["report"], report["id"]) for report in heard]
    assert heard == [("started", "a"), ("failed", "b"), ("finished", "a")]
    assert talk.process.wait(PATIENCE_S) == 0


def test_logs_of_silent_attempts_and_doors_do_not_pile_up(talk, tmp_path):
    talk.launch("silent", "true")
    talk.launch("loud", "echo hello")
    for _ in range(4):
        talk.hear()

    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["loud.log"]


def test_a_process_is_found_among_the_children_of_this_one():
    with subprocess.Popen(["sleep", "600"]) as child:
        one = kernel.process(child.pid)

        assert one is not None
        assert (one.parent, child.pid in kernel.children()) == (os.getpid(), True)
        child.kill()
    assert kernel.process(child.pid) is None


@pytest.mark.parametrize("kind", ["command", "other"])
def test_a_missing_scratch_folder_is_a_fault_of_the_node(talk, tmp_path, kind):
    shutil.rmtree(tmp_path / "log")
    work = {"kind": kind, "argv": ["/bin/true"]}
    talk.say(do="launch", id="a", work=work, limits={}, grace_s=1.0)
    failed = talk.hear()

    assert (failed["report"], failed["kind"]) == ("failed", "node_fault")
    assert "log" in failed["detail"]
    talk.say(do="list")
    assert talk.hear()["ids"] == []


@pytest.mark.parametrize("is_compiled", [False, True])
def test_no_room_for_a_process_is_a_fault_of_the_node(tmp_path, monkeypatch, is_compiled):
    """The kernel refuses the fork: EAGAIN."""

    def refuse(*_):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    read_fd, write_fd = os.pipe()
    monkeypatch.setattr("sluice.engines.agent.node.Signals", lambda: None)
    agent = NodeAgent("n0", tmp_path, Channel(None, write_fd))
    monkeypatch.setattr(os, "fork", refuse)
    monkeypatch.setattr("sluice.engines.agent.child.spawn", refuse if is_compiled else None)
    for number, kind in enumerate(["command", "other"]):
        work = {"kind": kind, "argv": ["/bin/true"]}
        agent._launch({"id": f"a{number}", "work": work, "limits": {}, "grace_s": 1.0})
        agent._engine.flush()
        failed = json.loads(os.read(read_fd, 4096))
        assert (failed["id"], failed["kind"]) == (f"a{number}", "node_fault")
        assert "Resource temporarily unavailable" in failed["detail"]
    assert list((tmp_path / "door").iterdir()) == []
    os.close(read_fd)
