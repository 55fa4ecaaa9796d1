"""The effect of events on the scheduler, and the moments at which it decides."""

import math

import pytest
from tests.runs import map_reduce, scheduler_of

from sluice.core import events as ev
from sluice.core.checks import WrongDecision
from sluice.core.commands import Kill, Launch, Wake
from sluice.core.events import JobSubmitted, NodeHeartbeat, NodeJoined, Tick
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.transitions import JobState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId
from sluice.policies.orders.fifo import Fifo

NO_ATTEMPT = AttemptKey(JobId("a"), 0, 0, 1)


def of_type(kind, commands):
    return [one for one in commands if isinstance(one, kind)]


class Asks(Fifo):
    """First in, first out; a test says what else it wants."""

    name = "asks"

    def __init__(self):
        super().__init__()
        self.wants = False
        self.woken_at_s = None
        self.to_kill: list[AttemptKey] = []
        self.offered = []

    def wants_offer(self, state):
        return self.wants

    def wake_at_s(self, state, now_s):
        return self.woken_at_s

    def kills(self, state, now_s):
        return [(key, Reason(ReasonCode.JOB_ENDED)) for key in self.to_kill]

    def next_node(self, index, state):
        return index if index < len(state.node_at) else -1

    def fill(self, offer):
        self.offered.append(str(offer.node.node_id))
        super().fill(offer)


class World:
    """Nodes n0, n1, .. of one map slot each."""

    def __init__(self, nodes=1, tasks=None, **rules):
        self.tasks = tasks or Asks()
        self.scheduler = scheduler_of(self.tasks, **rules)
        self.state = self.scheduler.state
        for number in range(nodes):
            self.handle(NodeJoined(0.0, Node(node_id=NodeId(f"n{number}"), map_slots=1)))

    def handle(self, event):
        return self.scheduler.handle(event)

    def tick(self, at_s=0.0):
        return self.handle(Tick(at_s))

    def submit(self, *jobs, at_s=0.0):
        for job in jobs:
            self.handle(JobSubmitted(at_s, job))

    def launches(self, at_s=0.0):
        return of_type(Launch, self.tick(at_s))


# --- time -----------------------------------------------------------------------------------------


def test_the_clock_never_runs_backwards():
    world = World()
    world.tick(5.0)
    world.tick(3.0)
    assert 5.0 == world.state.now_s

    world.scheduler.pass_time(4.0)
    assert 5.0 == world.state.now_s
    world.scheduler.pass_time(6.0)
    assert 6.0 == world.state.now_s


def test_each_event_is_counted():
    world = World(2)
    world.tick()
    world.scheduler.complete_instant(1.0)
    world.scheduler.report_progress([], 1.0)

    assert 4 == world.scheduler.events  # two nodes, two instants, and no attempt that reported


def test_an_attempt_that_reports_is_an_event():
    world = World()
    world.submit(map_reduce("a", 1))
    world.tick()
    attempts = list(world.state.running.values())
    before = world.scheduler.events
    world.scheduler.report_progress(attempts, 7.0)

    assert (before + 1, 7.0) == (world.scheduler.events, world.state.now_s)


# --- late and unknown events ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "counted"),
    [
        (ev.NodeLost(1.0, NodeId("n9")), "node unknown or gone"),
        (NodeHeartbeat(1.0, NodeId("n9")), "node unknown or gone"),
        (NodeJoined(1.0, Node(node_id=NodeId("n0"), map_slots=1)), "node already up"),
        (ev.JobKilled(1.0, JobId("b")), "job unknown or ended"),
        (ev.JobWithdrawn(1.0, JobId("b")), "job unknown, started or ended"),
    ],
)
def test_what_is_unknown_is_counted_and_changes_nothing(event, counted):
    world = World()

    assert [] == world.handle(event)
    assert {counted: 1} == dict(world.state.ignored)
    assert ["n0"] == [node.node_id for node in world.state.nodes.values() if node.is_up]


def test_what_comes_after_the_end_is_counted():
    world = World()
    world.submit(map_reduce("a", 1))
    (launch,) = world.launches()
    world.handle(ev.TaskFinished(1.0, launch.key, 1.0))
    assert JobState.DONE is world.state.jobs["a"].state
    world.handle(ev.JobKilled(2.0, JobId("a"), "too late"))
    world.handle(ev.JobWithdrawn(2.0, JobId("a")))
    world.handle(ev.NodeLost(3.0, NodeId("n0")))
    world.handle(ev.NodeLost(3.0, NodeId("n0")))
    world.handle(NodeHeartbeat(3.0, NodeId("n0")))

    assert (JobState.DONE, "") == (world.state.jobs["a"].state, world.state.jobs["a"].reason)
    assert {
        "job unknown or ended": 1,
        "job unknown, started or ended": 1,
        "node unknown or gone": 2,
    } == dict(world.state.ignored)


