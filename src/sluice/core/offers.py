"""The offer of a node to a task policy: each start is checked and takes effect at once.

Where slots are divided (see `SlotUnits`) an attempt holds units. Its launch still names one slot
for each task: the slot in which the task's units begin.
"""

from __future__ import annotations

import math
from typing import Final

from sluice.core.checks import check_start
from sluice.core.commands import Command, Wake
from sluice.core.entries import WHOLE_SLOTS, Attempt, NodeEntry, PhaseEntry
from sluice.core.reasons import Reason
from sluice.core.state import ClusterState
from sluice.model.cluster import Locality
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind

_CONTAINER: Final = SlotKind.CONTAINER

# What the scheduler decided: a command for the driver, or an attempt that starts.
Decision = Command | Attempt


class Decisions:
    """The decisions after an event, in order: mostly none, or one attempt, which needs no list.

    wake_at_s: when to decide again, if the task policy says so. It comes last, as a `Wake`; many
    policies ask at each decision, and an instant is cheaper than a command.
    """

    __slots__ = ("first", "more", "wake_at_s")

    def __init__(self) -> None:
        self.first: Decision | None = None
        self.more: list[Decision] = []
        self.wake_at_s = math.inf

    def add(self, decision: Decision) -> None:
        """Add a decision behind the others."""
        if self.first is None:
            self.first = decision
        else:
            self.more.append(decision)

    def clear(self) -> None:
        """Forget all of them."""
        self.first = None
        if self.more:
            self.more = []

    def all(self) -> list[Decision]:
        """All of them."""
        found = [] if self.first is None else [self.first, *self.more]
        if self.wake_at_s < math.inf:
            found.append(Wake(self.wake_at_s))
        return found


class Offer:
    """A node with room, while the policy fills it; later the same object offers another node.

    decisions: where its starts are added, in order.
    """

    def __init__(
        self, node: NodeEntry, state: ClusterState, now_s: float, decisions: Decisions
    ) -> None:
        self.node = node
        self.state = state
        self.now_s = now_s
        self._decisions = decisions

    def on(self, node: NodeEntry) -> Offer:
        """Another node at the same instant, for work that starts on several nodes at once."""
        return Offer(node, self.state, self.now_s, self._decisions)

    def free(self, slot_kind: SlotKind) -> int:
        """Free units of a kind of slot on the node; a slot is one unit unless slots are divided."""
        return self.node.free[slot_kind]

    def used(self, slot_kind: SlotKind) -> int:
        """Units of a kind of slot in use on the node."""
        return self.node.used(slot_kind)

    def start(
        self,
        phase: PhaseEntry,
        slot_kind: SlotKind,
        reason: Reason,
        tasks: int = 1,
        copy_of: Attempt | None = None,
        reserve: Resources | None = None,
    ) -> None:
        """Start work of a phase on the node; the arguments are those of an `Assignment`.

        The counts of the state are right again when this returns. Raises WrongDecision if the work
        cannot start here now.
        """
        node, state = self.node, self.state
        # What most starts need to pass, in one look each.
        if (
            tasks == 1
            and copy_of is None
            and reserve is None
            and phase.is_queued
            and state.units is WHOLE_SLOTS
            and node.is_offered(slot_kind)
        ):
            self._start_one(phase, slot_kind, reason)
            return
        check_start(phase, slot_kind, tasks, copy_of, reserve, node, state.units)
        self._start_any(phase, slot_kind, reason, tasks, copy_of, reserve)

    def _start_one(self, phase: PhaseEntry, slot_kind: SlotKind, reason: Reason) -> None:
        """Start one task in one slot, as `_start_any`."""
        node, pending = self.node, phase.pending
        locality: Locality | None = None
        if pending.is_placed:
            task, locality = pending.take_nearest(node.node_id, node.rack)
        else:
            task = pending.take_one()
        number = 1 if phase.repeats is None else _number_of(phase, task, None)
        span = node.take_slots(slot_kind, 1)
        attempt = Attempt(
            phase, node, self.state.now_s, task, number, 1, slot_kind, span, locality,
            False,  # noqa: FBT003  # names take time
            reason,
        )  # fmt: skip
        self.state.start(attempt)
        self._decisions.add(attempt)

    def _start_any(
        self,
        phase: PhaseEntry,
        slot_kind: SlotKind,
        reason: Reason,
        tasks: int,
        copy_of: Attempt | None,
        reserve: Resources | None,
    ) -> None:
        node, state, pending = self.node, self.state, phase.pending
        locality: Locality | None = None
        if copy_of is not None:
            task = copy_of.task
            locality = pending.locality_of(task, node.node_id, node.rack)
        elif phase.job.alike:
            task, tasks = pending.take_run(tasks)
        else:
            task, locality = pending.take_nearest(node.node_id, node.rack)
        number = _number_of(phase, task, copy_of) if phase.repeats or copy_of is not None else 1
        is_divided = state.units is not WHOLE_SLOTS and slot_kind is not _CONTAINER
        span = node.take_slots(slot_kind, state.units[phase.kind] if is_divided else tasks)
        attempt = Attempt(
            phase, node, state.now_s, task, number, tasks, slot_kind, span, locality,
            copy_of is not None, reason,
        )  # fmt: skip
        if is_divided:
            attempt.lent_slot = span.first // state.units[slot_kind]
            attempt.width = state.units[phase.kind] / state.units[slot_kind]
        state.start(attempt)
        if reserve is not None:
            state.reserve(attempt, reserve)
        if copy_of is not None:
            phase.repeating().copies.setdefault(task, [copy_of]).append(attempt)
        self._decisions.add(attempt)


def _number_of(phase: PhaseEntry, task: int, copy_of: Attempt | None) -> int:
    """The number of a task's next attempt, which is noted for the one after it."""
    retries = phase.repeating().retries
    number = 1 + retries.get(task, 0 if copy_of is None else 1)
    if number > 1:
        retries[task] = number
    return number
