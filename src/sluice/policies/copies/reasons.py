"""Why LATE starts no second copy of a running attempt now: the first of its rules that forbids it.

The rules are checked in the order in which `late` applies them: those about the attempt, those
about its rate, those about other work, and those about nodes.
"""

from __future__ import annotations

from typing import Final

from sluice.core.entries import Attempt, PhaseEntry
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.model.slot_kind import SlotKind
from sluice.policies.copies.limits import CopyLimits
from sluice.policies.copies.progress_rate import rate_at
from sluice.policies.job_order import JobOrder

_TYPED: Final = (SlotKind.MAP, SlotKind.REDUCE)
CAN_BE_COPIED: Final = frozenset({AttemptState.LAUNCHED, AttemptState.RUNNING})


def rule_reason(attempt: Attempt, limits: CopyLimits, now_s: float) -> Reason | None:
    """The reason in the first of the rules about the attempt, its rate, and other work."""
    return (
        attempt_reason(attempt)
        or phase_reason(attempt.phase)
        or rate_reason(attempt, limits, now_s)
        or cap_reason(limits)
    )


def attempt_reason(attempt: Attempt) -> Reason | None:
    """The reason in the state of the attempt, or in its copies."""
    if attempt.state not in CAN_BE_COPIED:
        return Reason(ReasonCode.BEING_KILLED)
    if attempt.tasks > 1:
        return Reason(ReasonCode.COUNTED_TOGETHER, (("alike", attempt.tasks),))
    for other in attempt.phase.copies.get(attempt.task, ()):
        if other is attempt:
            continue
        if attempt.is_copy:
            return Reason(ReasonCode.IS_COPY)
        numbers = (("attempt", other.number), ("node", str(other.node.node_id)))
        return Reason(ReasonCode.HAS_COPY, numbers)
    return None


def phase_reason(phase: PhaseEntry) -> Reason | None:
    """The reason in the input of the phase, or in tasks of its job that wait for a slot."""
    if not phase.has_inputs:
        before = (phase.job.phases[index] for index in phase.phase.after)
        left = sum(earlier.tasks - earlier.done for earlier in before)
        return Reason(ReasonCode.AWAITS_INPUT, (("left", left),))
    waiting = sum(one.pending.count for one in phase.siblings if one.is_queued)
    if waiting:
        numbers = (("waiting", waiting), ("kind", phase.kind.value))
        return Reason(ReasonCode.OWN_TASKS_FIRST, numbers)
    return None


def rate_reason(attempt: Attempt, limits: CopyLimits, now_s: float) -> Reason | None:
    """The reason in the age of the attempt or in its rate."""
    phase = attempt.phase
    age_s = limits.age_s(phase)
    if attempt.started_at_s + age_s > now_s:
        return Reason(ReasonCode.TOO_YOUNG, (("age_s", age_s),))
    rate, bound = rate_at(attempt, now_s), limits.bound(phase, now_s)
    if rate < bound:
        return None
    percent = limits.settings.slow_task
    numbers = (("rate", rate), ("bound", bound), ("percentile", percent))
    return Reason(ReasonCode.NOT_SLOW, numbers)


def cap_reason(limits: CopyLimits) -> Reason | None:
    """The reason in the number of copies."""
    if limits.allows_more:
        return None
    return Reason(ReasonCode.COPIES_AT_CAP, (("most", limits.copies_max),))


def room_reason(
    attempt: Attempt,
    state: ClusterState,
    limits: CopyLimits,
    borrowers: frozenset[SlotKind],
    line: JobOrder,
) -> Reason | None:
    """The reason in the nodes that may run a copy, or in their slots.

    borrowers: kinds of task that may also run in slots of the other kind. line: who has room.
    """
    kind = attempt.phase.kind
    others = [node for node in state.nodes.values() if node.is_up and node is not attempt.node]
    if not others:
        return Reason(ReasonCode.NO_OTHER_NODE)
    fast = [node for node in others if not limits.is_slow(node)]
    if not fast:
        return Reason(ReasonCode.NODES_SLOW, (("percentile", limits.settings.slow_node),))
    kinds = _TYPED if kind in borrowers else (kind,)
    if not any(node.free[slot] for node in fast for slot in kinds):
        return Reason(ReasonCode.NO_SLOT_FOR_COPY, (("kind", kind.value),))
    # How much a node lends beyond its own slots has limits of its own, which are not checked.
    if len(kinds) == 1 and not any(line.has_room(node, kind, 1) for node in fast):
        return Reason(ReasonCode.COPY_AT_LINE, (("kind", kind.value),))
    return None
