"""Run attempts on nodes. Here each attempt has its own speed, independent of other attempts.

`contention.SharedNodes` is the alternative: the tasks on a node share its resources.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from sluice.core.entries import Attempt, PhaseEntry
from sluice.core.events import FailureKind, TaskFailed
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.ids import NodeId
from sluice.simulation.agenda import TASK_RANK, Agenda
from sluice.simulation.attempt_work import AttemptWork, work_of
from sluice.simulation.efforts import FINE, Efforts, Mishap, PhaseEffort
from sluice.simulation.settings import SimulationSettings

# Asked when an attempt has fetched its input: whether it begins its own work now.
WorkGate = Callable[[AttemptKey, float], bool]


class Execution(Protocol):
    """Runs attempts on nodes. Ends go to the agenda as TaskFinished or TaskFailed; an attempt on
    the agenda ends well when its `work` says.
    """

    abandoned: set[AttemptKey]
    """Killed attempts whose end is still on the agenda and must be ignored."""

    def begin(self, attempt: Attempt, now_s: float) -> None:
        """Start an attempt."""

    def abandon(self, key: AttemptKey, now_s: float) -> None:
        """Stop a running attempt: it was killed, or its node failed."""

    def progress(self, attempt: Attempt, now_s: float) -> float:
        """Progress of a running attempt, 0 to 1, of its fetching and work together."""

    hears_each_task: bool
    """Whether `task_done` is called for each finished task, not only for the last of a phase."""

    def task_done(self, phase: PhaseEntry, now_s: float) -> None:
        """A task of a phase that others wait for has finished; waiting attempts may continue."""

    def resume(self, node_id: NodeId | None, now_s: float) -> None:
        """Ask again for attempts on a node (None: on all) that may not begin their own work."""

    def outputs_lost(self, now_s: float) -> None:
        """A node was lost with the outputs of finished tasks; their readers must wait."""


class OwnSpeed:
    """Each attempt takes its own length. A fetching task waits until earlier phases have ended."""

    hears_each_task = False

    def __init__(
        self,
        agenda: Agenda,
        efforts: Efforts,
        settings: SimulationSettings,
        state: ClusterState,
        gate: WorkGate | None = None,
    ) -> None:
        self._gate = gate
        # Attempts that ask the gate at the end of their fetching, or were held back by it.
        self._asking: dict[AttemptKey, Attempt] = {}
        self._held: dict[AttemptKey, None] = {}
        self._agenda = agenda
        self._efforts = efforts
        self._timeout_s = settings.task_timeout_s
        self._state = state
        self.abandoned: set[AttemptKey] = set()
        # Attempts that have started but wait for earlier phases: (attempt, end of fetching).
        self._parked: dict[PhaseEntry, list[tuple[Attempt, float]]] = {}

    def begin(self, attempt: Attempt, now_s: float) -> None:
        phase = attempt.phase
        effort = self._efforts.of(phase)
        if effort.fetches:
            fetched_at_s = now_s + effort.fetch_s
            if _must_wait(phase):
                self._parked.setdefault(phase, []).append((attempt, fetched_at_s))
                return
            self._fetched(attempt, effort, fetched_at_s)
            return
        self._work(attempt, effort, now_s)

    def take_over(self, attempt: Attempt) -> None:
        """An attempt that has run since its `started_at_s`; its length counts from then on."""
        phase, since_s = attempt.phase, attempt.started_at_s
        if _must_wait(phase):
            self._parked.setdefault(phase, []).append((attempt, since_s))
        else:
            self._work(attempt, self._efforts.of(phase), since_s)

    def _fetched(self, attempt: Attempt, effort: PhaseEffort, at_s: float) -> None:
        """All input is there at that instant: work, or ask first where there is a gate."""
        if self._gate is None:
            self._work(attempt, effort, at_s)
            return
        self._asking[attempt.key] = attempt
        self._agenda.add(at_s, TASK_RANK, partial(self._ask, attempt.key))

    def _ask(self, key: AttemptKey, now_s: float) -> None:
        """Ask the gate, unless the attempt was killed since."""
        if key not in self._asking or self._gate is None:
            return
        attempt = self._asking[key]
        if _must_wait(attempt.phase):
            # An output that it had fetched from was lost, and its task runs again.
            del self._asking[key]
            self._parked.setdefault(attempt.phase, []).append((attempt, now_s))
        elif self._gate(key, now_s):
            del self._asking[key]
            self._work(attempt, self._efforts.of(attempt.phase), now_s)
        else:
            self._held[key] = None

    def resume(self, node_id: NodeId | None, now_s: float) -> None:
        for key in list(self._held):
            attempt = self._asking.get(key)
            if attempt is None:
                del self._held[key]
            elif node_id is None or attempt.node.node_id == node_id:
                del self._held[key]
                self._ask(key, now_s)

    def _work(self, attempt: Attempt, effort: PhaseEffort, from_s: float) -> None:
        """Fetching is complete: put the attempt's end on the agenda."""
        work = work_of(attempt)
        if effort.fetches:
            work.from_s = from_s
        if self._efforts.has_mishaps:
            self._work_with_mishap(attempt, work, effort, from_s)
            return
        listed_s = effort.listed_s
        work_s = effort.of(attempt.task) if listed_s is None else listed_s[attempt.task]
        if attempt.locality is not None:
            work_s *= self._efforts.locality_factor(attempt.locality)
        work.own_s = work_s
        at_s = work.ends_at_s = from_s + work_s
        self._agenda.add(at_s, TASK_RANK, attempt)

    def _work_with_mishap(
        self, attempt: Attempt, work: AttemptWork, effort: PhaseEffort, from_s: float
    ) -> None:
        mishap = self._note_work(attempt, work, effort)
        length_s = work.own_s
        if mishap is FINE or (mishap.fails_after is None and not mishap.hangs):
            at_s = work.ends_at_s = from_s + length_s
            self._agenda.add(at_s, TASK_RANK, attempt)
            return
        key = attempt.key
        if mishap.hangs:
            if self._timeout_s is None:
                return
            # It works until it stops; from then on it makes no progress.
            works_s = max(0.0, mishap.hangs_at * (effort.fetch_s + length_s) - effort.fetch_s)
            at_s = from_s + works_s + self._timeout_s
            failure = TaskFailed(at_s, key, at_s, FailureKind.TIMEOUT, "no progress")
        else:
            assert mishap.fails_after is not None
            at_s = from_s + length_s * mishap.fails_after
            failure = TaskFailed(at_s, key, at_s, FailureKind.EXIT, "failed by chance")
        self._agenda.add(at_s, TASK_RANK, failure)

    def progress(self, attempt: Attempt, now_s: float) -> float:
        effort = self._efforts.of(attempt.phase)
        work = work_of(attempt)
        if work.own_s != work.own_s:  # not a number: it still fetches
            self._note_work(attempt, work, effort)
        most = work.progress_max
        if not most:
            return 0.0
        done_s = now_s - attempt.started_at_s
        if effort.fetches:
            done_s = min(done_s, effort.fetch_s)
            if now_s > work.from_s:  # false before its own work begins
                done_s += now_s - work.from_s
        share = done_s / (effort.fetch_s + work.own_s)
        return min(most, share)

    def _note_work(self, attempt: Attempt, work: AttemptWork, effort: PhaseEffort) -> Mishap:
        """Keep how long its own work takes, and how far it gets."""
        efforts = self._efforts
        mishap = efforts.mishap_in(effort, attempt.task, attempt.number)
        if mishap is not FINE and mishap.hangs:
            work.progress_max = mishap.hangs_at
        work_s = effort.of(attempt.task)
        if attempt.locality is not None:
            work_s *= efforts.locality_factor(attempt.locality)
        factor = 1.0 if mishap is FINE else mishap.factor
        work.own_s = work_s * factor * efforts.node_factor(attempt.node.node_id)
        return mishap

    def abandon(self, key: AttemptKey, now_s: float) -> None:
        if self._asking.pop(key, None) is not None:
            self._held.pop(key, None)
            return
        phase = self._state.jobs[key.job_id].phases[key.phase]
        waiting = self._parked.get(phase, [])
        for index, (attempt, _) in enumerate(waiting):
            if attempt.key == key:
                del waiting[index]
                return
        self.abandoned.add(key)

    def task_done(self, phase: PhaseEntry, now_s: float) -> None:
        if not self._parked:
            return
        for later in phase.needed_by:
            for attempt, fetched_at_s in self._parked.pop(later, ()):
                if _must_wait(later):
                    self._parked.setdefault(later, []).append((attempt, fetched_at_s))
                else:
                    self._fetched(attempt, self._efforts.of(later), max(now_s, fetched_at_s))

    def outputs_lost(self, now_s: float) -> None:
        """Nothing to do: an attempt that has started its work has fetched all its input."""


def _must_wait(phase: PhaseEntry) -> bool:
    """Whether a phase that it reads from has unfinished tasks."""
    return not phase.has_inputs
