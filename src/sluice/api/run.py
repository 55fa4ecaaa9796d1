"""Run a workload's jobs for real, or resume a run that was interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sluice import bootstrap
from sluice.api.sources import parse_workload
from sluice.bootstrap import live_run
from sluice.core.transitions import JobState
from sluice.engines.progress import Watcher
from sluice.ingest.reading import read_source, source_folder, source_name
from sluice.reporting.result import RunResult


def run(
    source: str | Path,
    *,
    engine: str = "local",
    nodes: int | None = None,
    map_slots: int | None = None,
    reduce_slots: int | None = None,
    tasks: str = "fifo",
    release: str = "input",
    admission: str = "all",
    settings: Sequence[str] = (),
    seed: int = 0,
    resume: bool = False,
    watcher: Watcher | None = None,
) -> RunResult:
    """Run the workload's jobs for real, and measure them.

    nodes, map_slots, reduce_slots: virtual nodes on this machine instead of the file's cluster.
    resume: continue the file's last unfinished run, as it was started; begin one if there is none.
    watcher: is told how it goes.
    The result's `extra` holds run_id, predicted_makespan_s, measured, outputs, uncommitted.
    Raises InvalidInput, EngineUnavailable, StoreCorrupt, and RunInterrupted at Ctrl-C.
    """
    content = read_source(str(source))
    workload = parse_workload(
        content, source=source_name(str(source)), folder=source_folder(str(source))
    )
    plan = live_run.RunOptions(
        tasks=tasks, release=release, admission=admission, engine=engine, nodes=nodes,
        map_slots=map_slots, reduce_slots=reduce_slots, settings=tuple(settings), seed=seed,
    )  # fmt: skip
    left = live_run.resumable(workload, content) if resume else None
    if left is None:
        assembly = live_run.begin(workload, content, plan, watcher)
    else:
        assembly = live_run.resume(workload, left, watcher)
    done = assembly.run()
    result = RunResult.of(
        done.result,
        assembly.cluster,
        seed=live_run.RunOptions.of(left.header).seed if left else seed,
        events=assembly.scheduler.events,
    )
    outputs = {
        job.job_id: str(Path(job.run.folder, job.run.output))
        for job in workload.jobs
        if job.run is not None and done.result.jobs[job.job_id].state is JobState.DONE
    }
    extra = {
        "run_id": assembly.run_id,
        "was_finished": done.was_finished,
        "predicted_makespan_s": assembly.predicted_makespan_s,
        "measured": result.measured(assembly.predicted),
        "outputs": outputs,
        "uncommitted": dict(done.uncommitted),
        **bootstrap.reports(assembly.scheduler.policies),
    }
    return replace(result, extra=extra)
