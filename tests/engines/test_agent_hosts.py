"""Interpreter hosts: every order is answered, whatever becomes of the processes in between."""

import os
import select
import signal
from types import SimpleNamespace

import pytest

from sluice.engines.agent import hosts
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
