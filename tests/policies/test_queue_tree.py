"""A tree of queues: whose turn it is, what limits a queue, and what it takes back.

Every node has containers of one size; jobs `a1`, `a2` are in queue `root.a`, and so on.
"""

from dataclasses import replace

import pytest
from tests.runs import map_reduce, scheduler_of

from sluice.core.commands import Kill, Launch, Wake
from sluice.core.events import JobSubmitted, NodeJoined, TaskFinished, Tick
from sluice.core.reasons import ReasonCode
from sluice.model.cluster import Node
from sluice.model.ids import NodeId
from sluice.model.queue_tree import AmountKind, ConfiguredQueue, LeafOrder, QueueAmount, QueueTree
from sluice.policies.queue_tree.policy import CapacityQueues

PREEMPTS_AFTER_S = 10.0


def percent(value):
    return QueueAmount(AmountKind.PERCENT, value)


def weight(value):
    return QueueAmount(AmountKind.WEIGHT, value)


def containers(value):
    return QueueAmount(AmountKind.CONTAINERS, value)


def queue(name, capacity, **more):
    return ConfiguredQueue(path=f"root.{name}", capacity=capacity, **more)


class World:
    """One node, and jobs that a test submits."""

    def __init__(self, count, *queues, slowstart=1.0, **tree):
        self.policy = CapacityQueues(tree=QueueTree(queues=queues, **tree))
        self.scheduler = scheduler_of(self.policy, slowstart=slowstart)
        self.state = self.scheduler.state
        self.scheduler.handle(NodeJoined(0.0, Node(node_id=NodeId("n"), containers=count)))
        self.launches = {}

    def submit(self, job_id, tasks, at_s=0.0, **more):
        job = map_reduce(job_id, tasks, 100.0, pool=f"root.{job_id[0]}", at_s=at_s)
        self.scheduler.handle(JobSubmitted(at_s, replace(job, **more)))

    def decide(self, at_s=0.0):
        """All commands of a decision."""
        commands = self.scheduler.handle(Tick(at_s))
        for command in commands:
            if isinstance(command, Launch):
                self.launches.setdefault(command.key.job_id, []).append(command.key)
        return commands

    def started(self, at_s=0.0):
        """The jobs of the tasks that a decision starts, in order."""
        return " ".join(one.key.job_id for one in self.decide(at_s) if isinstance(one, Launch))

    def killed(self, at_s):
        """The attempts that a decision ends."""
        return [one.key for one in self.decide(at_s) if isinstance(one, Kill)]

    def finish(self, job_id, at_s):
        """A task of the job ends: that which started first."""
        self.scheduler.handle(TaskFinished(at_s, self.launches[job_id].pop(0), at_s))

    def why(self, job_id):
        reason = self.policy.explain(self.state.jobs[job_id].phases[0], self.state, 0.0)
        return reason.code, dict(reason.numbers)


# --- whose turn it is -----------------------------------------------------------------------------


def test_the_queue_that_runs_least_for_its_guarantee_is_first():
    """Of 8 containers a has 2 and b has 6; of equal parts the larger queue is first."""
    world = World(8, queue("a", percent(25.0)), queue("b", percent(75.0)))
    world.submit("a1", 9)
    world.submit("b1", 9)

    assert "b1 a1 b1 b1 b1 a1 b1 b1" == world.started()


@pytest.mark.parametrize(
    ("larger", "count", "held", "below"), [(60.0, 21, 12, 8), (70.0, 14, 7, 3), (90.0, 24, 9, 1)]
)
def test_queues_with_equal_use_for_their_guarantee_are_equal_whatever_floats_say(
    larger, count, held, below
):
    """12 of 12.6 containers and 8 of 8.4: CapacityScheduler serves the larger queue."""
    world = World(count, queue("a", percent(100 - larger)), queue("b", percent(larger)))
    world.submit("a1", below)
    world.submit("b1", held)
    world.started()
    world.submit("a2", 1, at_s=1.0)
    world.submit("b2", count, at_s=1.0)

    assert world.started(1.0).split()[0] == "b2"


