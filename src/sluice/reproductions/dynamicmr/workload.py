"""The PUMA jobs and the cluster of the DynamicMR evaluation, and ways to schedule them.

Input sizes, task counts of Sort and the cluster are those of the thesis. It has no lengths, disk
shares and output sizes, so those of the spec are used. Source: dynamicmr spec,
sections 8 (workload) and 10 (contention, shuffle).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from statistics import fmean
from typing import Any

from sluice.api import simulate as api
from sluice.api.simulate import Scheduling
from sluice.core.protocols import TaskPolicy
from sluice.core.state import ClusterState
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Demand, Job, MapOutput, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

WORKERS = 9
CORES = 12  # of a worker, which has as many slots
NODES_A_RACK = 3
MAPS_A_GIB = 16  # blocks of 64 MiB

_CORE_PERCENT = 100.0  # capacities are in percent of one core, and of one disk
_DISK_PERCENT = 100.0
_FETCH_CORES = 0.2  # of a core, while a reduce fetches
_RECORD_BYTES = 100.0

Settings = Mapping[str, Any]

CONFIGURATIONS = tuple((maps, CORES - maps) for maps in range(1, CORES))  # 1/11 .. 11/1
DEFAULT_SLOTS = (10, 2)
GENERATOR = "9 workers of 12 slots in the simulator, heartbeats of 3 s, lengths +-15 %."

# The model of section 10, as settings of a workload file. Slow-start 1 by erratum E9.
SETTINGS: Settings = {
    "heartbeat_s": 3.0,
    "slowstart": 1.0,
    "jitter": 0.15,
    "contention": "shared",
    "kappa_io": 0.25,
    "kappa_network": 0.25,
    "kappa_memory": 0.0,
    "peak": 1.0,
    "thread_cpu": _CORE_PERCENT,
    "fetch_bytes_per_s": 25e6,
    "nic_bytes_per_s": 110e6,
}
# Jobs wait for a node that holds their blocks, in a cluster with racks.
NEARNESS: Settings = {"node_wait_s": 4.5, "rack_wait_s": 4.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One PUMA program. disk shares: of a node's disk, for one task at full speed.

    output_share: bytes that its maps write, over those that they read.
    """

    name: str
    input_gib: int
    reduces: int
    map_s: float
    map_disk: float
    output_share: float
    reduce_s: float
    reduce_disk: float

    @property
    def maps(self) -> int:
        """One for each block of input."""
        return self.input_gib * MAPS_A_GIB

    def job(self, job_id: str | None = None, *, submitted_at_s: float = 0.0) -> Job:
        """The program as a job in its own pool."""
        name = job_id or self.name.lower()
        output_bytes = self.output_share * self.input_gib * 2**30
        return Job(
            job_id=JobId(name),
            pool=PoolId(name),
            submitted_at_s=submitted_at_s,
            phases=(
                _phase(SlotKind.MAP, self.maps, self.map_s, self.map_disk),
                _phase(SlotKind.REDUCE, self.reduces, self.reduce_s, self.reduce_disk),
            ),
            map_output=MapOutput(bytes=output_bytes, records=output_bytes / _RECORD_BYTES),
        )


BENCHMARKS = tuple(
    Benchmark(
        name=name, input_gib=gib, reduces=reduces, map_s=map_s, map_disk=map_disk,
        output_share=output, reduce_s=reduce_s, reduce_disk=reduce_disk,
    )
    for name, gib, reduces, map_s, map_disk, output, reduce_s, reduce_disk in (
        ("WordCount", 10, 40, 50.0, 0.04, 0.05, 15.0, 0.04),
        ("Sort", 20, 200, 15.0, 0.10, 1.0, 20.0, 0.10),
        ("Grep", 30, 20, 20.0, 0.06, 0.01, 5.0, 0.03),
        ("InvertedIndex", 40, 120, 45.0, 0.05, 0.3, 30.0, 0.06),
        ("Classification", 20, 20, 35.0, 0.05, 0.01, 5.0, 0.03),
        ("HistogramMovies", 20, 20, 25.0, 0.06, 0.01, 5.0, 0.03),
        ("HistogramRatings", 20, 20, 30.0, 0.06, 0.01, 5.0, 0.03),
        ("SequenceCount", 30, 120, 60.0, 0.05, 0.5, 35.0, 0.06),
        ("SelfJoin", 40, 160, 25.0, 0.08, 0.7, 20.0, 0.08),
    )
)  # fmt: skip
BY_NAME: Mapping[str, Benchmark] = {one.name: one for one in BENCHMARKS}


