"""Rooms: which kinds of slot a task may take, and whether it fits on a node.

`typed`: maps in map slots, reduces in reduce slots. `containers`: any slot takes any task.
`resources`: as many tasks as the node's resources hold, within its slots, if it has any. Lent slots
have rules of their own: see `dynamicmr` and `lent`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Self

from mypy_extensions import mypyc_attr

from sluice.core.entries import NodeEntry, PhaseEntry
from sluice.core.protocols import NoSettings
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.cluster import SLOTS_MAX, Node
from sluice.model.fitting import SlotShortage, slot_shortage
from sluice.model.job import Job
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind
from sluice.policies.rooms.loanable import Loanable
from sluice.policies.rooms.slot_counts import early_tasks

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE
_CONTAINER: Final = SlotKind.CONTAINER


@mypyc_attr(allow_interpreted_subclasses=True)
class Room:
    """Typed slots: each task takes a slot of its own kind.

    kinds: of slot, in the order in which a node is filled.  has_any_slot: whether every free slot
    takes every kind of task.  has_whole_slots: whether each task takes one slot, not parts of some.
    fits_by_node: whether `fits` reads nothing but what the workload says of the phase, and the node
    with what runs on it. Then a node that refused all waiting work is asked again only after it
    changed, or after other work came.
    fits_by_kind: whether of the phase it reads the kind alone. Then a room that also says
    `fits_by_node` is asked about one phase of each kind instead of all that wait.
    loans: on which nodes a slot may be lent; None where none is, or on all.
    """

    kinds: ClassVar[tuple[SlotKind, ...]] = (_MAP, _REDUCE, _CONTAINER)
    has_any_slot: ClassVar[bool] = False
    has_whole_slots: bool = True
    fits_by_node: ClassVar[bool] = False
    fits_by_kind: ClassVar[bool] = False
    loans: Loanable | None = None

    name: ClassVar[str] = ""
    Settings: ClassVar[type[Any]] = NoSettings

    def __init__(self, settings: Any = None) -> None:  # noqa: ANN401  # of the class `Settings`
        self.settings = settings

    @classmethod
    def build(cls, settings: Any) -> Self:  # noqa: ANN401  # as above
        """The room for an object of its `Settings`."""
        return cls(settings)

    def attach(self, state: ClusterState) -> None:
        """Called once before the first event."""
        self.state = state

    def fits(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        """Whether a task of the phase has room on the node, which has a free slot for it."""
        return True

    def reserve(self, phase: PhaseEntry) -> Resources | None:
        """Return what a task of the phase reserves on its node; None for nothing."""
        return None

    def shortage(self, kind: SlotKind, nodes: Sequence[Node]) -> SlotShortage | None:
        """Return what a cluster lacks to run a kind of task at all; None if nothing."""
        return slot_shortage(kind, nodes, has_any_slot=self.has_any_slot)

    def keeps_promises(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> bool:
        """Whether a number of free containers is enough to start as many tasks of any job."""
        return not any(node.map_slots or node.reduce_slots for node in nodes)

    def explain(self, phase: PhaseEntry) -> Reason | None:
        """Why a task whose turn it is finds no room; None if all slots are busy."""
        return None


@mypyc_attr(allow_interpreted_subclasses=True)
class Containers(Room):
    """Any slot takes any task.

    Tasks that read from tasks that are not done hold at most half of the containers: else they
    could hold what the tasks that they wait for need.
    """

    kinds = (_CONTAINER,)
    has_any_slot = True

    def fits(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        return phase.has_inputs or early_tasks(self.state) < self._early_max()

    def _early_max(self) -> int:
        return self.state.slots[_CONTAINER] // 2

    def keeps_promises(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> bool:
        return True

    def explain(self, phase: PhaseEntry) -> Reason | None:
        if phase.has_inputs or early_tasks(self.state) < self._early_max():
            return None
        return Reason(ReasonCode.EARLY_LIMIT, (("most", self._early_max()),))


@mypyc_attr(allow_interpreted_subclasses=True)
class Lent(Containers):
    """Slots of either kind, lent by the rules of `dynamicmr`; tasks of stages take any slot."""

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        if self.loans is not None:
            self.loans.attach(state)

    def fits(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        if phase.kind is _CONTAINER:
            return super().fits(phase, node)
        return self.loans is None or self.loans.fits(phase, node)

    def keeps_promises(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> bool:
        return self.has_whole_slots

    def explain(self, phase: PhaseEntry) -> Reason | None:
        if phase.kind is _CONTAINER:
            return super().explain(phase)
        return None if self.loans is None else self.loans.explain(phase, self.state)


@mypyc_attr(allow_interpreted_subclasses=True)
class FreeResources(Containers):
    """All that a task needs must be free on its node, as RAS counts it, and is reserved for it."""

    def fits(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        return node.fits(phase.phase.demand.work) and super().fits(phase, node)

    def reserve(self, phase: PhaseEntry) -> Resources | None:
        return phase.phase.demand.work

    def _early_max(self) -> int:
        # Nodes that are limited by their resources alone have no slots to count.
        slots = self.state.slots[_CONTAINER]
        return slots // 2 if slots else max(1, self.state.busy // 2)

    def shortage(self, kind: SlotKind, nodes: Sequence[Node]) -> SlotShortage | None:
        if any(not node.capacity.is_zero for node in nodes):
            return None
        return super().shortage(kind, nodes)

    def keeps_promises(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> bool:
        """Whether the largest task never needs more than a node has for each of its slots."""
        return all(
            used <= most * (1 + 1e-9)
            for node in nodes
            if not node.capacity.is_zero
            for job in jobs
            for phase in job.phases
            for used, most in zip(
                phase.demand.work.scaled(node.slots(_CONTAINER) or SLOTS_MAX).amounts(),
                node.capacity.amounts(),
                strict=False,
            )
        )

    def explain(self, phase: PhaseEntry) -> Reason | None:
        demand = phase.phase.demand.work
        if not any(node.is_up and node.fits(demand) for node in self.state.nodes.values()):
            return Reason(ReasonCode.NO_FIT)
        return super().explain(phase)
