"""The base class of each kind of policy, and the values that policies answer with.

A scheduler is one policy of each kind. A policy reads the state and never writes it. Each base
class gives a default to every optional method, so that a policy overrides only what it needs and
the core calls methods without asking for types. Policies from outside the package derive from
these classes; `policies/guard.py` checks their answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, SupportsIndex

from mypy_extensions import mypyc_attr

from sluice.core.entries import WHOLE_SLOTS, Attempt, JobEntry, NodeEntry, PhaseEntry, SlotUnits
from sluice.core.indexes.by_kind import KINDS
from sluice.core.offers import Offer
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.fitting import SlotShortage, slot_shortage
from sluice.model.ids import NodeId
from sluice.model.job import Job
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind


class Assignment(NamedTuple):
    """Start work of a phase on the node that was offered.

    slot_kind: the kind of slot that it takes; it may differ from the phase's own (borrowing).
    tasks: how many; above 1 only where the job's tasks are alike.
    copy_of: start a second attempt of this running attempt's task instead of a waiting task.
    reserve: resources that must be free on the node (placement by resources).
    """

    phase: PhaseEntry
    slot_kind: SlotKind
    reason: Reason
    tasks: int = 1
    copy_of: Attempt | None = None
    reserve: Resources | None = None


@dataclass(frozen=True, slots=True)
class Admit:
    """Take the job.

    containers: how many are reserved for the job until it ends; task policies that place in
    containers keep them free for it. 0 for none.  reason: what the job was promised, if anything.
    """

    containers: int = 0
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Defer:
    """Ask again later."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Refuse:
    """Do not take the job."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class ReleaseOrder:
    """Jobs that go to the cluster now, in this order; ask again at `wake_at_s`, if given."""

    order: Sequence[JobEntry] = ()
    wake_at_s: float | None = None


class Reservation(NamedTuple):
    """Nodes of a type to rent (above 0) or to give back (below 0).

    node_ids: which ones to give back; where there are none, those with the least work.
    """

    vm_type: str
    nodes: int
    reason: Reason
    node_ids: tuple[NodeId, ...] = ()


class NoSettings:
    """The settings of a policy that has none."""


# Classes from outside the package are never compiled, and must be able to derive from these.
@mypyc_attr(allow_interpreted_subclasses=True)
class Policy:
    """The part that all kinds of policy have in common.

    name: in workload files, on the command line, and the prefix of the policy's settings.
    Settings: a frozen dataclass; each field is one setting. See `sluice.model.settings.setting`.
    remembers: the attributes that the state does not show, each a JSON value; () for none, None if
    it cannot be saved. One whose values are no JSON defines `saved` and `restored` itself.
    """

    name: ClassVar[str] = ""
    Settings: ClassVar[type[Any]] = NoSettings
    remembers: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, settings: Any = None) -> None:  # noqa: ANN401  # the subclass's own type
        self.settings: Any = self.Settings() if settings is None else settings

    @property
    def waits_without_bound(self) -> str:
        """Return what a job may wait for that never comes while others arrive; "" for nothing.

        A verb and its object, such as "waits for the last job". A service refuses such a policy.
        """
        return ""

    @classmethod
    def build(cls, settings: Any) -> Any:  # noqa: ANN401  # a policy may come decorated
        """The policy for an object of its `Settings`."""
        return cls(settings)

    def report(self) -> Mapping[str, object]:
        """Fields that the policy adds to the document of a run, as plain JSON values."""
        return {}

    def saved(self) -> Mapping[str, Any] | None:
        """The memory that the state does not show, as JSON values; None if it cannot be saved."""
        names = self.remembers
        return None if names is None else {name: getattr(self, name) for name in names}

    def restored(self, saved: Mapping[str, Any], state: ClusterState) -> None:
        """Take back what `saved` returned, before any event; other values may raise ValueError."""
        for name in self.remembers or ():
            setattr(self, name, saved[name])

    def forget(self, jobs: Sequence[JobEntry]) -> None:
        """Let go of jobs that have left the state. No decision on another job may change by it."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:  # noqa: ANN401  # as of any object
        """Copy a subclass with its attributes: a class that is compiled would leave them out."""
        found: Any = object.__reduce_ex__(self, protocol)
        own = getattr(self, "__dict__", None)
        if not own or not isinstance(found[2], dict):
            return found
        return (*found[:2], {**found[2], **own}, *found[3:])


