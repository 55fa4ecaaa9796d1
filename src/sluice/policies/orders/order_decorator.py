"""An order around another: it answers as the one inside does, but for what a subclass changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mypy_extensions import mypyc_attr

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry
from sluice.core.indexes.job_ranking import JobRanking
from sluice.core.protocols import Assignment, Policy
from sluice.core.reasons import Reason
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import JobOrder, Key
from sluice.policies.memory import Memory, part_of, saved_around


@mypyc_attr(allow_interpreted_subclasses=True)
class OrderDecorator(JobOrder):
    """Does what `inner` does, candidate by candidate."""

    def __init__(self, inner: JobOrder) -> None:
        super().__init__()
        self.inner = inner

    @property
    def name(self) -> str:  # type: ignore[override]  # one name for each object, not for the class
        """The name of the order inside, because that is what users name."""
        return self.inner.name

    @property
    def follows_queues(self) -> bool:
        return self.inner.follows_queues

    def forget(self, jobs: Sequence[JobEntry]) -> None:
        self.inner.forget(jobs)

    def queues_changed(self, state: ClusterState) -> None:
        self.inner.queues_changed(state)

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self.inner.attach(state)

    def saved(self) -> Memory | None:
        return saved_around(self.inner.saved(), self.memory())

    def restored(self, saved: Memory, state: ClusterState) -> None:
        self.inner.restored(part_of(saved, "inner"), state)
        self.remember(part_of(saved, "own"), state)

    def memory(self) -> Memory | None:
        """Return what this decorator remembers besides what is inside; see `Policy.saved`."""
        return Policy.saved(self)

    def remember(self, own: Memory, state: ClusterState) -> None:
        """Remember again what `memory` returned."""
        Policy.restored(self, own, state)

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        return self.inner.candidates(kind)

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        return (self.inner.pool_place(job.pool, kind), self.inner.job_place(job, kind))

    def start_reason(self, phase: PhaseEntry) -> Reason:
        return self.inner.start_reason(phase)

    def fits(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        return self.inner.fits(phase, node)

    def may_copy(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        return self.inner.may_copy(phase, node)

    def has_room(self, node: NodeEntry, kind: SlotKind, more: int) -> bool:
        return self.inner.has_room(node, kind, more)

    def begin(self, now_s: float) -> None:
        self.inner.begin(now_s)

    def end(self, now_s: float) -> None:
        self.inner.end(now_s)

    def ever(self, method: str) -> bool:
        own = getattr(type(self), method) is not getattr(OrderDecorator, method)
        return own or self.inner.ever(method)

    def wants_offer(self, state: ClusterState) -> bool:
        return self.inner.wants_offer(state)

    def copies_on(self, job: JobEntry, node: NodeEntry, now_s: float) -> Iterable[Assignment]:
        return self.inner.copies_on(job, node, now_s)

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        return self.inner.kills(state, now_s)

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        return self.inner.wake_at_s(state, now_s)

    def holds_back(self, state: ClusterState, now_s: float) -> bool:
        return self.inner.holds_back(state, now_s)

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        return self.inner.explain(phase, state, now_s)

    def check(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> None:
        self.inner.check(jobs, nodes)

    def report(self) -> Mapping[str, object]:
        return self.inner.report()


def answering(order: JobOrder, method: str) -> JobOrder | None:
    """The part that answers a question; None if `JobOrder` itself does, by default.

    Those that pass it on are left out, for each start asks several questions, and a call of a class
    in a user's file takes as long as twenty of compiled ones.
    """
    while isinstance(order, OrderDecorator):
        if getattr(type(order), method) is not getattr(OrderDecorator, method):
            return order
        order = order.inner
    return None if getattr(type(order), method) is getattr(JobOrder, method) else order


@mypyc_attr(allow_interpreted_subclasses=True)
class Tiers(OrderDecorator):
    """Jobs of a lower tier come first, those of one tier in the order inside."""

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self._tiers: dict[JobEntry, Key] = {}  # of jobs that have waited for a slot
        self._ranking = JobRanking(state, self._place)

    def tier(self, job: JobEntry) -> Key:
        """The job's tier; it is asked for after a task of the job started or ended."""
        raise AssertionError("a Tiers defines tier()")

    def forget(self, jobs: Sequence[JobEntry]) -> None:
        super().forget(jobs)
        for job in jobs:
            self._tiers.pop(job, None)

    def _place(self, job: JobEntry) -> Key:
        tier = self._tiers[job] = self.tier(job)
        return tier

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        first = self._ranking.first_phase(kind)
        if first is None:
            return
        tier, later = self._tiers[first.job], list[PhaseEntry]()
        for phase in self.inner.candidates(kind):
            if self._tiers[phase.job] == tier:
                yield phase
            else:
                later.append(phase)
        # The first tier is mostly enough.
        later.sort(key=lambda phase: self._tiers[phase.job])
        yield from later

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        return (self.tier(job), super().job_place(job, kind))
