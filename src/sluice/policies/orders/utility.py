"""The job with the least utility first: RAS's measure of how far a job is from its goal.

Utility compares the slots that a job has with those that its goal needs; see `ras.utility`. Phases
that read from no other count as its maps, all others as its reduces. Source: RAS spec, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.indexes.job_ranking import queued_phases
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import JobOrder, Key
from sluice.policies.ras.utility import job_utility, map_slots_needed


class LeastUtility(JobOrder):
    """Jobs by their utility with the slots that they hold now."""

    name: ClassVar[str] = "utility"
    remembers = ()

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        waiting = {phase.job for phase in self.state.backlogs[kind].in_order()}
        for job in sorted(waiting, key=lambda one: self.job_place(one, kind)):
            yield from queued_phases(job, kind)

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        return (self._utility(job), job.seniority)

    def _utility(self, job: JobEntry) -> float:
        first = [phase for phase in job.phases if not phase.after]
        later = [phase for phase in job.phases if phase.after]
        maps_left, reduces_left = _left(first), _left(later)
        needed = map_slots_needed(
            maps_left, _mean_s(first), job.job.deadline_at_s, self.state.now_s, _path_s(later)
        )
        maps, reduces = _running(first), _running(later)
        return job_utility(maps, needed, maps_left, reduces, reduces_left)

    def start_reason(self, phase: PhaseEntry) -> Reason:
        return Reason(ReasonCode.LEAST_UTILITY, (("utility", _shown(self._utility(phase.job))),))


def _left(phases: list[PhaseEntry]) -> int:
    return sum(phase.tasks - phase.done for phase in phases)


def _running(phases: list[PhaseEntry]) -> int:
    return sum(phase.running for phase in phases)


def _length_s(phase: PhaseEntry) -> float | None:
    lengths = phase.phase.lengths
    return None if lengths is None else lengths.avg_s(phase.tasks)


def _mean_s(phases: list[PhaseEntry]) -> float | None:
    """Mean length of the tasks that are left; None if it is not known of all."""
    left = [(phase.tasks - phase.done, _length_s(phase)) for phase in phases]
    known = [(tasks, length_s) for tasks, length_s in left if length_s is not None]
    tasks = sum(tasks for tasks, _ in known)
    if len(known) < len(left) or not tasks:
        return None
    return math.fsum(tasks * length_s for tasks, length_s in known) / tasks


def _path_s(phases: list[PhaseEntry]) -> float:
    """Seconds that the later phases take one after the other, each with a slot for every task."""
    return math.fsum(_length_s(phase) or 0.0 for phase in phases if not phase.is_done)


def _shown(utility: float) -> float:
    """A job without a slot has no utility; JSON cannot express that as a number."""
    return max(utility, -999.0)
