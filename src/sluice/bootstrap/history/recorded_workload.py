"""A recorded run as a workload, to ask what would have happened had something been otherwise.

Its jobs come when they came, on its nodes, with the lengths that its tasks had. A task that did not
end is as long as those of its phase that did, or else as the file said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from statistics import fmean

from sluice.bootstrap.history import past_runs
from sluice.bootstrap.live.run_options import RunOptions, scheduler_part
from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.scheduler import Scheduler
from sluice.core.transitions import AttemptState
from sluice.model.cluster import Cluster
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.model.workload import Workload
from sluice.store.run_info import RunInfo

_LEAST_S = 0.001  # a clock may not see a task


def recorded_workload(run: RunInfo) -> tuple[Workload, RunOptions]:
    """The workload of a run, and the options with which it was scheduled. Raises as `replayed`."""
    scheduler = past_runs.replayed(run)
    state = scheduler.state
    measured = _lengths_s(scheduler)
    nodes = tuple(entry.node for entry in state.nodes.values())
    workload = replace(
        scheduler_part(run.header),
        cluster=Cluster(nodes=nodes) if nodes else None,
        jobs=tuple(_job(entry, measured) for entry in state.jobs.values()),
        source=run.run_id,
    )
    return workload, RunOptions.of(run.header)


def _lengths_s(scheduler: Scheduler) -> dict[PhaseEntry, dict[int, float]]:
    """The lengths of tasks that ended well, by phase and number of the task."""
    found: dict[PhaseEntry, dict[int, float]] = {}
    for one in scheduler.state.closed:
        if one.state is AttemptState.DONE and not one.is_undone:
            length_s = max(_LEAST_S, one.finished_at_s - one.started_at_s)
            tasks = range(one.task, one.task + one.tasks)
            found.setdefault(one.phase, {}).update(dict.fromkeys(tasks, length_s))
    return found


def _job(entry: JobEntry, measured: dict[PhaseEntry, dict[int, float]]) -> Job:
    phases = tuple(_phase(phase, measured.get(phase, {})) for phase in entry.phases)
    return replace(entry.job, phases=phases, submitted_at_s=entry.submitted_at_s, run=None)


def _phase(entry: PhaseEntry, measured: dict[int, float]) -> Phase:
    if not measured:
        return entry.phase
    mean_s = fmean(measured.values())
    lengths_s = tuple(_in_order(entry.tasks, measured, mean_s))
    return replace(entry.phase, lengths=ListedLengths(lengths_s))


def _in_order(tasks: int, measured: dict[int, float], mean_s: float) -> Iterable[float]:
    return (measured.get(task, mean_s) for task in range(tasks))
