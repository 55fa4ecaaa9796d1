"""The record that a driver keeps next to the scheduler's state, and the one way events go in.

The driver passes every event to `DriverState.handle`, live and in a replay, so that what
is remembered after a crash is what was remembered before it: which task left which files, which
jobs are not settled yet, and when the scheduler wants to be woken.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

from sluice.core.commands import Command, Wake
from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.events import Event, JobsForgotten, JobSubmitted, JobWithdrawn, TaskFinished, Tick
from sluice.core.scheduler import Scheduler
from sluice.core.transitions import AttemptState, JobState
from sluice.engines.work_source import JobOutputs, TaskOutput
from sluice.model.attempts import AttemptKey
from sluice.model.ids import JobId, NodeId


class DriverState:
    """The record of one run that its driver keeps.

    unsettled: submitted jobs whose output is neither committed nor removed.
    forgotten: jobs that have left the state, until their driver has taken note of it.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.state = scheduler.state
        self.unsettled: dict[JobId, JobEntry] = {}
        self.forgotten: set[JobId] = set()
        self._outputs: dict[JobId, dict[int, dict[int, TaskOutput]]] = {}
        self._in_order: dict[JobId, dict[int, list[TaskOutput]]] = {}  # as tasks ended; all of them
        self._wakes: list[float] = []  # a heap, without doubles thanks to:
        self._alarms: set[float] = set()
        self.opened_at_s = 0.0  # when the present segment of the journal began,
        self._opened_after = 0  # and after how many events

    def saved(self) -> dict[str, Any]:
        """Return all that a driver which starts from an opening cannot see in the state.

        The values are plain JSON.
        """
        return {"unsettled": list(self.unsettled), "wakes": sorted(self._wakes)}

    def restored(self, saved: Mapping[str, Any]) -> None:
        """Take it back, into a scheduler that was made of the opening."""
        self.unsettled = {job_id: self.state.jobs[job_id] for job_id in saved["unsettled"]}
        self._wakes, self._alarms = list(saved["wakes"]), set(saved["wakes"])
        self.opened()
        for attempt in self.state.closed:
            if attempt.state is AttemptState.DONE:
                self._keep_output(attempt.key, attempt.launch.node_id, attempt.outputs)

    def opened(self) -> None:
        """The journal goes on in a new segment."""
        self.opened_at_s, self._opened_after = self.state.now_s, self.scheduler.events

    @property
    def events_since_opening(self) -> int:
        """How many events the present segment of the journal has."""
        return self.scheduler.events - self._opened_after

    def handle(self, event: Event) -> list[Command]:
        """Let the scheduler handle the event, and write down what concerns the driver."""
        if isinstance(event, TaskFinished):
            self._record_output(event)
        commands = self.scheduler.handle(event)
        if isinstance(event, Tick):
            self._clear_alarms(event.at_s)
        elif isinstance(event, JobSubmitted):
            entry = self.state.jobs[event.job.job_id]
            self.unsettled[entry.job_id] = entry
        elif isinstance(event, JobWithdrawn) and event.job_id not in self.state.jobs:
            self.settle(event.job_id)
        elif isinstance(event, JobsForgotten):
            self.forgotten.update(one for one in event.job_ids if one not in self.state.jobs)
        for command in commands:
            if isinstance(command, Wake):
                self._set_alarm(command.at_s)
        return commands

    def _set_alarm(self, at_s: float) -> None:
        # One at this very instant has been answered already: it is what is being handled.
        if at_s > self.state.now_s and at_s not in self._alarms:
            self._alarms.add(at_s)
            heapq.heappush(self._wakes, at_s)

    def _clear_alarms(self, now_s: float) -> None:
        while self._wakes and self._wakes[0] <= now_s:
            self._alarms.discard(heapq.heappop(self._wakes))

    def _record_output(self, event: TaskFinished) -> None:
        attempt = self.state.running.get(event.key)
        if attempt is None or attempt.is_moot:
            return  # late, repeated, or the twin of one that was first
        self._keep_output(event.key, attempt.launch.node_id, event.outputs)

    def _keep_output(self, key: AttemptKey, node_id: NodeId, files: tuple[str, ...]) -> None:
        phases = self._outputs.setdefault(key.job_id, {})
        output = TaskOutput(key, node_id, files)
        phases.setdefault(key.phase, {})[key.task] = output
        self._in_order.setdefault(key.job_id, {}).setdefault(key.phase, []).append(output)

    def outputs(self, job_id: JobId) -> JobOutputs:
        """Return what the done tasks of a job left. A task that runs again is listed until then."""
        return self._outputs.get(job_id, {})

    def outputs_there(self, job_id: JobId) -> JobOutputs:
        """Do what `outputs` does, without the tasks whose output is lost."""
        phases = self.state.jobs[job_id].phases
        return {
            index: found
            if len(found) <= phases[index].done
            else self._of_done(phases[index], found)
            for index, found in self.outputs(job_id).items()
        }

    def _of_done(
        self, phase: PhaseEntry, outputs: Mapping[int, TaskOutput]
    ) -> Mapping[int, TaskOutput]:
        log = self.state.closed
        rows = (log.attempt(row) for row in log.rows_of(phase))
        undone = {attempt.key for attempt in rows if attempt.is_undone}
        return {task: one for task, one in outputs.items() if one.key not in undone}

    def outputs_since(self, job_id: JobId, phase: int, seen: int) -> Sequence[TaskOutput]:
        """The outputs of a phase's tasks, in the order of their ends, without the first `seen`."""
        return self._in_order.get(job_id, {}).get(phase, [])[seen:]

    def inputs_ready(self, job_id: JobId, phase: int) -> bool:
        """Whether all that a phase reads is there; with slow-start its tasks may be early."""
        phases = self.state.jobs[job_id].phases
        return all(phases[earlier].is_done for earlier in phases[phase].phase.after)

    def ended(self) -> list[JobEntry]:
        """Jobs to settle: they have ended and, but for done ones, nothing of them runs."""
        state = self.state
        if len(self.unsettled) == len(state.deferred) + len(state.waiting) + len(state.active):
            return []
        busy = {key.job_id for key in state.running}
        return [
            entry
            for entry in self.unsettled.values()
            if entry.has_ended and (entry.state is JobState.DONE or entry.job_id not in busy)
        ]

    def settle(self, job_id: JobId) -> None:
        """The job's output is committed or removed: forget about it."""
        self.unsettled.pop(job_id, None)
        self._outputs.pop(job_id, None)
        self._in_order.pop(job_id, None)

    def wake_at_s(self) -> float | None:
        """When the scheduler wants a Tick, if nothing else happens."""
        return self._wakes[0] if self._wakes else None

    def is_woken(self, now_s: float) -> bool:
        """Whether the scheduler wants a Tick now."""
        return bool(self._wakes) and self._wakes[0] <= now_s