def with_disk(benchmark: Benchmark, share: float) -> Benchmark:
    """Return the same program, with tasks that use that share of a disk."""
    return replace(benchmark, map_disk=share, reduce_disk=share)


def batch(jobs: int) -> tuple[Job, ...]:
    """A batch of jobs, submitted at once: the programs of the table in turn."""
    programs = islice(cycle(BENCHMARKS), jobs)
    return tuple(
        program.job(f"{number:02}-{program.name.lower()}")
        for number, program in enumerate(programs, start=1)
    )


def worker_cluster(
    map_slots: int, reduce_slots: int, *, nodes: int = WORKERS, has_racks: bool = False
) -> Cluster:
    """Workers with these slots of each kind, in racks of three.

    has_racks: whether it matters where blocks are.
    """
    capacity = Resources(cpu=CORES * _CORE_PERCENT, io=_DISK_PERCENT)
    return Cluster(
        nodes=tuple(
            Node(
                node_id=NodeId(f"node-{number + 1}"),
                rack=f"rack-{number // NODES_A_RACK + 1}",
                map_slots=map_slots,
                reduce_slots=reduce_slots,
                capacity=capacity,
            )
            for number in range(nodes)
        ),
        has_racks=has_racks,
    )


def simulated(
    cluster: Cluster,
    jobs: Sequence[Job],
    tasks: str | TaskPolicy,
    settings: Mapping[str, Any],
    seed: int = 0,
) -> ClusterState:
    """The state of the scheduler after a run, simulated as `sluice simulate` does.

    tasks: the name of a policy, or a new policy.  settings: by the names of a workload file.
    """
    workload = Workload(cluster=cluster, jobs=tuple(jobs), settings=settings)
    how = Scheduling(tasks=tasks, seed=seed)
    return api.simulated(workload, how)[0].state


def makespan_s(state: ClusterState) -> float:
    """The time from the first submission to the last end."""
    jobs = state.jobs.values()
    return max(job.finished_at_s for job in jobs) - min(job.job.submitted_at_s for job in jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a cluster is scheduled.

    scheduler: "static" (typed slots without lending), "dynamicmr" or "yarn-like".
    slots: map and reduce slots of each worker.  settings: override those of the workload.
    has_racks: whether it matters where blocks are.
    """

    scheduler: str
    slots: tuple[int, int] = DEFAULT_SLOTS
    settings: Settings = field(default_factory=dict)
    has_racks: bool = False

    def run(self, jobs: Sequence[Job], seed: int) -> ClusterState:
        """The state after the jobs have run."""
        settings = {**SETTINGS, **self.settings}
        cluster = worker_cluster(*self.slots, has_racks=self.has_racks)
        is_fifo = self.scheduler == "static" and settings.get("order") == "fifo"
        return simulated(cluster, jobs, "fifo" if is_fifo else self.scheduler, settings, seed)

    def makespans_s(self, jobs: Sequence[Job], seeds: int) -> list[float]:
        """The time from the first submission to the last end, for each seed."""
        return [makespan_s(self.run(jobs, seed)) for seed in range(seeds)]


def mean_job_s(state: ClusterState) -> float:
    """The mean time from submission to end of a job."""
    return fmean(job.finished_at_s - job.job.submitted_at_s for job in state.jobs.values())


def _phase(kind: SlotKind, tasks: int, task_s: float, disk: float) -> Phase:
    work = Resources(cpu=_CORE_PERCENT, io=disk * _DISK_PERCENT)
    is_reduce = kind is SlotKind.REDUCE
    fetch = Resources(cpu=_FETCH_CORES * _CORE_PERCENT) if is_reduce else Resources()
    return Phase(
        name=kind.value,
        kind=kind,
        tasks=tasks,
        lengths=ConstantLengths(task_s, task_s),
        after=(0,) if is_reduce else (),
        demand=Demand(work=work, fetch=fetch),
    )
