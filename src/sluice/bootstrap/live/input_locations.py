"""Which node has the files that a run reads.

A part file is on the node of the attempt that wrote it, as the journals of earlier runs say. A file
of HDFS is where its blocks are, if the cluster has nodes on those hosts. Other files are on no
particular node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.engines.data_plane.stores import Store, is_url
from sluice.engines.mapreduce.input_places import PlacedPart
from sluice.engines.mapreduce.layout import PreparedJob
from sluice.model.cluster import Node
from sluice.model.errors import SluiceError
from sluice.model.ids import JobId, NodeId
from sluice.store.rows import EntryKind, entries, prepared_jobs
from sluice.store.run_info import RunInfo
from sluice.store.runs import Runs

RUNS_LOOKED_AT = 20
THREADS = 8  # that ask where the blocks of files are
_COMMITTED = EntryKind.COMMITTED


def input_places(
    prepared: Sequence[PreparedJob],
    nodes: Iterable[Node],
    runs: Runs,
    state_of: Callable[[RunInfo], ClusterState],
) -> dict[str, Sequence[PlacedPart]]:
    """Where the parts of each input file of the jobs are, as far as it is known.

    nodes: of the cluster.  state_of: the state at the end of a recorded run.
    """
    written = nodes_of_files(prepared, runs, state_of)
    found: dict[str, Sequence[PlacedPart]] = {
        path: (PlacedPart(0, math.inf, (node,)),) for path, node in written.items()
    }
    urls = sorted({split.path for each in prepared for split in each.splits if is_url(split.path)})
    here = {node.node_id for node in nodes}
    with ThreadPoolExecutor(THREADS) as pool:
        placed = dict(zip(urls, pool.map(partial(_placed, here), urls), strict=True))
    return found | {url: parts for url, parts in placed.items() if any(one.nodes for one in parts)}


def _placed(here: Collection[NodeId], url: str) -> Sequence[PlacedPart]:
    """The blocks of a file of a store; none if that cannot be found out, which prevents no run."""
    with suppress(OSError):
        return [
            PlacedPart(
                block.start,
                block.start + block.bytes,
                tuple(NodeId(host) for host in block.hosts if host in here),
            )
            for block in Store(url).blocks()
        ]
    return ()


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
