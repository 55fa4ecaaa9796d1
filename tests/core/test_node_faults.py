"""Faults of a node are not failures of tasks: the node rests, and is set aside at last."""

import pytest
from tests.runs import map_reduce, scheduler_of

from sluice.core import events as ev
from sluice.core.commands import Launch, Wake
from sluice.core.events import FailureKind
from sluice.core.explain.story import story
from sluice.core.explain.why import why
from sluice.core.transitions import JobState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId


class World:
    """A scheduler whose nodes have one map slot each, with one job."""

    def __init__(self, *nodes, tasks=6, **rules):
        self.scheduler = scheduler_of(**rules)
        for name in nodes:
            self.scheduler.handle(ev.NodeJoined(0.0, Node(node_id=NodeId(name), map_slots=1)))
        self.scheduler.handle(ev.JobSubmitted(0.0, map_reduce("j", tasks, reduces=0)))

    def tick(self, at_s):
        commands = self.scheduler.handle(ev.Tick(at_s))
        self.wakes = [command.at_s for command in commands if type(command) is Wake]
        return [(command.key, command.node_id) for command in commands if type(command) is Launch]

    def fail(self, key, at_s, kind=FailureKind.NODE_FAULT, detail="no room", cause=""):
        self.scheduler.handle(ev.TaskFailed(at_s, key, at_s, kind, detail, cause=cause))

    def finish(self, key, at_s):
        self.scheduler.handle(ev.TaskFinished(at_s, key, at_s))

    @property
    def job(self):
        return self.scheduler.state.jobs[JobId("j")]

    def node(self, name):
        return self.scheduler.state.nodes[NodeId(name)]


def test_a_fault_is_not_the_failure_of_its_task():
    world = World("n", failures_max=1)
    ((key, _),) = world.tick(0.0)
    world.fail(key, 1.0)

    assert world.tick(1.0) == []
    ((again, _),) = world.tick(2.0)
    assert again == AttemptKey(JobId("j"), 0, 0, 2)
    assert world.job.state is JobState.RUNNING
    assert world.job.phases[0].repeating().failures == {}


def test_the_rest_doubles_with_each_fault_in_a_row():
    world = World("n")
    at_s, rests_s = 0.0, []
    for _ in range(4):
        ((key, _),) = world.tick(at_s)
        world.fail(key, at_s)
        assert world.tick(at_s) == []
        (wake_at_s,) = world.wakes
        assert world.tick(wake_at_s - 0.001) == []
        rests_s.append(wake_at_s - at_s)
        at_s = wake_at_s

    assert rests_s == [1.0, 2.0, 4.0, 8.0]


def test_other_nodes_do_the_work_meanwhile():
    world = World("bad", "good")
    first = {node: key for key, node in world.tick(0.0)}
    world.fail(first["bad"], 0.5)
    assert world.tick(0.5) == []
    world.finish(first["good"], 0.6)

    ((key, node),) = world.tick(0.6)
    assert (key.task, key.attempt, node) == (0, 2, "good")


def test_faults_of_a_resting_node_belong_to_the_first_one():
    """Four slots meet one full disk at the same time: that is one fault, not four."""
    scheduler = scheduler_of(node_faults_max=2)
    scheduler.handle(ev.NodeJoined(0.0, Node(node_id=NodeId("n"), map_slots=4)))
    scheduler.handle(ev.JobSubmitted(0.0, map_reduce("j", 4, reduces=0)))
    for command in scheduler.handle(ev.Tick(0.0)):
        key = command.key
        scheduler.handle(ev.TaskFailed(0.5, key, 0.5, FailureKind.NODE_FAULT, "disk full"))

    assert scheduler.state.nodes[NodeId("n")].faults == 1


