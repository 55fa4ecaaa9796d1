"""A steering plan as a file writes it: what a running YARN cluster is to be changed to."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sluice.ingest.file_schema.fields import Identity, Shape, Text, Version, key, required

_MEMORY_MB_MAX = 2**40
_VCORES_MAX = 100_000
_PRIORITY_MAX = 2**31 - 1
_SECONDS_MAX = 3e9
_CONTAINERS_MAX = 10**6
_TEXT_MAX = 2**24

Memory = Annotated[int, Field(ge=0, le=_MEMORY_MB_MAX)]
Vcores = Annotated[int, Field(ge=0, le=_VCORES_MAX)]
Path = Annotated[str, Field(pattern=r"^root(\.[\w-]+)*$", max_length=500)]
QueueKey = Annotated[str, Field(pattern=r"^[a-z][a-zA-Z0-9._-]*$", max_length=200)]
QueueValue = str | int | float | bool | None
ApplicationId = Annotated[str, Field(pattern=r"^application_\d+_\d+$")]
AttemptId = Annotated[str, Field(pattern=r"^attempt_\d+_\d+_[mr]_\d+_\d+$")]
ReservationId = Annotated[str, Field(pattern=r"^reservation_\d+_\d+$")]
Label = Annotated[str, Field(pattern=r"^[0-9a-zA-Z][0-9a-zA-Z_-]{0,254}$")]
Seconds = Annotated[float, Field(gt=0, le=_SECONDS_MAX)]


class ApplicationShape(Shape):
    """The changes to make to a running application."""

    priority: int | None = key("higher goes first, a whole number", ge=-1, le=_PRIORITY_MAX)
    queue: Identity | None = key("the queue to move it to")
    lifetime_s: Seconds | None = key("seconds from now after which YARN ends it, above 0")
    kill: bool = key("true to end it", default=False)


class NodeShape(Shape):
    """All that YARN may place on a node."""

    memory_mb: Memory | None = key("mebibytes, a whole number of 0 or more")
    vcores: Vcores | None = key("a whole number of 0 or more")
    labels: list[Label] | None = key("all labels of the node; [] for none", max_length=1)


class ReservationShape(Shape):
    """Containers for a time, by a deadline."""

    queue: Identity = required("a queue that may be reserved")
    name: Text = key("a name, as text", "sluice")
    starts_in_s: Annotated[float, Field(ge=0, le=_SECONDS_MAX)] = key(
        "seconds from now, 0 or more", 0.0
    )
    deadline_s: Seconds = required("seconds from now, above 0")
    containers: Annotated[int, Field(ge=1, le=_CONTAINERS_MAX)] = required(
        "how many run, a whole number of 1 or more"
    )
    at_least: Annotated[int, Field(ge=1, le=_CONTAINERS_MAX)] = key(
        "how many must run at a time, a whole number of 1 or more", 1
    )
    runs_s: Seconds = required("seconds that each runs, above 0")
    memory_mb: Annotated[int, Field(ge=1, le=_MEMORY_MB_MAX)] = required(
        "mebibytes of each, a whole number of 1 or more"
    )
    vcores: Annotated[int, Field(ge=1, le=_VCORES_MAX)] = key(
        "processors of each, a whole number of 1 or more", 1
    )


class SteeringPlanShape(Shape):
    """Changes of a running cluster."""

    version: Version = required("1, the version of this format: start the file with `version: 1`")
    queues: dict[Path, dict[QueueKey, QueueValue]] = key(
        "by path, such as root.a: keys of capacity-scheduler.xml, null to remove", {}
    )
    applications: dict[ApplicationId, ApplicationShape] = key(
        "by id: priority, queue, lifetime_s, kill", {}
    )
    nodes: dict[Identity, NodeShape] = key("by host or host:port: memory_mb, vcores, labels", {})
    kill_attempts: list[AttemptId] = key("ids of attempts of MapReduce tasks", [])
    reservations: list[ReservationShape] = key("reservations to make", [])
    delete_reservations: list[ReservationId] = key("ids of reservations", [])
    allocations: str | None = key("the whole text of fair-scheduler.xml", max_length=_TEXT_MAX)
    skip_gone: bool = key("true to make the rest if something is gone or refused", default=False)
