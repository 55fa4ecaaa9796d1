"""How attempts run on nodes. Here: each at its own speed, whoever else is on the node.

`contention.SharedNodes` is the other way: the tasks on a node share its resources.
"""

from __future__ import annotations

from typing import Protocol

from sluice.core.commands import Launch
from sluice.core.events import AttemptKey, FailureKind, TaskFailed, TaskFinished
from sluice.core.state import ClusterState
from sluice.model.ids import JobId
from sluice.simulation.agenda import TASK_RANK, Agenda
from sluice.simulation.efforts import Efforts, Mishap
from sluice.simulation.settings import SimulationSettings

_new = tuple.__new__


class Execution(Protocol):
    """Attempts on nodes. What ends is put on the agenda as TaskFinished or TaskFailed."""

    def begin(self, launch: Launch, now_s: float) -> None:
        """An attempt starts."""

    def ended(self, key: AttemptKey) -> bool:
        """Note that an end on the agenda has come; False if the attempt was abandoned before."""

    def abandon(self, key: AttemptKey, now_s: float) -> bool:
        """An attempt is ended from outside; False if it had ended already."""

    def phase_done(self, job_id: JobId, phase: int, now_s: float) -> None:
        """All tasks of a phase are done: what waited for them may go on."""


class OwnSpeed:
    """Each attempt takes its own length. A fetching task waits for the phases before to end."""

    def __init__(
        self, agenda: Agenda, efforts: Efforts, settings: SimulationSettings, state: ClusterState
    ) -> None:
        self._agenda = agenda
        self._efforts = efforts
        self._timeout_s = settings.task_timeout_s
        self._state = state
        self._running: set[AttemptKey] = set()
        # Attempts that have started, but wait for earlier phases: (launch, all fetched at).
        self._parked: dict[tuple[JobId, int], list[tuple[Launch, float]]] = {}

    def begin(self, launch: Launch, now_s: float) -> None:
        key = launch.key
        self._running.add(key)
        effort = self._efforts.of(key.job_id, key.phase)
        if effort.waits:
            phase = self._state.jobs[key.job_id].phases[key.phase]
            fetched_at_s = now_s + effort.fetch_s
            earlier = [phase.job.phases[index] for index in phase.phase.after]
            if all(before.is_done for before in earlier):
                self._work(launch, fetched_at_s, fetched_at_s)
            else:
                self._parked.setdefault((key.job_id, key.phase), []).append((launch, fetched_at_s))
        else:
            self._work(launch, now_s, None)

    def _work(self, launch: Launch, from_s: float, shuffled_at_s: float | None) -> None:
        key = launch.key
        effort = self._efforts.of(key.job_id, key.phase)
        work_s = effort.of(key.task)
        if launch.locality is not None:
            work_s *= self._efforts.locality_factor(launch.locality)
        mishap = self._efforts.mishap(key)
        end: TaskFinished | TaskFailed
        if mishap.hangs or mishap.fails_after is not None:
            end = self._bad_end(key, from_s, work_s, mishap)
        else:
            at_s = from_s + work_s * mishap.factor
            end = _new(TaskFinished, (at_s, key, at_s, launch.tasks, shuffled_at_s, None, ()))
        self._agenda.add(end.at_s, TASK_RANK, end)

    def _bad_end(
        self, key: AttemptKey, from_s: float, work_s: float, mishap: Mishap
    ) -> TaskFailed:
        if mishap.hangs:
            at_s = from_s + self._timeout_s
            return TaskFailed(at_s, key, at_s, FailureKind.TIMEOUT, "no progress")
        assert mishap.fails_after is not None
        at_s = from_s + work_s * mishap.factor * mishap.fails_after
        return TaskFailed(at_s, key, at_s, FailureKind.EXIT, "failed by chance")

    def ended(self, key: AttemptKey) -> bool:
        if key in self._running:
            self._running.remove(key)
            return True
        return False

    def abandon(self, key: AttemptKey, now_s: float) -> bool:
        return self.ended(key)

    def phase_done(self, job_id: JobId, phase: int, now_s: float) -> None:
        for later in self._state.jobs[job_id].phases[phase].needed_by:
            for launch, fetched_at_s in self._parked.pop((job_id, later.index), ()):
                if launch.key in self._running:
                    from_s = max(now_s, fetched_at_s)
                    self._work(launch, from_s, from_s)
