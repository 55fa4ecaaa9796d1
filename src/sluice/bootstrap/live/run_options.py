"""The options of a live run, as they are given and as the journal's header keeps them."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from sluice.bootstrap.policy_classes import (
    KINDS,
    ChosenPolicy,
    absolute_spec,
    check_unchanged,
    chosen_policy,
)
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import NodeId
from sluice.model.queues import Pool, PoolOrder, Queue, QueueOrder
from sluice.model.workload import Workload
from sluice.store.rows import RunHeader
from sluice.store.run_record import RunIdentity

_OF_FILE = "of_file"
_POLICY_FILES = "policy_files"
_FLAGS = {"settings": "--set", "advice": "--preset auto"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a live run. A resumed run keeps those that it started with.

    nodes, map_slots, reduce_slots: virtual nodes instead of the file's cluster.
    address: of a Ray cluster; None for nodes on this machine.
    settings: as given to `--set`.  advice: digest of the advice that they follow, if they do.
    """

    tasks: str = "fifo"
    release: str = "input"
    admission: str = "all"
    engine: str = "local"
    address: str | None = None
    nodes: int | None = None
    map_slots: int | None = None
    reduce_slots: int | None = None
    settings: tuple[str, ...] = ()
    seed: int = 0
    advice: str | None = None

    def header(self, workload: Workload, identity: RunIdentity) -> RunHeader:
        """The header of the journal; from it the same scheduler can be built again."""
        return RunHeader(
            source=identity.source,
            folder=identity.folder,
            sha256=identity.sha256,
            # Runs of one second have an order, too: the last one of a profile is the newest.
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            policies={kind: absolute_spec(getattr(self, kind)) for kind in KINDS},
            settings={
                "engine": self.engine,
                **({} if self.address is None else {"address": self.address}),
                "nodes": self.nodes,
                "map_slots": self.map_slots,
                "reduce_slots": self.reduce_slots,
                "set": list(self.settings),
                "seed": self.seed,
                **({} if self.advice is None else {"advice": self.advice}),
                _POLICY_FILES: {
                    file: sha256 for one in self.chosen() for file, sha256 in one.files.items()
                },
                _OF_FILE: {
                    "settings": dict(workload.settings),
                    "pools": [
                        asdict(pool) | {"order": pool.order.value} for pool in workload.pools
                    ],
                },
            },
        )

    def chosen(self) -> list[ChosenPolicy]:
        """The policies of the run, one of each kind. Raises InvalidInput."""
        return [chosen_policy(kind, getattr(self, kind)) for kind in KINDS]

    @classmethod
    def of(cls, header: RunHeader) -> RunOptions:
        """The options in a journal's header."""
        recorded: dict[str, Any] = {**header.policies, **header.settings}
        overrides = recorded.pop("set")
        recorded.pop(_OF_FILE, None)
        recorded.pop(_POLICY_FILES, None)
        return cls(**recorded, settings=tuple(overrides))

    def without_effect_on(self, recorded: RunOptions) -> list[str]:
        """Options that were given, and that a run with the recorded options does not have."""
        default, given = asdict(RunOptions()), asdict(self)
        given |= {kind: absolute_spec(given[kind]) for kind in KINDS}
        return [
            _FLAGS.get(name, f"--{name.replace('_', '-')}")
            for name, value in asdict(recorded).items()
            if given[name] not in (default[name], value)
        ]

    def cluster(self, workload: Workload) -> Cluster:
        """The virtual nodes of the run; by default one, with a slot of each kind per processor."""
        given = (self.nodes, self.map_slots, self.reduce_slots)
        if workload.cluster is not None and given == (None, None, None):
            return workload.cluster
        slots = os.cpu_count() or 1
        first = workload.cluster.nodes[0] if workload.cluster else None
        nodes = self.nodes or (len(workload.cluster.nodes) if workload.cluster else 1)
        map_slots, reduce_slots = self.map_slots, self.reduce_slots
        if map_slots is None:
            map_slots = first.map_slots if first else slots
        if reduce_slots is None:
            reduce_slots = first.reduce_slots if first else slots
        return Cluster(
            nodes=tuple(
                Node(
                    node_id=NodeId(f"node-{number}"), map_slots=map_slots, reduce_slots=reduce_slots
                )
                for number in range(1, nodes + 1)
            )
        )


def check_policy_files(header: RunHeader, options: RunOptions, run_id: str) -> None:
    """Raise InvalidInput if a policy file of the run is not what it was when the run started."""
    check_unchanged(options.chosen(), header.settings.get(_POLICY_FILES), run_id)


def scheduler_part(header: RunHeader) -> Workload:
    """Return what the workload file said about the scheduler when the run began."""
    recorded: Any = header.settings.get(_OF_FILE, {"settings": {}, "pools": []})
    pools = tuple(map(_recorded_pool, recorded["pools"]))
    return Workload(cluster=None, jobs=(), pools=pools, settings=recorded["settings"])


def _recorded_pool(pool: dict[str, Any]) -> Pool:
    queue = pool.get("queue")  # journals of versions before queues have none
    if queue is not None:
        queue = Queue(**{**queue, "order": QueueOrder(queue["order"])})
    return Pool(**{**pool, "order": PoolOrder(pool["order"]), "queue": queue})
