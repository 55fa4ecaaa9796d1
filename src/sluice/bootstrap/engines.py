"""The engine of a live run: built from its options, its settings and its nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sluice.bootstrap.run_options import RunOptions, settings_of
from sluice.engines.base import Engine
from sluice.engines.local.engine import LocalEngine
from sluice.engines.local.node_limits import NodeLimits
from sluice.engines.ray.bridge_process import (
    RAY_FOLDER,
    RayPlace,
    check_ray,
    end_remnants,
    has_bridge,
    listed_nodes,
)
from sluice.engines.ray.launcher import RayEngine, RayLauncher
from sluice.engines.ray.nodes import NodeRule
from sluice.engines.settings import TaskLimitSettings
from sluice.ingest.suggestions import suggestion
from sluice.model.cluster import Cluster
from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.model.workload import Workload
from sluice.store.run_info import driver_of
from sluice.store.runs import Runs

LOCAL, RAY = "local", "ray"
ENGINES = (LOCAL, RAY)
NODES_S = {LOCAL: 10.0, RAY: 120.0}  # how long nodes may take to come up


def check_engine(options: RunOptions) -> None:
    """Raise InvalidInput for an engine that does not exist, or lacks what it needs."""
    if options.engine not in ENGINES:
        raise InvalidInput(
            f"unknown engine {options.engine!r}",
            where="--engine",
            hint=suggestion(options.engine, ENGINES),
        )
    if options.engine == RAY:
        check_ray()
    if options.address is None:
        return
    if options.engine != RAY:
        raise InvalidInput(
            f"engine {options.engine!r} has no address",
            where="--address",
            hint="leave it out, or use --engine ray",
        )
    given = {
        "--nodes": options.nodes,
        "--map-slots": options.map_slots,
        "--reduce-slots": options.reduce_slots,
    }
    for name, value in given.items():
        if value is not None:
            raise InvalidInput(
                "the nodes are those of the cluster at --address",
                where=name,
                hint="leave it out; settings such as ray_map_slots_per_cpu give the slots",
            )


def on_ray_nodes(workload: Workload, options: RunOptions) -> Workload:
    """The nodes of the Ray cluster as the workload's cluster, if an address is given.

    Raises EngineUnavailable.
    """
    if options.address is None:
        return workload
    rule = NodeRule.of(settings_of(workload, options).of(TaskLimitSettings))
    nodes = tuple(rule.node(found) for found in listed_nodes(options.address))
    if not nodes:
        raise EngineUnavailable(f"the Ray cluster at {options.address} has no node with processors")
    has_racks = len({node.rack for node in nodes}) > 1
    return replace(workload, cluster=Cluster(nodes=nodes, has_racks=has_racks))


def end_cluster(run: Path) -> None:
    """End the embedded cluster of a run that no process drives, if it has left one."""
    end_remnants(run / RAY_FOLDER)


def end_lost_clusters(runs: Runs) -> None:
    """End what is left of embedded clusters whose driver and bridge were both killed."""
    for run in runs.run_folders():
        folder = run / RAY_FOLDER
        if folder.is_dir() and driver_of(run) is None and not has_bridge(folder):
            end_remnants(folder)


def engine_of(
    options: RunOptions,
    settings: TaskLimitSettings,
    cluster: Cluster,
    scratch: Path,
    *,
    epoch: int,
    clock: Callable[[], float],
    node_limits: NodeLimits | None,
) -> Engine:
    """The engine that the options name. scratch: the folder of that name in the run's folder."""
    lease_s = settings.node_lease_s
    if options.engine == LOCAL:
        return LocalEngine(
            cluster.nodes, scratch, epoch, clock, lease_s=lease_s, node_limits=node_limits
        )
    is_embedded = options.address is None
    place = RayPlace(
        address=options.address,
        raylets=len(cluster.nodes) if is_embedded else 0,
        grace_s=settings.reattach_s,
    )
    rule = NodeRule.of(settings)
    if is_embedded:
        rule = replace(rule, embedded=cluster.nodes)
    launcher = RayLauncher(
        scratch.parent / RAY_FOLDER, scratch, place, rule, epoch=epoch, lease_s=lease_s
    )
    return RayEngine(launcher, epoch, clock)
