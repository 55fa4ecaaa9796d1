"""Interpreter hosts: every order is answered, whatever becomes of the processes in between."""

import json
import os
import select
import signal
import threading
import time
from types import SimpleNamespace

import pytest

from sluice.engines.agent import hosts, kernel
from sluice.engines.agent.channel import parsed

ANSWER_S_MAX = 60.0


def answers(host, count):
    found: list[dict[str, object]] = []
    while len(found) < count:
        assert select.select([host.channel.read_fd], [], [], ANSWER_S_MAX)[0], "no answer"
        found += map(parsed, host.channel.lines())
    return found


@pytest.fixture
def host_of(tmp_path, monkeypatch):
    """A host whose middle children do what a test says."""
    made = []

    def make(hand_over):
        monkeypatch.setattr(hosts, "_hand_over", hand_over)
        monkeypatch.setattr(hosts.kernel.SiblingFork, "found", lambda: None)
        made.append(hosts.start_host(("json", None), {"module": "json"}, tmp_path / "log"))
        return made[-1]

    yield make
    for host in made:
        host.end()
        os.waitpid(host.pid, 0)
        host.channel.close()


@pytest.mark.parametrize("end", ["killed", "left"])
def test_an_order_whose_process_is_ended_before_it_is_announced_is_refused(host_of, end):
    """Else its attempt would wait for its time-out, for nobody ever hears of it."""

    def hand_over(order, agent_pid):
        if order["id"] == "second":
            hosts._announce(order, {"pid": 1})
            os._exit(0)
        if end == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(1)

    host = host_of(hand_over)
    for name in ("first", "second"):
        host.fork_attempt(SimpleNamespace(attempt_id=name), {"id": name})
    host.channel.flush()
    first, second = answers(host, 2)

    assert ("first", "second") == (first["id"], second["id"])
    assert "ended as it came to be" in first["error"]
    assert "error" not in second


# --- a fork that makes a sibling ------------------------------------------------------------------


def forked(act):
    """A child of this process, and what the process writes in which its `act` returns 0."""
    reading, writing = os.pipe()
    if not (pid := os.fork()):
        try:
            if act() == 0:
                os.write(writing, json.dumps(seen()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    _, status = os.waitpid(pid, 0)
    assert status == 0
    with os.fdopen(reading) as lines:
        return pid, json.loads(lines.read())


def seen():
    """Who this process is, by every way of asking; a thread and a child of its own still work."""
    thread = threading.Thread(target=time.sleep, args=(0,))
    thread.start()
    thread.join()
    if not (pid := os.fork()):
        os._exit(0)
    return {
        "pid": os.getpid(), "thread": threading.get_native_id(), "parent": os.getppid(),
        "child ended": os.waitpid(pid, 0)[1],
    }  # fmt: skip


def test_a_sibling_is_a_child_of_the_same_parent_and_a_whole_process():
    fork = kernel.SiblingFork.found()
    assert fork is not None, "this kernel has it"
    pid, sibling = forked(fork)

    assert sibling["pid"] != pid
    assert sibling["thread"] == sibling["pid"]
    assert sibling["parent"] == os.getpid()
    assert sibling["child ended"] == 0
    assert os.waitpid(sibling["pid"], 0)[1] == 0  # ours to wait for


def test_with_a_second_thread_a_sibling_is_not_safe():
    fork = kernel.SiblingFork.found()
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        assert not fork.is_safe
    finally:
        over.set()
        thread.join()


def test_a_child_is_known_until_it_is_reaped():
    if not (pid := os.fork()):
        os._exit(0)
    assert kernel.is_child(pid)
    os.waitpid(pid, 0)
    assert not kernel.is_child(pid)


STARTS_A_THREAD = """
import threading, time
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
"""


@pytest.mark.parametrize(("module", "is_sibling"), [("", True), (STARTS_A_THREAD, False)])
def test_an_attempt_is_a_sibling_unless_a_module_has_threads(
    tmp_path, monkeypatch, module, is_sibling
):
    """A fork without the handlers of libraries must not copy a lock that a thread holds."""
    (tmp_path / "made_module.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    key = ("made_module", None)
    host = hosts.start_host(key, {"module": "made_module"}, tmp_path / "log")
    try:
        order = {"id": "a", "door": str(tmp_path / "missing")}  # so it exits at once
        host.fork_attempt(SimpleNamespace(attempt_id="a"), order)
        host.channel.flush()
        (answer,) = answers(host, 1)
        if is_sibling:
            os.waitpid(answer["pid"], 0)
    finally:
        host.end()
        os.waitpid(host.pid, 0)
        host.channel.close()

    assert is_sibling == answer.get("is_sibling", False)
    assert answer["pid"] > 0
