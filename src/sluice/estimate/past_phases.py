"""Phases of a job to come, out of its former runs: as many tasks as last time, and as long.

Where runs had different numbers of tasks, the lengths are a table over them: averages of averages,
longest of longest. A task that could not begin its work before those of an earlier phase had ended
(a reduce that was started early) is counted from then on: it had waited, not worked. That shows
only in runs that tell their tasks one by one.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sluice.estimate.demand_settings import demand_from_runs
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun
from sluice.model.job import Phase, SlotKind
from sluice.model.lengths import ConstantLengths, TableLengths, TaskLengths

LENGTH_S_MIN = 1e-6  # a clock may tell no time at all for an empty task

TaskTimes = tuple[int, float, float]  # tasks, average and longest, seconds
PhaseKey = tuple[str, str, int]


def phases_from_runs(runs: Sequence[PastRun]) -> tuple[Phase, ...]:
    """The phases of the newest of these runs, with their lengths in all runs that had them.

    runs: newest first; each has a phase at least, and none that comes after a later one.
    """
    spans: dict[PhaseKey, list[TaskTimes]] = defaultdict(list)
    for run in runs:
        for named, phase in _named(run):
            spans[named].append(working_times(run, phase))
    return tuple(
        Phase(
            name=phase.name,
            kind=_slot_kind(phase),
            tasks=phase.tasks,
            lengths=_lengths(spans[named]),
            after=phase.after,
            demand=demand_from_runs(runs, phase.name),
        )
        for named, phase in _named(runs[0])
    )


def _named(run: PastRun) -> Iterator[tuple[PhaseKey, PastPhase]]:
    """Each phase with what it is known by in other runs: name, kind, and which of those it is."""
    seen: Counter[tuple[str, str]] = Counter()
    for phase in run.phases:
        name = phase.name, phase.kind
        yield (*name, seen[name]), phase
        seen[name] += 1


def with_lengths_from_runs(phases: Iterable[Phase], runs: Sequence[PastRun]) -> tuple[Phase, ...]:
    """The phases, with lengths where they had none; each is the only one of its kind in the runs.

    Raises InvalidInput where the runs have none of the kind, or several.
    """
    return tuple(
        phase if phase.lengths is not None else replace(phase, lengths=_of_kind(phase.kind, runs))
        for phase in phases
    )


def _of_kind(kind: SlotKind, runs: Sequence[PastRun]) -> TaskLengths:
    wanted = [(run, [phase for phase in run.phases if _slot_kind(phase) is kind]) for run in runs]
    told = [working_times(run, found[0]) for run, found in wanted if len(found) == 1]
    if told:
        return _lengths(told)
    several = max(len(found) for _, found in wanted)
    raise InvalidInput(
        f"it has {several or 'no'} {kind.value} phases, and the job asks for one",
        hint="leave out maps and reduces, so that the profile tells all phases",
    )


def working_times(run: PastRun, phase: PastPhase) -> TaskTimes:
    """Tasks of a phase, and their average and longest work, without waiting for earlier phases."""
    before = [task for index in phase.after for task in run.phases[index].timeline]
    ready_at_s = max((task.finished_at_s for task in before), default=-math.inf)
    if all(task.started_at_s >= ready_at_s for task in phase.timeline):
        return phase.tasks, phase.avg_s, phase.max_s
    worked_s = [
        max(0.0, task.finished_at_s - max(task.started_at_s, ready_at_s)) for task in phase.timeline
    ]
    return phase.tasks, math.fsum(worked_s) / len(worked_s), max(worked_s)


def _lengths(spans: Iterable[TaskTimes]) -> TaskLengths:
    by_tasks: dict[int, list[TaskTimes]] = defaultdict(list)
    for one in spans:
        by_tasks[one[0]].append(one)
    rows = tuple(_rows(by_tasks))
    return ConstantLengths(*rows[0][1:]) if len(rows) == 1 else TableLengths(rows)


def _rows(by_tasks: dict[int, list[TaskTimes]]) -> Iterator[TaskTimes]:
    for tasks, spans in sorted(by_tasks.items()):
        average_s = math.fsum(one[1] for one in spans) / len(spans)
        average_s = max(average_s, LENGTH_S_MIN)
        yield tasks, average_s, max(average_s, *(one[2] for one in spans))


def _slot_kind(phase: PastPhase) -> SlotKind:
    """Tasks that read a shuffle take the slots of reduces, all others those of maps."""
    return SlotKind.REDUCE if phase.kind == SlotKind.REDUCE.value else SlotKind.MAP
