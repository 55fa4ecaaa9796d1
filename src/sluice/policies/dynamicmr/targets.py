"""Arithmetic of lending: loads, what may be lent, and how wide slots are.

N_M, N_R: maps and reduces that wait or run, wherever they run; S_M, S_R: slots; k: what a reduce
takes, in map slots. Source: dynamicmr spec, section 4, with errata E1 to E4.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, NamedTuple

from sluice.core.entries import WHOLE_SLOTS, SlotUnits
from sluice.model.slot_kind import SlotKind

_PARTS_MAX: Final = 64  # units that the narrower of two slots is divided into at most
_HAIR: Final = 1e-9  # what rounding may leave, so that 0.29 * 100 is 29


# Plain classes: a named tuple takes ten times as long to make, and each decision makes both.
class Targets:
    """Loads, and the most tasks that may run in borrowed slots at once.

    map_load, reduce_load: L_M and L_R.  map_load_lent, reduce_load_lent: the same with what may be
    lent counted in (L').  reduces_lent_max: t_MR, in map slots.  maps_lent_max: t_RM.
    """

    def __init__(  # its fields
        self,
        map_load: float,
        reduce_load: float,
        map_load_lent: float,
        reduce_load_lent: float,
        reduces_lent_max: int,
        maps_lent_max: int,
    ) -> None:
        self.map_load = map_load
        self.reduce_load = reduce_load
        self.map_load_lent = map_load_lent
        self.reduce_load_lent = reduce_load_lent
        self.reduces_lent_max = reduces_lent_max
        self.maps_lent_max = maps_lent_max


class Demands:
    """Tasks that wait and may start, or run (N_M and N_R), and how many of them run in borrowed
    slots.
    """

    def __init__(self, maps: int, reduces: int, maps_lent: int = 0, reduces_lent: int = 0) -> None:
        self.maps = maps
        self.reduces = reduces
        self.maps_lent = maps_lent
        self.reduces_lent = reduces_lent


class Fractions(NamedTuple):
    """How much of what one kind of task leaves unused the other may borrow, 0 to 1."""

    pct_map: float = 1.0
    pct_reduce: float = 1.0

    def of(self, slot_kind: SlotKind) -> float:
        """The share of this kind of slot that may be lent."""
        return self.pct_map if slot_kind is SlotKind.MAP else self.pct_reduce


def load(tasks: float, slots: int) -> float:
    """Demand for a kind of slot per slot; 0 / 0 counts 0.

    >>> load(5, 12) < 0.42, load(0, 0), load(1, 0)
    (True, 0.0, inf)
    """
    if slots:
        return tasks / slots
    return math.inf if tasks else 0.0


def whole(amount: float) -> int:
    """Whole tasks in an amount that may carry rounding.

    >>> whole(0.29 * 100)
    29
    """
    amount += _HAIR
    return int(amount) if amount >= 0 else math.floor(amount)  # at every decision, and no call


def targets(
    wanted: Demands, map_slots: int, reduce_slots: int, fractions: Fractions, k: float
) -> Targets:
    """Return what may be lent while so many tasks wait or run.

    With nothing lent the other way these are the formulas of section 4. A task that has borrowed
    needs no slot of its own kind, and keeps one of the other from those that it was made for.
    Without counting that, slots are idle while tasks wait, whenever the loads have changed sides
    and earlier borrowers still run.

    >>> targets(Demands(maps=5, reduces=14), 12, 6, Fractions(), 1.0).reduces_lent_max
    7
    """
    maps = wanted.maps - wanted.maps_lent  # that want a map slot, or hold one
    reduces = wanted.reduces - wanted.reduces_lent
    map_room = map_slots - k * wanted.reduces_lent  # for maps
    reduce_room = reduce_slots - wanted.maps_lent / k
    reduces_lent_max = maps_lent_max = 0
    if maps < map_slots and wanted.reduces > reduce_room:
        idle = whole(fractions.pct_map * (map_slots - maps) / k)
        reduces_lent_max = min(idle, wanted.reduces - whole(reduce_room))
    if reduces < reduce_slots and wanted.maps > map_room:
        idle = whole(fractions.pct_reduce * (reduce_slots - reduces) * k)
        maps_lent_max = min(idle, wanted.maps - whole(map_room))
    return Targets(
        load(wanted.maps, map_slots),
        load(wanted.reduces, reduce_slots),
        # Loans of before may be more than those of now, and go on.
        load(maps + k * max(reduces_lent_max, wanted.reduces_lent), map_slots),
        load(reduces + max(maps_lent_max, wanted.maps_lent) / k, reduce_slots),
        reduces_lent_max,
        maps_lent_max,
    )


def slot_units(w_map: float, w_reduce: float) -> SlotUnits:
    """Units that a map and a reduce take, and into which their slots divide.

    >>> units = slot_units(1.0, 2.0)
    >>> units[SlotKind.MAP], units[SlotKind.REDUCE]
    (1, 2)
    """
    if w_map == w_reduce:
        return WHOLE_SLOTS
    ratio = _simple(w_reduce / w_map) if w_reduce > w_map else 1 / _simple(w_map / w_reduce)
    units = {SlotKind.MAP: ratio.denominator, SlotKind.REDUCE: ratio.numerator}
    return WHOLE_SLOTS if ratio == 1 else {**units, SlotKind.CONTAINER: 1}


def _simple(ratio: float) -> Fraction:
    """A number from 1 up as a fraction of few parts."""
    return Fraction(ratio).limit_denominator(_PARTS_MAX)