@mypyc_attr(allow_interpreted_subclasses=True)
class AdmissionPolicy(Policy):
    """Decides which jobs are taken.

    makes_promises: whether it admits jobs with containers of their own (`Admit.containers`), which
    the task policy must then keep free for them.
    """

    makes_promises: ClassVar[bool] = False

    @property
    def machines(self) -> PoolPolicy | None:
        """Rents and gives back nodes for the jobs that it admits; None if it does not."""
        return None

    def decide(self, job: Job, state: ClusterState) -> Admit | Defer | Refuse:
        """The answer for a job that has just arrived, or that was deferred and is asked again."""
        raise AssertionError("an AdmissionPolicy defines decide()")

    def round_at_s(self, now_s: float) -> float | None:
        """When the next round of decisions is due; `now_s` or earlier for now, None without rounds.

        In a round `decide` is called for all jobs that wait for an answer, and never between two.
        """
        return None


@mypyc_attr(allow_interpreted_subclasses=True)
class ReleasePolicy(Policy):
    """Decides which waiting jobs go to the cluster next, and when.

    is_on_arrival: whether each job is released once it is admitted, so that nothing is asked.
    """

    is_on_arrival: ClassVar[bool] = False

    def release(
        self, waiting: Sequence[JobEntry], state: ClusterState, now_s: float
    ) -> ReleaseOrder:
        """Which of the admitted jobs to release now. waiting: in their order of arrival."""
        raise AssertionError("a ReleasePolicy defines release()")


@mypyc_attr(allow_interpreted_subclasses=True)
class PoolPolicy(Policy):
    """Decides which machines to rent, and when."""

    @property
    def start_s(self) -> float:
        """Seconds from the request for a machine until it joins, as the simulator has it."""
        return 0.0

    def reserve(
        self, waiting: Sequence[JobEntry], state: ClusterState, now_s: float
    ) -> Sequence[Reservation]:
        """Changes to the set of machines; asked once an instant."""
        return ()

    def kept_free(self, state: ClusterState) -> int:
        """Containers to keep free for jobs that wait for machines; asked after `reserve`."""
        return 0

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        """When to ask again if nothing else happens before; None for never."""
        return None


