"""A cluster that goes on: random jobs come and end for as long as is asked, in made-up time.

It shows one or several schedulers the same events; what happens next depends on what the first one
decides. The others may be shown that jobs are forgotten, and must decide the same.
"""

import heapq
import itertools
import random

from sluice.core import events as ev
from sluice.core.commands import Kill, Launch, Wake
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Demand, Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.queues import Pool
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind

POOLS = (Pool(pool_id=PoolId("p0"), weight=2.0), Pool(pool_id=PoolId("p1")))
_SMALL = Demand(work=Resources(cpu=1.0, io=1.0, memory=1.0, network=1.0))


def nodes(*, are_typed):
    """Three alike nodes on two racks: two map slots and a reduce slot each, or three containers."""
    slots = {"map_slots": 2, "reduce_slots": 1} if are_typed else {"containers": 3}
    many = Resources(cpu=100.0, io=100.0, memory=100.0, network=100.0)
    return tuple(
        Node(node_id=NodeId(f"n{number}"), rack=f"r{number % 2}", capacity=many, **slots)
        for number in range(3)
    )


class OpenCluster:
    """The world of one or several schedulers. forget_s: a job that ended is forgotten after so many
    seconds, except by the first scheduler if there are others.

    faults: how often an attempt fails, and a node is lost after an end of one.
    maps: the most maps of a job.  every_s: the mean time between two jobs.
    are_typed: whether nodes have map and reduce slots; else containers, and jobs have stages.
    """

    def __init__(
        self, schedulers, seed, *, forget_s=5.0, faults=0.05, maps=5, every_s=2.0, are_typed=True
    ):
        self.schedulers, self.forget_s, self.faults = schedulers, forget_s, faults
        self.maps, self.every_s = maps, every_s
        self.draw = random.Random(seed)
        self.now_s, self.jobs, self.attempts, self.forgotten = 0.0, 0, 0, 0
        self._heap, self._count = [], itertools.count()
        self._running, self._ended_at_s = {}, {}
        self.are_typed, self.nodes = are_typed, nodes(are_typed=are_typed)
        for node in self.nodes:
            self._later(0.0, ev.NodeJoined, node)

    @property
    def state(self):
        """The state of the last scheduler."""
        return self.schedulers[-1].state

    def submit(self, count):
        """So many jobs more, one after the other from now on."""
        at_s = 0.0
        for _ in range(count):
            self._later(at_s, self._submission, f"j{self.jobs:06}")
            self.jobs += 1
            at_s += self.draw.expovariate(1 / self.every_s)

    def run(self):
        """Go on until nothing is left to happen; all jobs that ended are forgotten then."""
        while self._heap:
            self.now_s = max(self.now_s, self._heap[0][0])
            batch = []
            while self._heap and self._heap[0][0] <= self.now_s:
                _, _, make, details = heapq.heappop(self._heap)
                batch += self._event(make, details)
            self._show([*batch, ev.Tick(self.now_s)])
        self.now_s += self.forget_s
        self._show([ev.Tick(self.now_s)])

    def _event(self, make, details):
        if make is None:
            return []
        event = make(self.now_s, *details)
        if isinstance(event, ev.TaskFinished | ev.TaskFailed):
            if self._running.pop(event.key, None) is None:
                return []
            if self.draw.random() < self.faults / 5:
                node = self.draw.choice(self.nodes)
                self._later(0.0, ev.NodeLost, node.node_id)
                self._later(3.0, ev.NodeJoined, node)
        if isinstance(event, ev.NodeLost):
            gone = [key for key, node_id in self._running.items() if node_id == event.node_id]
            for key in gone:
                del self._running[key]
        return [event]

    def _submission(self, at_s, job_id):
        draw = self.draw
        maps, reduces = draw.randint(1, self.maps), draw.randint(0, 2)
        kinds = [SlotKind.MAP, SlotKind.REDUCE] if self.are_typed else [SlotKind.CONTAINER] * 2
        phases = [
            Phase(name="map", kind=kinds[0], tasks=maps, lengths=_lengths(draw), demand=_SMALL)
        ]
        if reduces:
            phases.append(
                Phase(
                    name="reduce", kind=kinds[1], tasks=reduces, after=(0,),
                    lengths=_lengths(draw), demand=_SMALL,
                )
            )  # fmt: skip
        pool = draw.choice(["p0", "p1", "p2", job_id])  # of the file, of a name, its own
        deadline_at_s = at_s + draw.uniform(20, 200) if draw.random() < 0.5 else None
        job = Job(
            job_id=JobId(job_id), pool=PoolId(pool), phases=tuple(phases), submitted_at_s=at_s,
            deadline_at_s=deadline_at_s,
        )  # fmt: skip
        if draw.random() < self.faults:
            self._later(draw.uniform(0, 20), ev.JobKilled, JobId(job_id))
        places = tuple((NodeId(f"n{draw.randrange(3)}"),) for _ in range(maps))
        return ev.JobSubmitted(at_s, job, {0: places} if draw.random() < 0.5 else {})

    def _show(self, batch):
        due = self._due()
        first, *others = self.schedulers
        for event in [ev.JobsForgotten(self.now_s, due), *batch] if due else batch:
            is_news = not isinstance(event, ev.JobsForgotten)
            commands = first.handle(event) if is_news or not others else []
            for other in others:
                decided = other.handle(event)
                assert decided == commands, f"{self.now_s:g} s, {event}: {decided}, not {commands}"
            for command in commands:
                self._carry_out(command)
        for entry in [
            one for one in first.state.jobs.values() if one.job_id not in self._ended_at_s
        ]:
            if entry.has_ended:
                self._ended_at_s[entry.job_id] = self.now_s

    def _due(self):
        """The jobs to forget now; sometimes it is left for later."""
        if self._heap and self.draw.random() < 0.5:
            return ()
        busy = {key.job_id for key in self.state.running}
        limit_s = self.now_s - self.forget_s
        due = [
            job_id
            for job_id in self.state.jobs
            if self._ended_at_s.get(job_id, limit_s + 1) <= limit_s and job_id not in busy
        ]
        for job_id in due if len(self.schedulers) == 1 else ():
            del self._ended_at_s[job_id]
        self.forgotten += len(due)
        return tuple(due)

    def _carry_out(self, command):
        match command:
            case Launch():
                self.attempts += 1
                self._running[command.key] = command.node_id
                self._later(0.1, ev.TaskStarted, command.key)
                took_s = self.draw.choice([1.0, 2.0, 3.0, 9.0])
                self._later(took_s / 2, ev.TaskProgress, command.key, 0.5)
                self._later(took_s, self._end, command.key)
            case Kill():
                self._later(0.1, _killed, command.key)
            case Wake():
                self._later(command.at_s - self.now_s, None)

    def _end(self, at_s, key):
        if self.draw.random() < self.faults:
            return ev.TaskFailed(at_s, key, at_s, ev.FailureKind.EXIT, "exit status 1")
        usage = ev.Usage(wall_s=1.0, cpu_s=self.draw.random())
        return ev.TaskFinished(at_s, key, at_s, usage=usage, outputs=(f"{key}.out",))

    def _later(self, delay_s, make, *details):
        heapq.heappush(
            self._heap, (self.now_s + max(0.0, delay_s), next(self._count), make, details)
        )


def _lengths(draw):
    mean_s = draw.uniform(1.0, 4.0)
    return ConstantLengths(mean_s, 2 * mean_s)


def _killed(at_s, key):
    return ev.TaskFailed(at_s, key, at_s, ev.FailureKind.KILLED)
