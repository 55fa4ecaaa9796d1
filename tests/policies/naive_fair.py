"""Hadoop's Fair Scheduler straight from the pseudo code of dynamicmr spec, section 5.1.

A task policy of its own, driven by the same simulator. It keeps no index and shares no arithmetic
with the house: at each pick it counts again who runs what, sorts all pools and all jobs, and
starts one task. Slow on purpose. All it remembers is what the rule itself remembers: how long
each job has waited for its data.
"""

import math

from sluice.core.entries import JobEntry
from sluice.core.protocols import Assignment, TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.cluster import Locality
from sluice.model.queues import PoolOrder
from sluice.model.slot_kind import SlotKind

KINDS = (SlotKind.MAP, SlotKind.REDUCE)


class NaiveFair(TaskPolicy):
    """Fair shares, one task at a time. Waits in seconds; without any there is no delay."""

    name = "naive-fair"

    def __init__(self, node_wait_s=0.0, rack_wait_s=0.0):
        self.node_wait_s, self.rack_wait_s = node_wait_s, rack_wait_s
        self.level: dict[JobEntry, Locality] = {}  # of a job's last map
        self.waited_s: dict[JobEntry, float] = {}
        self.skipped: set[JobEntry] = set()
        self.held: set[JobEntry] = set()  # refused at this instant, and started on another node
        # Of the present heartbeat:
        self.asked: set[JobEntry] = set()
        self.started: set[JobEntry] = set()
        self.refused_last: set[JobEntry] = set()
        self.last_at_s = 0.0
        self.choices = 0  # how often a pool or a job was preferred to another

    def attach(self, state):
        self.state = state

    def could_use(self, slot_kind, state):
        return True  # a node with room ends a wait, whatever waits

    def assign(self, node, state, now_s):
        if now_s > self.last_at_s:
            for job in self.skipped:
                self.waited_s[job] = self.waited_s.get(job, 0.0) + (now_s - self.last_at_s)
            self.skipped, self.held, self.last_at_s = set(), set(), now_s
        lines = {kind: self.line(kind, node.node.slots(kind)) for kind in KINDS}
        self.asked, self.started, self.refused_last = set(), set(), set()
        closed = set()
        while True:
            used = {kind: self.tasks_on(node, kind) for kind in KINDS}
            possible = [
                kind
                for kind in KINDS
                if kind not in closed and used[kind] < lines[kind] and self.pending(kind)
            ]
            if not possible:
                break
            kind = min(possible, key=lambda kind: used[kind])
            found = self.first_that_yields(node, kind)
            if found is None:
                closed.add(kind)
            else:
                yield found
        # Of nodes that ask at one instant the later ones do not undo a wait.
        # A node that a job was refused still has room, wherever the job has started since.
        self.held |= (self.skipped | self.refused_last) & self.started
        self.skipped = (self.skipped | self.asked) - self.started

    def wake_at_s(self, state, now_s):
        """Without heartbeats: the next instant at which a skipped job may go further away.

        The rule is shown for heartbeats: who starts a map is not skipped before the next one. Where
        the next one would follow at once, who was refused after its last start, or by a node before
        it, is skipped then.
        """
        self.skipped |= self.held
        self.held = set()
        if now_s > self.last_at_s:
            return None  # no node had room to be offered
        bounds = []
        for job in self.skipped:
            if job.has_ended:
                continue
            level, waited_s = self.level.get(job, Locality.NODE), self.waited_s.get(job, 0.0)
            if level is Locality.RACK:
                bounds.append(self.rack_wait_s - waited_s)
            elif level is Locality.NODE:
                bounds += [
                    self.node_wait_s - waited_s,
                    self.node_wait_s + self.rack_wait_s - waited_s,
                ]
        left_s = min((bound for bound in bounds if bound > 0), default=None)
        return None if left_s is None else max(now_s + left_s, math.nextafter(now_s, math.inf))

    # --- counts -------------------------------------------------------------------------------

    def attempts(self):
        return self.state.running.values()

    def running(self, kind, owns):
        return sum(a.launch.tasks for a in self.attempts() if a.phase.kind is kind and owns(a))

    def tasks_on(self, node, kind):
        return self.running(kind, lambda attempt: attempt.node is node)

    def pending(self, kind, pool=None):
        return sum(
            phase.pending.count
            for job in self.state.active.values()
            if pool is None or job.pool is pool
            for phase in job.phases
            if phase.kind is kind and phase.is_open
        )

    def line(self, kind, slots):
        total = sum(node.node.slots(kind) for node in self.state.nodes.values() if node.is_up)
        demand = self.pending(kind) + self.running(kind, lambda _: True)
        load = demand / total if total else 0.0
        return min(slots, math.ceil(min(load, 1.0) * slots - 1e-9))

    # --- order --------------------------------------------------------------------------------

    def pools_in_order(self, kind):
        """Pools with something to start below their cap, with why each stands where it does."""
        standing = []
        for pool in self.state.pools.values():
            running = self.running(kind, lambda attempt, pool=pool: attempt.phase.job.pool is pool)
            pending = self.pending(kind, pool)
            if not pending or running >= pool.pool.slots_max(kind):
                continue
            least = min(pool.pool.slots_min(kind), running + pending)
            jobs = [job for job in self.state.active.values() if job.pool is pool]
            since = (min(job.job.submitted_at_s for job in jobs), pool.pool_id)
            if running < least:
                reason = ReasonCode.BELOW_MIN_SHARE
                standing.append(((0, running / max(least, 1), since), pool, reason))
            else:
                reason = ReasonCode.LOWEST_SHARE
                standing.append(((1, running / pool.pool.weight, since), pool, reason))
        standing.sort(key=lambda place: place[0])
        self.choices += len(standing) > 1
        return [(pool, Reason(reason)) for _, pool, reason in standing]

    def jobs_in_order(self, pool, kind):
        def place(job):
            since = (job.job.submitted_at_s, job.job_id)
            if pool.pool.order is PoolOrder.FIFO:
                return (0.0, since)
            running = self.running(kind, lambda attempt: attempt.phase.job is job)
            return (running / job.job.weight, since)

        return sorted((j for j in self.state.active.values() if j.pool is pool), key=place)

    # --- a task -------------------------------------------------------------------------------

    def first_that_yields(self, node, kind):
        for pool, reason in self.pools_in_order(kind):
            for job in self.jobs_in_order(pool, kind):
                for phase in job.phases:
                    if phase.kind is not kind or not phase.is_open or not phase.pending.count:
                        continue
                    locality = phase.pending.nearest(node.node_id, node.rack)
                    if locality is not None:
                        self.asked.add(job)
                        if locality > self.allowed(job):
                            self.refused_last.add(job)
                            continue
                        self.started.add(job)
                        self.refused_last.discard(job)
                        self.level[job], self.waited_s[job] = locality, 0.0
                    return Assignment(phase, kind, reason)
        return None

    def allowed(self, job):
        level, waited_s = self.level.get(job, Locality.NODE), self.waited_s.get(job, 0.0)
        if not (self.node_wait_s or self.rack_wait_s) or level is Locality.ANY:
            return Locality.ANY
        if level is Locality.RACK:
            return Locality.ANY if waited_s >= self.rack_wait_s else Locality.RACK
        if waited_s >= self.node_wait_s + self.rack_wait_s:
            return Locality.ANY
        return Locality.RACK if waited_s >= self.node_wait_s else Locality.NODE
