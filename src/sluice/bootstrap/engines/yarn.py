"""The engine that runs attempts in containers of a YARN cluster."""

from __future__ import annotations

from collections.abc import Iterator
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
from sluice.engines.settings import TaskLimitSettings
from sluice.engines.yarn.application import YARN_FOLDER, end_application, token_of
from sluice.engines.yarn.launcher import YarnLauncher
from sluice.engines.yarn.nodes import ContainerRule, reported, usable
from sluice.engines.yarn.rest import ResourceManagerRest, checked_address
from sluice.engines.yarn.settings import YarnSettings
from sluice.ingest.settings import Settings
from sluice.model.cluster import Cluster
from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.model.workload import Workload
from sluice.store.private import make_private_folder

PORT_FILE = "data-port"  # in the folder of the run's application


class YarnKind(EngineKind):
    """A YARN cluster: one application, with one container on each node."""

    name = "yarn"
    summary = "containers of a YARN cluster"
    gives_back = True

    def check(self, options: RunOptions) -> None:
        if options.address is None:
            raise InvalidInput(
                "engine 'yarn' needs an address",
                where="--address",
                hint="give the ResourceManager's web address, such as http://rm:8088",
            )
        checked_address(options.address, "--address")
        check_no_nodes_given(
            options, "leave it out; settings such as yarn_map_slots_per_vcore give the slots"
        )

    def with_nodes(self, workload: Workload, options: RunOptions) -> Workload:
        settings = settings_of(workload, options)
        rest = _rest(options, settings)
        rule = _rule(settings, rest)
        found = usable(rest.nodes())[: rule.settings.yarn_nodes]
        nodes = tuple(rule.node(reported(each)) for each in found)
        if not nodes:
            raise EngineUnavailable(f"the YARN cluster at {options.address} has no node that runs")
        has_racks = len({node.rack for node in nodes}) > 1
        return replace(workload, cluster=Cluster(nodes=nodes, has_racks=has_racks))

    def moves_data(self, settings: DataPlaneSettings, options: RunOptions) -> bool:
        return settings.data_plane != "shared"

    @contextmanager
    def at_work(self, work: EngineWork) -> Iterator[Engine]:
        limits = work.limits
        folder = work.scratch.parent / YARN_FOLDER
        make_private_folder(folder)
        rest = _rest(work.options, work.settings)
        launcher = YarnLauncher(
            folder,
            rest,
            _rule(work.settings, rest),
            epoch=work.epoch,
            lease_s=limits.node_lease_s,
            grace_s=limits.reattach_s,
        )
        data_settings = work.settings.of(DataPlaneSettings)
        with DataPlane(
            work.runner.prepared,
            token_key(token_of(folder)),
            data_settings,
            patience_s=limits.reattach_s,
            port_file=folder / PORT_FILE,
        ) as plane:
            if self.moves_data(data_settings, work.options):
                work.runner.move_data_by(plane)
                launcher.hear_own_hosts(plane.listen_at)
            yield ManagedEngine(launcher, work.epoch, work.clock)

    def end(self, run: Path) -> None:
        end_application(run / YARN_FOLDER)


def _rest(options: RunOptions, settings: Settings) -> ResourceManagerRest:
    assert options.address is not None  # as `check` has seen
    return ResourceManagerRest(options.address, settings.of(YarnSettings).yarn_user)


def _rule(settings: Settings, rest: ResourceManagerRest) -> ContainerRule:
    weights = settings.of(TaskLimitSettings).node_weights()
    return ContainerRule.of(settings.of(YarnSettings), weights, rest)
