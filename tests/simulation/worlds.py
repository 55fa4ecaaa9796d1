"""Simulations that tests look into: every event is kept, and nodes die when a test says so."""

import pytest
from tests.in_events import speak_in_events

from sluice.core.events import NodeJoined, NodeLost
from sluice.core.rules import Rules
from sluice.core.scheduler import Policies, Scheduler
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.policies.defaults import AdmitAll, KeepPools, ReleaseOnArrival
from sluice.policies.orders.fifo import Fifo
from sluice.simulation.agenda import NODE_RANK
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings


class Heard(Scheduler):
    """A scheduler that remembers what it was shown and what it asked for."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.heard = []
        self.asked = []

    def handle(self, event):
        commands = super().handle(event)
        self.heard.append(event)
        self.asked += commands
        return commands


class World:
    """A simulation that has not started yet."""

    def __init__(
        self, cluster, jobs, tasks=None, *, release=None, seed=0, slowstart=1.0, recorded=None,
        on_progress=None, **settings,
    ):  # fmt: skip
        policies = Policies(
            admission=AdmitAll(),
            release=release or ReleaseOnArrival(),
            tasks=tasks or Fifo(),
            pools=KeepPools(),
        )
        world = SimulationSettings(**settings)
        rules = Rules(slowstart=slowstart, by_heartbeat=world.heartbeat_s > 0)
        self.scheduler = Heard(policies, rules=rules)
        with pytest.MonkeyPatch.context() as patch:
            speak_in_events(patch)
            self.simulation = Simulation(
                self.scheduler, cluster, jobs, settings=world, seed=seed, recorded=recorded,
                on_progress=on_progress,
            )  # fmt: skip
        self.nodes = {node.node_id: node for node in cluster.nodes}

    @property
    def state(self):
        return self.scheduler.state

    def heard(self, kind):
        """The events of one kind, in order."""
        return [event for event in self.scheduler.heard if type(event) is kind]

    def at(self, at_s, step):
        """Something happens at an instant, when nodes fail."""
        self.simulation._agenda.add(at_s, NODE_RANK, step)

    def lose(self, node_id, at_s, *, noticed_at_s=None, back_at_s=None):
        """A node dies, is missed, and comes back."""
        simulation, node = self.simulation, self.nodes[node_id]
        lost_at_s = at_s if noticed_at_s is None else noticed_at_s
        self.at(at_s, lambda now_s: simulation.node_dies(node_id, now_s))
        self.at(lost_at_s, lambda now_s: simulation.report_node(NodeLost(now_s, node_id)))
        if back_at_s is not None:
            self.at(back_at_s, lambda now_s: simulation.report_node(NodeJoined(now_s, node)))

    def run(self, until_s=None):
        self.simulation.run(until_s=until_s)
        return self.state


def chain(job_id, *phases):
    """A job of phases one after the other: (kind, tasks, length_s[, fetch_s]) each."""
    made = []
    for index, (kind, tasks, length_s, *fetch_s) in enumerate(phases):
        made.append(
            Phase(
                name=f"{kind.value}-{index}",
                kind=kind,
                tasks=tasks,
                lengths=ConstantLengths(length_s, length_s),
                fetch=ConstantLengths(*fetch_s, *fetch_s) if fetch_s else None,
                after=(index - 1,) if index else (),
            )
        )
    return Job(job_id=job_id, pool="p", phases=tuple(made))


def spans(state):
    """Every task of every attempt: (job, phase, task, node, started_at_s, finished_at_s)."""
    return sorted(
        (key.job_id, key.phase, task, attempt.launch.node_id, *times)
        for attempt in state.closed
        for key in (attempt.key,)
        for times in ((attempt.started_at_s, attempt.finished_at_s),)
        for task in range(key.task, key.task + attempt.launch.tasks)
    )


def outcomes(state):
    """(task name, outcome, end) of every attempt, in the order of the ends."""
    return [(str(a.key), a.state.value, a.finished_at_s) for a in state.closed]