def test_a_queue_below_its_minimum_is_before_all_others():
    world = World(4, queue("a", weight(1.0)), queue("b", weight(3.0), least=2.0))
    world.submit("a1", 9)
    world.submit("b1", 9)

    assert "b1 b1 a1 b1" == world.started()


def test_a_queue_without_a_guarantee_is_last_and_takes_what_is_left():
    world = World(4, queue("a", percent(0.0)), queue("b", percent(100.0)))
    world.submit("a1", 9)
    world.submit("b1", 3)

    assert "b1 b1 b1 a1" == world.started()


def test_jobs_of_a_queue_are_in_the_order_of_their_release():
    world = World(4, queue("a", percent(100.0)))
    world.submit("a1", 3)
    world.submit("a2", 3)

    assert "a1 a1 a1 a2" == world.started()


def test_in_a_fair_queue_the_job_with_the_least_for_its_weight_is_first():
    world = World(6, queue("a", percent(100.0), order=LeafOrder.FAIR))
    world.submit("a1", 9)
    world.submit("a2", 9, weight=2.0)

    assert "a1 a2 a2 a1 a2 a2" == world.started()


# --- limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("most", "run"), [(0.0, 0), (0.5, 1), (1.0, 1), (2.0, 2), (2.9, 2)])
def test_a_queue_keeps_to_its_maximum_but_may_always_have_one(most, run):
    world = World(4, queue("a", percent(50.0), maximum=containers(most)))
    world.submit("a1", 9)

    assert " ".join(["a1"] * run) == world.started()
    expected = {"queue": "root.a", "units": f"{most:g}"}
    assert (ReasonCode.QUEUE_AT_MAX, expected) == world.why("a1")


@pytest.mark.parametrize("most", [1, 2])
def test_so_many_jobs_run_in_a_queue_at_once(most):
    world = World(8, queue("a", percent(100.0), jobs_max=most))
    for number in range(1, 4):
        world.submit(f"a{number}", 2)

    assert " ".join(["a1 a1", "a2 a2"][:most]) == world.started()
    expected = {"queue": "root.a", "running": most}
    assert (ReasonCode.JOBS_AT_MAX, expected) == world.why("a3")

    world.finish("a1", 5.0)
    assert "" == world.started(5.0)
    world.finish("a1", 6.0)
    assert f"a{most + 1} a{most + 1}" == world.started(6.0)


@pytest.mark.parametrize(
    ("share", "of_guarantee", "run"),
    [
        (0.5, True, 2),  # of 4
        (0.6, True, 2),
        (0.1, True, 1),
        (0.5, False, 4),  # of all 8
        (0.55, False, 5),
        (0.01, False, 1),
    ],
)
def test_masters_hold_at_most_their_share(share, of_guarantee, run):
    limits = {"masters_share": share, "masters_of_guarantee": of_guarantee}
    world = World(8, queue("a", percent(50.0), **limits), queue("b", percent(50.0)))
    for number in range(1, 8):
        world.submit(f"a{number}", 1)

    assert run == len(world.started().split())
    expected = {"queue": "root.a", "running": run, "share": pytest.approx(100 * share)}
    assert (ReasonCode.MASTERS_AT_MAX, expected) == world.why("a7")


def test_masters_count_what_other_queues_leave():
    """B holds 3 of 8, so that a could have 5 of them: more than its guarantee of 2."""
    world = World(8, queue("a", percent(25.0), masters_share=0.6), queue("b", percent(75.0)))
    world.submit("b1", 3)
    world.decide()
    for number in range(1, 6):
        world.submit(f"a{number}", 1)

    assert "a1 a2 a3" == world.started()


@pytest.mark.parametrize(
    ("factor", "least", "run"),
    [
        (1.0, 100.0, 4),  # no more than the guarantee
        (0.5, 100.0, 2),
        (2.0, 100.0, 8),
        (0.1, 100.0, 1),  # one container is never split
    ],
)
def test_one_user_has_a_multiple_of_the_guarantee(factor, least, run):
    limits = {"user_limit_factor": factor, "user_limit_percent": least}
    world = World(8, queue("a", percent(50.0), **limits), queue("b", percent(50.0)))
    world.submit("a1", 9, customer="u")

    assert run == len(world.started().split())
    if run < 8:
        expected = {"queue": "root.a", "held": run, "free": 8 - run, "slots": 8}
        assert (ReasonCode.USER_AT_LIMIT, expected) == world.why("a1")


