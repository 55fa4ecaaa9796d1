"""The facts to know of an engine before it is chosen, and how it is put to work."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from sluice.bootstrap.live.run_options import RunOptions
from sluice.engines.base import Engine
from sluice.engines.data_plane.settings import DataPlaneSettings
from sluice.engines.job_runner import JobRunner
from sluice.engines.local.node_limits import NodeLimits
from sluice.engines.settings import TaskLimitSettings
from sluice.ingest.settings import Settings
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload
from sluice.store.runs import Runs


@dataclass(frozen=True, kw_only=True)
class EngineWork:
    """The work that an engine is to do.

    runner: of the run's jobs.  scratch: the folder of that name in the run's folder.
    epoch: the life of the driver.  clock: seconds since the start of the workload.
    vm_start_s: seconds until a rented node boots.
    """

    options: RunOptions
    settings: Settings
    cluster: Cluster
    runner: JobRunner
    scratch: Path
    epoch: int
    clock: Callable[[], float]
    node_limits: NodeLimits | None = None
    vm_start_s: float = 0.0

    @property
    def limits(self) -> TaskLimitSettings:
        """The limits of attempts and nodes."""
        return self.settings.of(TaskLimitSettings)


class EngineKind(Protocol):
    """The descriptor of an engine; a kind of its own overrides what differs.

    nodes_s: how long its nodes may take to come up.  is_local: its nodes are on this machine, so
    that they can be held to their limits.  gives_back: single nodes, while the run goes on.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    nodes_s: ClassVar[float] = 120.0
    is_local: ClassVar[bool] = False
    gives_back: ClassVar[bool] = False

    def check(self, options: RunOptions) -> None:
        """Raise InvalidInput for options that do not fit, or if something is not installed."""

    def warnings(self, options: RunOptions) -> Iterable[str]:
        """Sentences about what its user should know before the run."""
        return ()

    def with_nodes(self, workload: Workload, options: RunOptions) -> Workload:
        """The workload on the nodes that the engine has, if the engine has its own.

        Raises EngineUnavailable or InvalidInput.
        """
        return workload

    def prepare(self, settings: Settings, runs: Runs) -> None:
        """Before a new run: check files of its settings, and end what former runs have left.

        Raises InvalidInput.
        """

    def moves_data(self, settings: DataPlaneSettings, options: RunOptions) -> bool:
        """Whether data moves between its nodes over the network."""
        return False

    @abstractmethod
    def at_work(self, work: EngineWork) -> AbstractContextManager[Engine]:
        """The engine, and inside, the data plane if its nodes need one."""

    def end(self, run: Path) -> None:
        """End what a run that no process drives has left in its cluster, if anything."""

    def end_lost(self, runs: Runs) -> None:
        """End what is left of runs whose processes were all killed."""


def check_no_nodes_given(options: RunOptions, hint: str) -> None:
    """Raise InvalidInput for options that give nodes where the cluster has its own."""
    given = {
        "--nodes": options.nodes,
        "--map-slots": options.map_slots,
        "--reduce-slots": options.reduce_slots,
    }
    for name, value in given.items():
        if value is not None:
            raise InvalidInput(
                "the nodes are those of the cluster at --address", where=name, hint=hint
            )
