"""From a plan's wishes to changes: what differs from the present, and the call that changes it.

A plan says how things are to be; this module reads how they are, and makes a `Change` of each
difference: one call with the rows that it sets, and the way to read them back. Queues are one call
together, for the capacities of siblings must add up at every moment. An application that ended in
the meantime is left out, and is reported.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from sluice.engines.yarn.rest import ResourceManagerRest
from sluice.engines.yarn.steering.present import Gone, Present
from sluice.model.errors import EngineUnavailable
from sluice.model.steering import ApplicationWish, NodeWish, ReservationWish, SteeringPlan

Read = Callable[[], tuple[str, ...]]
OnGone = Callable[[str], None]
_INSTANT = "%Y-%m-%dT%H:%M:%S.000+0000"
_MAPREDUCE = "/proxy/{app}/ws/v1/mapreduce/jobs/{job}/tasks/{task}/attempts/{attempt}"
_PARTS_OF_ATTEMPT = 6
READ_BACK_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One value. target: what it belongs to.  before, wanted: as texts, "" for none."""

    target: str
    setting: str
    before: str
    wanted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One call, all of whose rows take effect together or not at all.

    in_cluster: whether the path is below /ws/v1/cluster.  read: the present values of the rows.
    undo: the plan that takes it back, as far as that is possible.  write: of a change of a file.
    read_back_s: how long it may take until YARN has it; some wait for a heartbeat of a node.
    """

    rows: tuple[Row, ...]
    method: str
    path: str
    body: object
    read: Read
    undo: SteeringPlan = field(default_factory=SteeringPlan)
    in_cluster: bool = True
    write: Callable[[], None] | None = None
    read_back_s: float = READ_BACK_S

    def make(self, rest: ResourceManagerRest) -> None:
        """Make it. Raises EngineUnavailable with what YARN says against it, InvalidInput."""
        if self.write is not None:
            self.write()
        elif self.in_cluster:
            rest.call(self.method, self.path, self.body)
        else:
            rest.request(self.method, self.path, self.body)


def changes_of(
    plan: SteeringPlan, present: Present, now_s: float, on_gone: OnGone | None = None
) -> Iterator[Change]:
    """The changes that a plan needs, in the order in which they are made.

    Room comes first (nodes, queues), then who uses it. on_gone: called with what is gone, which is
    left out then. Raises InvalidInput for what is not there.
    """
    for name, node_wish in plan.nodes.items():
        yield from _unless_gone(_node_changes(name, node_wish, present), on_gone)
    if not present.is_fair:
        yield from _queue_change(plan.queues, present)
    for reservation_id in plan.delete_reservations:
        yield from _unless_gone(_deletion(reservation_id, present), on_gone)
    for reservation in plan.reservations:
        yield _reservation(reservation)
    for app_id, wish in plan.applications.items():
        yield from _unless_gone(_application_changes(app_id, wish, present, now_s), on_gone)
    for attempt in plan.kill_attempts:
        yield from _unless_gone(_attempt_kill(attempt, present.rest), on_gone)


def _unless_gone(changes: Iterator[Change], on_gone: OnGone | None) -> Iterator[Change]:
    try:
        yield from changes
    except Gone as error:
        if on_gone is None:
            raise
        on_gone(error.what)


# --- queues -------------------------------------------------------------------------------------


def _queue_change(
    wishes: Mapping[str, Mapping[str, str | None]], present: Present
) -> Iterator[Change]:
    """All queues in one call, or the sums of siblings would be wrong in between."""
    rows: list[Row] = []
    entries: dict[str, dict[str, str]] = {}
    back: dict[str, dict[str, str | None]] = {}
    for path, keys in wishes.items():
        for key, value in keys.items():
            before = present.configured.get(f"{path}.{key}")
            if before == value:
                continue
            rows.append(Row(target=path, setting=key, before=before or "", wanted=value or ""))
            entries.setdefault(path, {})[key] = value or ""
            back.setdefault(path, {})[key] = before
    if not rows:
        return
    body = {
        "update-queue": [
            {"queue-name": path, "params": {"entry": _entries(keys)}}
            for path, keys in entries.items()
        ]
    }

    def read() -> tuple[str, ...]:
        now = Present(present.rest).configured
        return tuple(now.get(f"{row.target}.{row.setting}", "") for row in rows)

    yield Change(
        rows=tuple(rows), method="PUT", path="/scheduler-conf", body=body, read=read,
        undo=SteeringPlan(queues=back),
    )  # fmt: skip


def _entries(values: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in values.items()]


# --- nodes --------------------------------------------------------------------------------------


def _node_changes(name: str, wish: NodeWish, present: Present) -> Iterator[Change]:
    node = present.node(name)
    wanted = {
        "memory_mb": node.memory_mb if wish.memory_mb is None else wish.memory_mb,
        "vcores": node.vcores if wish.vcores is None else wish.vcores,
    }
    before = {"memory_mb": node.memory_mb, "vcores": node.vcores}
    rows = tuple(
        Row(target=node.host, setting=key, before=str(before[key]), wanted=str(value))
        for key, value in wanted.items()
        if value != before[key]
    )
    if rows:

        def read() -> tuple[str, ...]:
            now = Present(present.rest).node(node.node_id)
            return tuple(str(getattr(now, row.setting)) for row in rows)

        size = {"memory": wanted["memory_mb"], "vCores": wanted["vcores"]}
        yield Change(
            rows=rows,
            method="POST",
            path=f"/nodes/{urllib.parse.quote(node.node_id)}/resource",
            body={"resource": size, "overCommitTimeout": -1},
            read=read,
            undo=SteeringPlan(
                nodes={node.node_id: NodeWish(memory_mb=node.memory_mb, vcores=node.vcores)}
            ),
        )
    if wish.labels is not None:
        yield from _label_changes(node.node_id, wish.labels, present)


def _label_changes(node_id: str, wanted: tuple[str, ...], present: Present) -> Iterator[Change]:
    before = present.labels(node_id)
    if before == wanted:
        return
    for label in sorted(set(wanted) - present.cluster_labels()):

        def has(label: str = label) -> tuple[str, ...]:
            return ("yes" if label in present.cluster_labels() else "",)

        yield Change(
            rows=(Row(target="cluster", setting=f"label {label}", before="", wanted="yes"),),
            method="POST",
            path="/add-node-labels",
            body={"nodeLabelInfo": [{"name": label, "exclusivity": False}]},
            read=has,
        )
    yield Change(
        rows=(
            Row(
                target=node_id, setting="labels", before=", ".join(before), wanted=", ".join(wanted)
            ),
        ),
        method="POST",
        path="/replace-node-to-labels",
        body={"nodeToLabels": [{"nodeId": node_id, "labels": list(wanted)}]},
        read=lambda: (", ".join(present.labels(node_id)),),
        undo=SteeringPlan(nodes={node_id: NodeWish(labels=before)}),
    )


# --- applications -------------------------------------------------------------------------------


def _application_changes(
    app_id: str, wish: ApplicationWish, present: Present, now_s: float
) -> Iterator[Change]:
    found = present.application(app_id)
    reads = partial(_reader, present.rest, app_id)
    change = partial(_application_change, app_id)
    if wish.kill:
        yield change(
            "state", str(found.get("state")), "KILLED", {"state": "KILLED"}, reads("state")
        )
        return
    queue = str(found.get("queue", ""))
    if wish.queue is not None and not _is_queue(queue, wish.queue):
        wanted = wish.queue
        back = ApplicationWish(queue=queue)
        yield change(
            "queue", queue, wanted, {"queue": wanted}, _queue_reader(reads("queue"), wanted), back
        )
    priority = str(found.get("priority", ""))
    if wish.priority is not None and priority != str(wish.priority):
        is_known = priority.lstrip("-").isdigit()
        back = ApplicationWish(priority=int(priority) if is_known else None)
        body = {"priority": wish.priority}
        yield change("priority", priority, str(wish.priority), body, reads("priority"), back)
    if wish.lifetime_s is not None:
        ends = datetime.fromtimestamp(now_s + wish.lifetime_s, UTC).strftime(_INSTANT)
        limit = {"timeout": {"type": "LIFETIME", "expiryTime": ends}}
        yield change("timeout", "", ends, limit, lambda: (_timeout(present.rest, app_id, ends),))


def _application_change(
    app_id: str,
    setting: str,
    before: str,
    wanted: str,
    body: object,
    read: Callable[[], tuple[str, ...]],
    undo: ApplicationWish | None = None,
) -> Change:
    return Change(
        rows=(Row(target=app_id, setting=setting, before=before, wanted=wanted),),
        method="PUT",
        path=f"/apps/{app_id}/{setting}",
        body=body,
        read=read,
        undo=SteeringPlan(applications={app_id: undo}) if undo else SteeringPlan(),
    )


def _reader(rest: ResourceManagerRest, app_id: str, name: str) -> Read:
    """Reads one field of an application."""
    return lambda: (str(rest.application(app_id).get(name, "")),)


def _queue_reader(read: Read, wanted: str) -> Read:
    """Reads the queue of an application, as the user names it where it is the wanted one."""

    def queue() -> tuple[str, ...]:
        (path,) = read()
        return (wanted if _is_queue(path, wanted) else path,)

    return queue


def _is_queue(path: str, name: str) -> bool:
    """Whether a queue's path, as YARN writes it, is that of a queue as a user names it.

    A queue that may be reserved has one of its own for those without a reservation.

    >>> _is_queue("root.b.b-default", "b"), _is_queue("root.b", "root.b"), _is_queue("root.ab", "b")
    (True, True, False)
    """
    last = name.rpartition(".")[2]
    path = path.removesuffix(f".{last}-default")
    return path == name or path.rpartition(".")[2] == name


def _timeout(rest: ResourceManagerRest, app_id: str, wanted: str) -> str:
    """The end of an application's life as it is wanted, if YARN has the same instant."""
    said = rest.call("GET", f"/apps/{app_id}/timeouts/LIFETIME")
    ends = str((said or {}).get("timeout", {}).get("expiryTime", ""))
    is_same = ends and datetime.fromisoformat(ends) == datetime.fromisoformat(wanted)
    return wanted if is_same else ends


