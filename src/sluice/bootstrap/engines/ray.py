"""The engine that runs attempts on the nodes of a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sluice.bootstrap.engines.kinds import EngineKind, EngineWork, check_no_nodes_given
from sluice.bootstrap.live.run_options import RunOptions
from sluice.bootstrap.settings import settings_of
from sluice.engines.base import Engine
from sluice.engines.cluster.handshake import token_key
from sluice.engines.cluster.managed import ManagedEngine
from sluice.engines.data_plane.plane import DataPlane
from sluice.engines.data_plane.settings import DataPlaneSettings
from sluice.engines.ray.authentication import open_cluster_warning
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
from sluice.engines.ray.launcher import RayLauncher
from sluice.engines.ray.nodes import NodeRule
from sluice.engines.settings import TaskLimitSettings
from sluice.ingest.settings import Settings
from sluice.model.cluster import Cluster
from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.model.workload import Workload
from sluice.store.private import make_private_folder
from sluice.store.run_info import driver_of
from sluice.store.runs import Runs

PORT_FILE = "data-port"  # in the folder of the run's bridge


class RayKind(EngineKind):
    """A Ray cluster: one with an address, or one that is started for the run."""

    name = "ray"
    summary = "the nodes of a Ray cluster"
    gives_back = True

    def check(self, options: RunOptions) -> None:
        check_ray()
        if options.address is None:
            return
        if options.address != AUTO and host_and_port(options.address) is None:
            raise InvalidInput(
                f"{options.address!r} is not the address of a Ray cluster",
                where="--address",
                hint="give HOST:PORT, as `ray start --head` prints it, or auto",
            )
        check_no_nodes_given(
            options, "leave it out; settings such as ray_map_slots_per_cpu give the slots"
        )

    def warnings(self, options: RunOptions) -> Iterable[str]:
        warning = options.address and open_cluster_warning(options.address, os.environ)
        return [warning] if warning else []

    def with_nodes(self, workload: Workload, options: RunOptions) -> Workload:
        """Raises InvalidInput for more raylets than this machine has memory for."""
        if options.address is None:
            in_file = len(workload.cluster.nodes) if workload.cluster else 1
            check_room(options.nodes or in_file)
            return workload
        rule = NodeRule.of(settings_of(workload, options).of(TaskLimitSettings))
        nodes = tuple(rule.node(found) for found in listed_nodes(options.address))
        if not nodes:
            why = f"the Ray cluster at {options.address} has no node with processors"
            raise EngineUnavailable(why)
        has_racks = len({node.rack for node in nodes}) > 1
        return replace(workload, cluster=Cluster(nodes=nodes, has_racks=has_racks))

    def prepare(self, settings: Settings, runs: Runs) -> None:
        settings.of(TaskLimitSettings).tls()
        self.end_lost(runs)

    def moves_data(self, settings: DataPlaneSettings, options: RunOptions) -> bool:
        """The nodes of an embedded cluster share the disk of this machine. Nodes of other clusters
        may share one: with `auto` each attempt then opens what its node has.
        """
        is_embedded = options.address is None
        return settings.data_plane == "network" or (
            settings.data_plane == "auto" and not is_embedded
        )

    @contextmanager
    def at_work(self, work: EngineWork) -> Iterator[Engine]:
        limits, is_embedded = work.limits, work.options.address is None
        folder = work.scratch.parent / RAY_FOLDER
        make_private_folder(folder)
        place = RayPlace(
            address=work.options.address,
            raylets=len(work.cluster.nodes) if is_embedded else 0,
            grace_s=limits.reattach_s,
            token=token_of(folder),
        )
        rule = NodeRule.of(limits)
        if is_embedded:
            rule = replace(rule, embedded=work.cluster.nodes)
        tls = limits.tls()
        launcher = RayLauncher(
            folder,
            work.scratch,
            place,
            rule,
            epoch=work.epoch,
            lease_s=limits.node_lease_s,
            tls=tls,
        )
        data_settings = work.settings.of(DataPlaneSettings)
        with DataPlane(
            work.runner.prepared,
            token_key(place.token),
            data_settings,
            patience_s=limits.reattach_s,
            port_file=folder / PORT_FILE,
            tls=tls,
        ) as plane:
            if self.moves_data(data_settings, work.options):
                work.runner.move_data_by(plane)
                launcher.hear_own_hosts(plane.listen_at)
            yield ManagedEngine(launcher, work.epoch, work.clock)

    def end(self, run: Path) -> None:
        end_remnants(run / RAY_FOLDER)

    def end_lost(self, runs: Runs) -> None:
        for run in runs.run_folders():
            folder = run / RAY_FOLDER
            if folder.is_dir() and driver_of(run) is None and not has_bridge(folder):
                end_remnants(folder)
