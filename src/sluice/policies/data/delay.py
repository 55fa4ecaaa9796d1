"""Delay scheduling: a job waits a little for a node that holds its data.

A job may start a map at the level of its last one (node, rack, anywhere); after `node_wait_s`
without a start it may go to the rack, and after `rack_wait_s` more anywhere. A start resets the
wait. Source: dynamicmr spec, section 5.1 (after Zaharia et al., EuroSys 2010).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.cluster import Locality
from sluice.model.ids import JobId

# Asked for by the million, and a look-up on the Enum takes its time.
_NODE: Final = Locality.NODE
_RACK: Final = Locality.RACK
_ANY: Final = Locality.ANY


class Wait:
    """How long a job has waited; at which level its last task started, and in which turn.

    bound_s: how long it has to wait for its next level; infinite if it has none.
    """

    __slots__ = ("bound_s", "level", "turn", "waited_s")

    def __init__(self) -> None:
        self.level = _NODE
        self.turn = -1
        self.waited_s = 0.0
        self.bound_s = 0.0


class DelayScheduling:
    """Holds jobs back from distant nodes. Waits in seconds, at least 0."""

    def __init__(self, node_wait_s: float, rack_wait_s: float) -> None:
        self._node_wait_s = node_wait_s
        self._rack_wait_s = rack_wait_s
        self._first_level = self._level(Wait())
        self._waits: dict[JobEntry, Wait] = {}
        self._skipped: dict[JobEntry, Wait] = {}
        self._asked: dict[JobEntry, Wait] = {}
        self._turn = 0  # a number for each time that a node asks
        self._held: dict[JobEntry, Wait] = {}  # refused at this instant, with a start
        self._waits_max = 1000  # beyond that the waits of ended jobs are dropped
        self._last_at_s = 0.0
        self._has_risen = False  # a job may go further than before
        self.refused: set[PhaseEntry] = set()  # too far from the node that asks

    def saved(self) -> dict[str, Any]:
        """The waits of open jobs, as JSON values: (job, level, seconds)."""
        return {
            "waits": [
                [job.job_id, wait.level.value, wait.waited_s]
                for job, wait in self._waits.items()
                if not job.has_ended
            ],
            "skipped": [job.job_id for job in self._skipped if not job.has_ended],
            "held": [job.job_id for job in self._held if not job.has_ended],
            "last_at_s": self._last_at_s,
        }

    def restored(self, saved: Mapping[str, Any], jobs: Mapping[JobId, JobEntry]) -> None:
        """Take the waits back."""
        self._waits = {}
        for job_id, level, waited_s in saved["waits"]:
            wait = self._waits[jobs[job_id]] = Wait()
            wait.level, wait.waited_s = Locality(level), waited_s
            wait.bound_s = self._bound_s(wait)
        self._skipped = {jobs[job_id]: self._waits[jobs[job_id]] for job_id in saved["skipped"]}
        self._held = {jobs[job_id]: self._waits[jobs[job_id]] for job_id in saved["held"]}
        self._last_at_s = saved["last_at_s"]
        self._has_risen = True

    def begin(self, now_s: float) -> None:
        """A node asks for work."""
        self._turn += 1
        if self._asked:
            self._asked.clear()
        self.refused.clear()
        self.count_wait(now_s)

    def count_wait(self, now_s: float) -> None:
        """There is a node with room."""
        if now_s <= self._last_at_s:
            return  # of nodes that ask at one instant the later ones do not undo a wait
        # Every job skipped since the last heartbeat of any node has waited that long.
        passed_s = now_s - self._last_at_s
        for wait in self._skipped.values():
            wait.waited_s += passed_s
            if wait.waited_s >= wait.bound_s:
                wait.bound_s = self._bound_s(wait)
                self._has_risen = True
        self._skipped.clear()
        self._held.clear()
        self._last_at_s = now_s

    def level(self, job: JobEntry) -> Locality:
        """How far from its input the job may start a task now."""
        wait = self._waits.get(job)
        return self._first_level if wait is None else self._level(wait)

    def refuse(self, job: JobEntry) -> None:
        """It has a task, but none within its level."""
        self._asked[job] = self.wait_of(job)

    def refuse_all(self, waits: dict[JobEntry, Wait]) -> None:
        """These have a task each, but none within their levels for a node that might ask."""
        if self._skipped:
            self._skipped.update(waits)
        else:
            self._skipped = waits.copy()

    def take_has_risen(self) -> bool:
        """Whether a job may go further since this was asked last."""
        has_risen, self._has_risen = self._has_risen, False
        return has_risen

    def wait_of(self, job: JobEntry) -> Wait:
        """The wait of a job, as it goes on."""
        wait = self._waits.get(job)
        if wait is None:
            wait = self._waits[job] = Wait()
            wait.bound_s = self._bound_s(wait)
        return wait

    def allows(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        """Whether the node that asks is near enough to data of a phase; if not, it is refused."""
        if not phase.pending.is_placed:
            return True
        if phase in self.refused:  # for an earlier slot, and its job started nothing since
            return False
        if phase.pending.is_within(node.node_id, node.rack, self.level(phase.job)):
            return True
        self.refuse(phase.job)
        self.refused.add(phase)
        return False

    def _level(self, wait: Wait) -> Locality:
        if wait.level is _ANY:
            return _ANY
        if wait.level is _RACK:
            return _ANY if wait.waited_s >= self._rack_wait_s else _RACK
        if wait.waited_s < self._node_wait_s:
            return _NODE
        return _ANY if wait.waited_s >= self._node_wait_s + self._rack_wait_s else _RACK

    def started(self, job: JobEntry, locality: Locality | None) -> None:
        """The job started a task there: its wait begins again."""
        if self.refused:
            self.refused.difference_update(job.phases)
        if locality is not None:
            wait = self.wait_of(job)
            wait.level, wait.turn, wait.waited_s = locality, self._turn, 0.0
            wait.bound_s = self._bound_s(wait)
            if self._asked:
                self._asked.pop(job, None)
            if self._skipped and self._skipped.pop(job, None) is not None:
                self._held[job] = wait  # the node that it was refused still has room

    def end(self, now_s: float) -> None:
        """The node has been served: who was asked and started nothing has been skipped."""
        for job, wait in self._asked.items():
            if not job.has_ended:
                (self._held if wait.turn == self._turn else self._skipped)[job] = wait
        if len(self._waits) > self._waits_max:
            self._waits = {job: wait for job, wait in self._waits.items() if not job.has_ended}
            # Only twice as many are worth a look again, or 10,000 jobs would be at every heartbeat.
            self._waits_max = 2 * len(self._waits) + 1000

    def wake_at_s(self, now_s: float) -> float | None:
        """When a job that was held back may go further away, where there are no heartbeats."""
        # Such a node would ask again at once, and then skip those it refused after a start.
        for job, wait in self._held.items():
            if not job.has_ended:
                self._skipped[job] = wait
        self._held.clear()
        if now_s > self._last_at_s:
            return None  # no node has room, so no job waits for the clock
        at_s = math.inf
        for job, wait in self._skipped.items():
            left_s = wait.bound_s - wait.waited_s
            if now_s + left_s < at_s and not job.has_ended:
                at_s = now_s + left_s
        # Rounding may leave less of a wait than the clock can show; time must go on all the same.
        return None if at_s == math.inf else max(at_s, math.nextafter(now_s, math.inf))

    def left_s(self, job: JobEntry) -> float | None:
        """How long the job may have to wait for its next level; None if it does not wait."""
        wait = self._waits.get(job)
        if wait is None or not (job in self._skipped or job in self._held):
            return None
        left_s = wait.bound_s - wait.waited_s
        return None if left_s == math.inf else left_s

    def reason(self, phase: PhaseEntry) -> Reason | None:
        """Why a task of the phase waits, if it is for a node that is nearer to its data."""
        wait_s = self.left_s(phase.job) if phase.pending.is_placed else None
        return None if wait_s is None else Reason(ReasonCode.LOCALITY_WAIT, (("wait_s", wait_s),))

    def _bound_s(self, wait: Wait) -> float:
        """How long it has to wait for its next level; infinite if it has none."""
        bound_s = self._rack_wait_s
        if wait.level is _NODE:
            bound_s = self._node_wait_s
            if wait.waited_s >= bound_s:
                bound_s += self._rack_wait_s
        return bound_s if wait.waited_s < bound_s else math.inf
