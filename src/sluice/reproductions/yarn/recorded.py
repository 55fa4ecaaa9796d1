"""Recorded runs of Hadoop's Scheduler Load Simulator: traces, configurations, and results.

`recorded.json` is a list of traces. Each has its nodes, the two configuration files, keys of
yarn-site.xml under `site` where it needs some, and its jobs:
queue, user, instant of submission, lengths of all tasks, and the start and end of the application
under each scheduler, in seconds, in each of the recorded runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from sluice.ingest.scheduler_configs.reading import queue_tree_of
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.model.queue_tree import QueueTree
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.simulation.placement import BlockPlacement
from sluice.simulation.settings import SimulationSettings

SCHEDULERS = ("capacity", "fair")
# Kinds of traces: with preemption, and with the input of each map on one node.
PLAIN, PREEMPTION, NODES = "plain", "preemption", "nodes"
_MS = 1000.0
# The simulator of Hadoop knows one node with the input of a task, and no slower tasks elsewhere.
_ONE_NODE = {"replicas": 1, "rack_factor": 1.0, "remote_factor": 1.0}


@dataclass(frozen=True, slots=True)
class Span:
    """From the submission of an application to its end, in seconds."""

    begun_s: float
    ended_s: float

    @property
    def response_s(self) -> float:
        """Seconds from the submission to the end."""
        return self.ended_s - self.begun_s


@dataclass(frozen=True, slots=True)
class RecordedTrace:
    """One trace, and what Hadoop's schedulers made of it. document: as in `recorded.json`."""

    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name, such as "trace-3"."""
        return str(self.document["name"])

    def tree(self, scheduler: str) -> QueueTree:
        """The queues of one of the two schedulers."""
        text = str(self.document[scheduler])
        site = self.document.get("site")
        return queue_tree_of(text.encode(), f"{self.name}, {scheduler}-scheduler.xml", site)

    def workload(self) -> Workload:
        """The cluster and the jobs of the trace."""
        given = self.document
        nodes = tuple(
            Node(node_id=NodeId(f"node-{one + 1}"), containers=given["containers_per_node"])
            for one in range(given["nodes"])
        )
        jobs = tuple(_job(one, index) for index, one in enumerate(given["jobs"]))
        is_near = given.get("kind") == NODES
        settings = dict(_ONE_NODE) if is_near else {}
        cluster = Cluster(nodes=nodes, has_racks=is_near)
        return Workload(cluster=cluster, jobs=jobs, settings=settings)

    def input_nodes(self) -> Sequence[Sequence[str]]:
        """The node with the input of each map, by job, as the simulator places it."""
        workload = self.workload()
        assert workload.cluster is not None
        placement = BlockPlacement(workload.cluster, SimulationSettings(replicas=1), seed=0)
        return [[name for (name,) in placement.of(job)[0]] for job in workload.jobs]

    def spans(self, scheduler: str) -> Sequence[Mapping[JobId, Span]]:
        """Return the spans of the jobs under Hadoop's scheduler, in each recorded run."""
        jobs = self.document["jobs"]
        runs = len(jobs[0]["sls_s"][scheduler])
        return [
            {
                _job_id(index): Span(*one["sls_s"][scheduler][run])
                for index, one in enumerate(jobs)
            }
            for run in range(runs)
        ]  # fmt: skip


def mean_spans(runs: Sequence[Mapping[JobId, Span]]) -> Mapping[JobId, Span]:
    """The mean start and end of each application over several runs."""
    return {
        job_id: Span(
            math.fsum(one[job_id].begun_s for one in runs) / len(runs),
            math.fsum(one[job_id].ended_s for one in runs) / len(runs),
        )
        for job_id in runs[0]
    }


def makespan_s(spans: Mapping[JobId, Span]) -> float:
    """Seconds from the first submission to the last end."""
    return max(one.ended_s for one in spans.values()) - min(one.begun_s for one in spans.values())


def mean_makespan_s(runs: Sequence[Mapping[JobId, Span]]) -> float:
    """The mean makespan of several runs."""
    return math.fsum(map(makespan_s, runs)) / len(runs)


def recorded_traces(kind: str = PLAIN) -> list[RecordedTrace]:
    """All recorded traces of a kind, the sample first."""
    text = resources.files(__package__).joinpath("recorded.json").read_text(encoding="utf-8")
    return [RecordedTrace(one) for one in json.loads(text) if one.get("kind", PLAIN) == kind]


def _job_id(index: int) -> JobId:
    return JobId(f"job-{index + 1}")


def _job(given: Mapping[str, Any], index: int) -> Job:
    phases: list[Phase] = []
    for name in ("maps", "reduces"):
        lengths_ms = given[f"{name}_ms"]
        if lengths_ms:
            phases.append(
                Phase(
                    name=name,
                    kind=SlotKind.CONTAINER,
                    tasks=len(lengths_ms),
                    lengths=ListedLengths(tuple(one / _MS for one in lengths_ms)),
                    after=(len(phases) - 1,) if phases else (),
                )
            )
    return Job(
        job_id=_job_id(index),
        pool=PoolId(given["queue"]),
        customer=given["user"],
        phases=tuple(phases),
        submitted_at_s=given["start_ms"] / _MS,
    )
