"""Makes the task policy of a `Composition`: decorators around an order, and a room that it fills.

From the inside: the order, goals, caps of pools, promises, waits for data, copies. Where none of
them is asked for, `fair` and `fifo` fill typed slots by themselves, as the presets do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from sluice.core.protocols import NoSettings, TaskPolicy
from sluice.core.settings import HeartbeatSettings
from sluice.policies import BUILT_IN, loaded, members
from sluice.policies.backfill.estimates import BackfillSettings, Estimates
from sluice.policies.backfill.whole_jobs import WholeJobs
from sluice.policies.composition import RESERVATIONS, Composition
from sluice.policies.copies.late import NOTHING_LENT, with_copies
from sluice.policies.copies.slow_kill import with_kills
from sluice.policies.data.delay import DelayScheduling
from sluice.policies.dynamicmr.cases import AwayFromData, Case, PromisedSlot
from sluice.policies.dynamicmr.lender import SlotLender, own_and_borrowed
from sluice.policies.dynamicmr.pool_dependent import PoolDependent
from sluice.policies.dynamicmr.pool_independent import PoolIndependent
from sluice.policies.dynamicmr.pools import JointOrder, PoolsInTurn
from sluice.policies.dynamicmr.prescheduling import with_prescheduling
from sluice.policies.dynamicmr.targets import Fractions, slot_units
from sluice.policies.job_order import JobOrder
from sluice.policies.orders.capped import Capped
from sluice.policies.orders.fair import Fair
from sluice.policies.orders.fifo import Fifo
from sluice.policies.orders.promised import Promised
from sluice.policies.part_settings import (
    LENT,
    PartSettings,
    order_settings,
    part_settings,
    plain_part,
)
from sluice.policies.rooms.composed import AnySlots, Composed
from sluice.policies.rooms.deadlock import DeadlockBreaker
from sluice.policies.rooms.line import Line
from sluice.policies.rooms.loanable import Loanable
from sluice.policies.rooms.room import Lent, Room
from sluice.policies.settings import (
    DelaySettings,
    LentRoomSettings,
    LentSettings,
    SpeculationSettings,
)

T = TypeVar("T")

_DELAY_S: Final = 5.0  # waits of `--data delay` where none is set
_SEPB: Final = 0.6  # the share of `--copies sepb` where none is set


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """All that a run asks of a scheduler beyond its composition.

    promises: admission promises containers.  caps: pools have a most that they may run.
    demands: tasks may demand resources, and slow each other down.
    outside: by axis, what makes a part that is not ours, from what it goes around, if anything.
    """

    promises: bool = False
    caps: bool = False
    demands: bool = False
    outside: Mapping[str, Callable[..., Any]] = field(default_factory=dict)


def with_part(
    axis: str,
    inner: T,
    chosen: Composition,
    given: Mapping[type[Any], Any],
    outside: Mapping[str, Callable[..., Any]],
) -> T:
    """The inner part, with the member of an axis around it."""
    if axis in outside:
        around: T = outside[axis](inner)
        return around
    kind = plain_part(axis, getattr(chosen, axis))
    if kind is None:
        return inner
    made: T = kind(inner) if kind.Settings is NoSettings else kind(inner, given[kind.Settings])
    return made


def with_speculation(made: Any, settings: Any) -> Any:  # noqa: ANN401  # a policy of any kind
    """A policy with the copies and the kill rule that settings ask for, if it fills typed slots.

    One of a user that is derived from these may have other settings.
    """
    if isinstance(made, Fair | Fifo) and isinstance(settings, SpeculationSettings):
        return with_kills(with_copies(made, settings), settings)
    return made


def composed(chosen: Composition, settings: PartSettings, needs: Needs) -> TaskPolicy:
    """The task policy of a composition whose machines are fixed."""
    given = part_settings(chosen, settings)
    copies = _copies(chosen, given[SpeculationSettings])
    room = _room(chosen, given, needs)
    delay = _delay(given[DelaySettings]) if chosen.data == "delay" else None
    line, is_plain = _line(chosen, given, needs, room, delay)
    if chosen.slots in RESERVATIONS:
        estimates = Estimates(given[BackfillSettings].estimates)
        whole = WholeJobs(line, RESERVATIONS[chosen.slots], estimates)
        return with_kills(whole, copies)
    if chosen.slots not in LENT:
        line = _with_copies(line, chosen, given, needs, NOTHING_LENT)
        policy: TaskPolicy = line if is_plain else Composed(line, room)
        return with_kills(policy, copies)
    lent: LentRoomSettings = given[LentRoomSettings]
    fractions = Fractions(lent.pct_map, lent.pct_reduce)
    line = _with_copies(line, chosen, given, needs, fractions)
    lender = slot_lender(
        line,
        lent,
        by_pool=chosen.slots == "lent-by-pool",
        prescheduling=chosen.data == "prescheduling",
        promises=needs.promises,
        loans=_loans(room),
    )
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
    is_in_slots = chosen.slots == "typed" or (chosen.slots in LENT and _loans(room) is None)
    parts = [name for axis, name in chosen.document().items() if _goes_around(axis, name)]
    caps = needs.caps and not is_fair  # which keeps them itself
    if has_own_loop and is_in_slots and not (caps or needs.promises or parts):
        return _order(chosen, given, delay), True
    made = needs.outside.get("order")
    order = _order(chosen, given, None) if made is None else made()
    order = with_part("goals", order, chosen, given, needs.outside)
    if caps:
        order = Capped(order)
    if needs.promises:
        order = Promised(order)
    order = with_part("data", order, chosen, given, needs.outside)
    return Line(order, room, delay), False


def _goes_around(axis: str, member: str) -> bool:
    """Whether a member is a decorator of an order, which `fair` and `fifo` then do not fill by."""
    if axis not in {"goals", "copies", "data"}:
        return False
    return member not in members(axis) or plain_part(axis, member) is not None


def _room(chosen: Composition, given: Mapping[type[Any], Any], needs: Needs) -> Room:
    """Where tasks may run."""
    outside = needs.outside.get("slots")
    if outside is not None:
        room: Room = outside()
        return room
    kind = loaded(BUILT_IN[f"slots.{chosen.slots}"])
    made: Room = kind(given.get(kind.Settings))
    if isinstance(made, Lent) and needs.demands:
        is_anywhere = given[LentRoomSettings].lend == "anywhere"
        made.loans = None if is_anywhere else Loanable()
    return made


def _loans(room: Room) -> Loanable | None:
    """Where the slots of a room may be lent; None for anywhere."""
    return room.loans if isinstance(room, Lent) else None


def _with_copies(
    line: JobOrder,
    chosen: Composition,
    given: Mapping[type[Any], Any],
    needs: Needs,
    fractions: Fractions,
) -> JobOrder:
    """The line with second attempts, by the rules of LATE or by another member's own."""
    if _goes_around("copies", chosen.copies):
        return with_part("copies", line, chosen, given, needs.outside)
    return with_copies(line, _copies(chosen, given[SpeculationSettings]), fractions)


