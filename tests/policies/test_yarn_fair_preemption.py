"""FairScheduler's preemption: who is starved, what is taken, and when it ends."""

from collections import Counter
from types import SimpleNamespace

import pytest
from tests.policies.test_yarn import SEEDS, job, killed_of, queue, run

from sluice.core.commands import Kill, Launch
from sluice.core.events import JobSubmitted, NodeJoined, TaskFinished, TaskStarted, Tick
from sluice.core.protocols import Policies
from sluice.core.scheduler import Scheduler
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.ids import NodeId
from sluice.model.queue_tree import (
    AmountKind,
    ConfiguredQueue,
    LeafOrder,
    QueueAmount,
    QueueTree,
    Starvation,
    YarnRules,
)
from sluice.policies.defaults import AdmitAll, KeepPools, ReleaseOnArrival
from sluice.policies.yarn.applications import Host
from sluice.policies.yarn.policy import YarnTasks
from sluice.policies.yarn.queues import Application, FairRules
from sluice.policies.yarn.schedulers import preemption_of

SOON = Starvation(3.0, 1.0)
RULES = YarnRules(warning_s=1.0, pause_s=10.0, busy_share=0.8)
# Between two looks at one application: the warning, four heartbeats, and the pause of the rules.
PAUSE_S = 1.0 + 4.0 + 10.0


def weighted(name, weight=1.0, **keys):
    keys = {"starvation": SOON, "order": LeafOrder.FAIR, **keys}
    return ConfiguredQueue(
        path=f"root.{name}", capacity=QueueAmount(AmountKind.WEIGHT, weight), **keys
    )


class Cluster:
    """Two nodes of four containers; `full` is an application that has all of them but its own."""

    def __init__(self, *queues, rules=RULES, full=7):
        tree = QueueTree(
            queues=queues or (weighted("a"), weighted("b")),
            idle_count=False, preempts_after_s=3.0, yarn=rules,
        )  # fmt: skip
        self.rules = FairRules(tree)
        self.rules.resize(8)
        self.hosts = {
            NodeId(name): Host(SimpleNamespace(node_id=name, is_up=True), 4)
            for name in ("n1", "n2")
        }
        self.preemption = preemption_of(self.rules, self.hosts, 1.0)
        self.full = self.app("a")
        self.full.has_master = True
        self.full.queue.count(self.full, 1)
        self.hosts["n1"].held = 1
        self.attempts = [self.start(self.full, "n1" if one < 3 else "n2") for one in range(full)]

    def app(self, name, pending=0, at_s=0.0):
        queue = self.rules.queues[f"root.{name}"]
        app = Application(sum(len(one.apps) for one in self.rules.queues.values()), queue, "u")
        self.rules.submit(app)
        app.pending = pending
        self.preemption.submitted(app, at_s)
        return app

    def start(self, app, name):
        host = self.hosts[name]
        host.held += 1
        app.queue.count(app, 1)
        key = (app.number, app.used)
        attempt = SimpleNamespace(key=key, node=host.entry, phase=SimpleNamespace(index=0))
        self.preemption.began(attempt, app)
        return attempt

    def update(self, at_s):
        """The keys of tasks that are marked after the update of the scheduler."""
        self.rules.update()
        self.preemption.update(at_s)
        return list(self.preemption._marked)


@pytest.mark.parametrize(
    ("at_s", "part", "marked"), [(2.9, 1.0, 0), (3.0, 1.0, 4), (3.0, 0.5, 2), (3.0, 0.2, 0)]
)
def test_an_application_below_its_share_for_long_is_starved(at_s, part, marked):
    """Its share is four containers; it gets none for a part of one."""
    cluster = Cluster(weighted("a"), weighted("b", starvation=Starvation(3.0, part)))
    cluster.app("b", pending=9)
    assert len(cluster.update(at_s)) == marked


def test_it_gets_no_more_than_it_asks_for():
    cluster = Cluster()
    cluster.app("b", pending=2)
    assert len(cluster.update(3.0)) == 2


def test_tasks_are_marked_on_one_node_after_the_other():
    cluster = Cluster()
    cluster.app("b", pending=9)
    nodes = [attempt.node.node_id for attempt in cluster.attempts]
    of_key = dict(zip((one.key for one in cluster.attempts), nodes, strict=True))
    assert sorted(of_key[key] for key in cluster.update(3.0)) == ["n1", "n1", "n1", "n2"]


