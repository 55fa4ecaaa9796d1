"""YARN's ResourceManager, nodes and masters as one task policy: `--tasks yarn`.

The simulator starts a task when its master starts it, and reports its end at once. What YARN does
between these instants happens here: a node reports what has ended at its next heartbeat, and only
then is a container free and granted again; a master learns of both at its calls; its own container
is held from its grant until the heartbeat after it has unregistered. A node keeps free what these
containers take, although no task runs in them.

The queues are those of a configuration file. Without one the pools of the workload are queues of
the fair scheduler. With preemption, a leaf that waits below its guarantee takes containers back
from leaves above theirs, and never a master.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry
from sluice.core.protocols import Assignment, TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.errors import InvalidInput
from sluice.model.fitting import SlotShortage
from sluice.model.ids import JobId, NodeId
from sluice.model.job import Job
from sluice.model.queue_tree import QueueTree
from sluice.model.settings import number, whole
from sluice.model.slot_kind import SlotKind
from sluice.policies.rooms.slot_counts import slots_busy
from sluice.policies.yarn.applications import Host, Master, next_of
from sluice.policies.yarn.locality import LocalitySettings, delays_of
from sluice.policies.yarn.pools import PoolQueues
from sluice.policies.yarn.queues import Application
from sluice.policies.yarn.schedulers import preemption_of, rules_of

_CONTAINER = SlotKind.CONTAINER
_STUCK_AFTER = 100  # heartbeats without a grant, an end or a task that runs


class YarnTasks(TaskPolicy):
    """YARN with a queue tree. tree: None to take the pools and queues of the workload."""

    name: ClassVar[str] = "yarn"

    @dataclass(frozen=True, kw_only=True)
    class Settings(LocalitySettings):
        """The configuration file brings all that belongs to queues."""

        node_s: float = number(
            1.0, "seconds between heartbeats of a node (yarn)", above=0.0,
            reason="yarn.resourcemanager.nodemanagers.heartbeat-interval-ms of the site",
        )  # fmt: skip
        master_s: float = number(
            1.0, "seconds between calls of a master (yarn)", above=0.0,
            reason="yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms of the site",
        )  # fmt: skip
        master_containers: int = whole(1, "containers that a job's master takes (yarn)", low=1)
        heartbeat_seed: int = whole(0, "seed of the first heartbeats of the nodes (yarn)", low=0)

    def __init__(self, settings: Any = None, *, tree: QueueTree | None = None) -> None:  # noqa: ANN401  # the type above
        super().__init__(settings)
        self._tree = tree
        self._every: YarnTasks.Settings = self.settings
        self._rules = rules_of(tree)
        self._masters: dict[JobId, Master] = {}
        self._of_app: dict[Application, Master] = {}
        self._pools = PoolQueues(self._rules, has_tree=tree is not None)
        self._hosts: dict[NodeId, Host] = {}
        self._preemption = preemption_of(self._rules, self._hosts, self._every.node_s)
        self._delays = delays_of(self._every, self._rules, self._hosts, self._of_app)
        self._rules.placement = self._delays
        self._agenda: list[tuple[float, int, Host | Master | None]] = []
        self._updated_at_s = 0.0
        self._is_update_asleep = False
        self._to_start: dict[NodeId, list[PhaseEntry]] = {}
        self._events, self._submitted = 0, 0  # of the agenda; applications
        self._moved_at_s = 0.0  # the last time that anything came, was granted, or ended

    def attach(self, state: ClusterState) -> None:
        self._state = state
        self._draws = random.Random(self._every.heartbeat_seed)
        self._nodes_seen = -1
        self._is_updated = False
        if self._tree is None:
            for entry in state.pools.values():
                self._pools.queue_of(entry, state.pools)
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

    # --- what happens -----------------------------------------------------------------------------

    def touch(self, phase: PhaseEntry) -> None:
        """A job that has come gets its application."""
        job = phase.job
        if job.job_id not in self._masters and not job.has_ended:
            self._submit(job)

    def _submit(self, job: JobEntry) -> None:
        self._settle()
        queue = self._pools.queue_of(job.pool, self._state.pools)
        user, master_containers = job.job.customer or "", self._every.master_containers
        app = Application(self._submitted, queue, user, master=master_containers)
        self._submitted, self._moved_at_s = self._submitted + 1, self._state.now_s
        master = Master(app, job, job.released_at_s if job.release_seq >= 0 else self._state.now_s)
        self._masters[job.job_id] = self._of_app[app] = master
        for phase in job.phases:  # a master asks for a task again after all others
            phase.pending.runs_again_last = not phase.pending.is_placed
        self._rules.submit(app)
        self._preemption.submitted(app, self._moved_at_s)

    def unfinished_jobs(self) -> Iterable[JobEntry]:
        """The jobs whose master or containers are not over yet."""
        return [one.job for one in self._masters.values() if self._is_open(one)]

    def _is_open(self, master: Master) -> bool:
        return master.app in self._of_app or master.app.used > 0

    def forget(self, jobs: Sequence[JobEntry]) -> None:
        self._delays.forget(jobs)
        for job in jobs:
            self._masters.pop(job.job_id, None)

    def began(self, attempt: Attempt) -> None:
        """Its container is held since it was granted."""
        self._delays.began(attempt)
        self._preemption.began(attempt, self._masters[attempt.phase.job.job_id].app)

    def ended(self, attempt: Attempt) -> None:
        """A container is over; its node reports it with the next heartbeat."""
        master, host = self._masters[attempt.phase.job.job_id], self._hosts[attempt.node.node_id]
        self._moved_at_s = self._state.now_s
        if self._preemption.ended(attempt, master.app):
            host.killed += 1
            master.app.queue.count(master.app, -1)
            # It may have been done before the kill came there.
            master.over(attempt.phase, is_done=attempt.state is AttemptState.DONE)
            return
        host.over.append((master.app, attempt.phase, attempt.state is AttemptState.DONE))

    def _settle(self) -> None:
        """Take up nodes that have come or gone."""
        state = self._state
        if self._nodes_seen == state.node_changes:
            return
        self._nodes_seen, self._moved_at_s = state.node_changes, state.now_s
        for entry in state.nodes.values():
            known = self._hosts.get(entry.node_id)
            if known is None:
                host = Host(entry, entry.node.slots(_CONTAINER))
                self._hosts[entry.node_id] = host
                self._add(state.now_s + self._draws.random() * self._every.node_s, host)
            elif known.is_replaced(entry):
                self._lose(known)
                known.replace(entry, entry.node.slots(_CONTAINER))
        if self._rules.update_s is not None and not self._is_updated:
            self._is_updated = True
            self._add(state.now_s + self._draws.random() * self._rules.update_s, None)
        for host in self._hosts.values():
            if not host.entry.is_up:
                self._lose(host)
            host.is_lost = not host.entry.is_up
        self._rules.resize(sum(one.containers for one in self._hosts.values() if one.entry.is_up))

    def _lose(self, host: Host) -> None:
        """A node is gone: what waits there is over, and its masters begin again elsewhere."""
        if host.is_lost:
            return
        host.reserved = None
        for phase in self._to_start.pop(host.entry.node_id, ()):
            self._give_back(phase, host)
        for master in self._masters.values():
            master.give_back(host)
            if master.host is host and master.ended_at_s == math.inf:
                master.restart()
                host.held -= master.app.master
                master.app.queue.count(master.app, -master.app.master)
                self._rules.lose_master(master.app)

    def _give_back(self, phase: PhaseEntry, host: Host) -> None:
        master = self._masters[phase.job.job_id]
        master.begin(phase, host)
        host.over.append((master.app, phase, False))

    def _add(self, at_s: float, who: Host | Master | None) -> None:
        self._events += 1
        heapq.heappush(self._agenda, (at_s, self._events, who))

    # --- heartbeats -------------------------------------------------------------------------------

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        """Let nodes and masters do what is due, then take back what preemption asks for."""
        self._settle()
        while self._rouse(now_s):
            self._do_next()
        self._check_movement(now_s)
        over = [each for host in self._hosts.values() for each in host.over]
        return self._preemption.kills(now_s, over)

    def _do_next(self) -> None:
        """All that is due at the first instant of the agenda."""
        first_s = self._agenda[0][0]
        while self._agenda and self._agenda[0][0] <= first_s:
            at_s, _, who = heapq.heappop(self._agenda)
            if isinstance(who, Host):
                self._beat(who, at_s)
                who.beat_at_s, who.is_asleep = at_s, True
            elif who is None:
                self._rules.update()
                self._preemption.update(at_s)
                self._updated_at_s, self._is_update_asleep = at_s, True
            else:
                self._call(who, at_s)

    def _check_movement(self, now_s: float) -> None:
        """Masters that hold all that they may leave nothing for tasks, in YARN as here."""
        quiet_s = _STUCK_AFTER * max(self._every.node_s, self._every.master_s)
        if now_s - self._moved_at_s <= quiet_s or self._state.busy:
            return
        waiting = [master.job for app, master in self._of_app.items() if app.pending]
        if waiting and not any(host.is_lost for host in self._hosts.values()):
            raise InvalidInput(
                f"job {waiting[0].job_id!r} waits for a container that YARN would never grant:"
                f" masters hold {sum(one.masters for one in self._rules.queues.values())} of"
                f" {self._rules.total} containers, and limits leave none for it",
                where=f"queue {self._pools.name_of(self._masters[waiting[0].job_id].app.queue)}",
                hint="give the queue or the cluster more containers, or masters a smaller share",
            )

    def _rouse(self, now_s: float) -> bool:
        """Plan the next heartbeats: of all nodes while requests wait, else of those with a report.

        The others would change nothing, and tasks may run for hours. Returns whether any is due.
        """
        is_waiting = self._rules.is_waiting
        for host in self._hosts.values():
            if host.is_asleep and (is_waiting or host.has_news):
                host.is_asleep = False
                self._add(next_of(host.beat_at_s, self._every.node_s, now_s), host)
        for master in self._of_app.values():
            is_over = master.job.has_ended or not master.is_idle
            if is_over and master.host is not None and master.due_at_s == math.inf:
                self._plan_call(master, master.next_call_s(now_s, self._every.master_s))
        every_s = self._rules.update_s
        if self._is_update_asleep and is_waiting and every_s is not None:
            self._is_update_asleep = False
            self._add(next_of(self._updated_at_s, every_s, now_s), None)
        return bool(self._agenda) and self._agenda[0][0] <= now_s

    def _beat(self, host: Host, at_s: float) -> None:
        """A node reports what is over, and gets new containers."""
        for app, phase, is_done in host.over:
            containers = app.master if phase is None else 1
            host.held -= containers
            app.queue.count(app, -containers)
            if phase is None:
                self._rules.remove(app)
                del self._of_app[app]
            elif app in self._of_app:
                self._of_app[app].over(phase, is_done=is_done)
        host.over.clear()
        host.held, host.ending, host.killed = host.held - host.ending, host.killed, 0
        if not host.entry.is_up:
            return
        self._delays.begin(host)
        self._rules.begin_heartbeat()
        for app in self._preemption.owed(host):
            if app.wants <= host.free and self._rules.may_have(app):
                self._grant(host, app, at_s)
        if host.reserved is not None:
            self._grant_reserved(host, host.reserved, at_s)
            return
        for app in self._rules.grants(host.free, host.containers):
            if app.wants > host.free:
                host.reserved = app
                return
            self._grant(host, app, at_s)

    def _grant_reserved(self, host: Host, app: Application, at_s: float) -> None:
        """Nothing else is granted on a node until it has room for the master that reserved it."""
        if app.has_master or not app.pending or app not in app.queue.apps:
            host.reserved = None
        elif app.wants <= host.free:
            host.reserved = None
            self._grant(host, app, at_s)

    def _grant(self, host: Host, app: Application, at_s: float) -> None:
        """The first request of an application gets its containers."""
        self._moved_at_s = at_s
        self._preemption.granted(app, host)
        host.held += app.wants
        app.queue.count(app, app.wants)
        app.pending -= 1
        master = self._of_app[app]
        if app.has_master:
            master.grant(host)
        else:
            self._rules.gain_master(app)
            master.host = host
            self._plan_call(master, master.next_call_s(at_s, self._every.master_s))

    def _plan_call(self, master: Master, at_s: float) -> None:
        master.due_at_s = at_s
        self._add(at_s, master)

    def _call(self, master: Master, at_s: float) -> None:
        """A master acts on the last answer and asks again, or unregisters."""
        if master.host is None or at_s != master.due_at_s:
            return  # planned before its node was lost; the next grant begins its calls again
        for phase, host in master.call():
            self._to_start.setdefault(host.entry.node_id, []).append(phase)
        if master.knows_all:
            master.ended_at_s, master.due_at_s = at_s, -math.inf
            master.host.over.append((master.app, None, True))
            return
        master.due_at_s = math.inf  # until there is something to say or to hear

    def assign(self, node: NodeEntry, state: ClusterState, now_s: float) -> Iterator[Assignment]:
        """Start what masters start on this node."""
        for phase in self._to_start.pop(node.node_id, ()):
            if not phase.is_queued:  # the job is over, or waits for other tasks again
                self._give_back(phase, self._hosts[node.node_id])
                continue
            self._masters[phase.job.job_id].begin(phase, self._hosts[node.node_id])
            yield Assignment(phase, _CONTAINER, self._reason(phase), 1)

    def _reason(self, phase: PhaseEntry) -> Reason:
        queue = self._pools.name_of(self._masters[phase.job.job_id].app.queue)
        return Reason(ReasonCode.LEAST_FOR_GUARANTEE, (("queue", queue),))

    def wants_offer(self, state: ClusterState) -> bool:
        return bool(self._of_app)  # a heartbeat that is late would grant containers in the past

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        wakes = [self._agenda[0][0] if self._agenda else None, self._preemption.wake_at_s(now_s)]
        return min((at_s for at_s in wakes if at_s is not None), default=None)

    # --- reports ----------------------------------------------------------------------------------

    def check(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> None:
        wants = self._every.master_containers
        largest = max((node.slots(_CONTAINER) for node in nodes), default=0)
        if largest < wants:
            raise InvalidInput(
                f"a master takes {wants} containers, and the largest node has {largest}",
                where="yarn.master_containers",
                hint="give it a smaller number",
            )

    def shortage(self, kind: SlotKind, nodes: Sequence[Node]) -> SlotShortage | None:
        if sum(node.slots(_CONTAINER) for node in nodes) > self._every.master_containers:
            return None
        return SlotShortage(
            "the cluster has no container left once a master has its own",
            "give the cluster more containers",
        )

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        app = self._masters[phase.job.job_id].app
        leaf = app.queue
        for queue in leaf.line():
            if queue.queue is not None and queue.used + app.wants > queue.limit:
                numbers = (("queue", self._pools.name_of(queue)), ("units", f"{queue.limit:g}"))
                return Reason(ReasonCode.QUEUE_AT_MAX, numbers)
        share = None if leaf.queue is None else leaf.queue.masters_share
        begun = sum(one.has_master for one in leaf.apps)
        if share is not None and leaf.queue is not None and not app.has_master and begun:
            facts = (
                ("queue", self._pools.name_of(leaf)),
                ("running", begun),
                ("share", 100 * share),
            )
            return Reason(ReasonCode.MASTERS_AT_MAX, facts)
        return slots_busy(state, _CONTAINER)

    def report(self) -> Mapping[str, object]:
        return {"applications": {str(one): at_s for one, at_s in self.ended_at_s.items()}}