def _attempt_kill(attempt: str, rest: ResourceManagerRest) -> Iterator[Change]:
    parts = attempt.split("_")
    assert len(parts) == _PARTS_OF_ATTEMPT  # as the file's schema has it
    _, cluster, number, kind, task, _ = parts
    path = _MAPREDUCE.format(
        app=f"application_{cluster}_{number}",
        job=f"job_{cluster}_{number}",
        task=f"task_{cluster}_{number}_{kind}_{task}",
        attempt=attempt,
    )

    def state() -> tuple[str, ...]:
        said = rest.request("GET", path)
        return (str((said or {}).get("taskAttempt", {}).get("state", "")),)

    try:
        (before,) = state()
    except EngineUnavailable as error:
        raise Gone(
            f"{attempt} is not known to the job's ApplicationMaster: {error}",
            where="kill_attempts",
            hint="give an attempt of a MapReduce job that runs",
        ) from error
    yield Change(
        rows=(Row(target=attempt, setting="state", before=before, wanted="KILLED"),),
        method="PUT",
        path=f"{path}/state",
        body={"state": "KILLED"},
        read=state,
        in_cluster=False,
    )


# --- reservations -------------------------------------------------------------------------------


def _reservation(wish: ReservationWish) -> Change:
    """A reservation gets its id when it is made (`with_id`)."""
    request = {
        "duration": round(wish.runs_s * 1000),
        "num-containers": wish.containers,
        "min-concurrency": wish.at_least,
        "capability": {"memory": wish.memory_mb, "vCores": wish.vcores},
    }
    definition = {
        "arrival": round(wish.starts_at_s * 1000),
        "deadline": round(wish.deadline_at_s * 1000),
        "reservation-name": wish.name,
        "reservation-requests": {
            "reservation-request-interpreter": 0,
            "reservation-request": [request],
        },
    }
    amount = f"{wish.containers} x {wish.memory_mb} MB for {wish.runs_s:g} s"
    return Change(
        rows=(Row(target=wish.queue, setting="reservation", before="", wanted=amount),),
        method="POST",
        path="/reservation/submit",
        body={"queue": wish.queue, "reservation-definition": definition},
        read=lambda: (amount,),
    )


