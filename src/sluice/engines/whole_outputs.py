"""Outputs are looked at before the last task of a job counts: what was changed is made again.

Once a job has ended its tasks cannot run again. So the report that would end it is held against the
part files of all tasks: a task whose file was cut, flipped or removed since runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sluice.core.entries import PhaseEntry
from sluice.core.events import Event, FailureKind, OutputLost, TaskFailed, TaskFinished
from sluice.core.state import ClusterState
from sluice.engines.driver_state import DriverState
from sluice.engines.work_source import TaskOutput, WorkSource
from sluice.model.attempts import AttemptKey
from sluice.model.ids import JobId

_MARK = "its output was changed before it was committed"


class WholeOutputs:
    """Looks at batches of events on their way to the scheduler."""

    def __init__(
        self, driver_state: DriverState, source: WorkSource, on_message: Callable[[str], None]
    ) -> None:
        self._driver_state = driver_state
        self._state: ClusterState = driver_state.state
        self._source = source
        self._on_message = on_message

    def checked(self, batch: Sequence[Event]) -> list[Event]:
        """The batch, with what it turns out that tasks have to make again."""
        ending: dict[PhaseEntry, dict[int, TaskFinished]] = {}
        for event in batch:
            if type(event) is TaskFinished:
                attempt = self._state.running.get(event.key)
                if attempt is not None and not attempt.is_moot and _is_last(attempt.phase):
                    ending.setdefault(attempt.phase, {})[event.key.task] = event
        lost: list[Event] = []
        failed: dict[AttemptKey, TaskFailed] = {}
        for phase, events in ending.items():
            if phase.job.phases_left == 1 and phase.done + len(events) == phase.tasks:
                self._check(phase, events, lost, failed)
        if not (lost or failed):
            return list(batch)
        return [*lost, *(_instead(event, failed) for event in batch)]

    def _check(
        self,
        phase: PhaseEntry,
        events: Mapping[int, TaskFinished],
        lost: list[Event],
        failed: dict[AttemptKey, TaskFailed],
    ) -> None:
        job_id = phase.job_id
        outputs = dict(self._driver_state.outputs(job_id).get(phase.index, {}))
        for task, event in events.items():
            node_id = self._state.running[event.key].launch.node_id
            outputs[task] = TaskOutput(event.key, node_id, event.outputs)
        broken = self._source.broken_outputs(job_id, outputs)
        for task, why in sorted(broken.items()):
            self._on_message(f"job {str(job_id)!r}: task {task} runs again: {_MARK} ({why})")
            if task in events:
                failed[events[task].key] = _as_failure(events[task], why)
            else:
                at_s = events[min(events)].at_s
                lost.append(OutputLost(at_s, JobId(job_id), phase.index, task, f"{_MARK}: {why}"))


def _is_last(phase: PhaseEntry) -> bool:
    """Whether what its tasks write is the output of their job."""
    return phase.index == len(phase.job.phases) - 1


def _instead(event: Event, failed: Mapping[AttemptKey, TaskFailed]) -> Event:
    return failed.get(event.key, event) if type(event) is TaskFinished else event


def _as_failure(event: TaskFinished, why: str) -> TaskFailed:
    return TaskFailed(
        event.at_s, event.key, event.finished_at_s, FailureKind.EXIT, f"{_MARK}: {why}",
        usage=event.usage,
    )  # fmt: skip
