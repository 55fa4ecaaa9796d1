"""Jobs in the queues of a scheduler's configuration, whose tasks are containers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from sluice.bootstrap.policy_classes import ChosenPolicy, chosen_policy
from sluice.ingest.suggestions import suggestion
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.model.ids import PoolId
from sluice.model.job import Job
from sluice.model.queue_tree import ROOT, QueueTree
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

_DEFAULT = "default"


CONFIGURED = ("queue-tree", "yarn")  # policies of a configuration's queues, the first by default


def configured(tree: QueueTree, name: str = CONFIGURED[0]) -> ChosenPolicy:
    """The task policy of a configuration's queues. name: one of `CONFIGURED`."""
    return replace(chosen_policy("tasks", name), queues=tree)


def nearest_policy(tree: QueueTree, workload: Workload) -> str:
    """The policy of `CONFIGURED` that is nearest to what the scheduler of a configuration does.

    For YARN that is its masters and heartbeats, by which an application waits longer than by its
    queues. They need nodes: one node of a log's total would get a container once a second.
    """
    cluster = workload.cluster
    has_nodes = cluster is not None and not cluster.is_totals and not workload.is_from_logs
    return "yarn" if tree.yarn is not None and has_nodes else "queue-tree"


def under_queues(workload: Workload, tree: QueueTree, mapping: Mapping[str, str]) -> Workload:
    """The workload in the queues of a configuration, whose tasks are containers.

    tree: with the queues that jobs name.  mapping: as for `in_queues`.
    Raises InvalidInput for a pool without a queue.
    """
    return in_queues(in_containers(workload, None), tree, mapping)


def in_containers(workload: Workload, containers: int | None) -> Workload:
    """The workload with containers for all tasks.

    A log's slots of both kinds are the same containers; those of a file are added.
    """
    cluster = workload.cluster
    if containers is None and cluster is not None and workload.is_from_logs:
        kinds = (SlotKind.MAP, SlotKind.REDUCE)
        containers = max(cluster.slots(kind) for kind in kinds) or None
    if containers is not None:
        cluster = Cluster.of_slots({SlotKind.CONTAINER: containers})
    jobs = tuple(
        replace(job, phases=tuple(replace(phase, kind=SlotKind.CONTAINER) for phase in job.phases))
        for job in workload.jobs
    )
    return replace(workload, cluster=cluster, jobs=jobs, pools=())


def with_named_queues(tree: QueueTree, workload: Workload, mapping: Mapping[str, str]) -> QueueTree:
    """The tree with the queues that the scheduler makes for pools that nothing else places."""
    return tree.with_undeclared(
        str(job.pool)
        for job in workload.jobs
        if not any(fnmatchcase(job.pool, pattern) for pattern in mapping)
    )


def in_queues(workload: Workload, tree: QueueTree, mapping: Mapping[str, str]) -> Workload:
    """The workload with each job in the leaf of the tree that its pool names.

    mapping: queues by pattern of pool names, for pools that the tree does not name.
    Raises InvalidInput for a pool without a queue.
    """
    found: dict[str, PoolId] = {}
    for job in workload.jobs:
        if job.pool not in found:
            found[job.pool] = PoolId(_queue_for(job, tree, mapping))
    jobs = tuple(replace(job, pool=found[job.pool]) for job in workload.jobs)
    return replace(workload, jobs=jobs, pools=())


def _queue_for(job: Job, tree: QueueTree, mapping: Mapping[str, str]) -> str:
    leaves = tree.leaves
    wanted = next((to for pattern, to in mapping.items() if fnmatchcase(job.pool, pattern)), None)
    for name in (wanted,) if wanted is not None else (str(job.pool), _DEFAULT):
        by_path = [path for path in leaves if path in {name, f"{ROOT}.{name}"}]
        by_name = [path for path in leaves if path.rpartition(".")[2] == name]
        if by_path or len(by_name) == 1:
            return (by_path or by_name)[0]
    name = wanted if wanted is not None else str(job.pool)
    raise InvalidInput(
        f"job {job.job_id!r} is in pool {job.pool!r}, and there is no leaf queue {name!r}",
        where=tree.source,
        hint=f"{suggestion(name, leaves)}; --map POOL=QUEUE names a queue for a pool, and"
        f" --map '*={next(iter(leaves), ROOT)}' one for all",
    )
