"""Phases of a future job, from its past runs: the same number of tasks, and the same lengths.

If runs had different numbers of tasks, the lengths are a table over them, with the average of the
averages and the longest of all. A task that waits for an earlier phase, such as a reduce that is
started early, counts only from the end of that phase. This needs runs with a timeline.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sluice.estimate.demand_settings import demand_from_runs, within_nodes
from sluice.estimate.phase_matching import phase_keys
from sluice.model.cluster import Node
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun
from sluice.model.job import Phase
from sluice.model.lengths import ConstantLengths, TableLengths, TaskLengths
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind

LENGTH_S_MIN = 1e-6  # an empty task can take less than the resolution of the clock

TaskTimes = tuple[int, float, float]  # tasks, average and longest, seconds
PhaseKey = tuple[str, str, int]


def phases_from_runs(runs: Sequence[PastRun]) -> tuple[Phase, ...]:
    """Return the phases of the newest run, with their lengths in all runs that have them.

    runs: newest first; each has at least one phase, and lists a phase after those it reads.
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
        )
        for named, phase in _named(runs[0])
    )


def _named(run: PastRun) -> Iterator[tuple[PhaseKey, PastPhase]]:
    """Yield each phase with its key in other runs: name, kind, and position among equal ones."""
    seen: Counter[tuple[str, str]] = Counter()
    for key, phase in zip(phase_keys(run), run.phases, strict=True):
        name = key, phase.kind
        yield (*name, seen[name]), phase
        seen[name] += 1


def with_lengths_from_runs(phases: Iterable[Phase], runs: Sequence[PastRun]) -> tuple[Phase, ...]:
    """Return the phases; one without lengths gets those of the only phase of its kind in the runs.

    A phase of a graph, of which there are many, gets those of the phase of its name.
    Raises InvalidInput if the runs have no phase of the kind, or several.
    """
    return tuple(
        phase if phase.lengths is not None else replace(phase, lengths=_of_phase(phase, runs))
        for phase in phases
    )


def _of_phase(wanted: Phase, runs: Sequence[PastRun]) -> TaskLengths:
    if wanted.kind is not SlotKind.CONTAINER:
        return _of_kind(wanted.kind, runs)
    named = [(run, [one for one in run.phases if one.name == wanted.name]) for run in runs]
    times = [working_times(run, found[0]) for run, found in named if len(found) == 1]
    return _lengths(times) if times else _of_kind(wanted.kind, runs)


def with_demand_from_runs(
    phases: Iterable[Phase], runs: Sequence[PastRun], nodes: Iterable[Node] = ()
) -> tuple[Phase, ...]:
    """Return the phases; one without a demand gets that of the newest sandbox run that has one.

    runs: newest first.
    nodes: a measured rate is at most what the largest of them has, see `within_nodes`.
    """
    capacities = [node.capacity for node in nodes]
    return tuple(
        phase if not phase.demand.is_zero else _demanding(phase, runs, capacities)
        for phase in phases
    )


def _demanding(phase: Phase, runs: Sequence[PastRun], capacities: Sequence[Resources]) -> Phase:
    measured = within_nodes(demand_from_runs(runs, phase.name), capacities)
    return replace(phase, demand=measured.with_names(phase.demand.work.other_names))


def _of_kind(kind: SlotKind, runs: Sequence[PastRun]) -> TaskLengths:
    wanted = [(run, [phase for phase in run.phases if _slot_kind(phase) is kind]) for run in runs]
    times = [working_times(run, found[0]) for run, found in wanted if len(found) == 1]
    if times:
        return _lengths(times)
    several = max(len(found) for _, found in wanted)
    raise InvalidInput(
        f"it has {several or 'no'} {kind.value} phases, and the job asks for one",
        hint="leave out maps and reduces to take all phases from the profile",
    )


def working_times(run: PastRun, phase: PastPhase) -> TaskTimes:
    """Task count, average and longest work of a phase, without waiting for earlier phases."""
    before = [task for index in phase.after for task in run.phases[index].timeline]
    ready_at_s = max((task.finished_at_s for task in before), default=-math.inf)
    if all(task.started_at_s >= ready_at_s for task in phase.timeline):
        return phase.tasks, phase.avg_s, phase.max_s
    worked_s = [
        max(0.0, task.finished_at_s - max(task.started_at_s, ready_at_s)) for task in phase.timeline
    ]
    return phase.tasks, math.fsum(worked_s) / len(worked_s), max(worked_s)


def as_worked(run: PastRun) -> PastRun:
    """The run without timelines. The lengths of its tasks are those of their work."""
    phases = []
    for phase in run.phases:
        _, avg_s, max_s = working_times(run, phase)
        phases.append(replace(phase, avg_s=avg_s, max_s=max_s, timeline=()))
    return replace(run, phases=tuple(phases))


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
    """Tasks that read a shuffle need reduce slots, others map slots, those of a graph any slot."""
    if phase.kind == SlotKind.CONTAINER.value:
        return SlotKind.CONTAINER
    return SlotKind.REDUCE if phase.kind == SlotKind.REDUCE.value else SlotKind.MAP
