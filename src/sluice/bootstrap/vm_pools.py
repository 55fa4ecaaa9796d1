"""Pools of VMs at task level, put together: nodes and predictions, the policy and its planner."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sluice.bootstrap.policy_classes import ChosenPolicy
from sluice.bootstrap.vm_grids import has_vm_nodes, with_grids, with_vm_nodes
from sluice.model.cluster import Cluster
from sluice.model.ids import JobId
from sluice.model.job import Job, SlotKind
from sluice.model.workload import Workload
from sluice.policies.vm_pools import PooledVms
from sluice.reporting.history.past_runs import OwnNodes

_WINDOW = "vm_window_s"


class PlannedVms(PooledVms):
    """Pools of VMs with the schedulers of `sluice pools` as their planner."""

    @classmethod
    def build(cls, settings: PooledVms.Settings) -> PooledVms:
        from sluice.planning.pools.online_reservations import OnlineReservations

        planner = OnlineReservations(
            settings.vm_rule,
            boot_s=settings.vm_boot_s,
            tick_s=settings.vm_tick_s,
            bound_s=math.inf if settings.vm_window_s is None else settings.vm_window_s,
        )
        return cls(planner, boot_s=settings.vm_boot_s)


def on_vm_nodes(workload: Workload, tasks: Iterable[ChosenPolicy]) -> Workload:
    """The workload as policies see it: VMs are nodes, and jobs that get VMs have predictions.

    tasks: the task policies that will see it.  A workload with a cluster, or whose VM types have no
    slots, is returned as it is. Raises InvalidInput as `with_grids` and `with_vm_nodes`.
    """
    if not has_vm_nodes(workload):
        return workload
    pools = workload.vm_pools
    made = with_vm_nodes(workload)
    if pools is None or not any(_is_about_vms(one) for one in tasks):
        return made
    jobs = with_grids(made).workload.jobs
    settings = dict(made.settings)
    if math.isfinite(pools.bound_s):
        settings.setdefault(_WINDOW, pools.bound_s)
    return replace(
        made,
        jobs=tuple(_with_margin(job, pools.prediction_error) for job in jobs),
        settings=settings,
    )


def vm_pools_note(cluster: Cluster, tasks: ChosenPolicy) -> str | None:
    """What to say if the policy has no pools on this cluster; None otherwise."""
    if not _is_about_vms(tasks) or any(node.vm_type for node in cluster.nodes):
        return None
    return (
        f"no node has a VM type, so that {tasks.name} serves tasks as fifo does; give vm_types with"
        " slots, and no cluster"
    )


def own_nodes(report: Mapping[str, Any], cluster: Cluster) -> dict[JobId, OwnNodes]:
    """The VMs that jobs had to themselves. report: of the task policy, after the run."""
    if "vm_pools" not in report:
        return {}
    first = {node.vm_type: node for node in reversed(cluster.nodes)}
    kinds = (SlotKind.MAP, SlotKind.REDUCE)
    return {
        job_id: OwnNodes(
            {
                kind.value: row["vms"]
                * (first[row["vm_type"]].slots(kind) or first[row["vm_type"]].containers)
                for kind in kinds
            },
            row["started_at_s"],
        )
        for job_id, row in report["vm_pools"]["jobs"].items()
    }


def _is_about_vms(tasks: ChosenPolicy) -> bool:
    return issubclass(tasks.policy_class, PooledVms)


def _with_margin(job: Job, error: float) -> Job:
    """Each prediction with its margin, because the policy does not see that of the file."""
    if not error:
        return job
    predictions = tuple(
        replace(one, error=error if one.error is None else one.error) for one in job.predictions
    )
    return replace(job, predictions=predictions)
