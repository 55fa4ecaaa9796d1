"""Under which circumstances a run was made, or is to be made: its size and its room.

Runs of one setting are repetitions of each other: how they differ is chance, and how runs of
different settings differ is what a prediction has to tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from sluice.estimate.list_scheduling import concurrent_tasks_max
from sluice.estimate.past_phases import working_times
from sluice.model.history import PastPhase, PastRun

WHOLE = "whole run"


@dataclass(frozen=True, slots=True)
class NotEnoughData:
    """History does not tell, and why: an answer, not an error."""

    why: str

    def __str__(self) -> str:
        return f"not enough data: {self.why}"


class PhaseSetting(NamedTuple):
    """Into how many tasks a phase is cut, and how many slots they have."""

    name: str
    tasks: int
    slots: int


@dataclass(frozen=True, slots=True)
class RunSetting:
    """What a run reads, and the room of each of its phases, in their order."""

    input_bytes: int
    phases: tuple[PhaseSetting, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the phases."""
        return tuple(phase.name for phase in self.phases)

    @property
    def waves(self) -> int:
        """Rounds of tasks over all phases."""
        return sum(-(-phase.tasks // phase.slots) for phase in self.phases)

    @property
    def tasks(self) -> int:
        """Tasks of all phases."""
        return sum(phase.tasks for phase in self.phases)

    def text(self) -> str:
        """As a person would say it.

        >>> RunSetting(2048, (PhaseSetting("map", 8, 2),)).text()
        '2048 bytes, map 8 tasks on 2 slots'
        """
        parts = (
            f"{phase.name} {phase.tasks} tasks on {phase.slots} slots" for phase in self.phases
        )
        return ", ".join([f"{self.input_bytes} bytes", *parts])


class MeasuredRun(NamedTuple):
    """A past run that predictions can be learned from, or held against."""

    run: PastRun
    setting: RunSetting
    elapsed_s: float
    phases: tuple[PastPhase, ...]  # one for each of the setting's


def elapsed_s(run: PastRun) -> float | None:
    """From submission to end: as the log tells it, else to the end of the last task it tells."""
    if run.elapsed_s is not None:
        return run.elapsed_s if run.elapsed_s > 0 else None
    ends = [task.finished_at_s for phase in run.phases for task in phase.timeline]
    return max(ends, default=None)


def timed_runs(runs: Iterable[PastRun]) -> list[MeasuredRun]:
    """The runs that ended well and tell how long they took, with their settings.

    Phase by phase those whose slots are known, if they are half of them or more; the others are
    passed over then. Where few tell their slots each run is taken as a single task.
    """
    timed = [
        (run, took_s)
        for run in runs
        if run.succeeded and run.phases and (took_s := elapsed_s(run)) is not None
    ]
    by_phase = [_by_phase(run, took_s) for run, took_s in timed]
    told = [one for one in by_phase if one is not None]
    if 2 * len(told) >= len(timed):
        return told
    return [_as_one_task(run, took_s) for run, took_s in timed]


def _by_phase(run: PastRun, took_s: float) -> MeasuredRun | None:
    slots = [phase_slots(run, phase) for phase in run.phases]
    known = [count for count in slots if count is not None]
    worked = tuple(_worked(run, phase) for phase in run.phases)
    if len(known) < len(slots) or any(phase.avg_s <= 0 for phase in worked):
        return None
    phases = tuple(
        PhaseSetting(phase.name, phase.tasks, count)
        for phase, count in zip(run.phases, known, strict=True)
    )
    return MeasuredRun(run, RunSetting(run.input_bytes, phases), took_s, worked)


def _worked(run: PastRun, phase: PastPhase) -> PastPhase:
    """The phase without its waiting for earlier ones, where its tasks were started early."""
    _, avg_s, max_s = working_times(run, phase)
    if avg_s == phase.avg_s:
        return phase
    # Where the average is another one there is a timeline that told so.
    ready_at_s = max(
        task.finished_at_s for index in phase.after for task in run.phases[index].timeline
    )
    timeline = tuple(
        replace(task, started_at_s=min(max(task.started_at_s, ready_at_s), task.finished_at_s))
        for task in phase.timeline
    )
    return replace(phase, avg_s=avg_s, max_s=max_s, timeline=timeline)


def phase_slots(run: PastRun, phase: PastPhase) -> int | None:
    """How many slots the tasks of a phase had; from its timeline where the log does not say."""
    told = run.slots.get(phase.kind) or run.slots.get("container")
    return told or concurrent_tasks_max(phase)


def _as_one_task(run: PastRun, took_s: float) -> MeasuredRun:
    phase = PastPhase(
        name=WHOLE, kind="map", tasks=1, avg_s=took_s, max_s=took_s, input_bytes=run.input_bytes
    )
    setting = RunSetting(run.input_bytes, (PhaseSetting(WHOLE, 1, 1),))
    return MeasuredRun(run, setting, took_s, (phase,))


def with_slots(setting: RunSetting, slots: int) -> RunSetting:
    """The same work with so many slots for each phase."""
    return replace(setting, phases=tuple(phase._replace(slots=slots) for phase in setting.phases))