@pytest.mark.parametrize(
    ("least", "started"),
    [(10.0, "a1 a1 a2 a2 a3 a3"), (50.0, "a1 a1 a1 a2 a2 a2"), (99.0, "a1 a1 a1 a1 a1 a1")],
)
def test_active_users_have_an_equal_share_or_the_minimum_percentage(least, started):
    """Three users of 6 containers: 2 each, or 50 % or 99 % of 6, rounded up."""
    world = World(6, queue("a", percent(100.0), user_limit_percent=least))
    for number in range(1, 4):
        world.submit(f"a{number}", 9, customer=f"u{number}")

    assert started == world.started()


def test_a_minimum_of_just_below_all_is_a_limit():
    """Two users of 200 containers: the first has 99 %."""
    world = World(200, queue("a", percent(100.0), user_limit_percent=99.0))
    world.submit("a1", 300, customer="u")
    world.submit("a2", 300, customer="v")
    world.decide()

    assert [198, 2] == [len(world.launches[name]) for name in ("a1", "a2")]


def test_all_jobs_of_a_user_count_together():
    world = World(6, queue("a", percent(100.0), user_limit_percent=10.0))
    for job_id, user in (("a1", "u"), ("a2", "u"), ("a3", "v")):
        world.submit(job_id, 2, customer=user)

    assert "a1 a1 a2 a3 a3" == world.started()


def test_it_explains_how_many_jobs_are_ahead_or_that_all_is_busy():
    world = World(2, queue("a", percent(50.0)), queue("b", percent(50.0)))
    for job_id in ("b1", "a1", "a2", "a3"):
        world.submit(job_id, 5)
    world.decide()

    assert (ReasonCode.SLOTS_BUSY, {"slots": 2, "kind": "container"}) == world.why("a1")
    assert (ReasonCode.EARLIER_FIRST, {"jobs": 2, "queue": "root.a"}) == world.why("a3")


# --- preemption -----------------------------------------------------------------------------------


def busy(count, a, b, *, tasks=9, **more):
    """All containers run tasks of a1 since 0 s; b1 comes at 5 s."""
    world = World(
        count,
        queue("a", containers(a), **more),
        queue("b", containers(b)),
        preempts_after_s=PREEMPTS_AFTER_S,
    )
    world.submit("a1", 20)
    world.decide()
    world.submit("b1", tasks, at_s=5.0)
    return world


def wakes(commands):
    return [one.at_s for one in commands if isinstance(one, Wake)]


@pytest.mark.parametrize("guarantee", [1.0, 2.0, 2.9])
def test_a_queue_takes_its_guarantee_back_after_a_while_from_the_youngest(guarantee):
    world = busy(4, 4.0 - guarantee, guarantee)

    assert [15.0] == wakes(world.decide(5.0))
    assert [] == world.killed(14.0)
    youngest = world.launches["a1"][::-1][: int(guarantee)]
    assert youngest == world.killed(15.0)
    assert [] == world.killed(16.0)  # they are about to end


def test_a_queue_takes_no_more_than_its_tasks_need():
    world = busy(4, 1.0, 3.0, tasks=2)
    world.decide(5.0)

    commands = world.decide(15.0)
    assert 2 == len([one for one in commands if isinstance(one, Kill)])
    assert [] == wakes(commands)  # there is nothing to wait for any more


def test_what_a_queue_runs_already_is_not_taken_again():
    """Of its guarantee of 3 it runs 1 since 8 s."""
    world = busy(4, 0.0, 3.0)
    world.decide(5.0)
    world.finish("a1", 8.0)
    assert "b1" == world.started(8.0)

    assert 2 == len(world.killed(15.0))


def test_what_is_free_is_not_taken():
    """B is owed 2 containers, one of which has just become free."""
    world = busy(4, 1.0, 2.0)
    world.decide(5.0)
    world.finish("a1", 15.0)

    assert 1 == len(world.killed(15.0))


