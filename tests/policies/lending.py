"""DynamicMR as tests put it together, and one heartbeat after the other shown by hand."""

from collections import Counter

from tests.runs import scheduler_of

from sluice.core.commands import Launch
from sluice.core.events import (
    JobSubmitted,
    NodeHeartbeat,
    NodeJoined,
    TaskFinished,
    TaskProgress,
    Tick,
)
from sluice.model.cluster import Node
from sluice.policies.dynamicmr.policy import DynamicMR

BOTH_MODES = ("pi", "pd")


def dynamicmr(**settings):
    """The policy as a workload file's settings would make it; heartbeats are on."""
    return DynamicMR.build(DynamicMR.Settings(**{"heartbeat_s": 3.0, **settings}))


class Trackers:
    """Nodes n1, n2, .. given as (map slots, reduce slots), whose heartbeats a test shows."""

    def __init__(self, *nodes, slowstart=1.0, pools=(), policy=None, **settings):
        self.scheduler = scheduler_of(
            policy or dynamicmr(**settings), slowstart=slowstart, by_heartbeat=True, pools=pools
        )
        self.state = self.scheduler.state
        for number, (map_slots, reduce_slots) in enumerate(nodes, start=1):
            node = Node(
                node_id=f"n{number}",
                rack=f"r{number}",
                map_slots=map_slots,
                reduce_slots=reduce_slots,
            )
            self.scheduler.handle(NodeJoined(0.0, node))

    def submit(self, *jobs, at_s=0.0, locations=None):
        for job in jobs:
            self.scheduler.handle(JobSubmitted(at_s, job, {0: locations} if locations else {}))
        self.scheduler.handle(Tick(at_s))

    def beat(self, node_id, at_s=0.0):
        """The launches of a node's heartbeat."""
        commands = self.scheduler.handle(NodeHeartbeat(at_s, node_id))
        return [command for command in commands if isinstance(command, Launch)]

    def asked(self, node_id, at_s=0.0):
        """All commands of a node's heartbeat."""
        return self.scheduler.handle(NodeHeartbeat(at_s, node_id))

    def started(self, node_id, at_s=0.0):
        """How many tasks of which job started at a heartbeat in which kind of slot."""
        return Counter(
            (launch.key.job_id, launch.slot_kind.value) for launch in self.beat(node_id, at_s)
        )

    def finish(self, launch, at_s):
        self.scheduler.handle(TaskFinished(at_s, launch.key, at_s))

    def report(self, launch, at_s, progress):
        self.scheduler.handle(TaskProgress(at_s, launch.key, progress))