def with_id(change: Change, rest: ResourceManagerRest) -> Change:
    """The change, with a new id if it is a reservation. Raises EngineUnavailable."""
    if change.path != "/reservation/submit" or not isinstance(change.body, dict):
        return change
    said = rest.call("POST", "/reservation/new-reservation", {})
    reservation_id = str(said["reservation-id"])
    (row,) = change.rows
    queue = change.body["queue"]

    def read() -> tuple[str, ...]:
        return (row.wanted if Present(rest).has_reservation(queue, reservation_id) else "",)

    return replace(
        change,
        rows=(replace(row, target=f"{queue}/{reservation_id}"),),
        body={**change.body, "reservation-id": reservation_id},
        read=read,
        undo=SteeringPlan(delete_reservations=(reservation_id,)),
    )


def _deletion(reservation_id: str, present: Present) -> Iterator[Change]:
    queue = present.queue_of(reservation_id)

    def read() -> tuple[str, ...]:
        is_left = queue is not None and present.has_reservation(queue, reservation_id)
        return ("" if is_left else "deleted",)

    yield Change(
        rows=(Row(target=reservation_id, setting="reservation", before="", wanted="deleted"),),
        method="POST",
        path="/reservation/delete",
        body={"reservation-id": reservation_id},
        read=read,
    )
