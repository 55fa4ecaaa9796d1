"""The seven calls that every engine answers, and the rules that keep engines honest.

An engine says which nodes there are, starts an attempt on the node that it is given, kills it, and
reports. All policy stays in the core. Source: engines spec, section 8; its six rules:

1. `launch` is accepted at once or answered by TaskFailed(REJECTED); nothing queues silently.
2. At most one terminal event per attempt; after NodeLost the core drops what arrives later.
3. A kill is done only when TaskFailed(KILLED), or the loss of the node, is seen.
4. Output is committed by rename, with attempt and epoch in the temporary name.
5. The engine itself retries nothing.
6. The engine itself speculates, steals and spills over nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from sluice.core.events import Event
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.ids import NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one attempt; None for no limit.

    idle_s: seconds without a byte read or written.  wall_s: seconds in all.
    output_bytes: bytes it may write, in all its files together.  memory_bytes: address space.
    """

    idle_s: float | None = 600.0
    wall_s: float | None = None
    output_bytes: int | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of one task, ready to start.

    epoch: which life of the core asked for it; names of temporary files hold it.
    work: what to do, as plain JSON values; `kind` says which runner does it.
    """

    key: AttemptKey
    epoch: int
    node_id: NodeId
    slot: int
    work: Mapping[str, Any]
    limits: Limits = field(default=Limits())
    kill_grace_s: float = 2.0

    @property
    def attempt_id(self) -> str:
        """Unique over the lives of the core; fit for a file name whatever the job is called."""
        return f"{self.name}-e{self.epoch}"

    @property
    def name(self) -> str:
        """Its id without the epoch: no two attempts of a run share it."""
        _, phase, task, attempt = self.key
        return f"{self.work['job_name']}-{phase}-{task}-{attempt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The nodes and attempts that really exist."""

    nodes: tuple[Node, ...]
    attempts: tuple[AttemptKey, ...]


class News(NamedTuple):
    """A task that an attempt reads from has left its output. path: where that is."""

    phase: int
    task: int
    path: str


@runtime_checkable
class Provisioner(Protocol):
    """An engine with capability `provision`: more nodes can be asked for."""

    def provision(self, nodes: int) -> None:
        """Request `nodes` additional nodes; those that come are reported as NodeJoined."""


@runtime_checkable
class Renter(Provisioner, Protocol):
    """An engine that also gives single nodes back."""

    def give_back(self, node_id: NodeId) -> None:
        """End a node on which nothing runs; it is reported as NodeLost. May be repeated."""

    def restore(
        self, rented: Sequence[Node], taken: Collection[NodeId], returned: Collection[NodeId]
    ) -> None:
        """Before `start`: nodes that a former life of the run had rented.

        taken: names that are not free.  returned: nodes that were given back, and not rented again.
        """


@runtime_checkable
class Feeder(Protocol):
    """An engine whose attempts may start before all that they read is there."""

    def feed(self, attempt: AttemptKey, news: Sequence[News], *, is_all: bool) -> None:
        """Let an attempt know where further inputs are; asynchronous, in order.

        is_all: no more will follow. An attempt that waits for nothing passes over it.
        """


@runtime_checkable
class NodeLister(Protocol):
    """An engine over a cluster that knows its nodes."""

    def alive(self) -> frozenset[NodeId] | None:
        """The nodes that the cluster counts as alive; None until it has been asked."""


@runtime_checkable
class Wakeable(Protocol):
    """An engine whose `events` also returns when something has arrived elsewhere."""

    def wake_by(self, descriptor: int, act: Callable[[], None]) -> None:
        """Have `act` called in `events` whenever there is something to read, and end the wait."""


class Engine(Protocol):
    """One way of running attempts. All calls come from one thread."""

    def start(self) -> None:
        """Connect or boot; NodeJoined follows for every node already there."""

    def capabilities(self) -> frozenset[str]:
        """Out of: kill, rusage, adopt, provision, cordon, steer-only."""

    def adopt(self, attempts: Iterable[Attempt], since_s: float) -> None:
        """Before `start`, with capability `adopt`: take these over, as far as they still exist.

        They are of former lives of the core, and their epoch does not count. The last of these
        lives ended at `since_s`; none of them is reported to have ended earlier.
        """

    def launch(self, attempt: Attempt) -> None:
        """Start an attempt; asynchronous, idempotent by attempt id."""

    def kill(self, attempt: AttemptKey, reason: str) -> None:
        """End an attempt; asynchronous, idempotent; the outcome is an event."""

    def events(self, timeout_s: float) -> list[Event]:
        """Return what happened since the last call; waits up to `timeout_s` for the first."""

    def reconcile(self) -> Snapshot:
        """After a restart of the core: what really exists."""

    def stop(self, *, kill_running: bool) -> None:
        """End the engine, and all it started if `kill_running`."""
