"""All recorded runs as one history: one after the other, without the time between them.

Runs on other nodes than the newest's are left out, because their load would not be the same. Tasks
are as long as they were, so that settings which draw lengths or faults do not count again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace

from sluice.bootstrap.advising.days import moved, span_of
from sluice.bootstrap.history import past_runs
from sluice.bootstrap.history.recorded_workload import recorded_workload
from sluice.bootstrap.live.run_options import RunOptions
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput, SluiceError
from sluice.model.job import Job
from sluice.model.lengths import ListedLengths
from sluice.model.workload import Workload
from sluice.simulation.settings import SimulationSettings
from sluice.store.run_info import RunInfo

OnMessage = Callable[[str], None]
_OF_THE_WORLD = frozenset(one.name for one in fields(SimulationSettings))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedHistory:
    """A workload of all runs. running: the scheduler of the newest, as `compare` takes it."""

    workload: Workload
    running: str
    runs: int


def recorded_history(on_message: OnMessage = lambda _: None) -> RecordedHistory:
    """The jobs of all runs that can be read, on the nodes of the newest.

    on_message: called for each run that is left out.  Raises InvalidInput if no job has run.
    """
    found = list(_readable(on_message))
    if not found:
        raise InvalidInput(
            "no run is recorded yet", where="--all-runs", hint="run a workload first, or give FILE"
        )
    _, newest, options = found[-1]
    assert newest.cluster is not None
    jobs: list[Job] = []
    at_s, runs = 0.0, 0
    for run, workload, _ in found:
        if workload.cluster is None or _shape(workload.cluster) != _shape(newest.cluster):
            on_message(f"Run {run.run_id} is skipped: it had other nodes than the newest run.")
            continue
        runs += 1
        jobs += moved(workload.jobs, at_s, f"{runs}.")
        at_s += span_of(workload.jobs)
    settings = {
        name: value
        for name, value in newest.settings.items()
        if name.rpartition(".")[2] not in _OF_THE_WORLD
    }
    made = replace(newest, jobs=tuple(jobs), settings=settings, source="all recorded runs")
    return RecordedHistory(workload=made, running=_row(options), runs=runs)


def _readable(on_message: OnMessage) -> Iterable[tuple[RunInfo, Workload, RunOptions]]:
    """Runs in which some task ended well, and those of their jobs whose lengths are known."""
    for run in past_runs.all_readable(on_message):
        try:
            workload, options = recorded_workload(run)
        except SluiceError as error:
            on_message(f"Run {run.run_id} is skipped. {error}")
            continue
        jobs = tuple(job for job in workload.jobs if _is_known(job))
        if jobs and workload.cluster is not None:
            yield run, replace(workload, jobs=jobs), options


def _is_known(job: Job) -> bool:
    """Whether its tasks ran: all phases have the lengths that were measured."""
    return all(isinstance(phase.lengths, ListedLengths) for phase in job.phases)


def _shape(cluster: Cluster) -> list[tuple[int, int, int]]:
    return sorted((node.map_slots, node.reduce_slots, node.containers) for node in cluster.nodes)


def _row(options: RunOptions) -> str:
    tasks = options.tasks if "=" in options.tasks else f"tasks={options.tasks}"
    words = [tasks]
    if options.release != "input":
        words.insert(0, f"release={options.release}")
    if options.admission != "all":
        words.insert(0, f"admission={options.admission}")
    return "+".join(words) + (f"[{';'.join(options.settings)}]" if options.settings else "")
