"""The engine over agents that are made up: what it believes, and which nodes it counts in."""

import contextlib
import math

import pytest

from sluice.core.events import NodeJoined, NodeLost, TaskFailed, TaskFinished
from sluice.engines.agent_engine import RESTARTS_MAX, AgentEngine, NodeChange
from sluice.engines.base import Attempt
from sluice.engines.lease import Lease
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.errors import EngineUnavailable
from sluice.model.ids import JobId, NodeId

NODES = (Node(node_id=NodeId("n0"), map_slots=1), Node(node_id=NodeId("n1"), map_slots=1))


class FakeAgent:
    """It reports what the test makes it say."""

    def __init__(self, node, *, trouble=""):
        self.node, self.trouble = node, trouble
        self.lease = Lease(None)
        self.is_up = self.is_at_end = False
        self.sent, self._said = [], []

    def watch(self, board, hear):
        self._hear = hear

    def says(self, *reports):
        self._said += reports
        self._hear()

    def ends(self):
        self.is_at_end = True
        self._hear()

    def reports(self):
        said, self._said = self._said, []
        return said

    def ahead_s(self, now_s):
        return 100.0

    def send(self, command):
        self.sent.append(command)
        if command["do"] == "stop" and self.is_up:
            self.is_at_end = True

    def end(self):
        self.is_at_end = True
        return "it ended"


class FakeLauncher:
    """The agents that it started, by node, the newest last."""

    def __init__(self, nodes=NODES):
        self.nodes = nodes
        self.lock = contextlib.nullcontext()
        self.next_at_s = math.inf
        self.agents = {}
        self.news = []
        self.is_closed = False
        self.trouble = ""

    def open(self):
        pass

    def start(self, node):
        if node.node_id == "bad":
            raise OSError("no room")
        agent = FakeAgent(node, trouble=self.trouble)
        self.agents.setdefault(node.node_id, []).append(agent)
        return agent

    def tend(self, now_s):
        pass

    def changes(self):
        news, self.news = self.news, []
        return news

    def close(self):
        self.is_closed = True


@pytest.fixture
def launcher():
    return FakeLauncher()


@pytest.fixture
def engine(launcher):
    made = AgentEngine(launcher, 1, lambda: 5.0)
    made.start()
    for agents in launcher.agents.values():
        agents[-1].says({"report": "up"})
    made.events(0)
    return made


def launch(engine, node="n0", task=0):
    attempt = Attempt(
        key=AttemptKey(JobId("j"), 0, task, 1), epoch=1, node_id=NodeId(node), slot=0,
        work={"job_name": "job", "kind": "command", "argv": ["true"]},
    )  # fmt: skip
    engine.launch(attempt)
    return attempt


def finished(attempt):
    return {
        "report": "finished", "id": attempt.attempt_id, "at": 103.0, "usage": {},
        "outputs": [], "shuffled_at": None,
    }  # fmt: skip


def test_instants_are_moved_by_what_the_agent_is_ahead(engine, launcher):
    attempt = launch(engine)
    launcher.agents["n0"][-1].says(finished(attempt))

    assert engine.events(0) == [TaskFinished(5.0, attempt.key, finished_at_s=3.0)]


def test_a_result_that_comes_after_the_node_was_lost_changes_nothing(engine, launcher):
    """Whichever agent of the node passes it on."""
    attempt = launch(engine)
    former = launcher.agents["n0"][-1]
    former.ends()
    launcher.agents["n0"][-1].says({"report": "up"})
    assert [NodeLost, NodeJoined] == [type(event) for event in engine.events(0)]
    launcher.agents["n0"][-1].says(finished(attempt))
    engine.launch(attempt)

    assert engine.events(0) == []