def test_a_task_that_finishes_ends_the_row():
    world = World("n", node_faults_max=2)
    at_s = 0.0
    for _ in range(5):
        ((key, _),) = world.tick(at_s)
        world.fail(key, at_s)
        at_s += 1.0
        ((key, _),) = world.tick(at_s)
        world.finish(key, at_s)

    assert not world.node("n").is_set_aside
    assert world.job.phases[0].done == 5


def test_a_node_is_set_aside_after_the_last_fault_until_it_joins_again():
    world = World("n", node_faults_max=3)
    for at_s in (0.0, 10.0, 20.0):
        ((key, _),) = world.tick(at_s)
        world.fail(key, at_s, detail="no room for a process\nmore")
    state = world.scheduler.state

    assert world.tick(1e6) == []
    assert world.wakes == []
    assert world.node("n").is_set_aside
    reason = why("j", state, world.scheduler.policies.tasks).reason.text()
    assert reason == "every node rests after a fault, the last one of n: no room for a process"
    (line,) = [line for line in story("n", state).lines if line.what == "set aside"]
    assert (line.at_s, line.why) == (
        20.0, "after 3 faults in a row (last: no room for a process)"
    )  # fmt: skip

    world.scheduler.handle(ev.NodeJoined(2e6, world.node("n").node))
    assert len(world.tick(2e6)) == 1


def test_a_node_that_was_lost_comes_back_without_its_faults():
    world = World("n", node_faults_max=1)
    ((key, _),) = world.tick(0.0)
    world.fail(key, 1.0)
    world.scheduler.handle(ev.NodeLost(2.0, NodeId("n")))
    world.scheduler.handle(ev.NodeJoined(3.0, Node(node_id=NodeId("n"), map_slots=1)))

    assert len(world.tick(3.0)) == 1


BUG, OTHER = "ValueError at wc.py:5", "KeyError at wc.py:9"


@pytest.mark.parametrize(
    ("causes", "most", "failed_after"),
    [
        ([BUG] * 4, 3, 3),
        ([BUG, OTHER, BUG, OTHER, BUG], 3, 5),
        ([BUG] * 2, 2, 2),
        ([""] * 6, 3, 0),
        ([BUG] * 6, None, 0),
    ],
)
def test_tasks_that_fail_with_one_exception_fail_their_job_at_once(causes, most, failed_after):
    nodes = [f"n{number}" for number in range(8)]
    scheduler = scheduler_of(equal_failures_max=most)
    for name in nodes:
        scheduler.handle(ev.NodeJoined(0.0, Node(node_id=NodeId(name), map_slots=1)))
    scheduler.handle(ev.JobSubmitted(0.0, map_reduce("j", 8, reduces=0)))
    job = scheduler.state.jobs[JobId("j")]
    keys = [c.key for c in scheduler.handle(ev.Tick(0.0)) if type(c) is Launch]
    ended_after = 0
    for number, (key, cause) in enumerate(zip(keys, causes, strict=False), start=1):
        failed = ev.TaskFailed(1.0, key, 1.0, FailureKind.EXIT, "map raised X", cause=cause)
        scheduler.handle(failed)
        if job.state is JobState.FAILED and not ended_after:
            ended_after = number

    assert ended_after == failed_after
    if failed_after:
        count = max(causes[:failed_after].count(BUG), causes[:failed_after].count(OTHER))
        assert job.reason == (
            f"{count} map tasks failed with the same exception at their first attempt,"
            " last: map raised X"
        )


def test_an_exception_that_as_many_tasks_met_as_are_done_is_not_rare():
    scheduler = scheduler_of(equal_failures_max=3)
    for number in range(6):
        node = Node(node_id=NodeId(f"n{number}"), map_slots=1)
        scheduler.handle(ev.NodeJoined(0.0, node))
    scheduler.handle(ev.JobSubmitted(0.0, map_reduce("j", 6, reduces=0)))
    job = scheduler.state.jobs[JobId("j")]
    keys = [c.key for c in scheduler.handle(ev.Tick(0.0)) if type(c) is Launch]
    for key in keys[:3]:
        scheduler.handle(ev.TaskFinished(1.0, key, 1.0))
    for key in keys[3:]:
        assert job.state is JobState.RUNNING
        scheduler.handle(ev.TaskFailed(2.0, key, 2.0, FailureKind.EXIT, "map raised X", cause=BUG))

    assert (job.phases[0].done, job.state) == (3, JobState.FAILED)


