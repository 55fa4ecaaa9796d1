"""Why promises were not kept: worlds in which one thing goes otherwise than it was promised."""

import heapq
import itertools
from bisect import bisect_right
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from tests.runs import scheduler_of

from sluice.bootstrap.service.causes import Causes, Late
from sluice.core.commands import Launch
from sluice.core.events import (
    FailureKind,
    JobSubmitted,
    NodeJoined,
    NodeLost,
    TaskFailed,
    TaskFinished,
    TaskStarted,
    Tick,
)
from sluice.model.cluster import Node
from sluice.model.job import Job, Phase
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.fair import Fair
from sluice.policies.orders.fifo import Fifo

CODES = {
    "later_arrivals", "other_jobs", "own_length", "failures", "nodes_lost", "service_down",
    "changed", "overhead",
}  # fmt: skip


class World:
    """A cluster of one slot a node, as the follower of a service sees it.

    lengths: seconds of each task of a job.  down: (instant, seconds) in which no service ran.
    """

    def __init__(self, nodes=1, tasks=None, down=()):
        self.scheduler = scheduler_of(tasks or Fifo())
        self.state = self.scheduler.state
        self.jobs, self.changes, self.capacity = {}, {}, []
        self.lengths, self.fails = {}, set()
        self._down = sorted(down)
        self._heap, self._count = [], itertools.count()
        for number in range(nodes):
            self.at(0.0, NodeJoined, Node(node_id=f"n{number}", map_slots=1))

    @property
    def now_s(self):
        return self.state.now_s

    def wall_s(self, at_s):
        known = bisect_right(self._down, (at_s, float("inf")))
        return 1e9 + at_s + sum(seconds for _, seconds in self._down[:known])

    def at(self, at_s, kind, *details):
        """An event that comes."""
        heapq.heappush(self._heap, (at_s, next(self._count), kind, details))

    def submit(self, job_id, at_s, length_s, tasks=1):
        """A job of maps that come at an instant."""
        phase = Phase(name="map", kind=SlotKind.MAP, tasks=tasks)
        job = Job(job_id=job_id, pool=job_id, phases=(phase,), submitted_at_s=at_s)
        self.lengths[job_id] = length_s
        self.jobs[job_id] = SimpleNamespace(workload=SimpleNamespace(at_s=at_s))
        self.at(at_s, JobSubmitted, job)

    def run(self):
        """Until nothing more happens."""
        while self._heap:
            at_s, _, kind, details = heapq.heappop(self._heap)
            changes = self.state.node_changes
            self.scheduler.handle(kind(at_s, *details))
            if self.state.node_changes != changes:
                self.capacity.append((at_s, self.state.slots[SlotKind.MAP]))
            for command in self.scheduler.handle(Tick(at_s)):
                if isinstance(command, Launch):
                    self._start(command, at_s)
        return self

    def _start(self, launch, at_s):
        key = launch.key
        self.at(at_s, TaskStarted, key)
        end_s = at_s + self.lengths[key.job_id]
        if key.job_id in self.fails and key.attempt == 1:
            self.at(end_s, TaskFailed, key, end_s, FailureKind.EXIT, "exit status 1")
        else:
            self.at(end_s, TaskFinished, key, end_s)

    def cause(self, job_id, starts_s, ends_s):
        """The cause, of a job that was promised to start and end at these instants."""
        entry = self.state.jobs[job_id]
        wall_s = self.wall_s
        promised_s = self.jobs[job_id].workload.at_s
        expected = [wall_s(promised_s) + each - promised_s for each in (starts_s, ends_s)]
        off_wait_s = wall_s(entry.started_at_s) - expected[0]
        off_s = wall_s(entry.finished_at_s) - expected[1]
        return Causes(self).of_ended(job_id, Late(off_s, off_wait_s))


def test_its_own_tasks_took_longer():
    world = World()
    world.submit("a", 1.0, length_s=30.0)
    assert world.run().cause("a", 1.0, 11.0) == {
        "code": "own_length",
        "text": "it ran longer than expected",
    }


def test_a_job_before_it_took_longer():
    world = World()
    world.submit("long", 0.0, length_s=50.0)
    world.submit("a", 1.0, length_s=5.0)
    found = world.run().cause("a", 20.0, 25.0)
    assert found["code"] == "other_jobs"
    assert found["text"] == "1 job that came before ran longer than expected"