def test_an_application_keeps_its_own_share():
    """Seven of eight containers are those of the first one, and four its share: it loses three."""
    cluster = Cluster(full=6)
    other = cluster.app("b", pending=9)
    cluster.start(other, "n2")
    assert len(cluster.update(3.0)) == 3


def test_only_an_application_above_its_own_share_loses_tasks():
    """The queue has more than its share, but one of its two applications has not."""
    cluster = Cluster(full=6)
    small = cluster.app("a")
    cluster.start(small, "n2")
    cluster.app("b", pending=9)
    assert all(key[0] == cluster.full.number for key in cluster.update(3.0))


def test_the_first_application_of_a_fifo_queue_keeps_its_share_and_the_others_nothing():
    """The queue has all eight containers, and four as its share: the first one has five of them."""
    cluster = Cluster(weighted("a", order=LeafOrder.FIFO), weighted("b"), full=4)
    second = cluster.app("a")
    for _ in range(3):
        cluster.start(second, "n2")
    cluster.app("b", pending=9)
    lost = Counter(key[0] for key in cluster.update(3.0))
    assert lost == {cluster.full.number: 1, second.number: 3}


@pytest.mark.parametrize(
    "keys", [{"is_preemptible": False}, {"order": LeafOrder.FIFO, "weight": 7.0}]
)
def test_some_queues_lose_nothing(keys):
    """One that may not, and one whose first application has the whole share of it."""
    cluster = Cluster(weighted("a", **keys), weighted("b"))
    cluster.app("b", pending=1)
    marked = cluster.update(3.0)
    assert len(marked) == (1 if "weight" in keys else 0)


def test_tasks_end_after_the_warning_and_the_next_look_is_later():
    cluster = Cluster()
    app = cluster.app("b", pending=1)
    (key,) = cluster.update(3.0)
    assert cluster.preemption.wake_at_s(3.0) == 4.0
    assert not list(cluster.preemption.kills(3.9, []))
    assert [one for one, _ in cluster.preemption.kills(4.0, [])] == [key]

    attempt = next(one for one in cluster.attempts if one.key == key)
    assert cluster.preemption.ended(attempt, cluster.full)
    cluster.full.queue.count(cluster.full, -1)
    cluster.start(cluster.full, "n1")  # it has the container again
    app.pending = 2
    assert not cluster.update(3.0 + PAUSE_S)
    assert len(cluster.update(3.1 + PAUSE_S)) == 2


def test_a_task_that_ends_during_its_warning_is_not_killed():
    cluster = Cluster()
    cluster.app("b", pending=1)
    (key,) = cluster.update(3.0)
    attempt = next(one for one in cluster.attempts if one.key == key)
    assert not cluster.preemption.ended(attempt, cluster.full)
    assert not list(cluster.preemption.kills(4.0, []))


def test_the_starved_application_comes_first_on_the_node():
    cluster = Cluster()
    app = cluster.app("b", pending=2)
    cluster.update(3.0)
    host = cluster.hosts["n1"]
    assert list(cluster.preemption.owed(host)) == [app, app]
    cluster.preemption.granted(app, host)
    assert list(cluster.preemption.owed(host)) == [app]
    assert not list(cluster.preemption.owed(cluster.hosts["n2"]))


def test_nothing_is_owed_to_one_that_has_its_share():
    cluster = Cluster()
    app = cluster.app("b", pending=9)
    cluster.update(3.0)
    app.queue.count(app, 4)
    assert not list(cluster.preemption.owed(cluster.hosts["n1"]))


def test_a_cluster_that_is_not_busy_takes_nothing_back():
    cluster = Cluster(full=5)
    cluster.app("b", pending=9)
    assert not cluster.update(3.0)


def test_a_queue_below_its_least_amount_takes_containers_back():
    """Its applications have their fair shares: only the least of the queue is missing."""
    never = Starvation(None, 0.0, 2.0)
    cluster = Cluster(weighted("a"), weighted("b", least=2.0, starvation=never))
    cluster.app("b", pending=2)
    assert not cluster.update(1.0)
    assert not cluster.update(2.9)
    assert len(cluster.update(3.0)) == 2