@pytest.mark.parametrize("guarantee", [0.0, 0.5])
def test_a_guarantee_below_one_container_takes_none(guarantee):
    world = busy(4, 4.0 - guarantee, guarantee)

    assert [] == wakes(world.decide(5.0))
    assert [] == world.killed(50.0)


def test_a_queue_that_has_its_guarantee_is_no_longer_starved():
    world = busy(4, 3.0, 1.0)
    world.decide(5.0)
    world.finish("a1", 8.0)

    assert "b1" == world.started(8.0)
    assert [] == world.killed(15.0)


def test_a_queue_that_may_not_be_preempted_keeps_all():
    world = busy(4, 2.0, 2.0, is_preemptible=False)
    world.decide(5.0)

    assert [] == world.killed(15.0)


def test_the_queue_most_above_its_guarantee_gives_first_and_keeps_its_guarantee():
    """A holds 4 of 3, c holds 4 of 2: c gives 2 and a gives 1 for the 3 of b."""
    queues = (queue("a", containers(3.0)), queue("b", containers(3.0)), queue("c", containers(2.0)))
    world = World(8, *queues, preempts_after_s=PREEMPTS_AFTER_S)
    world.submit("a1", 4)
    world.submit("c1", 4)
    world.decide()
    world.submit("b1", 9, at_s=5.0)
    world.decide(5.0)

    assert ["c1", "c1", "a1"] == [key.job_id for key in world.killed(15.0)]


def test_a_kill_says_for_which_queue():
    world = busy(4, 3.0, 1.0)
    world.decide(5.0)
    (kill,) = [one for one in world.decide(15.0) if isinstance(one, Kill)]

    assert (ReasonCode.PREEMPTED, (("queue", "root.b"),)) == (kill.reason.code, kill.reason.numbers)


def test_without_preemption_nothing_is_taken():
    world = World(4, queue("a", containers(1.0)), queue("b", containers(3.0)))
    world.submit("a1", 9)
    world.decide()
    world.submit("b1", 9, at_s=5.0)

    assert [] == wakes(world.decide(5.0))
    assert [] == world.killed(500.0)


def test_it_reports_what_each_queue_is_guaranteed_and_may_have():
    world = World(8, queue("a", percent(25.0), maximum=percent(50.0)), queue("b", percent(75.0)))
    world.decide()

    assert {
        "root.a": {"guaranteed": 2.0, "maximum": 4.0},
        "root.b": {"guaranteed": 6.0, "maximum": 8.0},
    } == world.policy.report()["queues"]


def test_queues_without_jobs_leave_their_weight_to_the_others_if_the_tree_says_so():
    queues = (queue("a", weight(1.0)), queue("b", weight(3.0)))
    world = World(8, *queues, idle_count=False)

    def guarantees():
        return [one["guaranteed"] for one in world.policy.report()["queues"].values()]

    world.submit("a1", 1)
    assert [8.0, 0.0] == guarantees()
    world.decide()
    world.submit("b1", 1)
    assert [2.0, 6.0] == guarantees()
    world.finish("a1", 5.0)
    assert [0.0, 8.0] == guarantees()


def test_preemption_waits_for_the_first_queue():
    """Nodes may join long before the first job names a pool."""
    settings = CapacityQueues.Settings(preempts_after_s=PREEMPTS_AFTER_S)
    scheduler = scheduler_of(CapacityQueues(settings))
    scheduler.handle(NodeJoined(0.0, Node(node_id=NodeId("n"), containers=2)))

    assert not [one for one in scheduler.handle(Tick(0.0)) if not isinstance(one, Wake)]


# --- tasks that wait for others -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("maximum", "early"),
    [
        (None, 4),  # half of 8 containers
        (containers(6.0), 3),  # half of what the queue may have
        (containers(3.9), 1),  # of 3, half is 1
    ],
)
def test_tasks_that_wait_for_other_tasks_hold_at_most_half_of_any_queue(maximum, early):
    world = World(8, queue("a", percent(100.0), maximum=maximum), slowstart=0.0)
    world.scheduler.handle(JobSubmitted(0.0, map_reduce("a1", 1, 100.0, 9, 1.0, pool="root.a")))
    keys = [one.key for one in world.decide() if isinstance(one, Launch)]

    assert [0, *[1] * early] == [key.phase for key in keys]
