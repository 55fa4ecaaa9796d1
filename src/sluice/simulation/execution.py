"""Run attempts on nodes. Here each attempt has its own speed, independent of other attempts.

`contention.SharedNodes` is the alternative: the tasks on a node share its resources.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from sluice.core.commands import Launch
from sluice.core.entries import PhaseEntry
from sluice.core.events import AttemptKey, FailureKind, TaskFailed, TaskFinished
from sluice.core.state import ClusterState
from sluice.model.ids import JobId, NodeId
from sluice.simulation.agenda import TASK_RANK, Agenda
from sluice.simulation.efforts import Efforts, PhaseEffort
from sluice.simulation.settings import SimulationSettings

_new: Final = tuple.__new__

# Asked when an attempt has fetched its input: whether it begins its own work now.
WorkGate = Callable[[AttemptKey, float], bool]


class Execution(Protocol):
    """Runs attempts on nodes. Ends go to the agenda as TaskFinished or TaskFailed."""

    abandoned: set[AttemptKey]
    """Killed attempts whose end is still on the agenda and must be ignored."""

    def begin(self, launch: Launch, now_s: float) -> None:
        """Start an attempt."""

    def abandon(self, key: AttemptKey, now_s: float) -> None:
        """Stop a running attempt: it was killed, or its node failed."""

    def progress(self, key: AttemptKey, now_s: float) -> float:
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
        self._asking: dict[AttemptKey, Launch] = {}
        self._held: dict[AttemptKey, None] = {}
        self._agenda = agenda
        self._efforts = efforts
        self._timeout_s = settings.task_timeout_s
        self._state = state
        self.abandoned: set[AttemptKey] = set()
        # Attempts that have started but wait for earlier phases: (launch, end of fetching).
        self._parked: dict[tuple[JobId, int], list[tuple[Launch, float]]] = {}
        # When the own work of fetching attempts began; kept while they run.
        self._working_from_s: dict[AttemptKey, float] = {}

    def begin(self, launch: Launch, now_s: float) -> None:
        job_id, phase, _, _ = launch[0]
        effort = self._efforts.phases[job_id][phase]
        if effort.fetches:
            fetched_at_s = now_s + effort.fetch_s
            if self._must_wait(launch.key):
                self._parked.setdefault((job_id, phase), []).append((launch, fetched_at_s))
                return
            self._fetched(launch, effort, fetched_at_s)
            return
        self._work(launch, effort, now_s)

    def _fetched(self, launch: Launch, effort: PhaseEffort, at_s: float) -> None:
        """All input is there at that instant: work, or ask first where there is a gate."""
        if self._gate is None:
            self._work(launch, effort, at_s)
            return
        self._asking[launch.key] = launch
        self._agenda.add(at_s, TASK_RANK, partial(self._ask, launch.key))

    def _ask(self, key: AttemptKey, now_s: float) -> None:
        """Ask the gate, unless the attempt was killed since."""
        if key not in self._asking or self._gate is None:
            return
        launch = self._asking[key]
        if self._must_wait(key):
            # An output that it had fetched from was lost, and its task runs again.
            del self._asking[key]
            self._parked.setdefault((key.job_id, key.phase), []).append((launch, now_s))
        elif self._gate(key, now_s):
            del self._asking[key]
            self._work(launch, self._efforts.phases[key.job_id][key.phase], now_s)
        else:
            self._held[key] = None

    def resume(self, node_id: NodeId | None, now_s: float) -> None:
        for key in list(self._held):
            launch = self._asking.get(key)
            if launch is None:
                del self._held[key]
            elif node_id is None or launch.node_id == node_id:
                del self._held[key]
                self._ask(key, now_s)

    def _must_wait(self, key: AttemptKey) -> bool:
        """Whether a phase that the attempt reads from has unfinished tasks."""
        phases = self._state.jobs[key.job_id].phases
        for index in phases[key.phase].phase.after:
            if phases[index].done < phases[index].tasks:
                return True
        return False

    def _work(self, launch: Launch, effort: PhaseEffort, from_s: float) -> None:
        """Fetching is complete: put the attempt's end on the agenda."""
        key, tasks, _, _, _, locality, _, _ = launch
        if effort.fetches:
            self._working_from_s[key] = from_s
        each_s = effort.each_s
        work_s = effort.work_s if each_s is None else each_s[key[2]]
        if locality is not None:
            work_s *= self._efforts.locality_factor(locality)
        if self._efforts.has_mishaps:
            self._work_with_mishap(launch, effort, from_s)
            return
        at_s = from_s + work_s
        shuffled_at_s = from_s if effort.fetches else None
        end = _new(TaskFinished, (at_s, key, at_s, tasks, shuffled_at_s, None, ()))
        self._agenda.add(at_s, TASK_RANK, end)

    def _work_with_mishap(self, launch: Launch, effort: PhaseEffort, from_s: float) -> None:
        key = launch.key
        mishap = self._efforts.mishap(key)
        length_s = self._efforts.work_s(launch)
        end: TaskFinished | TaskFailed
        if mishap.hangs:
            if self._timeout_s is None:
                return
            # It works until it stops; from then on it makes no progress.
            works_s = max(0.0, mishap.hangs_at * (effort.fetch_s + length_s) - effort.fetch_s)
            at_s = from_s + works_s + self._timeout_s
            end = TaskFailed(at_s, key, at_s, FailureKind.TIMEOUT, "no progress")
        elif mishap.fails_after is not None:
            at_s = from_s + length_s * mishap.fails_after
            end = TaskFailed(at_s, key, at_s, FailureKind.EXIT, "failed by chance")
        else:
            at_s = from_s + length_s
            end = TaskFinished(at_s, key, at_s, 1, from_s if effort.fetches else None)
        self._agenda.add(at_s, TASK_RANK, end)

    def progress(self, key: AttemptKey, now_s: float) -> float:
        attempt = self._state.running[key]
        mishap = self._efforts.mishap(key)
        most = mishap.hangs_at if mishap.hangs else 1.0
        if not most:
            return 0.0
        effort = self._efforts.phases[key.job_id][key.phase]
        work_s = self._efforts.work_s(attempt.launch)
        done_s = min(effort.fetch_s, now_s - attempt.started_at_s)
        if not effort.fetches:
            done_s = now_s - attempt.started_at_s
        elif key in self._working_from_s:
            done_s += max(0.0, now_s - self._working_from_s[key])
        return min(most, done_s / (effort.fetch_s + work_s))

    def abandon(self, key: AttemptKey, now_s: float) -> None:
        if self._asking.pop(key, None) is not None:
            self._held.pop(key, None)
            return
        waiting = self._parked.get((key.job_id, key.phase), [])
        for index, (launch, _) in enumerate(waiting):
            if launch.key == key:
                del waiting[index]
                return
        self.abandoned.add(key)

    def task_done(self, phase: PhaseEntry, now_s: float) -> None:
        for later in phase.needed_by:
            for launch, fetched_at_s in self._parked.pop((phase.job_id, later.index), ()):
                effort = self._efforts.phases[phase.job_id][later.index]
                if self._must_wait(launch.key):
                    parked = self._parked.setdefault((phase.job_id, later.index), [])
                    parked.append((launch, fetched_at_s))
                else:
                    self._fetched(launch, effort, max(now_s, fetched_at_s))

    def outputs_lost(self, now_s: float) -> None:
        """Nothing to do: an attempt that has started its work has fetched all its input."""