def test_it_is_the_book_of_open_attempts_that_keeps_a_late_result_out(
    engine, launcher, monkeypatch
):
    """The same as above without it: then the late result is believed."""
    attempt = launch(engine)
    monkeypatch.setattr(AgentEngine, "_attempt", lambda *_: attempt)
    launcher.agents["n0"][-1].ends()
    launcher.agents["n0"][-1].says({"report": "up"})
    engine.events(0)
    launcher.agents["n0"][-1].says(finished(attempt))

    assert [TaskFinished] == [type(event) for event in engine.events(0)]


def test_an_agent_says_nothing_about_the_attempts_of_another_node(engine, launcher):
    attempt = launch(engine, "n0")
    launcher.agents["n1"][-1].says(finished(attempt))
    assert engine.events(0) == []
    launcher.agents["n0"][-1].says(finished(attempt), finished(attempt))

    assert [TaskFinished] == [type(event) for event in engine.events(0)]


def test_nonsense_of_an_agent_is_no_event(engine, launcher):
    launcher.agents["n0"][-1].says({}, {"report": "song"}, {"report": "finished", "id": "who"})

    assert engine.events(0) == []


def test_a_node_that_joins_meanwhile_gets_an_agent(engine, launcher):
    new = Node(node_id=NodeId("n2"), map_slots=1)
    launcher.news = [NodeChange(node=new), NodeChange(node=NODES[0])]
    engine.events(0)
    launcher.agents["n2"][-1].says({"report": "up"})

    assert engine.events(0) == [NodeJoined(5.0, new)]
    assert len(launcher.agents["n0"]) == 1  # it was there already


def test_a_node_that_leaves_is_lost_and_not_started_again_until_it_joins(engine, launcher):
    attempt = launch(engine)
    launcher.news = [NodeChange(node=NODES[0], left="it was drained")]

    assert engine.events(0) == [NodeLost(5.0, "n0", "it was drained")]
    assert len(launcher.agents["n0"]) == 1
    launch(engine, task=1)
    assert [TaskFailed] == [type(event) for event in engine.events(0)]
    launcher.news = [NodeChange(node=NODES[0])]
    engine.events(0)
    launcher.agents["n0"][-1].says({"report": "up"}, finished(attempt))
    assert engine.events(0) == [NodeJoined(5.0, NODES[0])]


def test_a_node_that_left_before_this_life_is_lost_at_once(engine, launcher):
    """A driver that takes a run up again does not wait for it."""
    gone = Node(node_id=NodeId("gone"), map_slots=1)
    launcher.news = [NodeChange(node=gone, left="its raylet has ended")]
    (lost,) = engine.events(0)

    assert (lost.node_id, lost.reason) == ("gone", "its raylet has ended")


def test_a_node_whose_agent_never_came_up_is_lost_once(launcher):
    engine = AgentEngine(launcher, 1, lambda: 5.0)
    engine.start()
    launcher.agents["n0"][-1].ends()

    assert engine.events(0) == [NodeLost(5.0, "n0", "it ended")]
    assert len(launcher.agents["n0"]) == 1


def test_a_node_whose_agent_ends_repeatedly_stays_lost(engine, launcher):
    for _ in range(RESTARTS_MAX + 1):
        agent = launcher.agents["n0"][-1]
        if not agent.is_up:
            agent.says({"report": "up"})
        agent.ends()

    assert len(launcher.agents["n0"]) == RESTARTS_MAX + 1


def test_stop_does_not_wait_for_an_agent_that_cannot_be_reached(launcher):
    launcher.trouble = "no route"
    engine = AgentEngine(launcher, 1, lambda: 5.0)
    engine.start()
    engine.stop(kill_running=False)  # it would wait for ever

    assert launcher.is_closed
    assert engine.events(0) == []


def test_an_engine_that_cannot_start_one_agent_ends_all_others():
    launcher = FakeLauncher((NODES[0], Node(node_id=NodeId("bad"))))
    launcher.trouble = "not up yet"
    with pytest.raises(EngineUnavailable, match="no agent could be started: no room"):
        AgentEngine(launcher, 1, lambda: 5.0).start()

    assert launcher.agents["n0"][-1].is_at_end
    assert launcher.is_closed