@mypyc_attr(allow_interpreted_subclasses=True)
class TaskPolicy(Policy):
    """Decides which tasks start on a node with room, and in which kind of slot.

    Only `assign` or `fill` is required. At each decision the scheduler calls `kills`, then `fill`
    for each node with room, then `wake_at_s`.
    """

    def ever(self, method: str) -> bool:
        """Whether `kills` or `wants_offer` is its own and must be asked, or the default."""
        return getattr(type(self), method) is not getattr(TaskPolicy, method)

    def attach(self, state: ClusterState) -> None:
        """Register indexes with `state.observe` and `state.observe_attempts`, before any event."""

    def unfinished_jobs(self) -> Iterable[JobEntry]:
        """The jobs that have ended, and that it has still to do with: an opening keeps them."""
        return ()

    @property
    def follows_queues(self) -> bool:
        """Whether it can take up queues that change while it runs; see `queues_changed`."""
        return False

    def queues_changed(self, state: ClusterState) -> None:
        """Take up that pools have other weights, limits or orders, and that there are new ones."""

    def fill(self, offer: Offer) -> None:
        """Start what is to run on the node of the offer, with `offer.start`, one after the other.

        The counts of the state are right again after each start. By default it starts what
        `assign` answers.
        """
        for phase, slot_kind, reason, tasks, copy_of, reserve in self.assign(
            offer.node, offer.state, offer.now_s
        ):
            offer.start(phase, slot_kind, reason, tasks, copy_of, reserve)

    def assign(self, node: NodeEntry, state: ClusterState, now_s: float) -> Iterable[Assignment]:
        """Return what to start on the node, for a policy that only answers; see `fill`.

        Each takes effect before the next is asked for: a generator always reads the current state.
        """
        raise AssertionError("a TaskPolicy defines fill() or assign()")

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        """Why the startable phase has waiting tasks now."""
        return Reason(ReasonCode.NOT_CHOSEN, (("policy", self.name or type(self).__name__),))

    def explain_copy(self, attempt: Attempt, state: ClusterState, now_s: float) -> Reason:
        """Why no second copy of the running attempt's task starts now."""
        return Reason(ReasonCode.NO_COPIES, (("policy", self.name or type(self).__name__),))

    def copies_on(self, job: JobEntry, node: NodeEntry, now_s: float) -> Iterable[Assignment]:
        """Copies of slow tasks of a job on a node that it has to itself; both change with each."""
        return ()

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        """Attempts to end now; asked before work is assigned."""
        return ()

    def wants_offer(self, state: ClusterState) -> bool:
        """Whether the policy may act although no task waits to start: it copies or ends attempts.

        If true, nodes with room are offered to it, and `wake_at_s` is asked, at every decision.
        """
        return False

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        """Whether a free slot of this kind could be given to work that waits now.

        Nodes that have room in no such kind are not offered, so that a decision costs what it
        starts. A false answer must mean that the policy would start nothing on such a node and
        change nothing in itself. By default a task uses a slot of its own kind, and any slot under
        a policy with `has_any_slot`; one that copies attempts (`wants_offer`) may use every slot.
        """
        if self.has_any_slot and state.startable:
            return True
        return state.backlogs[slot_kind].count > 0 or self.wants_offer(state)

    def next_node(self, index: int, state: ClusterState) -> int:
        """The first node from an index on with a free slot that waiting work could use; or -1.

        Asked again after each offer, because the offer may have started all work of one kind.
        """
        best = -1
        for kind in KINDS:
            found = state.open_nodes.of(kind).first_from(index)
            if found >= 0 and (best < 0 or found < best) and self.could_use(kind, state):
                best = found
        return best

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        """When to decide again if nothing else happens before; None for never."""
        return None

    def holds_back(self, state: ClusterState, now_s: float) -> bool:
        """Whether a task that could start is held back for a while.

        The simulator asks when only the policy can bring a run to its end. By default a policy
        that asks to be woken holds something back.
        """
        return self.wake_at_s(state, now_s) is not None

    @property
    def has_any_slot(self) -> bool:
        """Whether it gives any free slot to any kind of task, so that free slots add up."""
        return False

    @property
    def needs_containers(self) -> bool:
        """Whether it sees every slot as a container, and every task as one for a container."""
        return False

    def keeps_promises(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> bool:
        """Whether it keeps the containers free that admission has promised to jobs."""
        return False

    @property
    def ignores_slowstart(self) -> bool:
        """Whether the policy itself decides when later phases may start, whatever `slowstart`."""
        return False

    @property
    def gates_work(self) -> bool:
        """Whether a task that has fetched its input asks before it begins its own work."""
        return False

    def may_begin_work(self, attempt: Attempt, state: ClusterState, now_s: float) -> bool:
        """Whether the attempt, which has fetched its input, begins its own work now.

        If not, the driver asks again before each decision about the node. Asked only of policies
        with `gates_work`.
        """
        return True

    def notes(self, job: JobEntry) -> Iterable[tuple[float, str, str]]:
        """Return what the policy adds to the story of a job: instant, what happened, and why."""
        return ()

    @property
    def reads_progress(self) -> bool:
        """Whether running attempts report their progress to the scheduler."""
        return False

    @property
    def slot_units(self) -> SlotUnits:
        """How many units a task of each kind takes, and a slot of that kind has."""
        return WHOLE_SLOTS

    def check(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> None:
        """Refuse jobs or nodes that the policy cannot work with; called before anything runs.

        Raises InvalidInput naming the job or node and the field.
        """

    def shortage(self, kind: SlotKind, nodes: Sequence[Node]) -> SlotShortage | None:
        """Return what a cluster lacks to run a kind of task at all, with all slots idle.

        None if nothing. By default a task takes the slots that `could_use` says by default.
        """
        return slot_shortage(kind, nodes, has_any_slot=self.has_any_slot)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """One policy for each kind of decision."""

    admission: AdmissionPolicy
    release: ReleasePolicy
    tasks: TaskPolicy
    pools: PoolPolicy
