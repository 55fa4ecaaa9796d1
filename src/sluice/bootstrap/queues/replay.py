"""A history simulated under the queues of a configuration file.

Jobs go to the queue that their pool names. Seeds resample the history by blocks of time: each
resample is made of blocks drawn with replacement, so that what arrives together stays together.
The first seed is the history as it was.
Source: H. Kuensch, "The jackknife and the bootstrap for general stationary observations", 1989.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sluice.bootstrap.policy_classes import chosen_policy
from sluice.bootstrap.preparation.queues import (
    configured,
    in_containers,
    in_queues,
    with_named_queues,
)
from sluice.bootstrap.simulations.simulation import AloneTimes, Trio, alone_s, simulated_run
from sluice.ingest.settings import Settings
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.queue_tree import QueueTree
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.reporting.compare.run_summary import RunSummary
from sluice.reporting.run.result import RunResult
from sluice.reporting.whatif.result import QueueFigures, queue_figures

RESAMPLED_JOBS_MIN = 40  # fewer say little about what might have come
_BLOCKS_MIN, _BLOCKS_MAX, _JOBS_A_BLOCK = 4, 20, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A workload to simulate again. alone: seconds that each job takes alone on the cluster."""

    workload: Workload
    alone: AloneTimes
    resolved: Settings

    @classmethod
    def of(cls, workload: Workload, resolved: Settings, containers: int | None) -> History:
        """The history, all of its tasks in containers. Raises InvalidInput without a cluster."""
        workload = in_containers(workload, containers)
        return cls(
            workload=workload,
            alone=alone_s(workload, _trio("fifo", None), resolved, 0),
            resolved=resolved,
        )

    @property
    def is_resampled(self) -> bool:
        """Whether it has enough jobs to draw other histories from it."""
        return len(self.workload.jobs) >= RESAMPLED_JOBS_MIN

    @property
    def containers(self) -> int:
        """Containers of the cluster."""
        return self.workload.required_cluster().slots(SlotKind.CONTAINER)

    def figures(
        self, tree: QueueTree, mapping: Mapping[str, str], seed: int
    ) -> Mapping[str, QueueFigures]:
        """The figures of each queue in one simulation. Raises InvalidInput."""
        workload, alone = self.workload, self.alone
        if seed and self.is_resampled:
            workload, alone = resampled(workload, alone, seed)
        tree = with_named_queues(tree, workload, mapping)
        workload = in_queues(workload, tree, mapping)
        result = self._result(workload, tree, seed)
        summary = RunSummary.of(result, workload, alone)
        return queue_figures(result, summary, tree.containers(self.containers))

    def _result(self, workload: Workload, tree: QueueTree, seed: int) -> RunResult:
        return simulated_run(workload, _trio("queue-tree", tree), self.resolved, seed)[1]


def _trio(tasks: str, tree: QueueTree | None) -> Trio:
    chosen = chosen_policy("tasks", tasks) if tree is None else configured(tree)
    return chosen, chosen_policy("release", "input"), chosen_policy("admission", "all")


def resampled(workload: Workload, alone: AloneTimes, seed: int) -> tuple[Workload, AloneTimes]:
    """Another history of the same length, of blocks of this one."""
    jobs = sorted(workload.jobs, key=lambda job: job.submitted_at_s)
    first_s = jobs[0].submitted_at_s
    span_s = jobs[-1].submitted_at_s - first_s
    count = max(_BLOCKS_MIN, min(_BLOCKS_MAX, len(jobs) // _JOBS_A_BLOCK))
    length_s = span_s / count or 1.0
    blocks: list[list[Job]] = [[] for _ in range(count)]
    for job in jobs:
        blocks[min(count - 1, int((job.submitted_at_s - first_s) / length_s))].append(job)
    rng = random.Random(seed)
    drawn: list[Job] = []
    times: AloneTimes = {}
    for place in range(count):
        source = rng.randrange(count)
        for job in blocks[source]:
            again = _shifted(job, (place - source) * length_s, place)
            times[again.job_id] = alone.get(job.job_id)
            drawn.append(again)
    return replace(workload, jobs=tuple(drawn)), times


def _shifted(job: Job, by_s: float, place: int) -> Job:
    at_s = max(0.0, job.submitted_at_s + by_s)
    deadline_at_s = job.deadline_at_s
    if deadline_at_s is not None:
        deadline_at_s += at_s - job.submitted_at_s
    return replace(
        job,
        job_id=_copy_id(job.job_id, place),
        submitted_at_s=at_s,
        deadline_at_s=deadline_at_s,
        after=tuple(_copy_id(before, place) for before in job.after),
    )


def _copy_id(job_id: JobId, place: int) -> JobId:
    return JobId(f"{job_id[:180]}~{place}")
