"""The engine of a live run: built from its options, its settings and its nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sluice.bootstrap.run_options import RunOptions, settings_of
from sluice.engines.base import Engine
from sluice.engines.cluster.handshake import token_key
from sluice.engines.data_plane.plane import DataPlane
from sluice.engines.data_plane.settings import DataPlaneSettings
from sluice.engines.job_runner import JobRunner
from sluice.engines.local.engine import LocalEngine
from sluice.engines.local.node_limits import NodeLimits
from sluice.engines.ray.bridge_process import (
    AUTO,
    RAY_FOLDER,
    RayPlace,
    check_ray,
    end_remnants,
    has_bridge,
    host_and_port,
    listed_nodes,
    token_of,
)
from sluice.engines.ray.embedded_cluster import check_room
from sluice.engines.ray.launcher import RayEngine, RayLauncher
from sluice.engines.ray.nodes import NodeRule
from sluice.engines.settings import TaskLimitSettings
from sluice.ingest.settings import Settings
from sluice.ingest.suggestions import suggestion
from sluice.model.cluster import Cluster
from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.model.workload import Workload
from sluice.store.private import make_private_folder
from sluice.store.run_info import driver_of
from sluice.store.runs import Runs

LOCAL, RAY = "local", "ray"
ENGINES = (LOCAL, RAY)
PORT_FILE = "data-port"  # in the folder of the run's bridge
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
    if options.address != AUTO and host_and_port(options.address) is None:
        raise InvalidInput(
            f"{options.address!r} is not the address of a Ray cluster",
            where="--address",
            hint="give HOST:PORT, as `ray start --head` prints it, or auto",
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

    Raises EngineUnavailable; InvalidInput for more raylets than this machine has memory for.
    """
    if options.address is None:
        if options.engine == RAY:
            in_file = len(workload.cluster.nodes) if workload.cluster else 1
            check_room(options.nodes or in_file)
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


@contextmanager
def engine_at_work(
    options: RunOptions,
    settings: Settings,
    cluster: Cluster,
    runner: JobRunner,
    scratch: Path,
    *,
    epoch: int,
    clock: Callable[[], float],
    node_limits: NodeLimits | None,
) -> Iterator[Engine]:
    """The engine that the options name, and inside, the data plane if its nodes need one.

    runner: of the run's jobs.  scratch: the folder of that name in the run's folder.
    """
    limits = settings.of(TaskLimitSettings)
    if options.engine == LOCAL:
        yield LocalEngine(
            cluster.nodes,
            scratch,
            epoch,
            clock,
            lease_s=limits.node_lease_s,
            node_limits=node_limits,
        )
        return
    folder = scratch.parent / RAY_FOLDER
    make_private_folder(folder)
    is_embedded = options.address is None
    place = RayPlace(
        address=options.address,
        raylets=len(cluster.nodes) if is_embedded else 0,
        grace_s=limits.reattach_s,
        token=token_of(folder),
    )
    rule = NodeRule.of(limits)
    if is_embedded:
        rule = replace(rule, embedded=cluster.nodes)
    tls = limits.tls()
    launcher = RayLauncher(
        folder, scratch, place, rule, epoch=epoch, lease_s=limits.node_lease_s, tls=tls
    )
    data_settings = settings.of(DataPlaneSettings)
    with DataPlane(
        runner.prepared,
        token_key(place.token),
        data_settings,
        host="",
        patience_s=limits.reattach_s,
        port_file=folder / PORT_FILE,
        tls=tls,
    ) as plane:
        if moves_data(data_settings, is_embedded=is_embedded):
            runner.move_data_by(plane)
        yield RayEngine(launcher, epoch, clock)


def moves_data(settings: DataPlaneSettings, *, is_embedded: bool) -> bool:
    """Whether data moves between the nodes of a Ray cluster over the network.

    The nodes of an embedded cluster share the disk of this machine. Nodes of other clusters may
    share one: with `auto` each attempt then opens what its node has.
    """
    return settings.data_plane == "network" or (settings.data_plane == "auto" and not is_embedded)
