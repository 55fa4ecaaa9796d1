"""Checks that need several places of a file: ids given twice, limits that contradict each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from sluice.ingest.errors import FieldError, quoted
from sluice.ingest.file_schema.clusters import QueueShape
from sluice.ingest.file_schema.workload import WorkloadShape
from sluice.ingest.positions import Path
from sluice.ingest.settings import FOREIGN_NAMES, Declarations, checked_setting
from sluice.ingest.suggestions import suggestion
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind

_NAMED = ("pools", "queues", "classes", "members", "vm_types")


def complaints_about(
    shape: WorkloadShape, declarations: Declarations | None
) -> Iterator[FieldError]:
    """Errors in all parts but the jobs. declarations: of settings; None leaves those unchecked."""
    for name in _NAMED:
        yield from _ids_twice(name, [one.id for one in getattr(shape, name) or ()])
    yield from _queues(shape.queues or [])
    yield from _ranges(shape)
    if declarations is not None:
        yield from _settings(shape.settings or {}, declarations)


def _ids_twice(name: str, ids: Sequence[str]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, one in enumerate(ids):
        if one in seen:
            yield FieldError((name, index, "id"), "is given twice", "name each once")
        seen.add(one)


def _queues(queues: Sequence[QueueShape]) -> Iterator[FieldError]:
    parents = {queue.id: queue.parent for queue in queues}
    for index, queue in enumerate(queues):
        at = ("queues", index)
        if queue.parent is not None and queue.parent not in parents:
            what = f"names the unknown queue {quoted(queue.parent)}"
            yield FieldError((*at, "parent"), what, suggestion(queue.parent, parents))
        elif _is_its_own_ancestor(queue.id, parents):
            yield FieldError((*at, "parent"), "leads back to this queue", "break the circle")
        if queue.share_max is not None and queue.share_max < queue.share_min:
            what = f"is {queue.share_max:g}, below share_min = {queue.share_min:g}"
            yield FieldError((*at, "share_max"), what, "give at least share_min")


def _is_its_own_ancestor(queue: str, parents: Mapping[str, str | None]) -> bool:
    above = parents[queue]
    for _ in parents:
        if above is None or above == queue:
            break
        above = parents.get(above)
    return above == queue


def _ranges(shape: WorkloadShape) -> Iterator[FieldError]:
    limits = shape.limits
    if limits and limits.budget_usd_min is not None and limits.budget_usd_max is not None:
        path = ("limits", "budget_usd_max")
        yield from _not_below(path, limits.budget_usd_max, limits.budget_usd_min, "budget_usd_min")
    for index, one in enumerate(shape.classes or ()):
        if one.vms_per_job is not None and (one.maps or one.reduces):
            at: Path = ("classes", index, "vms_per_job")
            yield FieldError(at, "is given together with a profile", "give one of the two")


def _not_below(path: Path, high: float, low: float, name: str) -> Iterator[FieldError]:
    if high < low:
        yield FieldError(path, f"is {high:g}, below {name} = {low:g}", f"give at least {name}")


def _settings(settings: Mapping[str, object], declarations: Declarations) -> Iterator[FieldError]:
    """An unknown prefix may be a policy of another file, which the command checks."""
    for key, raw in settings.items():
        prefix, _, name = key.rpartition(".")
        is_unknown = prefix and prefix not in declarations.policies
        if is_unknown and name not in declarations.general and key.lower() not in FOREIGN_NAMES:
            continue
        try:
            checked_setting(name if is_unknown else key, raw, declarations)
        except InvalidInput as error:
            what = error.what.removeprefix(f"{key} ").removeprefix(f"{key.rpartition('.')[2]} ")
            yield FieldError(("settings", key), what, error.hint)


def unknown_pool(job: Job, pools: Collection[str], leaves: Collection[str]) -> FieldError | None:
    """The error for a job whose pool is not in the file, if the file lists pools.

    The path begins at the job.
    """
    if not pools and not leaves:
        return None
    if job.pool in pools or job.pool in leaves or str(job.pool) == str(job.job_id):
        return None
    known = [*pools, *sorted(leaves)]
    what = f"names the unknown pool {quoted(job.pool)}"
    return FieldError(("pool",), what, suggestion(job.pool, known))


def share_complaints(
    cluster: Cluster, queues: Sequence[QueueShape], jobs: Sequence[Job]
) -> Iterator[FieldError]:
    """Shares and tasks that the cluster has no room for. One container is one resource unit."""
    yield from _too_small(queues, jobs)
    units = cluster.slots(SlotKind.CONTAINER)
    if not units:
        return  # nodes without slots are limited by their resources
    promised: dict[str | None, float] = {}
    for index, queue in enumerate(queues):
        above = promised.get(queue.parent, 0.0)
        promised[queue.parent] = above + queue.share_min
        if above <= units < promised[queue.parent]:
            what = f"makes {promised[queue.parent]:g} promised units, and the cluster has {units}"
            yield FieldError(("queues", index, "share_min"), what, "promise less")
    room = max(node.slots(SlotKind.CONTAINER) for node in cluster.nodes)
    for index, job in enumerate(jobs):
        for phase in job.phases:
            if phase.units > max(1, room):
                what = f"is {phase.units:g}, and the largest node has {room} containers"
                path: Path = ("jobs", index, f"{phase.name}s", "units")
                yield FieldError(path, what, "give fewer units, or larger nodes")


def _too_small(queues: Sequence[QueueShape], jobs: Sequence[Job]) -> Iterator[FieldError]:
    """Greatest shares below a single task, as of a file that means 0.5 to be half the cluster."""
    named = {queue.id: (index, queue) for index, queue in enumerate(queues)}
    seen: set[int] = set()
    for job in jobs:
        units = max((phase.units for phase in job.phases), default=0.0)
        above: str | None = str(job.pool)
        for _ in named:  # parents may form a circle, which is another complaint
            if above is None or above not in named:
                break
            index, queue = named[above]
            if queue.share_max is not None and queue.share_max < units and index not in seen:
                seen.add(index)
                what = (
                    f"is {queue.share_max:g}, and a task of job {quoted(job.job_id)} takes"
                    f" {units:g}"
                )
                hint = "give a number of containers, not a part of the cluster"
                yield FieldError(("queues", index, "share_max"), what, hint)
            above = queue.parent


def leaf_queues(queues: Sequence[QueueShape]) -> frozenset[str]:
    """The leaf queues."""
    return frozenset(queue.id for queue in queues) - {
        queue.parent for queue in queues if queue.parent
    }
