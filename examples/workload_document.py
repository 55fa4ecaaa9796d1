"""A workload as the file that says it: of what was measured, or read from somebody's trace.

Lengths are told as mean and longest. What really runs (`run`) is left out: the file is for
`simulate`, `compare` and `why`.
"""

from __future__ import annotations

import json
from pathlib import Path

from sluice.model.cluster import Cluster
from sluice.model.job import Job, Phase, SlotKind
from sluice.model.lengths import TaskLengths
from sluice.model.workload import Workload

_FIELDS = {SlotKind.MAP: "maps", SlotKind.REDUCE: "reduces"}


def write_workload(path: Path, workload: Workload) -> None:
    """Write it as JSON, a job a line. Every phase's lengths must be known."""
    head = {
        "version": 1,
        "cluster": _cluster(workload.required_cluster()),
        "settings": dict(workload.settings),
    }
    jobs = ",\n  ".join(json.dumps(_job(job)) for job in workload.jobs)
    lines = [f'"{name}": {json.dumps(value)}' for name, value in head.items()]
    path.write_text("{" + ",\n ".join([*lines, f'"jobs": [\n  {jobs}\n ]']) + "}\n")


def _cluster(cluster: Cluster) -> dict[str, object]:
    """Nodes that are all alike."""
    node = cluster.nodes[0]
    slots = {"map_slots": node.map_slots, "reduce_slots": node.reduce_slots}
    return {"nodes": len(cluster.nodes), "node": slots}


def _job(job: Job) -> dict[str, object]:
    document: dict[str, object] = {"id": job.job_id, "submitted_at_s": job.submitted_at_s}
    for phase in job.phases:
        document[_FIELDS[phase.kind]] = _phase(phase)
        if phase.fetch is not None:
            document["shuffle"] = _lengths(phase.fetch, phase.tasks)
    return document


def _phase(phase: Phase) -> dict[str, object]:
    assert phase.lengths is not None
    return {"tasks": phase.tasks, **_lengths(phase.lengths, phase.tasks)}


def _lengths(lengths: TaskLengths, tasks: int) -> dict[str, float]:
    return {"avg_s": lengths.avg_s(tasks), "max_s": lengths.max_s(tasks)}
