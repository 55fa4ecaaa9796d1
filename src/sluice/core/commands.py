"""Commands of the scheduler. Each names its subject, so that it is safe to carry out twice."""

from __future__ import annotations

from typing import NamedTuple

from sluice.core.indexes.free_slots import Interval
from sluice.core.reasons import Reason
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Locality
from sluice.model.ids import JobId, NodeId
from sluice.model.slot_kind import SlotKind


class Launch(NamedTuple):
    """Start an attempt, or `tasks` alike ones with consecutive task numbers, on a node.

    slots: which slots of the kind they take, as intervals; their lengths add up to `tasks`.
    locality: None where the task's input is nowhere in particular.
    """

    key: AttemptKey
    tasks: int
    node_id: NodeId
    slot_kind: SlotKind
    slots: tuple[Interval, ...]
    locality: Locality | None
    is_copy: bool
    reason: Reason


class Kill(NamedTuple):
    """End an attempt; the outcome comes back as TaskFailed of kind KILLED."""

    key: AttemptKey
    reason: Reason


class Wake(NamedTuple):
    """Send a Tick at this instant, if nothing else happens then."""

    at_s: float


class Provision(NamedTuple):
    """Rent this many more nodes of a type."""

    vm_type: str
    nodes: int
    reason: Reason


class Release(NamedTuple):
    """Give a node back once nothing runs on it."""

    node_id: NodeId
    reason: Reason


class Reject(NamedTuple):
    """Refuse a job; none of its tasks will run."""

    job_id: JobId
    reason: Reason


Command = Launch | Kill | Wake | Provision | Release | Reject
