"""The jobs and the cluster of the RAS evaluation, for the simulator.

Input sizes, submissions, goals, profiles and the cluster are those of the paper. It does not print
task lengths and the number of reduces, so those of the spec are used, which reproduce the makespan.
Source: RAS spec, sections 8 (workload) and 10 (contention).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sluice.api import simulate as api
from sluice.api.simulate import Scheduling
from sluice.core.state import ClusterState
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Demand, Job, MapOutput, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

NODES = 20
FAIR_SLOTS = tuple(range(1, 9))  # map slots of each node
REDUCE_SLOTS = 2  # of each node under Fair; the paper does not say
# The makespan of Fair in the paper's prototype over that of RAS, for each of FAIR_SLOTS.
PROTOTYPE_RATIOS = (2.73, 1.38, 1.13, 1.13, 1.25, 1.50, 1.74, 2.02)
SETUP = (
    "20 nodes of 100 % cpu, io and memory; contention model of section 10 with its defaults;"
    " heartbeats of 3 s; lengths +-10 %. Fair with 2 reduce slots on each node."
)
MAPS_A_GIB = 16  # blocks of 64 MiB

_GIB = 2.0**30
_SORT_REDUCE_BYTES_PER_S = 12 * 2.0**20
_SORT_REDUCES = 20  # of 90 GB, and in proportion
_SORT_GIB = 90

# Progressive slow-start as in Hadoop holds for Fair; RAS decides about reduces by itself.
SETTINGS: Mapping[str, Any] = {
    "heartbeat_s": 3.0,
    "slowstart": 0.05,
    "jitter": 0.1,
    "contention": "shared",
}


# The estimator and the aim as the paper prints them; our defaults keep time free before a goal.
PAPER: Mapping[str, Any] = {
    "aim": "utility", "reserve_reduce": False, "goal_margin": 0.0, "between_cycles": False,
}  # fmt: skip


class Profile(NamedTuple):
    """Table 2 of the paper, and the length of a map at profile speed."""

    map_s: float
    maps: Resources
    per_map: Resources
    reduces: Resources


PROFILES: Mapping[str, Profile] = {
    "Sort": Profile(
        36.0,
        Resources(cpu=30.0, io=45.0, memory=25.0),
        Resources(io=0.15),
        Resources(cpu=20.0, io=50.0, memory=60.0),
    ),
    "Combine": Profile(
        180.0,
        Resources(cpu=25.0, io=10.0, memory=10.0),
        Resources(io=0.015),
        Resources(cpu=10.0, io=10.0, memory=25.0),
    ),
    "Select": Profile(
        54.0,
        Resources(cpu=15.0, io=20.0, memory=10.0),
        Resources(io=0.015),
        Resources(cpu=10.0, io=10.0, memory=25.0),
    ),
}


class PaperJob(NamedTuple):
    """One job of Table 1, with its ends in both experiments of the paper."""

    name: str
    application: str
    gib: int
    submitted_at_s: float
    goal_at_s: float
    relaxed_end_s: float
    tight_end_s: float


JOBS = (
    PaperJob("J1", "Sort", 90, 0, 3000, 3113, 3018),
    PaperJob("J2", "Combine", 5, 100, 850, 648, 896),
    PaperJob("J3", "Select", 10, 200, 1250, 1252, 802),
    PaperJob("J4", "Select", 25, 350, 1100, 608, 550),
    PaperJob("J5", "Select", 5, 500, 950, 623, 560),
    PaperJob("J6", "Combine", 13, 600, 2600, 3406, 2589),
    PaperJob("J7", "Combine", 50, 1100, 6000, 4536, 4614),
    PaperJob("J8", "Sort", 19, 2500, 3400, 3670, 3365),
    PaperJob("J9", "Sort", 6, 3750, 4250, 4100, 4141),
)
RELAXED_S = 100_000.0  # a goal that every job meets with a single slot


def paper_jobs(*, has_goals: bool) -> tuple[Job, ...]:
    """The nine jobs. has_goals: the goals of experiment 2; otherwise relaxed ones."""
    return tuple(_job(one, one.goal_at_s if has_goals else RELAXED_S) for one in JOBS)


def _job(one: PaperJob, goal_at_s: float) -> Job:
    maps = math.ceil(one.gib * MAPS_A_GIB)
    if one.application == "Sort":
        reduces = min(_SORT_REDUCES, round(_SORT_REDUCES * one.gib * 3 / _SORT_GIB))
        reduce_s = one.gib * _GIB / reduces / _SORT_REDUCE_BYTES_PER_S
    else:
        reduces, reduce_s = 1, 30.0 + 2 * one.gib if one.application == "Combine" else 20.0
    return application_job(
        one.name,
        one.application,
        maps=maps,
        reduces=reduces,
        reduce_s=reduce_s,
        submitted_at_s=one.submitted_at_s,
        goal_at_s=goal_at_s,
    )


def application_job(
    name: str,
    application: str,
    *,
    maps: int,
    reduces: int,
    reduce_s: float,
    submitted_at_s: float,
    goal_at_s: float,
) -> Job:
    """A job of one of the applications. Sort writes as much as it reads, the others 1 %."""
    profile = PROFILES[application]
    output = maps / MAPS_A_GIB * _GIB * (1.0 if application == "Sort" else 0.01)
    reduce_demand = Demand(work=profile.reduces, fetch_per_map=profile.per_map)
    return Job(
        job_id=JobId(name),
        pool=PoolId(name),
        phases=(
            _phase(SlotKind.MAP, maps, profile.map_s, Demand(work=profile.maps)),
            _phase(SlotKind.REDUCE, reduces, reduce_s, reduce_demand),
        ),
        submitted_at_s=float(submitted_at_s),
        deadline_at_s=float(goal_at_s),
        map_output=MapOutput(bytes=output, records=output / 100),
    )


def _phase(kind: SlotKind, tasks: int, task_s: float, demand: Demand) -> Phase:
    return Phase(
        name=kind.value,
        kind=kind,
        tasks=tasks,
        lengths=ConstantLengths(task_s, task_s),
        after=(0,) if kind is SlotKind.REDUCE else (),
        demand=demand,
    )


def cluster(map_slots: int = 0, reduce_slots: int = 0, *, nodes: int = NODES) -> Cluster:
    """Equal nodes of 100 percent of each resource; without slots for RAS."""
    capacity = Resources(cpu=100.0, io=100.0, memory=100.0)
    return Cluster(
        nodes=tuple(
            Node(
                node_id=NodeId(f"node-{number + 1:02}"),
                map_slots=map_slots,
                reduce_slots=reduce_slots,
                capacity=capacity,
            )
            for number in range(nodes)
        )
    )


def run_ras(
    jobs: Sequence[Job], settings: Mapping[str, Any], seed: int, *, nodes: int = NODES
) -> ClusterState:
    """The state after the jobs have run under RAS, as the paper prints it but for `settings`."""
    return _simulated(cluster(nodes=nodes), jobs, "ras", {**PAPER, **settings}, seed)


def run_fair(
    jobs: Sequence[Job],
    map_slots: int,
    settings: Mapping[str, Any],
    seed: int,
    *,
    reduce_slots: int = REDUCE_SLOTS,
    nodes: int = NODES,
) -> ClusterState:
    """The state after the jobs have run under Fair with static slots."""
    of_slots = cluster(map_slots, reduce_slots, nodes=nodes)
    return _simulated(of_slots, jobs, "fair", settings, seed)


def _simulated(
    nodes: Cluster, jobs: Sequence[Job], tasks: str, settings: Mapping[str, Any], seed: int
) -> ClusterState:
    workload = Workload(cluster=nodes, jobs=tuple(jobs), settings={**SETTINGS, **settings})
    return api.simulated(workload, Scheduling(tasks=tasks, seed=seed))[0].state


def makespan_s(state: ClusterState) -> float:
    """The time from the first submission to the last end."""
    jobs = state.jobs.values()
    return max(job.finished_at_s for job in jobs) - min(job.job.submitted_at_s for job in jobs)


def tasks_per_node(state: ClusterState) -> float:
    """Mean number of tasks that run on a node, maps and reduces."""
    ran_s = sum(one.tasks * (one.finished_at_s - one.started_at_s) for one in state.closed)
    return ran_s / makespan_s(state) / len(state.nodes)


def goals_met(state: ClusterState) -> int:
    """Jobs that ended by their goal."""
    return sum(lateness_s(state, name) == 0 for name in state.jobs)


def lateness_s(state: ClusterState, job_id: str) -> float:
    """Seconds after the goal at which a job ended, at least 0."""
    job = state.jobs[JobId(job_id)]
    assert job.job.deadline_at_s is not None, "every job of the evaluation has a goal"
    return max(0.0, job.finished_at_s - job.job.deadline_at_s)
