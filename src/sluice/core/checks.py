"""Checks of the answers of policies, before they take effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sluice.core.entries import WHOLE_SLOTS, Attempt, JobEntry, NodeEntry, PhaseEntry, SlotUnits
from sluice.core.transitions import AttemptState
from sluice.model.attempts import AttemptKey
from sluice.model.errors import SluiceError
from sluice.model.ids import JobId
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind


class WrongDecision(SluiceError):
    """A policy gave an answer that cannot be carried out: a bug in the policy, never input."""


_CONTAINER: Final = SlotKind.CONTAINER
_CAN_BE_COPIED = frozenset({AttemptState.LAUNCHED, AttemptState.RUNNING})


def why_stray(key: AttemptKey, jobs: Mapping[JobId, JobEntry]) -> str:
    """Why a message about an attempt that does not run changes nothing."""
    job = jobs.get(key.job_id)
    phase = job.phases[key.phase] if job and 0 <= key.phase < len(job.phases) else None
    if phase is None or not 0 <= key.task < phase.tasks:
        return "task unknown"
    if key.attempt < phase.repeating().retries.get(key.task, 1):
        return "attempt stale"
    return "attempt late or unknown"


def check_start(
    phase: PhaseEntry,
    slot_kind: SlotKind,
    tasks: int,
    copy_of: Attempt | None,
    reserve: Resources | None,
    node: NodeEntry,
    units: SlotUnits,
) -> None:
    """Raise WrongDecision unless that work can start on the node now.

    units: into how many each kind of slot is divided.

    A node never runs more than it has room for, a task is never launched twice but as a declared
    copy, and nothing starts on a lost node or before the phases it waits for.
    """
    if copy_of is None:
        # `is_queued` is kept by the state: the phase may start and has waiting tasks.
        if not phase.is_queued or tasks > phase.pending.count:
            raise _too_many(phase, tasks)
    elif (
        tasks != 1
        or copy_of.tasks != 1
        or copy_of.phase is not phase
        or copy_of.state not in _CAN_BE_COPIED
    ):
        raise WrongDecision(f"attempt {copy_of.key} cannot be copied")
    if tasks != 1 and (tasks < 1 or not phase.job.alike):
        raise WrongDecision(
            f"{tasks} tasks of {phase.job.job_id} at once, but its tasks are not alike"
        )
    needed = tasks
    if units is not WHOLE_SLOTS and slot_kind is not _CONTAINER:
        needed = tasks * units[phase.kind]
    if needed > node.free.of(slot_kind).count or not node.is_up:
        raise _no_room(node, slot_kind, tasks, needed)
    if tasks > 1 and needed != tasks:
        raise WrongDecision(f"{tasks} tasks at once in slots that are divided")
    if node.is_mixed(slot_kind):
        raise WrongDecision(f"typed slots and containers were mixed on {node.node_id}")
    if reserve is not None and not node.fits(reserve):
        raise WrongDecision(f"{reserve} does not fit on {node.node_id}")


# Apart, because the texts make a check that is passed a third slower.


def _too_many(phase: PhaseEntry, tasks: int) -> WrongDecision:
    return WrongDecision(
        f"{tasks} tasks of {phase.job.job_id}/{phase.name} were assigned,"
        f" {phase.pending.count if phase.is_open else 0} may start"
    )


def _no_room(node: NodeEntry, slot_kind: SlotKind, tasks: int, needed: int) -> WrongDecision:
    return WrongDecision(
        f"{tasks} tasks, {needed} units, were assigned to {node.node_id}, which has"
        f" {node.free[slot_kind] if node.is_up else 0} free in {slot_kind.value} slots"
    )