@SEEDS
def test_a_late_queue_gets_its_master_and_later_its_share(seed):
    """Tasks of 100 s fill the cluster. A task ends for the master, and others 15 s later."""
    queues = (weighted("a"), weighted("b"))
    two = [job("one", [100.0] * 7), job("two", [5.0] * 6, at_s=20.0, queue="b")]
    tasks, spans = run(two, *queues, containers=8, seed=seed, after_s=3.0, is_fair=True, yarn=RULES)
    killed = sorted(span[1] for span in killed_of(spans["one"], 100.0))
    assert 24.0 <= killed[0] <= 25.0
    assert 1 <= sum(39.0 <= at_s <= 41.0 for at_s in killed) <= 3
    assert tasks.ended_at_s["two"] < 70.0


@SEEDS
def test_a_container_of_a_killed_task_is_free_after_two_heartbeats(seed):
    """The node learns of the end at one, and reports it at the next one. Then the master learns of
    the container at its call, and starts the task at the one after that.
    """
    two = [job("one", [100.0] * 7), job("two", [5.0], at_s=20.0, queue="b")]
    _, spans = run(
        two, weighted("a"), weighted("b"), containers=8, seed=seed, after_s=3.0, is_fair=True,
        yarn=RULES,
    )  # fmt: skip
    *_, killed_at_s = sorted(span[1] for span in killed_of(spans["one"], 100.0))
    assert 3.0 <= spans["two"][0][0] - killed_at_s <= 4.0


@SEEDS
def test_a_killed_task_runs_again_after_all_others(seed):
    """The first tasks are longer than those that wait, which all start before them."""
    two = [job("one", [100.0] * 7 + [30.0] * 4), job("two", [5.0] * 2, at_s=20.0, queue="b")]
    _, spans = run(
        two, weighted("a"), weighted("b"), containers=8, seed=seed, after_s=3.0, is_fair=True,
        yarn=RULES,
    )  # fmt: skip
    first = spans["one"][:7]
    assert len(killed_of(first, 100.0)) >= 1
    later = [round(end - start) for start, end in spans["one"][7:]]
    done = [length for length in later if length in {30, 100}]
    assert done == sorted(done)


@pytest.mark.parametrize("is_fair", [True, False])
def test_a_task_that_is_done_before_its_kill_comes_counts_for_its_master(is_fair):
    """Else the master would wait for it for ever: no other attempt of the task will begin."""
    queues = [weighted("a"), weighted("b")] if is_fair else [queue("a", 50.0), queue("b", 50.0)]
    tree = QueueTree(
        queues=tuple(queues), idle_count=not is_fair, preempts_after_s=3.0,
        yarn=RULES if is_fair else None,
    )  # fmt: skip
    tasks = YarnTasks(tree=tree)
    policies = Policies(
        admission=AdmitAll(), release=ReleaseOnArrival(), tasks=tasks, pools=KeepPools()
    )
    scheduler = Scheduler(policies)
    events = [
        NodeJoined(0.0, Node(node_id=NodeId("n0"), containers=8)),
        JobSubmitted(0.0, job("one", [9.0] * 7)),
        JobSubmitted(9.0, job("two", [9.0] * 2, queue="b")),
    ]
    killed = done_late(scheduler, events)
    assert killed
    assert set(tasks.ended_at_s) == {"one", "two"}


def done_late(scheduler, events):
    """The tasks that are to be killed, all of which are done at that moment; others take a time."""
    running: dict[AttemptKey, float] = {}
    killed = []
    for at_s in range(200):
        commands = []
        while events and events[0].at_s <= at_s:
            commands += scheduler.handle(events.pop(0))
        for key in [key for key, end_s in running.items() if end_s <= at_s]:
            del running[key]
            commands += scheduler.handle(TaskFinished(at_s, key, at_s))
        commands += scheduler.handle(Tick(at_s))
        for command in commands:
            if isinstance(command, Launch):
                running[command.key] = at_s + 40.0
                scheduler.handle(TaskStarted(at_s, command.key))
            elif isinstance(command, Kill):
                killed.append(command.key)
                running[command.key] = at_s
    return killed