def _order(
    chosen: Composition, given: Mapping[type[Any], Any], delay: DelayScheduling | None
) -> JobOrder:
    name = chosen.order
    if name == "fair":
        return Fair(delay)
    if name == "fifo":
        return Fifo(by_heartbeat=given[HeartbeatSettings].heartbeat_s > 0)
    made = loaded(BUILT_IN[f"order.{name}"])(given.get(order_settings(name)))
    return made if isinstance(made, JobOrder) else made.as_order()


def slot_lender(
    line: JobOrder,
    settings: LentSettings,
    *,
    by_pool: bool,
    prescheduling: bool,
    promises: bool = False,
    loans: Loanable | None = None,
) -> SlotLender:
    """Return the lender of both kinds of slots: by pool (PD), or each kind as a whole (PI).

    promises: whether containers that are promised to jobs are kept for them.
    loans: where slots may be lent; None for anywhere.
    """
    fractions = Fractions(settings.pct_map, settings.pct_reduce)
    units = slot_units(settings.w_map, settings.w_reduce)
    cases: list[Case] = own_and_borrowed(line, "PD" if by_pool else "PI", loans)
    if prescheduling:
        cases = with_prescheduling(cases, line, fractions, settings.reduce_slots_lent_max, loans)
    if promises:
        cases = [PromisedSlot(), *cases]
    if not by_pool:
        return PoolIndependent(line, cases, fractions, units)
    pools: PoolsInTurn = JointOrder(units) if line.has_pools else PoolsInTurn()
    away = AwayFromData(line, "PD 5", loans) if settings.case5 == "at_once" else None
    return PoolDependent(line, cases, fractions, units, pools, away)


def _copies(chosen: Composition, given: SpeculationSettings) -> SpeculationSettings:
    """Return what `--copies` asks for, over the settings."""
    if chosen.copies not in {"late", "sepb"}:
        return replace(given, speculation="none")
    if chosen.copies == "late":
        return replace(given, speculation="late", sepb=0.0, sepb_pool=0.0)
    has_share = given.sepb or given.sepb_pool
    return replace(given, speculation="late", sepb=given.sepb if has_share else _SEPB)


def _delay(given: DelaySettings) -> DelayScheduling:
    has_wait = given.node_wait_s or given.rack_wait_s
    node_s, rack_s = given.node_wait_s, given.rack_wait_s
    return DelayScheduling(node_s, rack_s) if has_wait else DelayScheduling(_DELAY_S, _DELAY_S)
