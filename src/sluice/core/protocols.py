"""One protocol for each kind of decision. Policies implement them; the core imports none.

Policies read the state and never write it. A scheduler is a composition of one of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry, SlotUnits
from sluice.core.events import AttemptKey
from sluice.core.reasons import Reason
from sluice.core.state import ClusterState
from sluice.model.job import Job, SlotKind
from sluice.model.resources import Resources


class Assignment(NamedTuple):
    """Start work of a phase on the node at hand.

    slot_kind: the kind of slot it takes, which need not be the phase's own (borrowing).
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

    containers: so many are its own from now until it ends; policies that place in containers keep
    them free for it. 0 for none.  reason: what it was promised, where that is worth telling.
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


class AdmissionPolicy(Protocol):
    """Which jobs are taken."""

    def decide(self, job: Job, state: ClusterState) -> Admit | Defer | Refuse:
        """The answer for a job that has just arrived, or was deferred and is asked again."""


@runtime_checkable
class HoldsRounds(Protocol):
    """An admission policy that decides about all jobs that ask, together, at instants of its own.

    `decide` is then called for each of them at such an instant, and never between.
    """

    def round_at_s(self, now_s: float) -> float:
        """When the next round is due; `now_s` or earlier for now."""


@dataclass(frozen=True, slots=True)
class ReleaseOrder:
    """Jobs that go to the cluster now, in this order; ask again at `wake_at_s`, if given."""

    order: Sequence[JobEntry] = ()
    wake_at_s: float | None = None


class ReleasePolicy(Protocol):
    """Which waiting job goes to the cluster next, and when."""

    def release(
        self, waiting: Sequence[JobEntry], state: ClusterState, now_s: float
    ) -> ReleaseOrder:
        """What to release out of the admitted jobs that wait, in their order of arrival."""


class TaskPolicy(Protocol):
    """A node has room: which tasks, in which kind of slot."""

    def attach(self, state: ClusterState) -> None:
        """Called once before the first event; indexes over the state begin here."""

    def assign(self, node: NodeEntry, state: ClusterState, now_s: float) -> Iterable[Assignment]:
        """What to start on the node. Each answer takes effect before the next is asked for,
        so that a generator always reads the state as it is.
        """

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        """Why the startable phase has waiting tasks just now."""


@runtime_checkable
class EndsAttempts(Protocol):
    """A task policy that also ends attempts: stragglers, or holders of room others need more."""

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        """Attempts to end now; asked before work is handed out."""


@runtime_checkable
class HoldsBack(Protocol):
    """A task policy that may leave a slot free although work waits, for a while."""

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        """When work that was held back should be looked at again, if nothing else happens."""


@runtime_checkable
class MindsAttempts(Protocol):
    """A task policy that acts on what runs: it copies attempts, or ends them in time."""

    @property
    def reads_progress(self) -> bool:
        """Whether it wants to be told how far attempts are."""

    def minds(self, state: ClusterState) -> bool:
        """Whether it may act although nothing waits to start."""

    def look_at_s(self, state: ClusterState, now_s: float) -> float | None:
        """When what runs should be looked at again, if nothing else happens."""


@runtime_checkable
class DividesSlots(Protocol):
    """A task policy whose tasks take more or less than one slot where they borrow."""

    @property
    def slot_units(self) -> SlotUnits:
        """What a task of each kind takes, and how wide a slot of that kind is."""


@runtime_checkable
class Reports(Protocol):
    """A policy of any kind that has more to tell of a run than its reasons."""

    def report(self) -> Mapping[str, object]:
        """Fields of the result's document, as plain JSON values."""


class Reservation(NamedTuple):
    """Nodes of a type to rent (above 0) or to give back (below 0)."""

    vm_type: str
    nodes: int
    reason: Reason


class PoolPolicy(Protocol):
    """Which machines, how many, reserved when."""

    def reserve(
        self, waiting: Sequence[JobEntry], state: ClusterState, now_s: float
    ) -> Sequence[Reservation]:
        """Changes to the set of machines; asked once an instant."""
