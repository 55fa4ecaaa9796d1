"""Shortest remaining work first: the job with the least left to do is served next.

Source: Schrage, "A proof of the optimality of the shortest remaining processing time discipline",
Operations Research, 1968. Sizes are those of the profile: tasks left times their average length.
"""

from dataclasses import dataclass

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.indexes.job_ranking import JobRanking
from sluice.core.offers import Offer
from sluice.core.protocols import TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.settings import setting
from sluice.model.slot_kind import SlotKind

FIRST = Reason(ReasonCode.FIRST_IN_LINE)
REDUCE = SlotKind.REDUCE  # a look-up on the Enum at each decision takes longer


class ShortestRemaining(TaskPolicy):
    """Slots of each kind go to the job with the least work left, ties by release."""

    name = "shortest-remaining"

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """Each field is one setting: --set shortest-remaining.reduce_weight=2."""

        reduce_weight: float = setting(1.0, "weight of a second of a reduce", least=0, most=100)
        counts_running: bool = True

    def attach(self, state: ClusterState) -> None:
        # A job's key is asked for again after one of its tasks started or ended.
        self.queue = JobRanking(state, self.key)

    def key(self, job: JobEntry) -> tuple[float, int]:
        """A job's place; the order of release gives equal jobs one order, run after run."""
        return (self.left_s(job), job.release_seq)

    def fill(self, offer: Offer) -> None:
        while (phase := self.queue.first_on(offer.node)) is not None:
            tasks = min(offer.free(phase.kind), phase.pending.count) if phase.alike else 1
            offer.start(phase, phase.kind, FIRST, tasks)

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        queue = list(self.queue.phases(phase.kind))
        ahead = queue[: queue.index(phase)]
        tasks = sum(other.pending.count for other in ahead)
        return Reason(ReasonCode.BEHIND_IN_LINE, (("ahead", len(ahead)), ("tasks", tasks)))

    def left_s(self, job: JobEntry) -> float:
        """Weighted seconds of work that the job's tasks have left."""
        left_s, settings = 0.0, self.settings
        for phase in job.phases:
            tasks = phase.tasks - phase.done
            if not settings.counts_running:
                tasks -= phase.running
            weight = settings.reduce_weight if phase.kind is REDUCE else 1.0
            left_s += weight * tasks * phase.task_s
        return left_s
