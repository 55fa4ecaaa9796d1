"""A job as a control cycle sees it: its maps, its reduces, and their demand.

A phase that reads earlier phases and has reduces is the reduce side of its job: its tasks may start
before their input is complete, and shuffle until it is. Everything else counts as maps, from the
moment at which its input is there; a stage of a DAG is served like the maps of a job.
"""

from __future__ import annotations

from dataclasses import replace

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry
from sluice.core.state import ClusterState
from sluice.model.resources import RESOURCE_NAMES, Resources
from sluice.model.slot_kind import SlotKind
from sluice.policies.ras.placement import NodeCapacity, Vector

SLOT_RESOURCE = "slots"
_UNLIMITED = float("inf")
_NONE = 1e-300  # a capacity is above 0


def vector(demand: Resources, slots: float = 1.0) -> Vector:
    """The demand of a task, with the slot that it takes on nodes with a number of slots."""
    return (*demand.amounts(), slots)


def resource_name(demand: Resources, index: int) -> str:
    """The resource at a place of the vector of a demand."""
    return (*demand.names, SLOT_RESOURCE)[index]


def capacity_of(node: NodeEntry) -> NodeCapacity:
    """The capacity of a node.

    Cpu, io, memory, network and slots of which it has 0 are unlimited, as in the simulator. Of
    another resource it then has none.
    """
    capacity = node.node.capacity
    common = (amount or _UNLIMITED for amount in replace(capacity, other=()).amounts())
    other = (amount or _NONE for _, amount in capacity.other)
    slots = float(node.node.slots(SlotKind.CONTAINER))
    return NodeCapacity(node_id=node.node_id, capacity=(*common, *other, slots or _UNLIMITED))


def reserve_of(demand: Resources, node: NodeEntry) -> Resources:
    """Return what of a demand the node has to set aside: resources that it limits."""
    limited = node.node.capacity
    amounts = {name: getattr(demand, name) for name in RESOURCE_NAMES if getattr(limited, name)}
    return Resources.named(amounts, demand.other)


def is_reduce(phase: PhaseEntry) -> bool:
    """Whether the phase belongs to the reduce side of its job."""
    return phase.kind is SlotKind.REDUCE and bool(phase.phase.after)


def map_phases(job: JobEntry) -> list[PhaseEntry]:
    """Phases whose tasks count as maps now: not done, and their input is complete."""
    return [p for p in job.phases if not p.is_done and not is_reduce(p) and p.has_inputs]


def map_phase(job: JobEntry) -> PhaseEntry | None:
    """The phase that starts the job's next map: the first with waiting tasks."""
    phases = map_phases(job)
    return next((phase for phase in phases if phase.pending.count), phases[0] if phases else None)


def reduce_phase(job: JobEntry) -> PhaseEntry | None:
    """The first phase of the reduce side that is not done."""
    return next((phase for phase in job.phases if not phase.is_done and is_reduce(phase)), None)


def reduces_may_work(job: JobEntry) -> bool:
    """Whether the input of the job's next reduces is complete."""
    phase = reduce_phase(job)
    return phase is not None and phase.has_inputs


def works_at_once(phase: PhaseEntry) -> bool:
    """Whether a task that starts now never has to wait for input."""
    return not is_reduce(phase) or phase.has_inputs


def fetch_demand(phase: PhaseEntry, shuffle_memory: str) -> Resources:
    """Demand of a shuffling task. shuffle_memory "reduce": the memory of its work counts too."""
    demand = phase.phase.demand
    if shuffle_memory == "reduce":
        return replace(demand.fetch, memory=max(demand.fetch.memory, demand.work.memory))
    return demand.fetch


def start_demand(phase: PhaseEntry, shuffle_memory: str) -> Vector:
    """Demand of a task that starts now, before any map is counted.

    A task whose input is complete fetches only briefly, so it starts with room for its work.
    """
    work = vector(phase.phase.demand.work)
    if not phase.phase.after:
        return work
    fetch = vector(fetch_demand(phase, shuffle_memory))
    if works_at_once(phase):
        return tuple(map(max, work, fetch))
    return fetch


def has_only_slots(state: ClusterState) -> bool:
    """Whether no node that is up states what it has besides slots."""
    return all(entry.node.capacity.is_zero for entry in state.nodes.values() if entry.is_up)