def test_a_rare_exception_of_a_phase_that_gets_on_well_is_tried_again():
    world = World("n", tasks=20, equal_failures_max=3)
    at_s = 0.0
    for number in range(12):
        at_s += 1.0
        ((key, _),) = world.tick(at_s)
        if number % 4 == 3 and key.attempt == 1:
            world.fail(key, at_s, FailureKind.EXIT, "map raised X", BUG)
        else:
            world.finish(key, at_s)

    assert world.job.state is JobState.RUNNING
    assert len(world.job.phases[0].repeating().causes[BUG]) == 3


# --- cordons --------------------------------------------------------------------------------------


def cordon(world, name, at_s, reason="new disk"):
    world.scheduler.handle(ev.NodeCordoned(at_s, NodeId(name), bool(reason), reason))


def test_a_cordoned_node_gets_no_work_and_what_runs_on_it_goes_on():
    world = World("a", "b")
    assert {node for _, node in world.tick(0.0)} == {"a", "b"}
    on_a = next(key for key in world.scheduler.state.running if key.task == 0)
    cordon(world, "a", 1.0)

    world.finish(on_a, 2.0)
    assert world.tick(2.0) == []
    assert not world.wakes, "nothing will change by waiting"
    assert world.job.state is JobState.RUNNING

    cordon(world, "a", 3.0, reason="")
    assert [node for _, node in world.tick(3.0)] == ["a"]


def test_no_job_is_promised_the_containers_of_a_cordoned_node():
    world = World("a", "b")
    state = world.scheduler.state
    cordon(world, "a", 1.0)
    assert state.spare_containers() == 1

    world.scheduler.handle(ev.NodeLost(2.0, NodeId("a")))
    assert state.spare_containers() == 1
    world.scheduler.handle(ev.NodeJoined(3.0, Node(node_id=NodeId("a"), map_slots=1)))
    assert state.spare_containers() == 1

    cordon(world, "a", 4.0, reason="")
    assert state.spare_containers() == 2


def test_a_cordon_outlives_faults_and_the_loss_of_the_node():
    world = World("a", "b")
    running = dict(world.tick(0.0))
    on_a = next(key for key, node in running.items() if node == "a")
    cordon(world, "a", 1.0)
    world.fail(on_a, 2.0)
    node = Node(node_id=NodeId("a"), map_slots=1)
    world.scheduler.handle(ev.NodeJoined(3.0, node))  # it is up already
    assert world.tick(60.0) == []
    world.scheduler.handle(ev.NodeLost(61.0, NodeId("a")))
    cordon(world, "a", 62.0, reason="still away")
    world.scheduler.handle(ev.NodeJoined(63.0, node))

    assert world.tick(63.0) == []
    assert world.node("a").cordon == "still away"
    assert not world.node("a").is_set_aside


def test_why_names_the_cordon_where_no_node_is_left():
    world = World("a")
    cordon(world, "a", 0.0, reason="moved to another rack")
    world.tick(0.0)

    scheduler = world.scheduler
    said = why("j", scheduler.state, scheduler.policies.tasks).reason.text()
    assert "every node is cordoned, the last one of a: moved to another rack" in said
    (line,) = [line for line in story("a", scheduler.state).lines if line.what == "cordoned"]
    assert line.why == "moved to another rack"


def test_a_cordon_of_an_unknown_node_is_counted():
    world = World("a")
    cordon(world, "z", 0.0)

    assert world.scheduler.state.ignored["node unknown or gone"] == 1
