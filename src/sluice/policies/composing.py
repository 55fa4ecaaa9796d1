"""Makes the task policy of a `Composition`: decorators around an order, and a room that it fills.

From the inside: the order, goals, caps of pools, promises, waits for data, copies. Where none of
them is asked for, `fair` and `fifo` fill typed slots by themselves, as the presets do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeVar

from sluice.core.protocols import NoSettings, TaskPolicy
from sluice.core.settings import HeartbeatSettings
from sluice.policies import ORDERS, ROOMS, loaded
from sluice.policies.backfill.estimates import BackfillSettings, Estimates
from sluice.policies.backfill.whole_jobs import RESERVATIONS, WholeJobs
from sluice.policies.composition import PRESETS, Composition
from sluice.policies.copies.speculation import NOTHING_LENT, with_copies, with_kills
from sluice.policies.data.delay import DelayScheduling
from sluice.policies.dynamicmr.cases import AwayFromData, Case
from sluice.policies.dynamicmr.lender import SlotLender, own_and_borrowed
from sluice.policies.dynamicmr.pool_dependent import PoolDependent
from sluice.policies.dynamicmr.pool_independent import PoolIndependent
from sluice.policies.dynamicmr.pools import AllAsOne, JointOrder, PoolsInTurn
from sluice.policies.dynamicmr.prescheduling import with_prescheduling
from sluice.policies.dynamicmr.promised_slot import PromisedSlot
from sluice.policies.dynamicmr.targets import Fractions, slot_units
from sluice.policies.job_order import JobOrder
from sluice.policies.machines.vm_settings import VmPoolSettings
from sluice.policies.orders.capped import Capped
from sluice.policies.orders.fair import Fair
from sluice.policies.orders.fifo import Fifo
from sluice.policies.orders.goals import Goals, GoalSettings
from sluice.policies.orders.long_term import LongTermOrder
from sluice.policies.orders.promised import Promised
from sluice.policies.rooms.composed import AnySlots, Composed
from sluice.policies.rooms.deadlock import DeadlockBreaker
from sluice.policies.rooms.line import Line
from sluice.policies.rooms.room import Room
from sluice.policies.settings import DelaySettings, LentSettings, SpeculationSettings

T = TypeVar("T")

_DELAY_S: Final = 5.0  # waits of `--data delay` where none is set
_SEPB: Final = 0.6  # the share of `--copies sepb` where none is set

# What these orders are set by under another name than their own: that of their preset.
_MORE_OWNERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({"queues": ("queue-tree",)})


class PartSettings(Protocol):
    """The settings that were given, for one part at a time."""

    def of_part(self, kind: type[T], *owners: str) -> T:
        """The settings of a class; what is set for a later owner wins over an earlier one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a run asks of a scheduler beyond its composition.

    promises: admission promises containers.  caps: pools have a most that they may run.
    order: an order from outside, in place of one by name.
    """

    promises: bool = False
    caps: bool = False
    order: JobOrder | None = None


def settings_classes(chosen: Composition) -> list[tuple[type[Any], tuple[str, ...]]]:
    """The classes of settings that a composition reads, each with the names of its owners."""
    found: list[tuple[type[Any], tuple[str, ...]]] = []
    name = chosen.order
    if name in ORDERS and _order_settings(name) is not NoSettings:
        found.append((_order_settings(name), ("order", *_MORE_OWNERS.get(name, ()), name)))
    if chosen.goals != "off":
        found.append((GoalSettings, ("goals",)))
    if chosen.slots.startswith("lent"):
        found.append((LentSettings, ("slots", "dynamicmr", chosen.slots)))
    if chosen.slots in RESERVATIONS:
        found.append((BackfillSettings, ("backfill",)))
    found.append((SpeculationSettings, ("copies", chosen.copies)))
    if chosen.data == "delay":
        found.append((DelaySettings, ("data", "delay")))
    return found


def owners() -> dict[str, tuple[type[Any], ...]]:
    """The classes of settings of each part that may be a prefix: an axis, or a member of one."""
    of_orders = {name: _order_settings(name) for name in ORDERS}
    of_orders = {name: kind for name, kind in of_orders.items() if kind is not NoSettings}
    copies = (SpeculationSettings,)
    return {
        "order": tuple(of_orders.values()),
        # The others are presets, which own their settings as task policies.
        **{name: (kind,) for name, kind in of_orders.items() if name not in PRESETS},
        "goals": (GoalSettings,),
        **dict.fromkeys(("slots", "lent", "lent-by-pool"), (LentSettings,)),
        "backfill": (BackfillSettings,),
        **dict.fromkeys(("copies", "late", "sepb"), copies),
        **dict.fromkeys(("data", "delay"), (DelaySettings,)),
        "machines": (VmPoolSettings,),
    }


def composed(chosen: Composition, settings: PartSettings, needs: Needs) -> TaskPolicy:
    """The task policy of a composition whose machines are fixed."""
    given = {kind: settings.of_part(kind, *owners) for kind, owners in settings_classes(chosen)}
    copies = _copies(chosen, given[SpeculationSettings])
    room: Room = loaded(ROOMS[chosen.slots])()
    delay = _delay(given[DelaySettings]) if chosen.data == "delay" else None
    line, is_plain = _line(chosen, given, needs, room, delay)
    if chosen.slots in RESERVATIONS:
        estimates = Estimates(given[BackfillSettings].estimates)
        whole = WholeJobs(line, RESERVATIONS[chosen.slots], estimates)
        return with_kills(whole, copies)
    if not chosen.slots.startswith("lent"):
        line = with_copies(line, copies, NOTHING_LENT)
        policy: TaskPolicy = line if is_plain else Composed(line, room)
        return with_kills(policy, copies)
    lent: LentSettings = given[LentSettings]
    fractions = Fractions(lent.pct_map, lent.pct_reduce)
    line = with_copies(line, copies, fractions)
    lender = _lender(chosen, lent, line, needs)
    room.has_whole_slots = lent.w_map == lent.w_reduce
    return DeadlockBreaker(with_kills(AnySlots(lender, line, room), copies), fractions)


def _line(
    chosen: Composition,
    given: Mapping[type[Any], Any],
    needs: Needs,
    room: Room,
    delay: DelayScheduling | None,
) -> tuple[JobOrder, bool]:
    """The order with what goes around it, and whether it fills typed slots by itself."""
    is_fair = chosen.order == "fair"
    has_own_loop = is_fair or (chosen.order == "fifo" and delay is None)
    is_in_slots = chosen.slots == "typed" or chosen.slots.startswith("lent")
    caps = needs.caps and not is_fair  # which keeps them itself
    if has_own_loop and is_in_slots and not (caps or needs.promises) and chosen.goals == "off":
        return _order(chosen, given, delay), True
    order = needs.order or _order(chosen, given, None)
    if chosen.goals != "off":
        order = Goals(order, given[GoalSettings], is_guarded=chosen.goals == "guarded")
    if caps:
        order = Capped(order)
    if needs.promises:
        order = Promised(order)
    return Line(order, room, delay), False


def _order(
    chosen: Composition, given: Mapping[type[Any], Any], delay: DelayScheduling | None
) -> JobOrder:
    name = chosen.order
    if name == "fair":
        return Fair(delay)
    if name == "fifo":
        return Fifo(by_heartbeat=given[HeartbeatSettings].heartbeat_s > 0)
    made = loaded(ORDERS[name])(given.get(_order_settings(name)))
    return made if isinstance(made, JobOrder) else LongTermOrder(made)


def _order_settings(name: str) -> type[Any]:
    """The settings of an order. Of `fair` and `fifo`, which are task policies too, only those that
    say whose turn it is.
    """
    if name in {"fair", "fifo"}:
        return HeartbeatSettings if name == "fifo" else NoSettings
    settings: type[Any] = loaded(ORDERS[name]).Settings
    return settings


def _lender(chosen: Composition, lent: LentSettings, line: JobOrder, needs: Needs) -> SlotLender:
    is_by_pool = chosen.slots == "lent-by-pool"
    fractions = Fractions(lent.pct_map, lent.pct_reduce)
    units = slot_units(lent.w_map, lent.w_reduce)
    cases: list[Case] = own_and_borrowed(line, "PD" if is_by_pool else "PI")
    if chosen.data == "prescheduling":
        cases = with_prescheduling(cases, line, fractions, lent.reduce_slots_lent_max)
    if needs.promises:
        cases = [PromisedSlot(), *cases]
    if not is_by_pool:
        return PoolIndependent(line, cases, fractions, units)
    pools: PoolsInTurn = JointOrder(units) if line.has_pools else AllAsOne()
    away = AwayFromData(line, "PD 5") if lent.case5 == "at_once" else None
    return PoolDependent(line, cases, fractions, units, pools, away)


def _copies(chosen: Composition, given: SpeculationSettings) -> SpeculationSettings:
    """Return what `--copies` asks for, over the settings."""
    if chosen.copies == "none":
        return replace(given, speculation="none")
    if chosen.copies == "late":
        return replace(given, speculation="late", sepb=0.0, sepb_pool=0.0)
    has_share = given.sepb or given.sepb_pool
    return replace(given, speculation="late", sepb=given.sepb if has_share else _SEPB)


def _delay(given: DelaySettings) -> DelayScheduling:
    has_wait = given.node_wait_s or given.rack_wait_s
    node_s, rack_s = given.node_wait_s, given.rack_wait_s
    return DelayScheduling(node_s, rack_s) if has_wait else DelayScheduling(_DELAY_S, _DELAY_S)
