"""The deadlock breaker: reduces that wait for a map must not hold every slot it could have.

If slots are lent, a lost node or a failed map may leave a job with a map to start, while reduces
that wait for this map hold all slots. If no slot that a map could use has been free for a minute,
the job's youngest waiting reduce is killed, one in a borrowed slot if there is one. From then on
the job's maps have priority, one at a time, until none waits.

Room that is too narrow for a map is not a free slot: a reduce of weight 7.5 leaves half of eight.
Source: dynamicmr spec, section 6, erratum E12.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from mypy_extensions import mypyc_attr

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry
from sluice.core.indexes.observers import AttemptIndex
from sluice.core.offers import Offer
from sluice.core.protocols import TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.model.attempts import AttemptKey
from sluice.model.slot_kind import SlotKind
from sluice.policies.decorator import Decorator, earlier
from sluice.policies.dynamicmr.targets import Fractions
from sluice.policies.memory import Memory, or_infinite
from sluice.policies.rooms.nodes_alike import NodesAlike

PATIENCE_S: Final = 60.0

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE
_TYPED: Final = (_MAP, _REDUCE)
_KILLING: Final = AttemptState.KILLING
_NUMBER: Final = "E12"


class _LastEnd(AttemptIndex):
    """When an attempt ended last, which made a slot free."""

    def __init__(self, state: ClusterState) -> None:
        self.at_s = 0.0
        self._state = state
        state.observe_attempts(self)

    def ended(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        self.at_s = self._state.now_s


@mypyc_attr(allow_interpreted_subclasses=True)
class DeadlockBreaker(Decorator):
    """Ends a reduce where reduces and their maps wait for each other."""

    def __init__(self, inner: TaskPolicy, fractions: Fractions) -> None:
        super().__init__(inner)
        self._fractions = fractions
        # When a slot that such a task could use was free last, but for the last end of an attempt.
        self._maps_full_since_s = 0.0
        self._reduces_full_since_s = 0.0
        self._checked_at_s = -math.inf
        self._wake_s = -math.inf  # when it asked to be woken last
        self._rescued: dict[PhaseEntry, None] = {}
        self._alike: NodesAlike | None = None  # made when it is asked for

    def attach(self, state: ClusterState) -> None:
        self.inner.attach(state)
        self._state = state
        self._units = self.slot_units
        self._last_end = _LastEnd(state)

    def memory(self) -> Memory:
        instants = [self._maps_full_since_s, self._reduces_full_since_s, self._last_end.at_s,
                    self._checked_at_s, self._wake_s]  # fmt: skip
        rescued = [phase for phase in self._rescued if not phase.job.has_ended]
        return {
            "instants_s": [None if at_s == -math.inf else at_s for at_s in instants],
            "rescued": [[phase.job_id, phase.index] for phase in rescued],
        }

    def remember(self, own: Memory, state: ClusterState) -> None:
        instants = [or_infinite(at_s, -math.inf) for at_s in own["instants_s"]]
        self._maps_full_since_s, self._reduces_full_since_s = instants[:2]
        self._last_end.at_s, self._checked_at_s, self._wake_s = instants[2:]
        self._rescued = {state.jobs[job].phases[index]: None for job, index in own["rescued"]}

    # --- the right of way ---------------------------------------------------------------------

    def _note_idle(self, node: NodeEntry, now_s: float) -> None:
        """Note for which kinds of task the node has an idle slot."""
        if not (node.free.maps.count or node.free.reduces.count):
            return  # as after most offers
        if self._slot_for(node, _MAP) is not None:
            self._maps_full_since_s = now_s
        if self._slot_for(node, _REDUCE) is not None:
            self._reduces_full_since_s = now_s

    def fill(self, offer: Offer) -> None:
        if self._rescued:
            self._give_way(offer)
        self.inner.fill(offer)
        self._note_idle(offer.node, offer.now_s)

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        return True  # it notes which nodes have an idle slot, and may give a slot of either kind

    def next_node(self, index: int, state: ClusterState) -> int:
        # With a slot of any kind: `inner` may give a slot of either.
        first = state.open_nodes.first_from(index)
        if first < 0 or self._rescued:
            return first
        number = self.inner.next_node(index, state)
        if number != first:
            self._note_idle_before(number, first)
        return number

    def _note_idle_before(self, end: int, index: int) -> None:
        """Note for which kinds of task nodes have an idle slot that are given nothing.

        They are all nodes with room from an index on and before `end`; -1: to the last.
        """
        state, now_s = self._state, self._state.now_s
        self._note_idle_of(state.node_at[index], now_s)
        if min(self._maps_full_since_s, self._reduces_full_since_s) == now_s:
            return  # the usual case
        if self._alike is None:
            self._alike = NodesAlike(state)
        for group in self._alike.groups():
            number = group.nodes.first_from(index)
            while number >= 0 and (end < 0 or number < end):
                if self._note_idle_of(state.node_at[number], now_s):
                    break  # the others have as much room
                number = group.nodes.first_from(number + 1)

    def _note_idle_of(self, node: NodeEntry, now_s: float) -> bool:
        """Do what `_note_idle` does, unless it rests because of a fault.

        Returns whether it does not.
        """
        if node.rests_until_s > now_s:
            return False
        self._note_idle(node, now_s)
        return True

    def _give_way(self, offer: Offer) -> None:
        """Start a task of each phase that has the right of way."""
        for phase in list(self._rescued):
            if not phase.is_queued:
                del self._rescued[phase]
            elif not phase.running:
                slot_kind = self._slot_for(offer.node, phase.kind)
                if slot_kind is not None:
                    reason = Reason(ReasonCode.RIGHT_OF_WAY, (("case", _NUMBER),))
                    offer.start(phase, slot_kind, reason)

    def _slot_for(self, node: NodeEntry, kind: SlotKind) -> SlotKind | None:
        """An idle slot that a task of a kind may have, whatever loads and lines say."""
        needed = self._units[kind]
        if node.free[kind] >= needed:
            return kind
        for slot_kind in _TYPED:
            if node.free[slot_kind] >= needed and self._may_use(kind, slot_kind):
                return slot_kind
        return None

    def _full_since_of(self, kind: SlotKind) -> float:
        full_since_s = self._maps_full_since_s if kind is _MAP else self._reduces_full_since_s
        return max(full_since_s, self._last_end.at_s)

    def _may_use(self, kind: SlotKind, slot_kind: SlotKind) -> bool:
        return slot_kind is kind or self._fractions.of(slot_kind) > 0

    # --- who must give way --------------------------------------------------------------------

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        inner_s = super().wake_at_s(state, now_s)
        if not state.startable or not state.running:
            return inner_s
        if self._wake_s > now_s:
            # Slots became free since it asked: it looks again when it is woken. Another request
            # after each end of a task would add an instant for each.
            return inner_s
        full_since_s = min(self._full_since_of(_MAP), self._full_since_of(_REDUCE))
        at_s = max(full_since_s, self._checked_at_s) + PATIENCE_S
        self._wake_s = max(at_s, math.nextafter(now_s, math.inf))
        return earlier(inner_s, self._wake_s)

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        kills = super().kills(state, now_s)
        if not state.startable or not state.running:
            return kills
        full_since_s = min(self._full_since_of(_MAP), self._full_since_of(_REDUCE))
        if now_s - max(full_since_s, self._checked_at_s) < PATIENCE_S:
            return kills
        return chain(kills, self._ways_given(state, now_s))

    def _ways_given(self, state: ClusterState, now_s: float) -> Iterator[tuple[AttemptKey, Reason]]:
        """Reduces that end, so that tasks which they wait for have room."""
        self._checked_at_s = now_s
        for job, held in self._waiting_reduces(state).items():
            starved = next((phase for phase in job.phases if _is_starved(phase)), None)
            if starved is None:
                continue
            full_s = now_s - self._full_since_of(starved.kind)
            if full_s < PATIENCE_S:
                continue
            chosen = self._youngest(held, starved.kind)
            if chosen is not None:
                self._rescued[starved] = None
                numbers = (("case", _NUMBER), ("kind", starved.name), ("waited_s", full_s))
                yield chosen.key, Reason(ReasonCode.GAVE_WAY, numbers)

    def _waiting_reduces(self, state: ClusterState) -> dict[JobEntry, list[Attempt]]:
        """Attempts that hold slots and wait for earlier phases of their job, by job. Nothing has
        moved for a minute when this is asked, so that a walk over what runs costs nothing.
        """
        held: dict[JobEntry, list[Attempt]] = {}
        for attempt in state.running.values():
            phase = attempt.phase
            if attempt.state is not _KILLING and phase.phase.after and not phase.has_inputs:
                held.setdefault(phase.job, []).append(attempt)
        return held

    def _youngest(self, held: list[Attempt], kind: SlotKind) -> Attempt | None:
        """The one that began last; of those in borrowed slots, if any, whose slot is of use."""
        useful = [one for one in held if self._may_use(kind, one.slot_kind)]
        borrowed = [one for one in useful if one.slot_kind is not one.phase.kind]
        return max(borrowed or useful, key=lambda one: (one.started_at_s, one.key), default=None)


def _is_starved(phase: PhaseEntry) -> bool:
    """It has tasks to start, and none of them runs."""
    return phase.is_queued and not phase.running
