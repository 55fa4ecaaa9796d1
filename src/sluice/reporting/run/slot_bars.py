"""Bars of a Gantt chart by slot: which phase used which slot when, thinned to what can be drawn.

A chart has room for about a hundred lanes and some thousand bars. Larger runs are thinned in steps,
each coarser than the one before, and `notes` names each step: slots without tasks have no lane;
lanes are picked evenly; neighbours of one job are joined; short gaps between them are filled; last,
each cell of a lane shows only the job that used it longest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sluice.core.entries import Attempt, NodeEntry, PhaseEntry
from sluice.core.transitions import AttemptState
from sluice.model.slot_kind import SlotKind
from sluice.reporting.formatting import clock, count, counted
from sluice.reporting.run.trace import slot_indexes

LANES_MAX = 96
BARS_MAX = 6_000
_CELL_OF_SPAN = 1 / 720  # a gap narrower than a pixel is not visible

SlotName = tuple[str, SlotKind, int]  # node, kind, index
NodeSlots = tuple[str, dict[SlotKind, int]]  # node, slots of each kind


class Bar(NamedTuple):
    """Work of one phase in one lane. attempts: number of attempts in this bar."""

    lane: int
    phase: PhaseEntry
    starts_at_s: float
    ends_at_s: float
    outcome: AttemptState
    first: Attempt
    task: int
    attempts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotBars:
    """The bars to draw. lanes: their slots, from the top; notes: how they were thinned.

    slots_used: slots that ran a task; those without a lane included.
    is_complete: whether every attempt has its place in a bar, at its true times.
    """

    lanes: tuple[SlotName, ...]
    bars: tuple[Bar, ...]
    notes: tuple[str, ...]
    slots_used: int
    is_complete: bool


def slot_bars(attempts: Iterable[Attempt], nodes: Sequence[NodeSlots], span_s: float) -> SlotBars:
    """Bars and lanes of a run.

    nodes: each node's slots of the kinds in use, in the order in which they are drawn.
    span_s: length of the run, seconds.
    """
    used = _busy(attempts, nodes)
    lanes, lane_note = _lanes(used)
    bars = _by_lane(attempts, {name: lane for lane, name in enumerate(lanes)})
    bars, bar_note, is_true = _thinned(bars, span_s, len(lanes))
    notes = tuple(note for note in (_idle_note(nodes, used), lane_note, bar_note) if note)
    is_complete = is_true and len(lanes) == len(used)
    return SlotBars(
        lanes=lanes, bars=tuple(bars), notes=notes, slots_used=len(used), is_complete=is_complete
    )


def _busy(attempts: Iterable[Attempt], nodes: Sequence[NodeSlots]) -> list[SlotName]:
    """The slots that ran a task, in the order in which they are drawn."""
    used = {
        (attempt.node.node_id, attempt.slot_kind, slot)
        for attempt in attempts
        for slot in slot_indexes(attempt.launch.slots)
    }
    named = (
        (node, kind, slot)
        for node, kinds in nodes
        for kind, slots in kinds.items()
        for slot in range(slots)
    )
    return [name for name in named if name in used]


def _idle_note(nodes: Sequence[NodeSlots], used: Sequence[SlotName]) -> str:
    idle = sum(slots for _, kinds in nodes for slots in kinds.values()) - len(used)
    if not idle or not used:
        return ""
    verb = "is" if idle == 1 else "are"
    return f"{counted(idle, 'slot')} without a task {verb} not shown."


def _lanes(used: Sequence[SlotName]) -> tuple[tuple[SlotName, ...], str]:
    """All slots with tasks, or as many as can be drawn, picked evenly."""
    total = len(used)
    shown = min(total, LANES_MAX)
    note = f"{shown} of {count(total)} slots are shown, picked evenly." if shown < total else ""
    return tuple(used[lane * total // shown] for lane in range(shown)), note


def _by_lane(attempts: Iterable[Attempt], lanes: dict[SlotName, int]) -> list[Bar]:
    """A bar for each task in a lane that is shown, lane by lane in order of time."""
    bars: list[Bar] = []
    for attempt in attempts:
        launch = attempt.launch
        node, kind, task = attempt.node.node_id, launch.slot_kind, launch.key.task
        for offset, slot in enumerate(slot_indexes(launch.slots)):
            lane = lanes.get((node, kind, slot))
            if lane is not None:
                span = (attempt.started_at_s, attempt.finished_at_s)
                bars.append(Bar(lane, attempt.phase, *span, attempt.state, attempt, task + offset))
    bars.sort(key=lambda bar: (bar.lane, bar.starts_at_s, bar.ends_at_s))
    return bars


def _thinned(bars: list[Bar], span_s: float, lanes: int) -> tuple[list[Bar], str, bool]:
    """Fewer bars, a note of how, and whether none was left out."""
    if len(bars) <= BARS_MAX:
        return bars, "", True
    all_of_them = count(len(bars))
    joined = _joined(bars, gap_s_max=1e-9 * span_s)
    if len(joined) > BARS_MAX:
        joined = _joined(bars, gap_s_max=_CELL_OF_SPAN * span_s)
    if len(joined) <= BARS_MAX:
        what = f"{all_of_them} attempts drawn as {count(len(joined))} bars"
        return joined, f"{what}: neighbours of one job in one slot are joined.", True
    cell_s = span_s / max(1, BARS_MAX // lanes)
    note = (
        f"{all_of_them} attempts: each {clock(cell_s)} of a slot shows the job that used it"
        " longest."
    )
    return _joined(_longest_by_cell(bars, cell_s), gap_s_max=1e-9 * span_s), note, False


def _joined(bars: Iterable[Bar], gap_s_max: float) -> list[Bar]:
    """Neighbours in a lane that have the same phase and outcome become one bar."""
    joined: list[Bar] = []
    for bar in bars:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.lane == bar.lane
            and last.phase is bar.phase
            and last.outcome is bar.outcome
            and bar.starts_at_s - last.ends_at_s <= gap_s_max
        ):
            ends_at_s = max(last.ends_at_s, bar.ends_at_s)
            joined[-1] = last._replace(ends_at_s=ends_at_s, attempts=last.attempts + bar.attempts)
        else:
            joined.append(bar)
    return joined


def _longest_by_cell(bars: Iterable[Bar], cell_s: float) -> list[Bar]:
    """One bar for each cell of time and lane: the phase that used it longest."""
    held_s: dict[tuple[int, int], dict[PhaseEntry, float]] = {}
    example: dict[PhaseEntry, Bar] = {}
    for bar in bars:
        example.setdefault(bar.phase, bar)
        first, last = int(bar.starts_at_s // cell_s), int(bar.ends_at_s // cell_s)
        for cell in range(first, last + 1):
            overlap_s = min(bar.ends_at_s, (cell + 1) * cell_s) - max(
                bar.starts_at_s, cell * cell_s
            )
            # A bar that ends at the start of a cell has no part in it.
            if overlap_s > 0 or first == last:
                shares = held_s.setdefault((bar.lane, cell), {})
                shares[bar.phase] = shares.get(bar.phase, 0.0) + overlap_s
    cells = []
    for (lane, cell), shares in sorted(held_s.items(), key=lambda item: item[0]):
        phase = max(shares, key=lambda held: shares[held])
        cells.append(
            example[phase]._replace(
                lane=lane,
                starts_at_s=cell * cell_s,
                ends_at_s=(cell + 1) * cell_s,
                outcome=AttemptState.DONE,
            )
        )
    return cells


def slots_in_use(attempts: Iterable[Attempt], nodes: Iterable[NodeSlots]) -> list[NodeSlots]:
    """The slots of each node, of the kinds that were used, in the order of the nodes.

    A node without slot limits has as many as were ever used at once. So has a node that is not in
    the cluster: it joined during the run.
    """
    named = dict(nodes)
    used = _slots_used(attempts)
    in_order = [kind for kind in SlotKind if any(kind in kinds for kinds in used.values())]
    found: list[NodeSlots] = []
    for node_id in named | used:
        has, had = named.get(node_id, {}), used.get(node_id, {})
        slots = {kind: max(has.get(kind, 0), had.get(kind, 0)) for kind in in_order}
        found.append((node_id, {kind: most for kind, most in slots.items() if most}))
    return found


def _slots_used(attempts: Iterable[Attempt]) -> dict[str, dict[SlotKind, int]]:
    """By node and kind, one more than the highest slot in use."""
    reaches: dict[tuple[NodeEntry, SlotKind], int] = {}
    for attempt in attempts:
        launch = attempt.launch
        reach = max(start + length for start, length in launch.slots)
        place = (attempt.node, launch.slot_kind)
        if reach > reaches.get(place, 0):
            reaches[place] = reach
    used: dict[str, dict[SlotKind, int]] = {}
    for (node, kind), reach in reaches.items():
        # A node that rejoins after a loss is another entry of the same name.
        kinds = used.setdefault(node.node_id, {})
        kinds[kind] = max(reach, kinds.get(kind, 0))
    return used
