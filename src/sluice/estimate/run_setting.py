"""The setting of a run: its input size, and the tasks and slots of its phases.

Runs of one setting are repetitions: they differ by chance. The difference between settings is what
a prediction models.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from sluice.estimate.list_scheduling import concurrent_tasks_max
from sluice.estimate.past_phases import working_times
from sluice.estimate.phase_matching import phase_keys
from sluice.model.history import PastPhase, PastRun

WHOLE = "whole run"


@dataclass(frozen=True, slots=True)
class NotEnoughData:
    """There is too little history for an answer. `why` gives the reason. This is not an error."""

    why: str

    def __str__(self) -> str:
        return f"not enough data: {self.why}"


class PhaseSetting(NamedTuple):
    """Number of tasks and slots of a phase."""

    name: str
    tasks: int
    slots: int


@dataclass(frozen=True, slots=True)
class RunSetting:
    """Input bytes of a run, and the tasks and slots of its phases, in order."""

    input_bytes: int
    phases: tuple[PhaseSetting, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the phases."""
        return tuple(phase.name for phase in self.phases)

    @property
    def waves(self) -> int:
        """Number of waves of all phases."""
        return sum(-(-phase.tasks // phase.slots) for phase in self.phases)

    @property
    def tasks(self) -> int:
        """Number of tasks of all phases."""
        return sum(phase.tasks for phase in self.phases)

    def text(self) -> str:
        """Describe the setting in one line.

        >>> RunSetting(2048, (PhaseSetting("map", 8, 2),)).text()
        '2048 bytes, map 8 tasks on 2 slots'
        """
        parts = (
            f"{phase.name} {phase.tasks} tasks on {phase.slots} slots" for phase in self.phases
        )
        return ", ".join([f"{self.input_bytes} bytes", *parts])


class MeasuredRun(NamedTuple):
    """A past run with its setting and elapsed time, to fit or check predictions."""

    run: PastRun
    setting: RunSetting
    elapsed_s: float
    phases: tuple[PastPhase, ...]  # in the order of the setting's phases


def elapsed_s(run: PastRun) -> float | None:
    """Time from submission to end, or to the end of the last task if the log has no end."""
    if run.elapsed_s is not None:
        return run.elapsed_s if run.elapsed_s > 0 else None
    ends = [task.finished_at_s for phase in run.phases for task in phase.timeline]
    return max(ends, default=None)


def timed_runs(runs: Iterable[PastRun]) -> list[MeasuredRun]:
    """Return the successful runs that have a time, with their settings.

    If at least half of them have known slots, only those are returned, phase by phase. Otherwise
    each run counts as a single task.
    """
    timed = [
        (run, took_s)
        for run in runs
        if run.succeeded and run.phases and (took_s := elapsed_s(run)) is not None
    ]
    by_phase = [_by_phase(run, took_s) for run, took_s in timed]
    complete = [one for one in by_phase if one is not None]
    if 2 * len(complete) >= len(timed):
        return complete
    return [_as_one_task(run, took_s) for run, took_s in timed]


def _by_phase(run: PastRun, took_s: float) -> MeasuredRun | None:
    slots = [phase_slots(run, phase) for phase in run.phases]
    known = [count for count in slots if count is not None]
    worked = tuple(_worked(run, phase) for phase in run.phases)
    if len(known) < len(slots) or any(phase.avg_s <= 0 for phase in worked):
        return None
    phases = tuple(
        PhaseSetting(name, phase.tasks, count)
        for name, phase, count in zip(phase_keys(run), run.phases, known, strict=True)
    )
    return MeasuredRun(run, RunSetting(run.input_bytes, phases), took_s, worked)


def _worked(run: PastRun, phase: PastPhase) -> PastPhase:
    """The phase without the time in which its tasks waited for earlier phases."""
    _, avg_s, max_s = working_times(run, phase)
    if avg_s == phase.avg_s:
        return phase
    # The average differs only if there is a timeline.
    ready_at_s = max(
        task.finished_at_s for index in phase.after for task in run.phases[index].timeline
    )
    timeline = tuple(
        replace(task, started_at_s=min(max(task.started_at_s, ready_at_s), task.finished_at_s))
        for task in phase.timeline
    )
    return replace(phase, avg_s=avg_s, max_s=max_s, timeline=timeline)


def phase_slots(run: PastRun, phase: PastPhase) -> int | None:
    """Number of slots that a phase had, from the log or else from its timeline."""
    logged = run.slots.get(phase.kind) or run.slots.get("container")
    return logged or concurrent_tasks_max(phase.timeline)


def _as_one_task(run: PastRun, took_s: float) -> MeasuredRun:
    phase = PastPhase(
        name=WHOLE, kind="map", tasks=1, avg_s=took_s, max_s=took_s, input_bytes=run.input_bytes
    )
    setting = RunSetting(run.input_bytes, (PhaseSetting(WHOLE, 1, 1),))
    return MeasuredRun(run, setting, took_s, (phase,))
