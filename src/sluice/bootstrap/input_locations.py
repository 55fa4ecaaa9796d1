"""Which virtual node wrote the files that a run reads, by the journals of earlier runs.

A part file is on the node of the attempt that wrote it. Files that no run of Sluice wrote are on
no particular node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.engines.mapreduce.layout import PreparedJob
from sluice.model.errors import SluiceError
from sluice.model.ids import JobId, NodeId
from sluice.store.rows import EntryKind, entries, prepared_jobs
from sluice.store.run_info import RunInfo
from sluice.store.runs import Runs

RUNS_LOOKED_AT = 20
_COMMITTED = EntryKind.COMMITTED


def nodes_of_files(
    prepared: Iterable[PreparedJob], runs: Runs, state_of: Callable[[RunInfo], ClusterState]
) -> dict[str, NodeId]:
    """For each input file of the jobs that an earlier run wrote: the node that wrote it.

    state_of: the state at the end of a recorded run.
    """
    paths = {Path(split.path) for each in prepared for split in each.splits}
    wanted = {path.parent for path in paths}
    found: dict[str, NodeId] = {}
    for run in islice(runs.newest(), RUNS_LOOKED_AT):
        if not wanted:
            break
        # A damaged run, or one of another release, is skipped: it must not prevent a new run.
        with suppress(SluiceError):
            for folder, parts in _written(run, wanted, state_of):
                wanted.discard(folder)
                found |= {str(folder / name): node for name, node in parts.items()}
    return {str(path): found[str(path)] for path in sorted(paths) if str(path) in found}


def _written(
    run: RunInfo, wanted: set[Path], state_of: Callable[[RunInfo], ClusterState]
) -> Iterator[tuple[Path, Mapping[str, NodeId]]]:
    """Folders among the wanted ones that the run wrote, with the node of each part file."""
    folders = {
        job_id: Path(record["output"]) for job_id, record in prepared_jobs(run.folder).items()
    }
    outputs = {job_id: folder for job_id, folder in folders.items() if folder in wanted}
    if not outputs:
        return
    rows = [entry.payload for entry in entries(run.folder) if entry.kind is _COMMITTED]
    committed = outputs.keys() & {JobId(payload) for payload in rows}
    if committed:
        state = state_of(run)
        for job_id in sorted(committed):
            yield outputs[job_id], _parts(state, job_id)


def _parts(state: ClusterState, job_id: JobId) -> dict[str, NodeId]:
    """By name of the part file: the node of the attempt whose output it is."""
    last = len(state.jobs[job_id].phases) - 1
    return {
        f"part-{attempt.key.task:05d}": attempt.node.node_id
        for attempt in state.closed
        if attempt.key.job_id == job_id
        and attempt.key.phase == last
        and attempt.state is AttemptState.DONE
        and not attempt.is_moot
    }
