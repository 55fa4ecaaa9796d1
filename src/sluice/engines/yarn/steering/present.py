"""The present state of a cluster, as far as it can be steered."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sluice.engines.yarn.rest import ResourceManagerRest, YarnNode
from sluice.model.errors import EngineUnavailable, InvalidInput

_CAPACITY = "yarn.scheduler.capacity."
_FAIR = ".FairScheduler"
_RESERVABLE = ".reservable"


class Gone(InvalidInput):
    """A plan names a node, an application or an attempt that is not there any more."""


@dataclass(frozen=True)
class Present:
    """The cluster at one moment; each part is asked for when it is needed, once.

    allocations: the path of the Fair Scheduler's file, where the caller names it.
    """

    rest: ResourceManagerRest
    allocations: str | None = None

    @cached_property
    def is_fair(self) -> bool:
        """Whether its queues are those of the Fair Scheduler's file."""
        if self.allocations is not None:
            return True
        return self.rest.configured("yarn.resourcemanager.scheduler.class").endswith(_FAIR)

    def fair_queues(self) -> Mapping[str, Mapping[str, Any]]:
        """The Fair Scheduler's queues by path, as it shows them now; none where it does not."""
        found: dict[str, Mapping[str, Any]] = {}
        try:
            said = self.rest.call("GET", "/scheduler")
            rows = [said["scheduler"]["schedulerInfo"]["rootQueue"]]
            while rows:
                row = rows.pop()
                found[str(row["queueName"])] = row
                below = (row.get("childQueues") or {}).get("queue") or []
                rows += below if isinstance(below, list) else [below]
        except (EngineUnavailable, AttributeError, KeyError, TypeError):
            return found
        return found

    @cached_property
    def configured(self) -> Mapping[str, str]:
        """The Capacity Scheduler's configuration, without the beginning of its keys."""
        said = self.rest.call("GET", "/scheduler-conf")
        try:
            return {
                one["name"].removeprefix(_CAPACITY): str(one["value"])
                for one in said["property"]
                if one["name"].startswith(_CAPACITY)
            }
        except (KeyError, TypeError, AttributeError) as error:
            raise EngineUnavailable(
                f"{self.rest.base}: its scheduler's configuration cannot be read: {error!r}"
            ) from error

    @cached_property
    def nodes(self) -> Mapping[str, YarnNode]:
        """The running nodes by id, and by host where it has one."""
        found = self.rest.nodes()
        hosts = {node.host: node for node in found}
        return {**hosts, **{node.node_id: node for node in found}}

    def node(self, name: str) -> YarnNode:
        """The running node of that name. Raises Gone."""
        node = self.nodes.get(name)
        if node is None:
            known = ", ".join(sorted({one.host for one in self.nodes.values()})[:5])
            raise Gone(
                f"no node {name!r} runs",
                where="nodes",
                hint=f"give one of {known or 'those that do'}",
            )
        return node

    def siblings(self, path: str) -> list[str]:
        """The queues below the same parent, with the one at `path`, as configured now."""
        parent = path.rpartition(".")[0]
        return [name for name in self.configured.get(f"{parent}.queues", "").split(",") if name]

    def application(self, app_id: str) -> Mapping[str, Any]:
        """A running application. Raises Gone for one that is over, or that is not known."""
        try:
            found = self.rest.application(app_id)
        except EngineUnavailable as error:
            if "404" not in str(error):
                raise
            found = {"state": "unknown"}
        state = str(found.get("state", "")).lower()
        if state not in {"new", "new_saving", "submitted", "accepted", "running"}:
            raise Gone(
                f"{app_id} is {state}", where="applications", hint="give one that runs or waits"
            )
        return found

    def queue_of(self, reservation_id: str) -> str | None:
        """The queue with a reservation; None for the Fair Scheduler's. Raises Gone."""
        if self.is_fair:
            return None
        for key, value in self.configured.items():
            queue = key.removesuffix(_RESERVABLE)
            if key != queue and value == "true" and self.has_reservation(queue, reservation_id):
                return queue
        raise Gone(
            f"{reservation_id} is not there",
            where="delete_reservations",
            hint="give one that has not ended",
        )

    def has_reservation(self, queue: str, reservation_id: str) -> bool:
        """Whether a queue has a reservation now."""
        path = f"/reservation/list?queue={queue}&reservation-id={reservation_id}"
        rows = (self.rest.call("GET", path) or {}).get("reservations") or []
        rows = rows if isinstance(rows, list) else [rows]
        return any(row.get("reservation-id") == reservation_id for row in rows)

    def labels(self, node_id: str) -> tuple[str, ...]:
        """The labels of a node."""
        said = self.rest.call("GET", f"/nodes/{urllib.parse.quote(node_id)}/get-labels")
        return _labels(said)

    def cluster_labels(self) -> frozenset[str]:
        """The labels that the cluster has."""
        return frozenset(_labels(self.rest.call("GET", "/get-node-labels")))


def _labels(said: object) -> tuple[str, ...]:
    rows = (said or {}).get("nodeLabelInfo") or [] if isinstance(said, dict) else []
    rows = rows if isinstance(rows, list) else [rows]
    return tuple(str(row.get("name", "")) for row in rows if isinstance(row, dict))
