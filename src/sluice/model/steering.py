"""The changes to be made to a running YARN cluster: a steering plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationWish:
    """Changes of one application; None changes nothing. lifetime_s: from now until YARN ends it."""

    priority: int | None = None
    queue: str | None = None
    lifetime_s: float | None = None
    kill: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeWish:
    """Changes of one node; None leaves it as it is. labels: all that it is to have."""

    memory_mb: int | None = None
    vcores: int | None = None
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationWish:
    """A reservation to make. Instants in seconds since 1970, lengths in seconds.

    containers: that many at a time at most; at_least: at a time. runs_s: each of them.
    """

    queue: str
    name: str
    starts_at_s: float
    deadline_at_s: float
    containers: int
    at_least: int
    runs_s: float
    memory_mb: int
    vcores: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeringPlan:
    """Wishes by the names that YARN uses.

    queues: by path, such as root.a: values by the names of capacity-scheduler.xml, such as
    maximum-capacity; None removes one.  nodes: by host, or host:port.  kill_attempts: ids of
    attempts of MapReduce tasks.  delete_reservations: ids.  allocations: the whole text of
    fair-scheduler.xml; None leaves what the queues do not name.  skips_gone: whether nodes,
    applications and attempts that are gone are left out, and a refusal leaves the rest to be made.
    """

    queues: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    applications: Mapping[str, ApplicationWish] = field(default_factory=dict)
    nodes: Mapping[str, NodeWish] = field(default_factory=dict)
    kill_attempts: tuple[str, ...] = ()
    reservations: tuple[ReservationWish, ...] = ()
    delete_reservations: tuple[str, ...] = ()
    allocations: str | None = None
    skips_gone: bool = False
