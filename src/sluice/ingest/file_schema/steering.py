"""A steering plan as a file writes it: what a running YARN cluster is to be changed to."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sluice.ingest.file_schema.fields import Identity, Shape, Text, Version

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
    """What is to become of a running application."""

    priority: int | None = Field(
        None, ge=-1, le=_PRIORITY_MAX, description="higher goes first, a whole number"
    )
    queue: Identity | None = Field(None, description="the queue to move it to")
    lifetime_s: Seconds | None = Field(
        None, description="seconds from now after which YARN ends it, above 0"
    )
    kill: bool = Field(default=False, description="true to end it")


class NodeShape(Shape):
    """What YARN may place on a node."""

    memory_mb: Memory | None = Field(None, description="mebibytes, a whole number of 0 or more")
    vcores: Vcores | None = Field(None, description="a whole number of 0 or more")
    labels: list[Label] | None = Field(
        None, description="all labels of the node; [] for none", max_length=1
    )


class ReservationShape(Shape):
    """Containers for a time, by a deadline."""

    queue: Identity = Field(description="a queue that may be reserved")
    name: Text = Field("sluice", description="a name, as text")
    starts_in_s: Annotated[float, Field(ge=0, le=_SECONDS_MAX)] = Field(
        0.0, description="seconds from now, 0 or more"
    )
    deadline_s: Seconds = Field(description="seconds from now, above 0")
    containers: Annotated[int, Field(ge=1, le=_CONTAINERS_MAX)] = Field(
        description="how many run, a whole number of 1 or more"
    )
    at_least: Annotated[int, Field(ge=1, le=_CONTAINERS_MAX)] = Field(
        1, description="how many must run at a time, a whole number of 1 or more"
    )
    runs_s: Seconds = Field(description="seconds that each runs, above 0")
    memory_mb: Annotated[int, Field(ge=1, le=_MEMORY_MB_MAX)] = Field(
        description="mebibytes of each, a whole number of 1 or more"
    )
    vcores: Annotated[int, Field(ge=1, le=_VCORES_MAX)] = Field(
        1, description="processors of each, a whole number of 1 or more"
    )


class SteeringPlanShape(Shape):
    """Changes of a running cluster."""

    version: Version = Field(
        description="1, the version of this format: start the file with `version: 1`"
    )
    queues: dict[Path, dict[QueueKey, QueueValue]] = Field(
        {}, description="by path, such as root.a: keys of capacity-scheduler.xml, null to remove"
    )
    applications: dict[ApplicationId, ApplicationShape] = Field(
        {}, description="by id: priority, queue, lifetime_s, kill"
    )
    nodes: dict[Identity, NodeShape] = Field(
        {}, description="by host or host:port: memory_mb, vcores, labels"
    )
    kill_attempts: list[AttemptId] = Field([], description="ids of attempts of MapReduce tasks")
    reservations: list[ReservationShape] = Field([], description="reservations to make")
    delete_reservations: list[ReservationId] = Field([], description="ids of reservations")
    allocations: str | None = Field(
        None, description="the whole text of fair-scheduler.xml", max_length=_TEXT_MAX
    )
    skip_gone: bool = Field(
        default=False, description="true to make the rest if something is gone or refused"
    )
