"""Why a task waits: for the next control cycle, for a resource, or for running tasks to end."""

from __future__ import annotations

from collections import Counter

from sluice.core.entries import PhaseEntry
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.policies.ras.job_slots import JobSlots
from sluice.policies.ras.job_stages import is_reduce, resource_name
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
    if job not in slots.utility:
        return Reason(ReasonCode.AWAITS_CYCLE, (("at_s", next_cycle_at_s),))
    if not is_reduce(phase) and not phase.has_inputs:
        left = sum(job.phases[i].tasks - job.phases[i].done for i in phase.phase.after)
        return Reason(ReasonCode.BARRIER, (("left", left),))
    kind = "reduce" if is_reduce(phase) else "map"
    pair = slots.of(job)
    held = pair.reduces if is_reduce(phase) else pair.maps
    resource, short = _shortest(phase, state, running)
    nodes = sum(node.is_up for node in state.nodes.values())
    numbers: tuple[tuple[str, float | str], ...] = (
        ("resource", resource), ("short", short), ("nodes", nodes), ("slots", held), ("kind", kind),
    )  # fmt: skip
    if is_reduce(phase) or job.job.deadline_at_s is None:
        return Reason(ReasonCode.RESOURCE_SHORT, numbers)
    goal = (("needed", float(slots.needed[job])), ("goal_at_s", job.job.deadline_at_s))
    if job in slots.yielding:
        return Reason(ReasonCode.GOAL_YIELDS, (*numbers, *goal))
    if job.job.deadline_at_s <= state.now_s:
        return Reason(ReasonCode.GOAL_PAST, (*numbers, *goal))
    return Reason(ReasonCode.RESOURCE_SHORT_FOR_GOAL, (*numbers, *goal))


def _shortest(phase: PhaseEntry, state: ClusterState, running: RunningUse) -> tuple[str, int]:
    """The resource that is short on the most nodes, and on how many."""
    counts: Counter[int] = Counter()
    for node in state.nodes.values():
        lacking = running.lacking(phase, node) if node.is_up else None
        if lacking is not None:
            counts[lacking] += 1
    if not counts:
        return _NOT_LIMITED, 0
    resource = min(counts, key=lambda r: (-counts[r], r))
    return resource_name(phase.phase.demand.work, resource), counts[resource]
