"""A task policy around another: it forwards every call, and subclasses add to some."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mypy_extensions import mypyc_attr

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry, SlotUnits
from sluice.core.offers import Offer
from sluice.core.protocols import Assignment, Policy, TaskPolicy
from sluice.core.reasons import Reason
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.fitting import SlotShortage
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind
from sluice.policies.memory import Memory, part_of, saved_around


@mypyc_attr(allow_interpreted_subclasses=True)
class Decorator(TaskPolicy):
    """Does what `inner` does. A subclass overrides what it adds to, and calls `super()`."""

    def __init__(self, inner: TaskPolicy) -> None:
        super().__init__()
        self.inner = inner

    @property
    def name(self) -> str:  # type: ignore[override]  # one name for each object, not for the class
        """The name of what it decorates, because that is what users name."""
        return self.inner.name

    @property
    def reads_progress(self) -> bool:
        return self.inner.reads_progress

    @property
    def has_any_slot(self) -> bool:
        return self.inner.has_any_slot

    @property
    def needs_containers(self) -> bool:
        return self.inner.needs_containers

    def keeps_promises(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> bool:
        return self.inner.keeps_promises(jobs, nodes)

    @property
    def ignores_slowstart(self) -> bool:
        return self.inner.ignores_slowstart

    @property
    def gates_work(self) -> bool:
        return self.inner.gates_work

    def may_begin_work(self, attempt: Attempt, state: ClusterState, now_s: float) -> bool:
        return self.inner.may_begin_work(attempt, state, now_s)

    def notes(self, job: JobEntry) -> Iterable[tuple[float, str, str]]:
        return self.inner.notes(job)

    @property
    def slot_units(self) -> SlotUnits:
        return self.inner.slot_units

    @property
    def follows_queues(self) -> bool:
        return self.inner.follows_queues

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

    def unfinished_jobs(self) -> Iterable[JobEntry]:
        return self.inner.unfinished_jobs()

    def forget(self, jobs: Sequence[JobEntry]) -> None:
        self.inner.forget(jobs)

    def queues_changed(self, state: ClusterState) -> None:
        self.inner.queues_changed(state)

    def attach(self, state: ClusterState) -> None:
        self.inner.attach(state)

    def fill(self, offer: Offer) -> None:
        self.inner.fill(offer)

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        return self.inner.explain(phase, state, now_s)

    def explain_copy(self, attempt: Attempt, state: ClusterState, now_s: float) -> Reason:
        return self.inner.explain_copy(attempt, state, now_s)

    def copies_on(self, job: JobEntry, node: NodeEntry, now_s: float) -> Iterable[Assignment]:
        return self.inner.copies_on(job, node, now_s)

    def ever(self, method: str) -> bool:
        own = getattr(type(self), method) is not getattr(Decorator, method)
        return own or self.inner.ever(method)

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        return self.inner.kills(state, now_s)

    def wants_offer(self, state: ClusterState) -> bool:
        return self.inner.wants_offer(state)

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        return self.inner.could_use(slot_kind, state)

    def next_node(self, index: int, state: ClusterState) -> int:
        return self.inner.next_node(index, state)

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        return self.inner.wake_at_s(state, now_s)

    def holds_back(self, state: ClusterState, now_s: float) -> bool:
        return self.inner.holds_back(state, now_s)

    def check(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> None:
        self.inner.check(jobs, nodes)

    def shortage(self, kind: SlotKind, nodes: Sequence[Node]) -> SlotShortage | None:
        return self.inner.shortage(kind, nodes)

    def report(self) -> Mapping[str, object]:
        return self.inner.report()


def earlier(one_s: float | None, other_s: float | None) -> float | None:
    """The earlier of two instants, each of which may be None for never."""
    if one_s is None or other_s is None:
        return other_s if one_s is None else one_s
    return min(one_s, other_s)
