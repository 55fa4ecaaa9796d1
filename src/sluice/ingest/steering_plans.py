"""Steering plans: read from a file, and written as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from sluice.ingest.document import read_document
from sluice.ingest.errors import FieldError, raise_complaints
from sluice.ingest.file_schema.fields import (
    Identity,
    Shape,
    Text,
    Version,
    key,
    required,
    same_fields,
)
from sluice.ingest.reading import read_source, source_name
from sluice.ingest.translation import validated
from sluice.model.steering import ApplicationWish, NodeWish, ReservationWish, SteeringPlan

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


PERCENT = 100.0
_CLOSE = 0.05  # YARN adds up single-precision numbers


def load_steering_plan(source: str, now_s: float) -> SteeringPlan:
    """The plan in a file. now_s: seconds since 1970, from which the file's lengths count.

    Raises InvalidInput naming file, line and field.
    """
    return parse_steering_plan(read_source(source), now_s, source=source_name(source))


def parse_steering_plan(content: bytes | str, now_s: float, *, source: str) -> SteeringPlan:
    """The plan in YAML or JSON text. Raises InvalidInput as `load_steering_plan` does."""
    document = read_document(content, source=source)
    shape = validated(document, SteeringPlanShape, document.value)
    found = list(_complaints(shape))
    if found:
        raise_complaints(document, found)
    return SteeringPlan(
        queues={
            path: {key: _written(value) for key, value in keys.items()}
            for path, keys in shape.queues.items()
        },
        applications={
            app_id: ApplicationWish(**each.model_dump())
            for app_id, each in shape.applications.items()
        },
        nodes={
            node: NodeWish(
                **same_fields(each, NodeWish)
                | {"labels": None if each.labels is None else tuple(each.labels)}
            )
            for node, each in shape.nodes.items()
        },
        kill_attempts=tuple(shape.kill_attempts),
        reservations=tuple(
            ReservationWish(
                starts_at_s=now_s + each.starts_in_s,
                deadline_at_s=now_s + each.deadline_s,
                **same_fields(each, ReservationWish),
            )
            for each in shape.reservations
        ),
        delete_reservations=tuple(shape.delete_reservations),
        allocations=shape.allocations,
        skips_gone=shape.skip_gone,
    )


def _complaints(shape: SteeringPlanShape) -> Iterator[FieldError]:
    if shape.allocations is not None and shape.queues:
        hint = "give the whole file, or its queues"
        yield FieldError(("allocations",), "is given together with queues", hint)
    for index, each in enumerate(shape.reservations):
        if each.deadline_s <= each.starts_in_s:
            hint = "give a deadline after starts_in_s"
            yield FieldError(("reservations", index, "deadline_s"), "is before the start", hint)
        if each.at_least > each.containers:
            hint = "give at most `containers`"
            yield FieldError(("reservations", index, "at_least"), "is more than all", hint)


def _written(value: object) -> str | None:
    """A value as Hadoop's files have it.

    >>> _written(60.0), _written(True), _written("x"), _written(None)
    ('60', 'true', 'x', None)
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def wrong_sum(capacities: dict[str, str]) -> str:
    """Return what is wrong with the capacities of sibling queues; "" if they add up to 100.

    capacities: by name of the queue. Those of resources or weights need not add up.

    >>> wrong_sum({"a": "60", "b": "30"})
    'a 60 + b 30 = 90, not 100'
    >>> wrong_sum({"a": "60", "b": "40"}), wrong_sum({"a": "3w", "b": "1w"})
    ('', '')
    """
    try:
        total = sum(map(float, capacities.values()))
    except ValueError:
        return ""
    if abs(total - PERCENT) <= _CLOSE or not capacities:
        return ""
    return (
        " + ".join(f"{one} {text}" for one, text in capacities.items()) + f" = {total:g}, not 100"
    )


def plan_document(plan: SteeringPlan) -> dict[str, Any]:
    """A plan without reservations to make, as a file writes it."""
    document: dict[str, Any] = {"version": 1}
    if plan.skips_gone:
        document["skip_gone"] = True
    if plan.queues:
        document["queues"] = {path: dict(keys) for path, keys in plan.queues.items()}
    if plan.applications:
        document["applications"] = {
            app_id: _given(priority=each.priority, queue=each.queue)
            for app_id, each in plan.applications.items()
        }
    if plan.nodes:
        document["nodes"] = {node: _node(each) for node, each in plan.nodes.items()}
    if plan.allocations is not None:
        document["allocations"] = plan.allocations
    if plan.delete_reservations:
        document["delete_reservations"] = list(plan.delete_reservations)
    return document


def _node(wish: NodeWish) -> dict[str, Any]:
    labels = None if wish.labels is None else list(wish.labels)
    return _given(memory_mb=wish.memory_mb, vcores=wish.vcores, labels=labels)


def _given(**values: object) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
