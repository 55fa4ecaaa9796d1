"""Starts an assignment that was checked: takes a task and slots for it.

Where slots are divided (see `SlotUnits`) an attempt holds units. Its launch still names one slot
for each task: the slot in which the task's units begin.
"""

from __future__ import annotations

from typing import Final

from sluice.core.commands import Launch
from sluice.core.entries import WHOLE_SLOTS, NodeEntry
from sluice.core.events import AttemptKey
from sluice.core.protocols import Assignment, TaskPolicy
from sluice.core.state import ClusterState
from sluice.model.job import SlotKind

# Calling a named tuple's class takes twice as long as this, and every launch makes two.
_new: Final = tuple.__new__
_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE
_CONTAINER: Final = SlotKind.CONTAINER


def launch(assignment: Assignment, node: NodeEntry, state: ClusterState) -> Launch:
    """Start the assignment in the state; returns the command for the driver to carry out."""
    phase, slot_kind, reason, tasks, copy_of, wanted = assignment
    locality = None
    if copy_of is not None:
        task = copy_of.key.task
        locality = phase.pending.locality_of(task, node.node_id, node.rack)
    elif phase.job.alike:
        task, tasks = phase.pending.take_run(tasks)
    elif phase.pending.is_placed:
        task, locality = phase.pending.take_nearest(node.node_id, node.rack)
    else:
        task = phase.pending.take_one()
    number = 1
    if phase.retries or copy_of is not None:
        number = 1 + phase.retries.get(task, 0 if copy_of is None else 1)
        if number > 1:
            phase.retries[task] = number
    key = _new(AttemptKey, (phase.job_id, phase.index, task, number))
    units = None
    if state.units is WHOLE_SLOTS or slot_kind is _CONTAINER:
        slots = node.take_slots(slot_kind, tasks)
    else:
        units = node.take_slots(slot_kind, state.units[phase.kind])
        slots = ((units[0][0] // state.units[slot_kind], 1),)
    command = _new(
        Launch,
        (key, tasks, node.node_id, slot_kind, slots, locality, copy_of is not None, reason),
    )
    attempt = state.start(command, phase, node, units)
    if wanted is not None:
        state.reserve(attempt, wanted)
    if copy_of is not None:
        phase.copies.setdefault(task, [copy_of]).append(attempt)
    return command


def next_open(index: int, state: ClusterState, tasks: TaskPolicy) -> int:
    """The first node from an index on with a free slot that waiting work could use; or -1.

    Asked again after each offer, because the offer may have started all work of one kind.
    """
    nodes = state.open_nodes
    best = nodes.maps.first_from(index)
    if best >= 0 and not tasks.could_use(_MAP, state):
        best = -1
    other = nodes.reduces.first_from(index)
    if other >= 0 and (best < 0 or other < best) and tasks.could_use(_REDUCE, state):
        best = other
    other = nodes.containers.first_from(index)
    if other >= 0 and (best < 0 or other < best) and tasks.could_use(_CONTAINER, state):
        best = other
    return best
