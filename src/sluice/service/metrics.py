"""Metrics for Prometheus. Labels are bounded: routes, queues and states, never a job or a user.

Source: service spec, section 14.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import Scope

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_BUCKETS_S = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """The figures of one web process."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Histogram(
            "sluice_http_request_seconds", "Time of a request", ["route", "method", "status"],
            buckets=_BUCKETS_S, registry=registry,
        )  # fmt: skip
        self._jobs = Gauge("sluice_jobs", "Jobs by queue and state", ["queue", "state"],
                           registry=registry)  # fmt: skip
        self._slots = Gauge("sluice_slots", "Slots of nodes that are up", registry=registry)
        self._used = Gauge("sluice_slots_used", "Slots in use", registry=registry)
        self._nodes = Gauge("sluice_nodes_up", "Nodes that are up", registry=registry)
        self._promises = Gauge("sluice_promises", "Promises with an outcome", ["kept"],
                               registry=registry)  # fmt: skip
        self.clients = Gauge("sluice_sse_clients", "Open event streams", registry=registry)
        self.resyncs = Counter("sluice_sse_resyncs", "Streams that fell behind", registry=registry)

    def request(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request that has ended."""
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._requests.labels(route, method, str(status)).observe(seconds)

    def text(self, queues: Mapping[str, Any], counts: Mapping[str, Any]) -> bytes:
        """The page for Prometheus. queues, counts: what the follower answers to these questions."""
        self._jobs.clear()
        for row in counts["counts"]:
            self._jobs.labels(row["queue"], row["state"]).set(row["jobs"])
        promises = counts["promises"]
        for name, number in (("yes", promises["kept"]), ("no", promises["broken"])):
            self._promises.labels(name).set(number)
        self._slots.set(queues["slots"])
        self._used.set(queues["used"])
        self._nodes.set(queues["nodes_up"])
        return generate_latest(self._registry)
