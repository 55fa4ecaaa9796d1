"""A part of each other axis of a scheduler, as small as it can be."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry
from sluice.core.offers import Offer
from sluice.core.protocols import AdmissionPolicy, Admit, Refuse, ReleaseOrder, ReleasePolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.job import Job
from sluice.model.settings import setting
from sluice.model.slot_kind import SlotKind
from sluice.policies.copies.copy_order import CopyOrder
from sluice.policies.decorator import Decorator, earlier
from sluice.policies.job_order import JobOrder, Key
from sluice.policies.orders.order_decorator import OrderDecorator, Tiers
from sluice.policies.rooms.room import Room

REDUCE = SlotKind.REDUCE  # a look-up on the Enum at each decision takes longer


class DeadlinesOnly(AdmissionPolicy):
    """--admission: only jobs with a deadline get in."""

    def decide(self, job: Job, state: ClusterState) -> Admit | Refuse:
        has_one = job.deadline_at_s is not None
        return Admit() if has_one else Refuse(Reason(ReasonCode.NO_DEADLINE))


class OneAtATime(ReleasePolicy):
    """--release: the next job goes to the cluster when the one before it has ended."""

    def release(
        self, waiting: Sequence[JobEntry], state: ClusterState, now_s: float
    ) -> ReleaseOrder:
        return ReleaseOrder(() if state.active else waiting[:1])


class DeadlinesFirst(Tiers):
    """--goals: jobs with a deadline before all others, each group in the order inside."""

    def tier(self, job: JobEntry) -> Key:
        return (job.job.deadline_at_s is None,)


class OneReduceEach(Room):
    """--slots: typed slots, and no node runs more than one reduce."""

    fits_by_node = fits_by_kind = True  # it looks at nothing else, so it is asked less often

    def fits(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        return phase.kind is not REDUCE or not node.used(REDUCE)


class Old(CopyOrder):
    """--copies: a task that has run for `old.after_s` gets a second attempt where nothing waits."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """One setting: --set old.after_s=30."""

        after_s: float = setting(25.0, "seconds after which a task is started again", least=0)

    def __init__(self, inner: JobOrder, settings: Settings) -> None:
        super().__init__(inner)
        self._after_s = settings.after_s

    def worth_a_copy(self, kind: SlotKind) -> Iterable[Attempt]:
        before_s = self.state.now_s - self._after_s
        return [one for one in self.running(kind) if one.started_at_s <= before_s]


class AfterCopying(OrderDecorator):
    """--data: no task starts until the input has been copied to the nodes."""

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        """One setting: --set after-copying.hold_s=30."""

        hold_s: float = setting(10.0, "seconds until all input is on the nodes", least=0)

    def __init__(self, inner: JobOrder, settings: Settings) -> None:
        super().__init__(inner)
        self._hold_s = settings.hold_s

    def fits(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        return self.state.now_s >= self._hold_s and super().fits(phase, node)

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        inner_s = super().wake_at_s(state, now_s)
        return earlier(inner_s, self._hold_s) if now_s < self._hold_s else inner_s

    def holds_back(self, state: ClusterState, now_s: float) -> bool:
        return now_s < self._hold_s or super().holds_back(state, now_s)


class AllButFirst(Decorator):
    """--machines: the first node is kept free for other work."""

    def fill(self, offer: Offer) -> None:
        if offer.node.index > 0:
            super().fill(offer)
