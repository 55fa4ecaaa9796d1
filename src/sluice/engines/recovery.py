"""Resume a run: replay its journal through the same scheduler, then reconcile with the real world.

Recovery is not a second code path: `DriverState.handle` takes the journal's events as it takes live
ones, and its decisions are compared with those of the first time. Afterwards the scheduler believes
in attempts and nodes of a life that is over; `facts_since` gives the events that correct it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from sluice.core.commands import Command
from sluice.core.events import (
    Event,
    FailureKind,
    JobsForgotten,
    NodeJoined,
    NodeLost,
    TaskFailed,
    TaskFinished,
)
from sluice.core.garbage_collector import paused_collector
from sluice.core.state import ClusterState
from sluice.engines.base import Snapshot
from sluice.engines.driver_state import DriverState
from sluice.engines.segments import SegmentOpening
from sluice.engines.work_source import WorkSource
from sluice.model.errors import InvalidInput, StoreCorrupt
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.store.journal import Journal, decision_digest
from sluice.store.rows import Entry, EntryKind


def replay_journal(journal: Journal, driver_state: DriverState) -> bool:
    """Replay a run's journal into the scheduler; returns whether the run had finished.

    Raises StoreCorrupt as `replay` does, and for damaged rows.
    """
    with paused_collector():
        finished = journal.events_if_finished()
        if finished is None:
            return replay(journal.read(), driver_state)
        for event in finished:  # nothing follows that could contradict them
            driver_state.handle(event)
        return True


def check_resumable(
    jobs: Iterable[Job],
    source: WorkSource,
    driver_state: DriverState,
    spoilt: Callable[[JobId, str], None] | None,
) -> None:
    """Before a resumed run goes on: inputs and code are what they were, and tasks can run.

    spoilt: called for a job that cannot go on, and why; the jobs of other users go on, whatever has
    become of one. Without it the first of them raises InvalidInput.
    """
    for job in jobs:
        known = driver_state.state.jobs.get(job.job_id)
        try:
            if known is None or job.job_id in driver_state.unsettled:
                source.check_unchanged(job.job_id)
            if known is None or not known.has_ended:
                source.check_runnable(job.job_id)
        except InvalidInput as error:
            if spoilt is None:
                raise
            spoilt(job.job_id, str(error))


def pause_s_of(journal: Journal, reattach_s: float) -> float:
    """The pause since the former life in which its attempts may have gone on; 0 if it was longer.

    reattach_s: how long they go on without a driver.
    """
    pause_s = max(0.0, time.time() - journal.written_at_s)
    return pause_s if pause_s <= reattach_s else 0.0


def replay(entries: Iterable[Entry], driver_state: DriverState) -> bool:
    """Replay the journal into the scheduler; returns whether the run had finished.

    Raises StoreCorrupt, naming the row, where the scheduler decides otherwise than it did.
    """
    replayed = JournalReplay(driver_state)
    for entry in entries:
        replayed.take(entry)
    return replayed.is_finished


class JournalReplay:
    """A journal on its way into a scheduler, row by row; the run may still go on.

    forgets: whether jobs leave the scheduler as they left that of the driver. The decisions are the
    same either way.
    """

    def __init__(self, driver_state: DriverState, *, forgets: bool = True) -> None:
        self.is_finished = False
        self._forgets = forgets
        self._driver_state = driver_state
        self._decided: list[Command] = []

    def take(self, entry: Entry) -> None:
        """The next row. Raises StoreCorrupt as `replay` does."""
        match entry.kind:
            case EntryKind.EVENT:
                event = entry.event()
                if self._forgets or not isinstance(event, JobsForgotten):
                    self._decided += self._driver_state.handle(event)
            case EntryKind.DECISION:
                _check_decision(entry, self._decided)
                self._decided.clear()
            case EntryKind.EPOCH:
                self._decided.clear()  # the note on the last batch went down with its driver
            case EntryKind.COMMITTED | EntryKind.ABORTED:
                self._driver_state.settle(JobId(entry.payload))
            case EntryKind.FINISHED:
                self.is_finished = True
            case EntryKind.RUN | EntryKind.PREPARED | EntryKind.LAID_OUT:
                pass
            case EntryKind.OPENING:
                self._driver_state.restored(SegmentOpening.of(entry.payload).driver)
            case EntryKind.SUBMITTED | EntryKind.CHANGED:
                pass  # their events follow


def _check_decision(entry: Entry, decided: list[Command]) -> None:
    if entry.payload != decision_digest(decided):
        raise StoreCorrupt(
            f"row {entry.seq} of the journal: the same events were decided otherwise when the run"
            " was made. Resume it with the release, policies and settings that started it."
        )


def facts_since(
    state: ClusterState, real: Snapshot, at_s: float, reported: Iterable[Event] = ()
) -> list[Event]:
    """Return what happened during the pause: attempts and nodes that left, and new nodes.

    at_s: now.  reported: events since; an attempt whose end is among them is not gone.
    An attempt that is gone counts as ended when it was last heard of, which is the present time of
    the scheduler's own clock. Nodes that are still there keep what was left on their disks.
    """
    ended = {event.key for event in reported if isinstance(event, TaskFinished | TaskFailed)}
    alive = ended.union(real.attempts)
    here = {node.node_id: node for node in real.nodes}
    up = {node_id: entry.node for node_id, entry in state.nodes.items() if entry.is_up}
    # One that came back in another shape is another node: its slots cannot be matched.
    stays = {node_id for node_id, node in up.items() if here.get(node_id) == node}
    return [
        *(
            TaskFailed(at_s, key, state.now_s, FailureKind.LOST, "the engine ended")
            for key in state.running
            if key not in alive
        ),
        *(
            NodeLost(at_s, node_id, "gone after the pause")
            for node_id in up
            if node_id not in stays
        ),
        # Faults are forgotten: a user who resumes has fixed the machine, or wants to try.
        *(
            NodeJoined(at_s, node)
            for node in real.nodes
            if node.node_id not in stays or state.nodes[node.node_id].faults
        ),
    ]
