"""YARN's ResourceManager, nodes and masters as one task policy.

The simulator starts a task when its master starts it, and reports its end at once. What YARN does
between these instants happens here: a node reports what has ended at its next heartbeat, and only
then is a container free and granted again; a master learns of both at its calls; its own container
is held from its grant until the heartbeat after it has unregistered. A node keeps free what these
containers take, although no task runs in them.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry
from sluice.core.events import AttemptKey
from sluice.core.protocols import Assignment, SlotShortage, TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId
from sluice.model.job import SlotKind
from sluice.model.queue_tree import ROOT, QueueTree
from sluice.policies.yarn.applications import Host, Master
from sluice.policies.yarn.queues import Application, YarnQueue, rules_of

_CONTAINER = SlotKind.CONTAINER


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeats:
    """Seconds between heartbeats of a node, and between calls of a master.

    seed: of the instants of the nodes' first heartbeats, which YARN does not fix.
    """

    node_s: float = 1.0
    master_s: float = 1.0
    seed: int = 0


class YarnTasks(TaskPolicy):
    """YARN with a queue tree, for one simulation. Masters take one container each."""

    def __init__(self, tree: QueueTree, heartbeats: Heartbeats | None = None) -> None:
        super().__init__()
        self._every = heartbeats or Heartbeats()
        self._rules = rules_of(tree)
        self._masters: dict[JobId, Master] = {}
        self._of_app: dict[Application, Master] = {}
        self._hosts: dict[NodeId, Host] = {}
        self._agenda: list[tuple[float, int, Host | Master | None]] = []
        self._to_start: dict[NodeId, list[PhaseEntry]] = {}
        self._events = 0

    def attach(self, state: ClusterState) -> None:
        self._state = state
        self._draws = random.Random(self._every.seed)
        self._nodes_seen = -1
        self._is_updated = False
        state.observe(self)
        state.observe_attempts(self)

    @property
    def has_any_slot(self) -> bool:
        return True

    @property
    def ended_at_s(self) -> Mapping[JobId, float]:
        """When the master of each application has unregistered, in seconds."""
        return {
            job_id: master.ended_at_s
            for job_id, master in self._masters.items()
            if master.ended_at_s < math.inf
        }

    @property
    def node_of_master(self) -> Mapping[JobId, NodeId]:
        """The node of the container of each master that has had one."""
        return {
            job_id: master.host.entry.node_id
            for job_id, master in self._masters.items()
            if master.host is not None
        }

    # --- what happens -----------------------------------------------------------------------------

    def touch(self, phase: PhaseEntry) -> None:
        """A job that has come gets its application."""
        job = phase.job
        if job.job_id not in self._masters and not job.has_ended:
            self._submit(job)

    def _submit(self, job: JobEntry) -> None:
        self._settle()
        app = Application(len(self._masters), self._leaf(job), job.job.customer or "")
        master = Master(app, job, job.released_at_s if job.release_seq >= 0 else self._state.now_s)
        self._masters[job.job_id] = self._of_app[app] = master
        self._rules.submit(app)

    def _leaf(self, job: JobEntry) -> YarnQueue:
        pool = str(job.pool.pool_id)
        return self._rules.queues.get(pool) or self._rules.queues[f"{ROOT}.{pool}"]

    def began(self, attempt: Attempt) -> None:
        """Nothing more: its container is held since it was granted."""

    def ended(self, attempt: Attempt) -> None:
        """A container is over; its node reports it with the next heartbeat."""
        host = self._hosts[attempt.node.node_id]
        host.over.append((self._masters[attempt.phase.job.job_id].app, attempt.phase))

    def _settle(self) -> None:
        """Take up nodes that have come or gone."""
        state = self._state
        if self._nodes_seen == state.node_changes:
            return
        self._nodes_seen = state.node_changes
        for entry in state.nodes.values():
            if entry.node_id not in self._hosts:
                offset_s = self._draws.random() * self._every.node_s
                host = Host(entry, offset_s, entry.node.slots(_CONTAINER))
                self._hosts[entry.node_id] = host
                self._add(state.now_s + offset_s, host)
        if self._rules.update_s is not None and not self._is_updated:
            self._is_updated = True
            self._add(state.now_s + self._draws.random() * self._rules.update_s, None)
        up = [host for host in self._hosts.values() if host.entry.is_up]
        self._rules.resize(sum(host.containers for host in up))

    def _add(self, at_s: float, who: Host | Master | None) -> None:
        self._events += 1
        heapq.heappush(self._agenda, (at_s, self._events, who))

    # --- heartbeats -------------------------------------------------------------------------------

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        """Let nodes and masters do what is due; nothing is killed."""
        self._settle()
        while self._agenda and self._agenda[0][0] <= now_s:
            at_s, _, who = heapq.heappop(self._agenda)
            if isinstance(who, Host):
                self._beat(who, at_s)
                self._add(at_s + self._every.node_s, who)
            elif who is None:
                self._update(at_s)
            else:
                self._call(who, at_s)
        return ()

    def _update(self, at_s: float) -> None:
        """The scheduler's own thread has its turn."""
        assert self._rules.update_s is not None
        self._rules.update()
        self._add(at_s + self._rules.update_s, None)

    def _beat(self, host: Host, at_s: float) -> None:
        """A node reports what is over, and gets new containers."""
        for app, phase in host.over:
            host.held -= 1
            app.queue.count(app, -1)
            if phase is None:
                self._rules.remove(app)
            else:
                self._of_app[app].over(phase)
        host.over.clear()
        if not host.entry.is_up:
            return
        for app in self._rules.grants(host.free):
            host.held += 1
            app.pending -= 1
            app.queue.count(app, 1)
            master = self._of_app[app]
            if app.has_master:
                master.grant(host)
            else:
                app.has_master = True
                master.host = host
                self._add(master.next_call_s(at_s, self._every.master_s), master)

    def _call(self, master: Master, at_s: float) -> None:
        """A master acts on the last answer and asks again, or unregisters."""
        assert master.host is not None
        for phase, host in master.call():
            self._to_start.setdefault(host.entry.node_id, []).append(phase)
        if master.knows_all:
            master.ended_at_s = at_s
            master.host.over.append((master.app, None))
            return
        self._add(at_s + self._every.master_s, master)

    def assign(self, node: NodeEntry, state: ClusterState, now_s: float) -> Iterator[Assignment]:
        """Start what masters start on this node."""
        for phase in self._to_start.pop(node.node_id, ()):
            master = self._masters[phase.job.job_id]
            master.started[phase] -= 1
            if not phase.is_queued:  # the job is over
                self._hosts[node.node_id].over.append((master.app, phase))
                continue
            yield Assignment(phase, _CONTAINER, self._reason(phase), 1)

    def _reason(self, phase: PhaseEntry) -> Reason:
        queue = self._leaf(phase.job).queue
        return Reason(ReasonCode.LEAST_FOR_GUARANTEE, (("queue", queue.path if queue else ROOT),))

    def wants_offer(self, state: ClusterState) -> bool:
        return any(master.ended_at_s == math.inf for master in self._masters.values())

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        return self._agenda[0][0] if self._agenda else None

    # --- reports ----------------------------------------------------------------------------------

    def shortage(self, kind: SlotKind, nodes: Sequence[Node]) -> SlotShortage | None:
        if any(node.slots(_CONTAINER) for node in nodes):
            return None
        return SlotShortage("the cluster has no slots", "give the cluster containers")

    def report(self) -> Mapping[str, object]:
        return {"applications": {str(one): at_s for one, at_s in self.ended_at_s.items()}}
