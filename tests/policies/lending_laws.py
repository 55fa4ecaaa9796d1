"""The laws of every decision of DynamicMR, recounted from the attempts: dynamicmr spec, 12.

`Watched` stands between the simulator and a scheduler. It keeps no index of its own: before each
heartbeat it counts who waits and runs where, and holds what the heartbeat starts against that.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from sluice.core.commands import Kill, Launch
from sluice.core.events import NodeHeartbeat, Tick
from sluice.core.reasons import ReasonCode
from sluice.model.cluster import Locality
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.balance_line import balance_line

MAP, REDUCE = SlotKind.MAP, SlotKind.REDUCE
BEYOND_LINE = {ReasonCode.EXTRA_SLOT, ReasonCode.LENT_AHEAD, ReasonCode.LENT_BACK}
OTHER = {MAP: REDUCE, REDUCE: MAP}


@dataclass
class Watched:
    """A scheduler under the laws. settings: those that the policy was built with.

    seen: which decisions there were, so that a test can show that it tested something.
    """

    scheduler: object
    settings: dict[str, Any]
    expects_full: bool = True
    seen: Counter[str] = field(default_factory=Counter)

    def __post_init__(self):
        self.state = self.scheduler.state
        self.handle_unwatched = self.scheduler.handle
        self.scheduler.handle = self.handle
        w_map, w_reduce = self.settings.get("w_map", 1.0), self.settings.get("w_reduce", 1.0)
        self.weight = {MAP: w_map, REDUCE: w_reduce}
        self.fraction = {
            MAP: self.settings.get("pct_map", 1.0), REDUCE: self.settings.get("pct_reduce", 1.0)
        }  # fmt: skip

    def handle(self, event):
        commands = self.handle_unwatched(event)
        launches = [command for command in commands if isinstance(command, Launch)]
        for launch in launches:
            self.check_launch(launch)
        self.check_copies()
        for node in self.state.nodes.values():
            self.check_slots(node)
        if isinstance(event, NodeHeartbeat) and self.state.nodes[event.node_id].is_up:
            self.check_idle(self.state.nodes[event.node_id])
            self.check_line(self.state.nodes[event.node_id], launches)
        if isinstance(event, Tick) and not self.scheduler.rules.by_heartbeat:
            for node in self.state.nodes.values():
                self.check_idle(node)
        self.seen.update(type(command).__name__ for command in commands)
        self.seen["kills"] += sum(isinstance(command, Kill) for command in commands)
        return commands

    # --- counts -----------------------------------------------------------------------------------

    def running(self, **what):
        """Running attempts by node, kind of task and kind of slot, as far as given."""
        return [
            attempt
            for attempt in self.state.running.values()
            if what.get("node") in {None, attempt.node}
            and what.get("kind") in {None, attempt.phase.kind}
            and what.get("slot") in {None, attempt.launch.slot_kind}
        ]

    def waiting(self, kind=None):
        """Tasks that may start: those that their pool's cap leaves room for."""
        if kind is None:
            return self.waiting(MAP) + self.waiting(REDUCE)
        waiting: Counter[Any] = Counter()  # by pool
        for job in self.state.active.values():
            for phase in job.phases:
                if phase.is_open and phase.kind is kind:
                    waiting[job.pool] += phase.pending.count
        if self.settings.get("order", "fair") == "fifo":
            return waiting.total()
        running = Counter(attempt.phase.job.pool for attempt in self.running(kind=kind))
        return sum(
            max(0, int(min(tasks, pool.pool.slots_max(kind) - running[pool])))
            for pool, tasks in waiting.items()
        )

    def slots(self, kind):
        return sum(node.node.slots(kind) for node in self.state.nodes.values() if node.is_up)

    def demand(self, kind):
        return self.waiting(kind) + len(self.running(kind=kind))

    def used(self, node, slot):
        """Slots of a kind in use on a node, by the weights of what runs there."""
        taken = sum(self.weight[a.phase.kind] for a in self.running(node=node, slot=slot))
        return taken / self.weight[slot]

    # --- laws -------------------------------------------------------------------------------------

    def check_slots(self, node):
        """Slots of each kind are never over-used, weighted."""
        for slot in (MAP, REDUCE):
            used = self.used(node, slot)
            assert used <= node.node.slots(slot) + 1e-9, (
                f"{node.node_id} uses {used} of {node.node.slots(slot)} {slot.value} slots"
            )

    def check_launch(self, launch):
        """Nothing is lent against a fraction of 0; prescheduled maps are beside their data."""
        kind = self.state.jobs[launch.key.job_id].phases[launch.key.phase].kind
        slot, code = launch.slot_kind, launch.reason.code
        self.seen[code.name] += 1
        if slot is not kind:
            assert self.fraction[slot] > 0, f"a {slot.value} slot was lent: {launch.reason.text()}"
            self.seen[f"{kind.value} in {slot.value} slot"] += 1
        if code in {ReasonCode.EXTRA_SLOT, ReasonCode.LENT_AHEAD}:
            assert launch.locality is Locality.NODE, f"prescheduled away from its data: {launch}"

    def check_copies(self):
        """No more copies than the cap, and at most two attempts of a task, not on one node."""
        copies = [a for a in self.state.running.values() if a.launch.is_copy]
        if not copies:
            return
        share = self.settings.get("spec_cap", 0.1)
        slots = self.slots(MAP) + self.slots(REDUCE)
        cap = math.floor(share) if share >= 1 else max(1, math.floor(share * slots))
        started = [a for a in copies if a.started_at_s == self.state.now_s]
        assert len(copies) <= cap or not started, f"{len(copies)} copies run, {cap} may"
        tries = Counter((a.phase, a.key.task) for a in self.state.running.values())
        assert max(tries.values()) <= 2, "a task runs three times"
        for phase, task in tries:
            twins = [a for a in self.running() if (a.phase, a.key.task) == (phase, task)]
            nodes = {a.node for a in twins}
            assert len(nodes) == len(twins), f"{twins[0].key} is copied to its own node"

    def check_idle(self, node):
        """All slots and all fractions given, no slot idles while a task waits that may start."""
        is_plain = self.weight[MAP] == self.weight[REDUCE] and self.fraction == {MAP: 1, REDUCE: 1}
        if not is_plain or not node.is_up or not self.expects_full:
            return
        if self.demand(MAP) + self.demand(REDUCE) < self.slots(MAP) + self.slots(REDUCE):
            return
        idle = sum(node.node.slots(slot) - self.used(node, slot) for slot in (MAP, REDUCE))
        assert not (idle and self.waiting()), (
            f"{idle} slots of {node.node_id} idle, {self.waiting(MAP)} maps and"
            f" {self.waiting(REDUCE)} reduces wait"
        )
        self.seen["full"] += 1

    def check_line(self, node, launches):
        """A node takes no more than its share of the work, but for what prescheduling adds."""
        slots = self.slots(MAP) + self.slots(REDUCE)
        load = (self.demand(MAP) + self.demand(REDUCE)) / slots
        if load >= 1 or not launches or self.weight[MAP] != self.weight[REDUCE]:
            return
        codes = {attempt.launch.reason.code for attempt in self.running(node=node)}
        if codes & (BEYOND_LINE | {ReasonCode.RIGHT_OF_WAY}):
            return
        if self.settings.get("mode", "pi") == "pd":
            all_slots = node.node.map_slots + node.node.reduce_slots
            used = self.used(node, MAP) + self.used(node, REDUCE)
            assert used <= balance_line(load, all_slots), f"{used} run on {node.node_id}"
        else:
            self.check_lines_of_kinds(node, {launch.slot_kind for launch in launches})
        self.seen["below load 1"] += 1

    def check_lines_of_kinds(self, node, started_in):
        """L' counts in what borrowers hold; what they hold can be no more than what was lent."""
        for slot in started_in:
            lent = len(self.running(kind=OTHER[slot], slot=slot))
            elsewhere = len(self.running(kind=slot, slot=OTHER[slot]))
            own = self.demand(slot) - elsewhere
            could_borrow = max(lent, self.demand(OTHER[slot]) - self.slots(OTHER[slot]) + elsewhere)
            load = (own + max(0, could_borrow)) / self.slots(slot)
            line = balance_line(load, node.node.slots(slot))
            used = self.used(node, slot)
            assert used <= line, f"{node.node_id} uses {used} {slot.value} slots of {line}"


def each_task_once(state):
    """Tasks of done jobs that were not done exactly once."""
    done = Counter(
        (a.phase, task)
        for a in state.closed
        if a.state.value == "done" and not (a.is_moot or a.is_undone)
        for task in range(a.key.task, a.key.task + a.launch.tasks)
    )
    return [
        (job.job_id, phase.name, task, done[phase, task])
        for job in state.jobs.values()
        if job.state.value == "done"
        for phase in job.phases
        for task in range(phase.tasks)
        if done[phase, task] != 1
    ]
