"""Waiting for the nodes of a run: before its first jobs, and when it is resumed."""

from __future__ import annotations

from sluice.core.events import Event, NodeJoined, NodeLost
from sluice.engines.base import Engine, NodeLister
from sluice.engines.progress import Watcher
from sluice.engines.run_clock import RunClock
from sluice.model.ids import NodeId

TURN_S_MAX = 1.0
QUIET_S = 5.0  # a wait that is shorter is not worth a message
NAMED_MAX = 5


class NodeArrivals:
    """Waits for nodes of an engine that has started.

    patience_s: how long at most.  watcher: gets a message about a wait that takes long.
    """

    def __init__(
        self, engine: Engine, clock: RunClock, patience_s: float, watcher: Watcher
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._patience_s = patience_s
        self._watcher = watcher

    def wait(self, nodes: set[NodeId]) -> list[Event]:
        """Return what happens until every one of these nodes is there or lost, or has had its time.

        A cluster that knows its nodes says which of them are alive: others are not waited for.
        """
        missing = set(nodes)
        since_s = self._clock.now_s()
        has_told = False
        events: list[Event] = []
        while missing and (waited_s := self._clock.now_s() - since_s) < self._patience_s:
            if waited_s >= QUIET_S and not has_told:
                has_told = True
                self._tell(f"Waiting for {_named(missing)}, at most {self._patience_s:g} s.")
            new = self._engine.events(min(TURN_S_MAX, self._patience_s - waited_s))
            missing -= {event.node.node_id for event in new if isinstance(event, NodeJoined)}
            missing -= {event.node_id for event in new if isinstance(event, NodeLost)}
            events += new
            gone = missing - self._alive(missing)
            missing -= gone
            if gone:
                self._tell(f"Not waiting for {_named(gone)}: no longer in the cluster.")
        if missing:
            self._tell(f"Going on without {_named(missing)}.")
        return events

    def _alive(self, nodes: set[NodeId]) -> set[NodeId]:
        alive = self._engine.alive() if isinstance(self._engine, NodeLister) else None
        return nodes if alive is None else nodes & alive

    def _tell(self, message: str) -> None:
        self._watcher.on_message(message)


def _named(nodes: set[NodeId]) -> str:
    """The first of them by name, and how many more."""
    names = sorted(nodes)
    more = len(names) - NAMED_MAX
    text = ", ".join(repr(str(name)) for name in names[:NAMED_MAX])
    return f"node{'s' * (len(names) > 1)} {text}" + (f" and {more} more" if more > 0 else "")