def test_a_simulation_that_ends_an_attempt_twice_is_counted_once():
    world = World()
    world.submit(map_reduce("a", 2))
    world.tick()
    (attempt,) = world.state.running.values()
    for at_s in (3.0, 4.0):
        world.scheduler.finish_attempt(attempt, at_s, at_s, math.nan)

    assert (1, 3.0) == (world.state.jobs["a"].phases[0].done, attempt.finished_at_s)
    assert 1 == world.state.ignored.total()


@pytest.mark.parametrize(("shuffled_at_s", "expected"), [(2.5, 2.5), (math.nan, math.nan)])
def test_a_simulation_says_when_an_attempt_had_fetched_its_input(shuffled_at_s, expected):
    world = World()
    world.submit(map_reduce("a", 1))
    world.tick()
    (attempt,) = world.state.running.values()
    world.scheduler.finish_attempt(attempt, 3.0, 3.0, shuffled_at_s)

    assert attempt.shuffled_at_s == pytest.approx(expected, nan_ok=True)


# --- reports --------------------------------------------------------------------------------------


def running_one():
    """A world in which one attempt runs, and the attempt."""
    world = World()
    world.submit(map_reduce("a", 1))
    world.tick()
    (attempt,) = world.state.running.values()
    return world, attempt


def test_a_report_shows_how_far_an_attempt_is():
    world, attempt = running_one()
    world.handle(ev.TaskProgress(2.0, attempt.key, 0.5))
    assert (0.5, 2.0) == (attempt.progress, attempt.progress_at_s)
    assert math.isnan(attempt.shuffled_at_s)
    world.handle(ev.TaskProgress(3.0, attempt.key, 0.6, 2.5))
    assert (0.6, 3.0, 2.5) == (attempt.progress, attempt.progress_at_s, attempt.shuffled_at_s)
    world.handle(ev.TaskProgress(4.0, attempt.key, 0.7))
    assert 2.5 == attempt.shuffled_at_s


def test_a_report_of_an_attempt_that_does_not_run_is_counted():
    world = World()
    world.handle(ev.TaskProgress(2.0, NO_ATTEMPT, 0.5))

    assert 1 == world.state.ignored.total()


def test_the_end_of_an_attempt_shows_what_it_used():
    world, attempt = running_one()
    usage = ev.Usage(wall_s=4.0)
    world.handle(ev.TaskFinished(5.0, attempt.key, 4.0, 1, 2.5, usage, ("part",)))

    assert (4.0, 2.5, usage, ("part",)) == (
        attempt.finished_at_s, attempt.shuffled_at_s, attempt.usage, attempt.outputs,
    )  # fmt: skip


@pytest.mark.parametrize("usage", [None, ev.Usage(wall_s=4.0)])
def test_a_failure_shows_what_the_attempt_used(usage):
    world, attempt = running_one()
    kind = ev.FailureKind.EXIT
    world.handle(ev.TaskFailed(5.0, attempt.key, 4.0, kind, "it broke", usage=usage))

    assert (usage, "it broke") == (attempt.usage, attempt.detail)


# --- jobs that end early --------------------------------------------------------------------------


def test_a_killed_job_ends_with_its_reason_and_its_attempts_are_killed_once():
    world = World(2)
    world.submit(map_reduce("a", 1), map_reduce("b", 5))
    launches = world.launches()
    commands = world.handle(ev.JobKilled(1.0, JobId("b"), "the user asked for it"))

    assert [launches[1].key] == [kill.key for kill in of_type(Kill, commands)]
    job = world.state.jobs["b"]
    assert (JobState.KILLED, "the user asked for it") == (job.state, job.reason)
    assert [] == of_type(Kill, world.tick(2.0))


def test_a_killed_job_keeps_its_reason_if_none_is_given():
    world = World()
    world.submit(map_reduce("a", 1))
    world.state.jobs["a"].reason = "as before"
    world.handle(ev.JobKilled(1.0, JobId("a")))

    assert "as before" == world.state.jobs["a"].reason


