"""Deadlines first, in front of any order: as many as can be met, and what is left to the others.

Now and then the jobs to keep are chosen, by the rule of Moore and Hodgson for the fewest late jobs.
The active jobs whose deadline can still be met are taken by deadline; whenever the work of those
taken so far, over all slots, would end after the deadline of the last one, the job with the most
work is dropped. The jobs that are kept come first, by deadline. The others follow in the order
inside; under `guarded` they come first while they run on less than a share of the slots.

The work of a job is what its tasks that are not done take by its profile, or by the mean of those
that are done. Sources: Moore, Management Science 15 (1968); RAS spec, `aim=goals`; loop spec, 2.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from sluice.core.entries import Attempt, JobEntry, PhaseEntry
from sluice.core.indexes.job_ranking import queued_phases
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.model.settings import PAUSE_S_MIN, SettingsGroup, number, share
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import JobOrder, Key
from sluice.policies.memory import Memory, finite, or_infinite
from sluice.policies.orders.order_decorator import OrderDecorator


@dataclass(frozen=True, kw_only=True)
class GoalSettings(SettingsGroup):
    """Settings of `--goals`."""

    guard: float = share(
        0.4, "share of the slots on which the other jobs come first (goals=guarded)"
    )
    every_s: float = number(
        10.0,
        "seconds between two choices of the jobs to keep",
        low=PAUSE_S_MIN,
        reason="the choice looks at all jobs; with thousands it costs less if rarer",
    )


class Goals(OrderDecorator):
    """The jobs whose deadlines are kept first, while the others have their share."""

    Settings: ClassVar[type[Any]] = GoalSettings

    def __init__(self, inner: JobOrder, settings: GoalSettings) -> None:
        super().__init__(inner)
        self._guard = settings.guard
        self._every_s = settings.every_s
        self._kept: dict[JobEntry, float] = {}  # with their deadlines, the first one first
        self._chosen_at_s = -math.inf
        self._lengths = _MeanLengths()

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        state.observe_attempts(self._lengths)

    def memory(self) -> Memory:
        # Of a job that has ended only what still runs counts, and only then is it in an opening.
        return {
            "kept": [job.job_id for job in self._kept if job.running or not job.has_ended],
            "chosen_at_s": finite(self._chosen_at_s),
            "lengths": self._lengths.saved(),
        }

    def remember(self, own: Memory, state: ClusterState) -> None:
        kept = [state.jobs[job_id] for job_id in own["kept"]]
        self._kept = {job: float(job.job.deadline_at_s or 0.0) for job in kept}
        self._chosen_at_s = or_infinite(own["chosen_at_s"], -math.inf)
        self._lengths.restored(own["lengths"], state)

    def begin(self, now_s: float) -> None:
        super().begin(now_s)
        self._choose_if_due(now_s)

    def _choose_if_due(self, now_s: float) -> None:
        if now_s >= self._chosen_at_s + self._every_s:
            self._chosen_at_s = now_s
            self._kept = self._chosen(now_s)

    def _chosen(self, now_s: float) -> dict[JobEntry, float]:
        """The jobs to keep, by deadline."""
        slots = max(1, self.state.slots[SlotKind.CONTAINER])
        hopeful = []
        for job in self.state.active.values():
            at_s = job.job.deadline_at_s
            if at_s is not None and now_s + self._path_s(job) <= at_s:
                hopeful.append((at_s, job.seniority, self._work_s(job), job))
        hopeful.sort(key=lambda one: one[:2])
        # Where a deadline would be missed, the longest job so far is left out.
        taken: dict[JobEntry, float] = {}
        longest: list[tuple[float, int, JobEntry]] = []
        total_s = 0.0
        for place, (at_s, _, work_s, job) in enumerate(hopeful):
            taken[job] = at_s
            heapq.heappush(longest, (-work_s, -place, job))
            total_s += work_s
            if now_s + total_s / slots > at_s:
                less_s, _, left_out = heapq.heappop(longest)
                del taken[left_out]
                total_s += less_s
        return taken

    def _work_s(self, job: JobEntry) -> float:
        """Slot-seconds of the tasks that are not done."""
        return math.fsum(
            (phase.tasks - phase.done) * self._lengths.mean_s(phase) for phase in job.phases
        )

    def _path_s(self, job: JobEntry) -> float:
        """The longest chain of phases that are not done, with a slot for each task."""
        ends: list[float] = []
        for phase in job.phases:
            before_s = max((ends[index] for index in phase.after), default=0.0)
            ends.append(before_s + (0.0 if phase.is_done else self._lengths.mean_s(phase)))
        return max(ends, default=0.0)

    # --- whose turn it is ---------------------------------------------------------------------

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        self._choose_if_due(self.state.now_s)
        if not self._kept:
            yield from self.inner.candidates(kind)
        elif self._others_first():
            yield from self._others(kind)
            yield from self._goals(kind)
        else:
            yield from self._goals(kind)
            yield from self._others(kind)

    def _goals(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        for job in self._kept:
            yield from queued_phases(job, kind)

    def _others(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        return (phase for phase in self.inner.candidates(kind) if phase.job not in self._kept)

    def _others_first(self) -> bool:
        """Whether the other jobs run on less than their share of the slots."""
        if not self._guard:
            return False
        others = self.state.busy - sum(job.running for job in self._kept)
        return others < self._guard * max(1, self.state.slots[SlotKind.CONTAINER])

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        at_s = self._kept.get(job)
        if at_s is not None:
            return (1, (at_s, job.seniority))
        return (0 if self._others_first() else 2, super().job_place(job, kind))

    def start_reason(self, phase: PhaseEntry) -> Reason:
        at_s = self._kept.get(phase.job)
        if at_s is None:
            return super().start_reason(phase)
        return Reason(ReasonCode.GOAL_KEPT, (("at_s", at_s),))

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        if self._kept and phase.job not in self._kept and not self._others_first():
            waiting = sum(1 for job in self._kept if any(one.is_queued for one in job.phases))
            if waiting:
                return Reason(ReasonCode.GOALS_FIRST, (("jobs", waiting),))
        return super().explain(phase, state, now_s)


class GoalsFirst(Goals):
    """Jobs with goals first, without a share for the others."""

    def __init__(self, inner: JobOrder, settings: GoalSettings) -> None:
        super().__init__(inner, settings)
        self._guard = 0.0


class _MeanLengths:
    """How long the tasks of a phase take: by the profile, else by those that have ended."""

    def __init__(self) -> None:
        self._ended: dict[PhaseEntry, tuple[int, float]] = {}

    def began(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""

    def ended(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        if attempt.state is AttemptState.DONE and attempt.phase.phase.lengths is None:
            count, total_s = self._ended.get(attempt.phase, (0, 0.0))
            length_s = attempt.finished_at_s - attempt.started_at_s
            self._ended[attempt.phase] = count + 1, total_s + length_s

    def saved(self) -> list[list[Any]]:
        """The sums of open jobs: (job, index of the phase, tasks, seconds)."""
        return [
            [phase.job_id, phase.index, *sums]
            for phase, sums in self._ended.items()
            if not phase.job.has_ended
        ]

    def restored(self, saved: list[list[Any]], state: ClusterState) -> None:
        """Take the sums back."""
        self._ended = {
            state.jobs[job_id].phases[index]: (count, total_s)
            for job_id, index, count, total_s in saved
        }

    def mean_s(self, phase: PhaseEntry) -> float:
        """Seconds of one task on average; 0 while nothing is known."""
        parts = [part for part in (phase.phase.fetch, phase.phase.lengths) if part is not None]
        if parts:
            return math.fsum(part.avg_s(phase.tasks) for part in parts)
        count, total_s = self._ended.get(phase, (0, 0.0))
        return total_s / count if count else 0.0
