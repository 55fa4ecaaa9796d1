"""Why a task waits: for the next control cycle, for a resource, or for running tasks to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sluice.core.entries import PhaseEntry
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.policies.ras.job_slots import JobSlots
from sluice.policies.ras.job_stages import has_only_slots, is_reduce, resource_name
from sluice.policies.ras.running_use import RunningUse

_NOT_LIMITED = "job slots"


def explain(
    phase: PhaseEntry,
    state: ClusterState,
    slots: JobSlots,
    running: RunningUse,
    next_cycle_at_s: float,
) -> Reason:
    """The reason, with the slots of the job and those that its goal needs."""
    job = phase.job
    is_slots_only = has_only_slots(state)
    if job not in slots.utility and not is_slots_only:
        return Reason(ReasonCode.AWAITS_CYCLE, (("at_s", next_cycle_at_s),))
    if not phase.has_inputs and (not is_reduce(phase) or is_slots_only):
        left = sum(job.phases[i].tasks - job.phases[i].done for i in phase.phase.after)
        return Reason(ReasonCode.BARRIER, (("left", left),))
    nodes = [node for node in state.nodes.values() if node.is_up]
    lacking = {node: running.lacking(phase, node) for node in nodes}
    pair = slots.of(job)
    numbers: tuple[tuple[str, float | str], ...] = (
        ("nodes", len(nodes)),
        ("slots", pair.reduces if is_reduce(phase) else pair.maps),
        ("kind", "reduce" if is_reduce(phase) else "map"),
    )
    room = sum(lack is None and not running.on(node).held for node, lack in lacking.items())
    if room and phase.is_queued and job not in slots.yielding:
        where = (("room", room), ("at_s", next_cycle_at_s))
        return Reason(ReasonCode.ROOM_AT_CYCLE, (*numbers, *where))
    resource, short = _shortest(phase, lacking.values())
    numbers = (("resource", resource), ("short", short), *numbers)
    return _short(phase, state, slots, numbers)


def _short(
    phase: PhaseEntry,
    state: ClusterState,
    slots: JobSlots,
    numbers: tuple[tuple[str, float | str], ...],
) -> Reason:
    """The reason of a job for which a resource is short, with the slots that its goal needs."""
    job, goal_at_s = phase.job, phase.job.job.deadline_at_s
    if is_reduce(phase) or goal_at_s is None or job not in slots.needed:
        return Reason(ReasonCode.RESOURCE_SHORT, numbers)
    goal = (("needed", float(slots.needed[job])), ("goal_at_s", goal_at_s))
    if job in slots.yielding:
        return Reason(ReasonCode.GOAL_YIELDS, (*numbers, *goal))
    if goal_at_s <= state.now_s:
        return Reason(ReasonCode.GOAL_PAST, (*numbers, *goal))
    return Reason(ReasonCode.RESOURCE_SHORT_FOR_GOAL, (*numbers, *goal))


def _shortest(phase: PhaseEntry, lacking: Iterable[int | None]) -> tuple[str, int]:
    """The resource that is short on the most nodes, and on how many.

    lacking: the first resource that is short, by node.
    """
    counts = Counter(resource for resource in lacking if resource is not None)
    if not counts:
        return _NOT_LIMITED, 0
    resource = min(counts, key=lambda r: (-counts[r], r))
    return resource_name(phase.phase.demand.work, resource), counts[resource]
