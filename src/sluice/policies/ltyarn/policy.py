"""LTYARN as a task policy: a tree of queues that share containers by long-term use.

`LongTermOrder` has the tree, which counts who used what, and says whose turn it is; `Allocation`
gives the containers of a free node in that order. `QueueTreePolicy` passes what the core asks and
reports to the two. Its subclasses differ in their rules alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.offers import Offer
from sluice.core.protocols import TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.fitting import SlotShortage
from sluice.model.ids import PoolId
from sluice.model.queues import Queue
from sluice.model.settings import PAUSE_S_MIN, SettingsGroup, number, numbers, setting, word
from sluice.model.slot_kind import SlotKind
from sluice.policies.ltyarn.accounts import probe
from sluice.policies.ltyarn.allocation import Allocation
from sluice.policies.ltyarn.rules import ShareRules
from sluice.policies.ltyarn.tree import TINY
from sluice.policies.orders.long_term import LongTermOrder
from sluice.policies.rooms.slot_counts import slots_busy

_CONTAINER = SlotKind.CONTAINER


@dataclass(frozen=True, kw_only=True)
class QueueSettings(SettingsGroup):
    """Settings of all policies that share containers in a tree of queues."""

    head_of_line: str = word(
        "skip",
        "what happens when the next task does not fit: start another, or wait (ltyarn)",
        "skip",
        "wait",
        reason="the LTYARN paper describes both, and they differ for large containers",
    )
    tick_s: float = number(
        1.0,
        "seconds between looks at a queue that waits for room (ltyarn)",
        low=PAUSE_S_MIN,
        reason="the period of the paper's thread; a large cluster looks less often",
    )
    shared: str = word(
        "units",
        "what is shared: containers, or the dominant share of the nodes' resources (ltyarn)",
        "units",
        "dominant",
    )
    accounts: str = word(
        "keep",
        "whether a real run starts with what earlier runs have counted (ltyarn)",
        "keep",
        "fresh",
    )
    probe_s: tuple[float, ...] = numbers("instants at which counters are reported (ltyarn)")


@dataclass(frozen=True, kw_only=True)
class QuantumSettings(QueueSettings):
    """The assumed length of running tasks."""

    quantum_s: float = number(1.0, "assumed seconds of a running task (ltyarn)", above=0.0)
    adaptive: bool = setting(True, "learn the assumed seconds from finished tasks (ltyarn)")  # noqa: FBT003  # the default of a setting


class QueueTreePolicy(TaskPolicy):
    """The common part of the policies of this package; a subclass says which rules hold."""

    Settings: ClassVar[type[Any]] = QuantumSettings

    def rules(self) -> ShareRules:
        """The rules of the tree."""
        raise AssertionError("a QueueTreePolicy defines rules()")

    def as_order(self) -> LongTermOrder:
        """The turns of its tree, for a room that is filled in this order."""
        return LongTermOrder(self.name, self.rules())

    def attach(self, state: ClusterState) -> None:
        self._is_dominant = self.settings.shared == "dominant"
        self.order = self.as_order()
        self.order.attach(state)
        self.tree = self.order.tree
        waits = self.settings.head_of_line == "wait"
        self._allocation = Allocation(self.order, state, waits=waits, is_dominant=self._is_dominant)
        self._to_probe = sorted(set(self.settings.probe_s), reverse=True)
        self._probes: dict[str, Mapping[str, Mapping[str, float]]] = {}
        state.observe_attempts(self._allocation)

    # --- what is decided --------------------------------------------------------------------------

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        kills = self.order.kills(state, now_s)
        self._take_probes(now_s)
        return kills

    def fill(self, offer: Offer) -> None:
        # A node that is limited by its resources alone has no containers to share.
        if self._is_dominant or offer.node.node.slots(_CONTAINER):
            self._allocation.fill(offer)

    @property
    def has_any_slot(self) -> bool:
        return True

    def wants_offer(self, state: ClusterState) -> bool:
        return bool(self._to_probe) and self._goes_on(state)

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        wakes = [self._to_probe[-1]] if self.wants_offer(state) else []
        if self._waits_for_room(state):
            tick_s: float = self.settings.tick_s
            wakes.append((math.floor(now_s / tick_s) + 1) * tick_s)
        return min(wakes, default=None)

    def holds_back(self, state: ClusterState, now_s: float) -> bool:
        return self._waits_for_room(state) and bool(state.running)

    def _goes_on(self, state: ClusterState) -> bool:
        """Whether counters may still change. Afterwards probes are computed in the report."""
        return not state.is_closed or bool(state.active or state.waiting or state.deferred)

    def _waits_for_room(self, state: ClusterState) -> bool:
        """Whether containers are free although tasks wait: the next one needs more than there is.

        As time passes another may come first, which fits.
        """
        return state.startable > 0 and state.open_nodes.containers.first_from(0) >= 0

    def shortage(self, kind: SlotKind, nodes: Sequence[Node]) -> SlotShortage | None:
        is_dominant = self.settings.shared == "dominant"
        if is_dominant and any(not node.capacity.is_zero for node in nodes):
            return None
        return super().shortage(kind, nodes)

    # --- memory -----------------------------------------------------------------------------------

    def saved(self) -> dict[str, Any]:
        return {**self.order.saved(), "probes": self._probes}

    def restored(self, saved: Mapping[str, Any], state: ClusterState) -> None:
        self.order.restored(saved, state)
        self._probes = dict(saved["probes"])
        self._to_probe = [at_s for at_s in self._to_probe if _named(at_s) not in self._probes]

    # --- reports ----------------------------------------------------------------------------------

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        found, free = self.order.turn_wait(phase, now_s), self._allocation.most_free()
        if found is not None:
            return self._wider_first(phase, free, now_s) or found
        if TINY < free < phase.phase.units:
            numbers = (("units", phase.phase.units), ("free", free))
            return Reason(ReasonCode.UNITS_DO_NOT_FIT, numbers)
        return slots_busy(state, _CONTAINER)

    def _wider_first(self, phase: PhaseEntry, free: float, now_s: float) -> Reason | None:
        """That the first in turn does not fit, where this phase may start although it does not."""
        first = next(self.order.apps_in_turn(now_s), None)
        wide = None if first is None else self._allocation.phase_of(first)
        if wide is None or wide.phase.units <= max(phase.phase.units, free + TINY):
            return None
        numbers = (("next", str(wide.job_id)), ("units", wide.phase.units), ("free", free))
        return Reason(ReasonCode.TURN_DOES_NOT_FIT, numbers)

    def _take_probes(self, now_s: float) -> None:
        while self._to_probe and self._to_probe[-1] <= now_s:
            at_s = self._to_probe.pop()
            self._probes[_named(at_s)] = probe(self.tree, now_s)

    @property
    def follows_queues(self) -> bool:
        return True

    def forget(self, jobs: Sequence[JobEntry]) -> None:
        self.order.forget(jobs)

    def queues_changed(self, state: ClusterState) -> None:
        self.order.queues_changed(state)

    def remembered(self, queues: tuple[Queue, ...]) -> frozenset[PoolId]:
        """Return the queues whose use is remembered beyond the end of a run."""
        return self.rules().remembered(queues) if self.settings.accounts == "keep" else frozenset()

    def kept_after(self, length_s: float) -> float:
        """The part of past use that still counts after a time in which nothing ran."""
        half_life_s = self.rules().half_life_s
        return 1.0 if half_life_s is None else math.pow(0.5, length_s / half_life_s)

    def used_container_s(self, now_s: float) -> Mapping[PoolId, float]:
        """Return what is counted until now, by queue."""
        return {name: queue.usage.counted(now_s) for name, queue in self.tree.queues.items()}

    def report(self) -> Mapping[str, object]:
        now_s = self.order.state.now_s
        found = dict(self.order.report())
        while self._to_probe:
            # Nothing runs any more: only rounds and decay change what is counted.
            at_s = self._to_probe[-1]
            self.tree.decide(max(at_s, now_s))
            self._take_probes(max(at_s, now_s))
        if self._probes:
            found["probes"] = dict(self._probes)
        return found


def _named(at_s: float) -> str:
    """An instant as the key of a document: 12, 0.5."""
    return str(int(at_s)) if at_s == int(at_s) else str(at_s)


class LtYarn(QueueTreePolicy):
    """Long-term sharing with rounds, charges of late arrivals, and a price of borrowed units."""

    name = "ltyarn"

    @dataclass(frozen=True, kw_only=True)
    class Settings(QuantumSettings):
        """Source: ltyarn spec, sections 2 to 6."""

        round_s: float | None = number(
            None,
            "seconds after which use is forgotten; none: never (ltyarn)",
            above=0.0,
            reason="the long term of the LTYARN paper, which a site chooses",
        )
        queue_par: bool = setting(
            False,  # noqa: FBT003  # the default of a setting
            "also charge queues that were idle since the round began (ltyarn)",
            reason="one property of LTYARN's credits holds only with it",
        )
        discount_price: float = number(
            1.0, "price of a borrowed unit (ltyarn)", above=0.0, high=1.0
        )

    def rules(self) -> ShareRules:
        settings: Any = self.settings
        return ShareRules(
            round_s=settings.round_s,
            counts_in_rounds=True,
            quantum_s=settings.quantum_s,
            is_adaptive=settings.adaptive,
            charges_idle=settings.queue_par,
            price=settings.discount_price,
            is_dominant=settings.shared == "dominant",
        )
