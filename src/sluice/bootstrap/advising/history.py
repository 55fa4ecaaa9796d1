"""The features of a history that advice looks at. Source: loop spec, section 5, step 1."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from sluice.bootstrap.advising.days import blocks_of, span_of
from sluice.model.cluster import Cluster
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

_SMALL_SHARE = 0.1  # of all slots: jobs with fewer tasks are small
_STRAGGLER = 2.0  # times the median length
_RESOURCES = ("cpu", "io", "memory", "network")


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The features of a history. Shares are of jobs, but for reduce_share, of the work.

    load, peak_load: work over what all slots can do, in all and in the busiest block.
    tightness: the median of deadline / time alone on the cluster; None without deadlines.
    cv: of lengths within phases.  stragglers: share of tasks above twice the median of theirs.
    over_commitment: what the tasks of one full node in six demand, or more, over what it has.
    is_contended: whether it is above 1, and the tasks of a node slow each other down.
    """

    jobs: int
    tasks: int
    hours: float
    load: float
    peak_load: float
    deadline_share: float
    tightness: float | None
    small_share: float
    reduce_share: float
    tenants: int
    cv: float
    stragglers: float
    over_commitment: float
    is_contended: bool
    dag_share: float
    known_share: float

    def document(self) -> dict[str, float | int | None]:
        """The fields as plain JSON values."""
        return asdict(self)


def features_of(workload: Workload) -> Features:
    """The features of a workload with a cluster."""
    jobs, cluster = workload.jobs, workload.required_cluster()
    slots = total_slots(cluster)
    span_s = span_of(jobs)
    works = {job.job_id: _work_s(job) for job in jobs}
    blocks = blocks_of(jobs, span_s)
    block_s = span_s / len(blocks)
    due = [job for job in jobs if job.own_deadline_at_s is not None]
    tight = [
        (job.own_deadline_at_s - job.submitted_at_s) / max(1e-9, alone_s(job, cluster))
        for job in due
        if job.own_deadline_at_s is not None
    ]
    work_s = math.fsum(works.values())
    over_commitment = _over_commitment(jobs, cluster)
    cv, stragglers = _spread(workload)
    return Features(
        jobs=len(jobs),
        tasks=sum(job.tasks for job in jobs),
        hours=span_s / 3600,
        load=work_s / (slots * span_s),
        peak_load=max(
            math.fsum(works[job.job_id] for job in block) / (slots * block_s) for block in blocks
        ),
        deadline_share=len(due) / len(jobs),
        tightness=statistics.median(tight) if tight else None,
        small_share=sum(job.tasks < _SMALL_SHARE * slots for job in jobs) / len(jobs),
        reduce_share=math.fsum(_work_s(job, SlotKind.REDUCE) for job in jobs) / work_s
        if work_s
        else 0.0,
        tenants=len({job.pool for job in jobs}),
        cv=cv,
        stragglers=stragglers,
        over_commitment=over_commitment,
        is_contended=over_commitment > 1 and workload.settings.get("contention") == "shared",
        dag_share=sum(_is_graph(job) for job in jobs) / len(jobs),
        known_share=sum(all(one.lengths for one in job.phases) for job in jobs) / len(jobs),
    )


def total_slots(cluster: Cluster) -> int:
    """Slots of all kinds; at least 1."""
    nodes = cluster.nodes
    return max(1, sum(node.map_slots + node.reduce_slots + node.containers for node in nodes))


def alone_s(job: Job, cluster: Cluster) -> float:
    """The time of whole waves on the empty cluster, seconds."""
    found = job.driver_s
    for phase in job.phases:
        slots = max(1, cluster.slots(phase.kind) or total_slots(cluster))
        mean_s = 0.0 if phase.lengths is None else phase.lengths.avg_s(phase.tasks)
        found += math.ceil(phase.tasks / slots) * mean_s
    return found


def _work_s(job: Job, kind: SlotKind | None = None) -> float:
    return math.fsum(_phase_s(phase) for phase in job.phases if kind in {None, phase.kind})


def _phase_s(phase: Phase) -> float:
    """The lengths of all its tasks; 0 if they are not known."""
    return 0.0 if phase.lengths is None else phase.lengths.avg_s(phase.tasks) * phase.tasks


def _is_graph(job: Job) -> bool:
    """Whether it is more than maps, and reduces after them."""
    kinds = [phase.kind for phase in job.phases]
    return kinds not in ([SlotKind.MAP], [SlotKind.MAP, SlotKind.REDUCE])


def _spread(workload: Workload) -> tuple[float, float]:
    """Coefficient of variation within phases, and the share of stragglers.

    Of the lengths of logs where they are listed, else of the settings that the file draws by.
    """
    cvs: list[float] = []
    slow = tasks = 0
    for job in workload.jobs:
        for phase in job.phases:
            lengths = phase.lengths
            if isinstance(lengths, ListedLengths) and len(lengths.durations_s) > 1:
                values = lengths.durations_s
                middle = statistics.median(values)
                cvs.append(statistics.pstdev(values) / statistics.fmean(values))
                slow += sum(one > _STRAGGLER * middle for one in values)
                tasks += len(values)
    if tasks:
        return statistics.fmean(cvs), slow / tasks
    settings = workload.settings
    cv = settings.get("spread_cv", 0.5) if settings.get("spread", "fixed") != "fixed" else 0.0
    p_slow = settings.get("p_slow", 0.0)
    return _number(cv), _number(p_slow)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _over_commitment(jobs: Iterable[Job], cluster: Cluster) -> float:
    """The over-commitment of the scarcest resource on full nodes; 0 if no demands are known.

    A node's slots hold tasks of all kinds, each as often as it is long. Where their mean demand is
    just what the node has, half of the full nodes have too little, so that it is no measure of
    contention: a standard deviation is added.
    """
    phases = [
        (phase.demand.work, _phase_s(phase) or 1.0 * phase.tasks)
        for job in jobs
        for phase in job.phases
    ]
    total_s = math.fsum(weight for _, weight in phases)
    nodes = len(cluster.nodes)
    slots = total_slots(cluster) / nodes
    found = 0.0
    for name in _RESOURCES:
        room = math.fsum(getattr(node.capacity, name) for node in cluster.nodes) / nodes
        if room and total_s:
            mean = math.fsum(getattr(work, name) * weight for work, weight in phases) / total_s
            squares = (weight * (getattr(work, name) - mean) ** 2 for work, weight in phases)
            deviation = math.sqrt(slots * math.fsum(squares) / total_s)
            found = max(found, (slots * mean + deviation) / room)
    return found
