"""Events: what the scheduler learns about the world, in the order in which it learns it.

Every event carries `at_s`, the instant the scheduler learns of it, in seconds since the start of
the workload. Named tuples, not dataclasses: a simulation makes millions of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from sluice.model.attempts import AttemptKey, Usage
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId
from sluice.model.job import Job
from sluice.model.queues import Pool


class FailureKind(Enum):
    """How an attempt ended without success; `counts` says whether that is the task's failure."""

    EXIT = "exit"  # its process failed, or it broke a limit
    PERMANENT = "permanent"  # every further attempt would fail in the same way
    TIMEOUT = "timeout"
    REJECTED = "rejected"  # the engine refused it
    NODE_FAULT = "node_fault"  # its node could not run it: no room for a process, a full disk
    KILLED = "killed"  # because the scheduler asked for it
    LOST = "lost"  # with its node or its engine

    @property
    def counts(self) -> bool:
        """Whether it is one of the failures that can fail the job."""
        return self not in _EXCUSED


_EXCUSED = frozenset({FailureKind.KILLED, FailureKind.LOST, FailureKind.NODE_FAULT})


class JobSubmitted(NamedTuple):
    """A job arrives.

    locations: per phase position, per task, the nodes that hold its input; missing = anywhere.
    alike: tasks of one phase that start together on a node will end together, so that the
    scheduler may count them instead of treating each by itself.
    is_last: no other job is known to arrive later.
    """

    at_s: float
    job: Job
    locations: Mapping[int, tuple[tuple[NodeId, ...], ...]] = {}
    alike: bool = False
    is_last: bool = False


class JobKilled(NamedTuple):
    """A job is cancelled: by the user, or for the reason given."""

    at_s: float
    job_id: JobId
    reason: str = ""


class JobWithdrawn(NamedTuple):
    """A job that has started nothing leaves, as if it had not come: a user holds or changes it.

    It may be submitted again, with other values.
    """

    at_s: float
    job_id: JobId


class TaskStarted(NamedTuple):
    """The process of an attempt has started: at `started_at_s` if the engine knows, else now."""

    at_s: float
    key: AttemptKey
    started_at_s: float | None = None


class TaskProgress(NamedTuple):
    """The progress of an attempt, 0 to 1; `shuffled_at_s` once all its input is fetched."""

    at_s: float
    key: AttemptKey
    fraction: float
    shuffled_at_s: float | None = None


class TaskFinished(NamedTuple):
    """An attempt (or `tasks` alike ones launched together) ended well at `finished_at_s`."""

    at_s: float
    key: AttemptKey
    finished_at_s: float
    tasks: int = 1
    shuffled_at_s: float | None = None
    usage: Usage | None = None
    outputs: tuple[str, ...] = ()


class OutputLost(NamedTuple):
    """The output of a done task is not what the task wrote, before its job has ended."""

    at_s: float
    job_id: JobId
    phase: int
    task: int
    reason: str


class TaskFailed(NamedTuple):
    """An attempt (or `tasks` alike ones launched together) ended without success.

    blames: earlier tasks whose output could not be read, as (phase, task): they run again.
    cause: the exception and its place in the user's code, without what differs between tasks; ""
    if another attempt may well do better.
    """

    at_s: float
    key: AttemptKey
    finished_at_s: float
    kind: FailureKind
    detail: str = ""
    tasks: int = 1
    usage: Usage | None = None
    blames: tuple[tuple[int, int], ...] = ()
    cause: str = ""


class NodeJoined(NamedTuple):
    """A node is there, empty. If it is up already, its faults are forgotten and no more."""

    at_s: float
    node: Node


class NodeLost(NamedTuple):
    """A node is gone, with its attempts and with the output that tasks left on it."""

    at_s: float
    node_id: NodeId
    reason: str = ""


class NodeCordoned(NamedTuple):
    """An operator wants no more tasks on a node, or wants them again. What runs there goes on.

    reason: of a cordon, at least one character.
    """

    at_s: float
    node_id: NodeId
    is_cordoned: bool
    reason: str = ""


class QueuesChanged(NamedTuple):
    """Pools and queues have other weights, limits or orders from now on; new ones have come.

    pools: all of them. One that is not among them keeps what it was, until its jobs have ended.
    """

    at_s: float
    pools: tuple[Pool, ...]


class JobsForgotten(NamedTuple):
    """Jobs that have ended, and their attempts, leave the state. What policies have charged their
    queues and users for them stays.

    A job that is unknown, has not ended or still has a running attempt is ignored.
    """

    at_s: float
    job_ids: tuple[JobId, ...]


class NodeHeartbeat(NamedTuple):
    """A node has reported and asks for work. Sent only if nodes report at intervals."""

    at_s: float
    node_id: NodeId


class Tick(NamedTuple):
    """The instant is complete: decide. A driver ends every instant with one."""

    at_s: float


Event = (
    JobSubmitted
    | JobKilled
    | JobWithdrawn
    | TaskStarted
    | TaskProgress
    | TaskFinished
    | TaskFailed
    | OutputLost
    | NodeJoined
    | NodeLost
    | NodeCordoned
    | QueuesChanged
    | JobsForgotten
    | NodeHeartbeat
    | Tick
)
