"""The settings of the parts of a scheduler: their classes, and which part owns which."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeVar

from sluice.core.protocols import NoSettings
from sluice.core.settings import HeartbeatSettings
from sluice.policies import BUILT_IN, loaded, members
from sluice.policies.backfill.estimates import BackfillSettings
from sluice.policies.composition import AXES, PRESETS, RESERVATIONS, Composition
from sluice.policies.machines.vm_settings import VmPoolSettings
from sluice.policies.settings import (
    DelaySettings,
    LentRoomSettings,
    LentSettings,
    SpeculationSettings,
)

T = TypeVar("T")

# Members that more than one part of a scheduler must know of; `composing` has a rule for each.
# All others are made the same way: of their class, its settings, and what they go around.
_WITH_RULES: Final = frozenset(
    {
        "slots.lent", "slots.lent-by-pool", "slots.rigid", "slots.easy", "slots.conservative",
        "copies.late", "copies.sepb", "data.delay", "data.prescheduling",
        "machines.plan", "machines.vm-pools",
    }
)  # fmt: skip
LENT: Final = frozenset({"lent", "lent-by-pool"})

# What these orders are set by under another name than their own: that of their preset.
_MORE_OWNERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({"queues": ("queue-tree",)})


class PartSettings(Protocol):
    """The settings that were given, for one part at a time."""

    def of_part(self, kind: type[T], *owners: str) -> T:
        """The settings of a class; what is set for a later owner wins over an earlier one."""


def settings_classes(chosen: Composition) -> list[tuple[type[Any], tuple[str, ...]]]:
    """The classes of settings that a composition reads, each with the names of its owners."""
    found: list[tuple[type[Any], tuple[str, ...]]] = []
    name = chosen.order
    if name in members("order") and order_settings(name) is not NoSettings:
        found.append((order_settings(name), ("order", *_MORE_OWNERS.get(name, ()), name)))
    for axis, member in chosen.document().items():
        kind = plain_part(axis, member)
        if axis != "order" and kind is not None and kind.Settings is not NoSettings:
            found.append((kind.Settings, (axis, member)))
    if chosen.slots in LENT:
        found.append((LentRoomSettings, ("slots", "dynamicmr", chosen.slots)))
    if chosen.slots in RESERVATIONS:
        found.append((BackfillSettings, ("backfill",)))
    found.append((SpeculationSettings, ("copies", chosen.copies)))
    if chosen.data == "delay":
        found.append((DelaySettings, ("data", "delay")))
    return found


def owners() -> dict[str, tuple[type[Any], ...]]:
    """The classes of settings of each part that may be a prefix: an axis, or a member of one."""
    of_orders = {name: order_settings(name) for name in members("order")}
    of_orders = {name: kind for name, kind in of_orders.items() if kind is not NoSettings}
    copies = (SpeculationSettings,)
    found: dict[str, tuple[type[Any], ...]] = {
        "order": tuple(of_orders.values()),
        # The others are presets, which own their settings as task policies.
        **{name: (kind,) for name, kind in of_orders.items() if name not in PRESETS},
        "slots": (LentRoomSettings,),
        **dict.fromkeys(("lent", "lent-by-pool"), (LentSettings,)),
        "backfill": (BackfillSettings,),
        **dict.fromkeys(("copies", "late", "sepb"), copies),
        **dict.fromkeys(("data", "delay"), (DelaySettings,)),
        "machines": (VmPoolSettings,),
    }
    for axis in AXES:
        kinds = [(one, None if axis == "order" else plain_part(axis, one)) for one in members(axis)]
        own = [
            (one, kind.Settings) for one, kind in kinds if kind and kind.Settings is not NoSettings
        ]
        found[axis] = tuple(dict.fromkeys([*found.get(axis, ()), *(given for _, given in own)]))
        for member, given in own:
            # What several members share is the axis's alone.
            if sum(other is given for _, other in own) == 1:
                found[member] = (given,)
    return {owner: kinds for owner, kinds in found.items() if kinds}


def plain_part(axis: str, member: str) -> Any:  # noqa: ANN401  # a class with `Settings`
    """The class of a member of ours that has no rule of its own here; None without one."""
    key = f"{axis}.{member}"
    path = "" if key in _WITH_RULES else BUILT_IN.get(key, "")
    return loaded(path) if path else None


def order_settings(name: str) -> type[Any]:
    """The settings of an order. Of `fair` and `fifo`, which are task policies too, only those that
    say whose turn it is.
    """
    if name in {"fair", "fifo"}:
        return HeartbeatSettings if name == "fifo" else NoSettings
    settings: type[Any] = loaded(BUILT_IN[f"order.{name}"]).Settings
    return settings


def part_settings(chosen: Composition, settings: PartSettings) -> dict[type[Any], Any]:
    """The settings of the parts of a composition, by their classes."""
    return {kind: settings.of_part(kind, *owners) for kind, owners in settings_classes(chosen)}
