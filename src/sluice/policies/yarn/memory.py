"""`--tasks yarn` over a segment of a journal: all that happens between the tasks of its jobs.

Masters, the containers that nodes hold for them, and the heartbeats to come are in no state of the
cluster. They are saved as they are; jobs are named by their id, phases and queues by their place.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sluice.core.entries import PhaseEntry
from sluice.core.state import ClusterState
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.policies.memory import fields_restored, fields_saved, finite
from sluice.policies.yarn.applications import Answer, Host, Master
from sluice.policies.yarn.locality import Wait
from sluice.policies.yarn.policy import YarnTasks
from sluice.policies.yarn.pools import PoolQueues
from sluice.policies.yarn.queues import Application
from sluice.policies.yarn.schedulers import preemption_of, rules_of

_QUEUE = ("guarantee", "limit", "room", "used", "masters")
_APPLICATION = ("number", "pending", "used", "demand", "master", "is_active", "has_master")
_HOST = ("containers", "held", "killed", "ending", "is_lost", "beat_at_s", "is_asleep")
Row = dict[str, Any]


class _Over(Master):
    """A master that calls no more; the heartbeat that was planned for it wakes the policy only."""

    def __init__(self) -> None:
        self.host = None
        self.due_at_s = math.inf


class RememberedYarn(YarnTasks):
    """The policy with what a driver needs that starts from an opening."""

    # --- saved ------------------------------------------------------------------------------------

    def saved(self) -> Row:
        kept = {
            job_id: master
            for job_id, master in self._masters.items()
            if self._is_open(master) or not master.job.has_ended
        }
        job_of = {master.app: job_id for job_id, master in kept.items()}
        return {
            "pools": self._pools.known,
            "queues": [fields_saved(one, _QUEUE) for one in self._rules.queues.values()],
            "total": self._rules.total,
            "masters": [self._master(one) for one in kept.values()],
            "hosts": [self._host(one, job_of) for one in self._hosts.values()],
            "agenda": [
                (at_s, number, *self._name_of(who, kept))
                for at_s, number, who in sorted(self._agenda)
            ],
            "to_start": [
                (node_id, list(map(_place, phases))) for node_id, phases in self._to_start.items()
            ],
            "delays": [
                (*_place(phase), *wait.saved())
                for phase, wait in self._delays.waits.items()
                if phase.job_id in kept
            ],
            "preemption": self._preemption.saved(),
            "plans": self._events,
            "submitted": self._submitted,
            "nodes_seen": self._nodes_seen,
            "updates": [self._updated_at_s, self._is_update_asleep, self._is_updated],
            "moved_at_s": self._moved_at_s,
        }

    def _master(self, master: Master) -> Row:
        return {
            "job": master.job.job_id,
            "app": fields_saved(master.app, _APPLICATION),
            "is_over": master.app not in self._of_app,
            "begun_at_s": master.begun_at_s,
            "host": None if master.host is None else master.host.entry.node_id,
            "ended_at_s": finite(master.ended_at_s),
            "due_at_s": finite(master.due_at_s),
            "asked": _counts(master.asked),
            "started": _counts(master.started),
            "known": _counts(master.known),
            "again": [phase.pending.again_last for phase in master.job.phases],
            "answers": [
                {
                    "granted": [
                        (*_place(phase), host.entry.node_id) for phase, host in one.granted
                    ],
                    "over": [(*_place(phase), is_done) for phase, is_done in one.over],
                }
                for one in master.answers
            ],
        }

    def _host(self, host: Host, job_of: Mapping[Application, JobId]) -> Row:
        node_id, reserved = host.entry.node_id, host.reserved
        return {
            "node": node_id,
            **fields_saved(host, _HOST),
            "was_replaced": host.is_replaced(self._state.nodes[node_id]),
            "granted": _counts(host.granted),
            "reserved": None if reserved is None else job_of.get(reserved, ""),
            "over": [
                (job_of[app], None if phase is None else phase.index, is_done)
                for app, phase, is_done in host.over
            ],
        }

    def _name_of(
        self, who: Host | Master | None, kept: Mapping[JobId, Master]
    ) -> tuple[str, str | None]:
        """A node, a master or an update. A master that is over has nothing to do any more."""
        if isinstance(who, Host):
            return "node", who.entry.node_id
        if who is None:
            return "update", None
        job_id = None if isinstance(who, _Over) else who.job.job_id
        return "master", job_id if job_id in kept else None

    # --- restored ---------------------------------------------------------------------------------

    def restored(self, saved: Mapping[str, Any], state: ClusterState) -> None:
        self._restore_queues(saved)
        self._hosts.clear()
        for row in saved["hosts"]:
            host = Host(state.nodes[NodeId(row["node"])], row["containers"])
            fields_restored(host, (*_HOST, "was_replaced"), row)
            self._hosts[host.entry.node_id] = host
        self._masters.clear()
        self._of_app.clear()
        for row in saved["masters"]:
            self._restore_master(row, state)
        for row in saved["hosts"]:
            self._restore_containers(row, state)
        self._agenda = [
            (at_s, number, self._named(kind, name)) for at_s, number, kind, name in saved["agenda"]
        ]
        self._to_start = {
            NodeId(node_id): [_phase(one, state) for one in phases]
            for node_id, phases in saved["to_start"]
        }
        self._events, self._submitted = saved["plans"], saved["submitted"]
        self._nodes_seen = saved["nodes_seen"]
        self._updated_at_s, self._is_update_asleep, self._is_updated = saved["updates"]
        self._moved_at_s = saved["moved_at_s"]
        self._draws = random.Random(self._every.heartbeat_seed)
        for _ in range(len(self._hosts) + self._is_updated):
            self._draws.random()  # each of them has drawn its first heartbeat
        self._delays.waits = {
            _phase((job_id, index), state): Wait.of(*wait)
            for job_id, index, *wait in saved["delays"]
        }
        self._preemption = preemption_of(self._rules, self._hosts, self._every.node_s)
        for attempt in state.running.values():
            self._preemption.began(attempt, self._masters[attempt.phase.job_id].app)
        self._preemption.restored(saved["preemption"])

    def _restore_queues(self, saved: Mapping[str, Any]) -> None:
        self._rules = rules_of(self._tree)
        self._rules.placement = self._delays
        self._pools = PoolQueues(self._rules, has_tree=self._tree is not None)
        for pool_id in saved["pools"]:
            self._pools.queue_of(self._state.pools[PoolId(pool_id)], self._state.pools)
        self._rules.total = saved["total"]
        for queue, row in zip(self._rules.queues.values(), saved["queues"], strict=True):
            fields_restored(queue, _QUEUE, row)

    def _restore_master(self, row: Row, state: ClusterState) -> None:
        job = state.jobs[JobId(row["job"])]
        queue = self._pools.queue_of(job.pool, state.pools)
        app = Application(0, queue, job.job.customer or "")
        fields_restored(app, _APPLICATION, row["app"])
        master = self._masters[job.job_id] = Master(app, job, row["begun_at_s"])
        if not row["is_over"]:
            self._of_app[app] = master
            app.queue.apps.append(app)
        if row["host"] is not None:
            master.host = self._hosts[NodeId(row["host"])]
        if row["ended_at_s"] is not None:
            master.ended_at_s, master.due_at_s = row["ended_at_s"], -math.inf
        if row["due_at_s"] is not None:
            master.due_at_s = row["due_at_s"]
        master.asked = _counted(row["asked"], state)
        master.started = Counter(_counted(row["started"], state))
        master.known = Counter(_counted(row["known"], state))
        arrived, following = (self._answer(one, state) for one in row["answers"])
        master.answers = arrived, following
        for phase, tasks in zip(job.phases, row["again"], strict=True):
            if not phase.pending.is_placed:
                phase.pending.run_last(tasks)

    def _answer(self, row: Row, state: ClusterState) -> Answer:
        return Answer(
            granted=[
                (_phase(place, state), self._hosts[NodeId(node_id)])
                for *place, node_id in row["granted"]
            ],
            over=[(_phase(place, state), is_done) for *place, is_done in row["over"]],
        )

    def _restore_containers(self, row: Row, state: ClusterState) -> None:
        """The containers on a node, and what it has still to report."""
        host = self._hosts[NodeId(row["node"])]
        host.granted = Counter(_counted(row["granted"], state))
        if row["reserved"] is not None:
            master = self._masters.get(JobId(row["reserved"]))
            host.reserved = Application(0, self._rules.root, "") if master is None else master.app
        host.over = [
            (
                self._masters[JobId(job_id)].app,
                None if index is None else _phase((job_id, index), state),
                is_done,
            )
            for job_id, index, is_done in row["over"]
        ]

    def _named(self, kind: str, name: str | None) -> Host | Master | None:
        if kind == "update":
            return None
        if name is None:
            return _Over()
        return self._hosts[NodeId(name)] if kind == "node" else self._masters[JobId(name)]


def _place(phase: PhaseEntry) -> tuple[str, int]:
    return phase.job_id, phase.index


def _phase(place: Sequence[Any], state: ClusterState) -> PhaseEntry:
    job_id, index = place
    found: PhaseEntry = state.jobs[JobId(job_id)].phases[index]
    return found


def _counts(counts: Mapping[PhaseEntry, int]) -> list[tuple[str, int, int]]:
    return sorted((*_place(phase), number) for phase, number in counts.items() if number)


def _counted(rows: Iterable[Sequence[Any]], state: ClusterState) -> dict[PhaseEntry, int]:
    return {_phase(place, state): number for *place, number in rows}
