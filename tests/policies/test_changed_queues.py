"""Queues that change while jobs are in them: from that instant on, other shares hold."""

import json
import random
from copy import copy
from dataclasses import replace

import pytest
from tests.policies.ltyarn_worlds import workload

from sluice import parse_workload
from sluice.bootstrap.live.run_options import RunOptions
from sluice.bootstrap.preparation.container_jobs import with_slot_kinds
from sluice.bootstrap.scheduler import live_scheduler
from sluice.bootstrap.settings import settings_of
from sluice.core import events as ev
from sluice.core.record.codec import decision_line, decode, encode
from sluice.core.record.opening import opening_of
from sluice.core.record.restoring import restore
from sluice.model.ids import PoolId
from sluice.model.queues import Pool, PoolOrder, Queue, QueueOrder

FOLLOWING = ("ltyarn", "ltrf", "mlrf", "queue-tree", "order=ltrf", "order=ltrf+copies=late")
QUEUES = [
    {"id": "org", "order": "ltrf"},
    {"id": "a", "parent": "org"},
    {"id": "b", "parent": "org"},
    {"id": "c", "order": "fifo"},
]


class World:
    """Sixteen containers, and jobs of many tasks of a second in three queues."""

    def __init__(self, tasks):
        self.load = workload(16, QUEUES, [(f"j{q}", q, 0, [1] * 3000) for q in ("a", "b", "c")])
        options = RunOptions(tasks=tasks)
        self.scheduler = live_scheduler(self.load, settings_of(self.load, options), options)
        for node in self.load.cluster.nodes:
            self.scheduler.handle(ev.NodeJoined(0.0, node))
        tasks = self.scheduler.policies.tasks
        self.jobs = with_slot_kinds(self.load.jobs, self.load.cluster, tasks)
        for job in self.jobs:
            self.scheduler.handle(ev.JobSubmitted(0.0, job))
        self.at_s = 0.0

    def pass_s(self, seconds):
        """Containers that each queue held on average."""
        held = dict.fromkeys(("a", "b", "c", "d"), 0)
        for _ in range(seconds):
            self.scheduler.handle(ev.Tick(self.at_s))
            running = list(self.scheduler.state.running.values())
            for attempt in running:
                held[str(attempt.phase.job.pool.pool_id)] += attempt.tasks
            self.at_s += 1.0
            for attempt in running:
                event = ev.TaskFinished(self.at_s, attempt.key, self.at_s, tasks=attempt.tasks)
                self.scheduler.handle(event)
        return {name: count / seconds for name, count in held.items()}

    def change(self, **changed):
        """The pools, where some queues have other values."""
        pools = [
            replace(pool, queue=replace(pool.queue, **changed.pop(str(pool.pool_id), {})))
            for pool in self.load.pools
        ]
        for name, fields in changed.items():
            queue = Queue(queue_id=PoolId(name), order=QueueOrder.LTRF, **fields)
            pools.append(Pool(pool_id=PoolId(name), queue=queue))
        event = ev.QueuesChanged(self.at_s, tuple(pools))
        self.scheduler.handle(decode(encode(event)))  # as a journal gives it back


@pytest.mark.parametrize("tasks", FOLLOWING)
def test_from_then_on_other_weights_hold(tasks):
    world = World(tasks)
    assert world.scheduler.policies.tasks.follows_queues
    before = world.pass_s(20)
    assert before == pytest.approx({"a": 4, "b": 4, "c": 8, "d": 0}, abs=0.3)

    world.change(c={"weight": 3.0}, a={"weight": 3.0}, b={"weight": 1.0})
    world.pass_s(80)  # what was used before the change counts for a while
    after = world.pass_s(40)
    assert after == pytest.approx({"a": 3, "b": 1, "c": 12, "d": 0}, abs=0.5)


@pytest.mark.parametrize("tasks", FOLLOWING)
def test_a_new_queue_has_its_share_and_a_maximum_holds(tasks):
    world = World(tasks)
    world.pass_s(5)
    world.change(d={"weight": 2.0}, a={"share_max": 1.0})
    job = replace(world.jobs[0], job_id="jd", pool=PoolId("d"))
    world.scheduler.handle(ev.JobSubmitted(world.at_s, job))
    world.pass_s(20)

    after = world.pass_s(20)
    assert after["a"] <= 1
    assert after["d"] == pytest.approx(8, abs=0.7)
    assert sum(after.values()) == pytest.approx(16)