def test_jobs_that_came_later_took_its_turn():
    world = World(nodes=4, tasks=Fair())
    world.submit("before", 0.0, length_s=5.0, tasks=40)
    world.submit("a", 1.0, length_s=5.0, tasks=8)
    for number in range(2):
        world.submit(f"later{number}", 2.0, length_s=5.0, tasks=40)
    found = world.run().cause("a", 5.0, 25.0)  # without them it had two slots
    assert world.state.jobs["a"].finished_at_s == 45.0
    assert found == {"code": "later_arrivals", "text": "2 jobs that came later ran instead"}


def test_a_node_was_lost_and_others_were_full():
    world = World(nodes=2)
    world.submit("long", 0.0, length_s=100.0)
    world.submit("first", 0.0, length_s=10.0)
    world.submit("a", 1.0, length_s=5.0)
    world.at(9.0, NodeLost, "n1", "pulled the plug")
    found = world.run().cause("a", 10.0, 15.0)
    assert found["code"] in {"nodes_lost", "other_jobs"}
    assert world.state.jobs["a"].started_at_s > 90.0


def test_its_node_was_lost_while_it_ran():
    world = World(nodes=2)
    world.submit("a", 0.0, length_s=10.0, tasks=2)
    world.at(9.0, NodeLost, "n1", "pulled the plug")
    found = world.run().cause("a", 0.0, 10.0)
    assert found["code"] == "nodes_lost"


def test_its_tasks_failed_first():
    world = World()
    world.fails.add("a")
    world.submit("a", 0.0, length_s=10.0)
    found = world.run().cause("a", 0.0, 10.0)
    assert found["code"] in {"failures", "own_length"}
    assert world.state.jobs["a"].finished_at_s == 20.0


def test_no_service_ran():
    world = World(down=[(5.0, 600.0)])
    world.submit("before", 0.0, length_s=10.0)
    world.submit("a", 1.0, length_s=5.0)
    assert world.run().cause("a", 10.0, 15.0) == {
        "code": "service_down",
        "text": "the service was down for 10 min",
    }


def test_its_user_changed_it():
    world = World()
    world.submit("before", 0.0, length_s=50.0)
    world.submit("a", 1.0, length_s=5.0)
    world.changes["a"] = [SimpleNamespace(what="held by anna")]
    assert world.run().cause("a", 10.0, 15.0)["code"] == "changed"


def test_an_early_end_has_a_cause_as_well():
    world = World()
    world.submit("before", 0.0, length_s=1.0)
    world.submit("a", 0.5, length_s=5.0)
    assert (
        world.run().cause("a", 30.0, 35.0)["text"]
        == "the jobs before it took less time than expected"
    )
    assert world.cause("a", 1.0, 35.0)["code"] == "own_length"


def test_a_restart_makes_the_promise_of_an_open_job_late():
    world = World(down=[(5.0, 600.0)])
    world.submit("a", 1.0, length_s=100.0)
    world.at(8.0, NodeJoined, Node(node_id="more", map_slots=1))
    world.run()
    found = Causes(world).of_open("a", 590.0)
    assert found["code"] == "service_down"
    assert "cannot be kept: the job ends 590 s after the latest promised end" in found["text"]
    assert Causes(World(down=[]).run() and world).of_open("a", 5000.0)["code"] == "late"


@given(
    st.lists(
        st.tuples(st.floats(0, 50), st.floats(0.1, 40), st.integers(1, 5)), min_size=1, max_size=8
    ),
    st.floats(0, 60),
    st.floats(0.1, 60),
    st.integers(1, 3),
    st.sampled_from([Fifo, Fair]),
    st.lists(st.tuples(st.floats(0, 60), st.floats(0, 900)), max_size=2),
)
def test_every_end_has_one_cause(jobs, wait_s, run_s, nodes, policy, down):
    world = World(nodes=nodes, tasks=policy(), down=down)
    for number, (at_s, length_s, tasks) in enumerate(jobs):
        world.submit(f"j{number}", at_s, length_s, tasks)
    world.run()
    for number, (at_s, _, _) in enumerate(jobs):
        found = world.cause(f"j{number}", at_s + wait_s, at_s + wait_s + run_s)
        assert found["code"] in CODES
        if nodes == 1 and len(jobs) == 1 and not down:
            assert found["code"] in {"own_length", "other_jobs", "overhead"}
