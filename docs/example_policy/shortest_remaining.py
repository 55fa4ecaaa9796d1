"""Shortest remaining work first: the job with the least left to do is served next.

Source: Schrage, "A proof of the optimality of the shortest remaining processing time discipline",
Operations Research, 1968. Sizes are those of the profile: tasks left times their average length.
"""

from collections.abc import Iterator

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry
from sluice.core.protocols import Assignment, TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.job import SlotKind

FIRST = Reason(ReasonCode.FIRST_IN_LINE)


def left_s(job: JobEntry) -> float:
    """Seconds of work that the job's tasks have left; a running task counts whole."""
    return sum(
        (phase.tasks - phase.done) * phase.phase.lengths.avg_s(phase.tasks)
        for phase in job.phases
        if phase.phase.lengths is not None
    )


class ShortestRemaining(TaskPolicy):
    """Typed slots; each goes to the job with the least work left, ties by release."""

    name = "shortest-remaining"

    def assign(self, node: NodeEntry, state: ClusterState, now_s: float) -> Iterator[Assignment]:
        for kind in (SlotKind.MAP, SlotKind.REDUCE):
            while node.free[kind] and (phase := self._first(kind, state)) is not None:
                tasks = min(node.free[kind], phase.pending.count) if phase.job.alike else 1
                yield Assignment(phase, kind, FIRST, tasks)

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        line = sorted(state.backlogs[phase.kind].phases(), key=_place)
        ahead = line[: line.index(phase)]
        tasks = sum(other.pending.count for other in ahead)
        return Reason(ReasonCode.BEHIND_IN_LINE, (("ahead", len(ahead)), ("tasks", tasks)))

    def _first(self, kind: SlotKind, state: ClusterState) -> PhaseEntry | None:
        return min(state.backlogs[kind].phases(), key=_place, default=None)


def _place(phase: PhaseEntry) -> tuple[float, int, int]:
    # Release order and phase make equal jobs stand in one order, run after run.
    return (left_s(phase.job), *phase.line_key)