@pytest.mark.parametrize("least", [0.5, 1.0])
def test_a_new_minimum_of_one_container_holds(least):
    """Queue a, whose weight is next to nothing, would wait for as long as b has tasks."""
    world = World("ltyarn")
    world.pass_s(5)
    world.change(a={"weight": 1e-6, "share_min": least})

    assert world.pass_s(10)["a"] == 1


SHARING = (
    "fair", "static", "dynamicmr", "order=fair+copies=late", "order=fair+goals=first",
    "order=fair+slots=lent", "order=fair+slots=lent-by-pool", "order=fair+slots=resources",
    "order=fair+slots=conservative",
)  # fmt: skip


class Pools:
    """Typed slots, or containers, and jobs of maps and reduces in pools."""

    def __init__(self, tasks):
        kinds = "slots=resources", "slots=conservative"
        slots = {"containers": 12} if tasks.endswith(kinds) else {"map_slots": 8, "reduce_slots": 4}
        self.load = parse_workload(json.dumps({
            "version": 1,
            "cluster": {"nodes": 1, "node": slots},
            "pools": [{"id": name} for name in "abc"],
            "jobs": [
                {"id": f"{name}{number}", "pool": name, "maps": {"tasks": 40, "avg_s": 5},
                 "reduces": {"tasks": 6, "avg_s": 3}}
                for number in range(3) for name in "abc"
            ],
        }))  # fmt: skip
        options = RunOptions(tasks=tasks)
        self.scheduler = live_scheduler(self.load, settings_of(self.load, options), options)

    def begin(self, draw):
        """The nodes join, the jobs come, and some tasks end."""
        for node in self.load.cluster.nodes:
            self.scheduler.handle(ev.NodeJoined(0.0, node))
        tasks = self.scheduler.policies.tasks
        for job in with_slot_kinds(self.load.jobs, self.load.cluster, tasks):
            self.scheduler.handle(ev.JobSubmitted(0.0, job))
        for at_s in range(1, 12):
            ended(self.scheduler, float(at_s), draw)


def ended(scheduler, at_s, draw):
    """Some attempts end at an instant; the commands that follow, as text."""
    scheduler.handle(ev.Tick(at_s))
    running = sorted(scheduler.state.running)
    for key in draw.sample(running, min(3, len(running))):
        scheduler.handle(ev.TaskFinished(at_s, key, at_s))
    return decision_line(scheduler.handle(ev.Tick(at_s)))


@pytest.mark.parametrize("tasks", SHARING)
def test_pools_of_other_weights_are_served_as_if_they_had_always_had_them(tasks):
    """A scheduler restored afterwards builds its orders from the new values."""
    for seed in range(4):
        world, draw = Pools(tasks), random.Random(seed)
        assert world.scheduler.policies.tasks.follows_queues
        world.begin(draw)
        pools = tuple(
            replace(pool, weight=draw.choice([0.5, 1.0, 4.0]), map_slots_min=draw.choice([0, 4]),
                    order=draw.choice(list(PoolOrder)))
            for pool in world.load.pools
        )  # fmt: skip
        world.scheduler.handle(ev.QueuesChanged(world.scheduler.state.now_s, pools))
        policies = Pools(tasks).scheduler.policies
        other = restore(opening_of(world.scheduler), policies, world.scheduler.rules)

        for at_s in range(13, 33):
            one, two = random.Random(at_s), random.Random(at_s)
            assert ended(world.scheduler, float(at_s), one) == ended(other, float(at_s), two)


def test_a_policy_that_takes_its_queues_once_says_so():
    assert not World("fifo").scheduler.policies.tasks.follows_queues


@pytest.mark.parametrize(
    "tasks", ["ltyarn", "ltrf", "karma", "decay", "mlrf", "queue-tree", "order=ltrf"]
)
def test_a_cluster_restored_afterwards_goes_on_with_the_changed_queues(tasks):
    world = World(tasks)
    world.pass_s(7)
    world.change(c={"weight": 3.0, "round_s": 5.0}, b={"share_max": 2.0}, d={"parent": "org"})
    world.scheduler.handle(
        ev.JobSubmitted(world.at_s, replace(world.jobs[0], job_id="k", pool="d"))
    )
    world.pass_s(7)
    line, policies = opening_of(world.scheduler), World(tasks).scheduler.policies
    other = copy(world)
    other.scheduler = restore(line, policies, world.scheduler.rules)

    assert [world.pass_s(1) for _ in range(20)] == [other.pass_s(1) for _ in range(20)]
    assert opening_of(world.scheduler) == opening_of(other.scheduler)