def test_a_job_that_has_started_cannot_be_withdrawn():
    world = World()
    world.submit(map_reduce("a", 1))
    world.tick()
    world.handle(ev.JobWithdrawn(1.0, JobId("a")))

    assert JobState.RUNNING is world.state.jobs["a"].state


# --- lost nodes -----------------------------------------------------------------------------------


def test_only_the_attempts_of_a_lost_node_are_tried_again():
    world = World(2)
    world.submit(map_reduce("a", 2))
    launches = {launch.node_id: launch.key for launch in world.launches()}
    world.handle(ev.NodeLost(1.0, NodeId("n0")))

    assert [launches["n1"]] == list(world.state.running)
    assert 1 == world.state.startable
    assert ["node n0 was lost"] == [attempt.detail for attempt in world.state.closed]


def test_the_reason_of_a_loss_is_that_of_the_event():
    world = World()
    world.submit(map_reduce("a", 1))
    world.tick()
    world.handle(ev.NodeLost(1.0, NodeId("n0"), "it was switched off"))

    assert ["it was switched off"] == [attempt.detail for attempt in world.state.closed]


# --- decisions ------------------------------------------------------------------------------------


def test_nodes_are_offered_in_order_until_no_task_waits():
    world = World(4)
    world.submit(map_reduce("a", 2))
    world.tick()

    assert ["n0", "n1"] == world.tasks.offered


def test_a_policy_that_wants_offers_is_offered_every_node():
    world = World(3)
    world.tick()
    assert [] == world.tasks.offered
    world.tasks.wants = True
    world.tick()
    assert ["n0", "n1", "n2"] == world.tasks.offered


def test_a_policy_is_asked_when_to_wake_it_only_while_tasks_wait_or_it_wants_offers():
    world = World()
    world.tasks.woken_at_s = 9.0
    assert [] == world.tick()
    world.submit(map_reduce("a", 1), at_s=1.0)
    assert [] == of_type(Wake, world.tick(1.0))  # its only task has started
    world.submit(map_reduce("b", 1), at_s=2.0)
    assert [Wake(9.0)] == of_type(Wake, world.tick(2.0))
    world.tasks.woken_at_s = None
    assert [] == of_type(Wake, world.tick(3.0))


def test_a_policy_that_wants_offers_is_woken_though_no_task_waits():
    world = World()
    world.tasks.wants, world.tasks.woken_at_s = True, 9.0

    assert [Wake(9.0)] == world.tick()


def test_by_heartbeat_only_the_node_that_reports_is_given_work():
    world = World(2, by_heartbeat=True)
    world.submit(map_reduce("a", 9))
    assert [] == world.tick()

    (launch,) = of_type(Launch, world.handle(NodeHeartbeat(1.0, NodeId("n1"))))
    assert "n1" == launch.node_id
    assert ["n1"] == world.tasks.offered


@pytest.mark.parametrize("by_heartbeat", [False, True])
def test_an_attempt_is_killed_once(by_heartbeat):
    world = World(by_heartbeat=by_heartbeat)
    decide = NodeHeartbeat if by_heartbeat else lambda at_s, _: Tick(at_s)
    world.submit(map_reduce("a", 2))
    (launch,) = of_type(Launch, world.handle(decide(0.0, NodeId("n0"))))
    world.tasks.to_kill = [launch.key]

    assert [launch.key] == [one.key for one in of_type(Kill, world.handle(decide(1.0, "n0")))]
    assert [] == of_type(Kill, world.handle(decide(2.0, "n0")))


def test_a_policy_may_not_kill_what_does_not_run():
    world = World()
    world.tasks.to_kill = [NO_ATTEMPT]

    with pytest.raises(WrongDecision, match="was to be killed but does not run"):
        world.tick()


@pytest.mark.parametrize("is_live", [False, True])
def test_slowstart_holds_for_a_policy_that_ignores_it_only_where_tasks_are_real(is_live):
    """Half of the maps, or with slowstart ignored none of them."""

    class Ignores(Asks):
        name = "ignores"
        ignores_slowstart = True

    tasks = Ignores()
    scheduler = scheduler_of(tasks, slowstart=0.5, is_live=is_live)
    scheduler.handle(JobSubmitted(0.0, map_reduce("a", 4, reduces=1)))

    assert (2 if is_live else 0) == scheduler.state.jobs["a"].phases[1].left_before
