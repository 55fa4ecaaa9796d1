"""The engine that runs attempts on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sluice.bootstrap.engines.kinds import EngineKind, EngineWork
from sluice.bootstrap.live.run_options import RunOptions
from sluice.engines.base import Engine
from sluice.engines.local.customer_folders import CustomerFolders
from sluice.engines.local.engine import LocalEngine
from sluice.model.errors import InvalidInput


class LocalKind(EngineKind):
    """Processes of this machine."""

    name = "local"
    summary = "processes of this machine, on virtual nodes"
    nodes_s = 10.0
    is_local = True
    gives_back = True

    def check(self, options: RunOptions) -> None:
        if options.address is not None:
            raise InvalidInput(
                "engine 'local' has no address",
                where="--address",
                hint="leave it out, or use --engine ray or --engine yarn",
            )

    @contextmanager
    def at_work(self, work: EngineWork) -> Iterator[Engine]:
        users = work.limits.customers()
        folders = None if users is None else CustomerFolders(work.scratch.resolve(), users)
        if folders is not None:
            folders.users.check_allowed()
            work.runner.keep_apart(folders)
        yield LocalEngine(
            work.cluster.nodes,
            work.scratch,
            work.epoch,
            work.clock,
            lease_s=work.limits.node_lease_s,
            node_limits=work.node_limits,
            customers=folders,
            start_s=work.vm_start_s,
        )
