"""Which slots the tasks of a workload take: typed ones, or any slot as a container.

Maps and reduces take slots of their own kind wherever a cluster has such slots. All tasks run in
containers where the cluster has nothing else, and where a job is a DAG of stages: its tasks belong
to no kind, and a node serves typed slots or containers at one time, not both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sluice.core.protocols import TaskPolicy
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import NodeId
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind

_CONTAINER = SlotKind.CONTAINER
_ONLY_CONTAINERS = (Node(node_id=NodeId("containers"), containers=1),)


def with_slot_kinds(jobs: tuple[Job, ...], cluster: Cluster, tasks: TaskPolicy) -> tuple[Job, ...]:
    """The jobs, with the kind of slot that each phase takes under a task policy.

    A policy that needs containers gets them for all tasks. One that places maps in containers
    anyway, such as yarn-like, gets the jobs as they are.
    """
    if tasks.needs_containers:
        return tuple(_in_containers(jobs))
    if tasks.shortage(SlotKind.MAP, _ONLY_CONTAINERS) is None:
        return jobs
    has_typed = any(node.map_slots or node.reduce_slots for node in cluster.nodes)
    only_containers = not has_typed and any(node.containers for node in cluster.nodes)
    if not only_containers and not any(job.has_stages for job in jobs):
        return jobs
    return tuple(_in_containers(jobs))


def _in_containers(jobs: Iterable[Job]) -> Iterable[Job]:
    for job in jobs:
        if all(phase.kind is _CONTAINER for phase in job.phases):
            yield job
        else:
            phases = tuple(replace(phase, kind=_CONTAINER) for phase in job.phases)
            yield replace(job, phases=phases)
