"""Applications of YARN: the answer of the ResourceManager's REST API to `/ws/v1/cluster/apps`.

It is JSON, or XML where the client accepts that first, as browsers do.

An application that is over becomes one phase of the containers that it held on average, each from
its launch to its end: `vcoreSeconds` over that time, rounded. Under YARN's default calculator a
container counts as one vcore, whatever it asked for. The application was submitted at
`startedTime`; ResourceManagers before 3.1 have no `launchTime`, so that there the wait is part of
the run. Those that wait or run are skipped, and those that never held a container. Memory is not
read: containers are slots.
Source of the format: Apache Hadoop, "ResourceManager REST API's", Cluster Applications API.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.live_queue import LiveQueue, QueuedJob, instant
from sluice.ingest.logs.reading import log_bytes
from sluice.ingest.logs.report import Contents, Report, Unreadable, each_read, nothing_found
from sluice.ingest.logs.rigid_jobs import (
    Replay,
    RigidJob,
    contents_of,
    distinct_jobs,
    failed_choice,
)
from sluice.ingest.logs.whole_json import listed, mapping, parsed
from sluice.ingest.scheduler_configs.xml_elements import XmlElement, read_xml
from sluice.model.cluster import SLOTS_MAX
from sluice.model.errors import InvalidInput
from sluice.model.ids import checked_id
from sluice.model.settings import number, whole
from sluice.model.workload import JOBS_MAX

FORMAT = "rm-apps"
_WAITING: Final = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED")
_RUNNING: Final = "RUNNING"
_OVER: Final = frozenset({"FINISHED", "FAILED", "KILLED"})
_MILLISECONDS_MAX: Final = 1e13
_VCORE_SECONDS_MAX: Final = 1e15
_ELEMENTS_MAX: Final = 10**7
_DIGITS_MAX: Final = 20
_TEXTS: Final = frozenset({"id", "user", "name", "queue", "state", "finalStatus"})
_HINT: Final = "give what the ResourceManager answers to /ws/v1/cluster/apps"
_NOTES: Final = (
    "An application is one phase: its average containers (vcoreSeconds over the time that it ran).",
)
_NO_APPS = re.compile(rb'\s*\{\s*"apps"\s*:\s*(?:null|\{\s*\})\s*\}\s*')  # of an idle cluster
_LATE_NOTE: Final = "Without launchTime the wait for the first container is part of the run."
# YARN grants containers one by one, so no application waits for all of them.
_IS_GANG: Final = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The part of the list that is replayed.

    failed: whether applications that failed or were killed are submitted; they held containers.
    vcores: of the cluster; None for the most at once.  least_s: of an application of 0 s.
    """

    failed: str = failed_choice("applications")
    vcores: int | None = whole(
        None, "vcores of the cluster; none: the most at once", low=1, high=SLOTS_MAX
    )
    least_s: float = number(0.001, "seconds of an application that took none", above=0.0)


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """An object of applications, with their states and times."""
    if _NO_APPS.fullmatch(head):
        return True
    begin, *fields = (b"<%s>", b"<apps>", b"<app>") if _is_xml(head) else (b'"%s"',)
    names = (b"startedTime", b"finalStatus", b"state")
    is_known = _is_xml(head) or head.lstrip()[:1] in {b"{", b"["}
    return is_known and all(key in head for key in (*fields, *(begin % name for name in names)))


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:
    """The applications of the list. Raises InvalidInput where none of them is over."""
    return log_of(_document(path, report, limits), path, report, options)


def log_of(
    document: object, source: Path | str, report: Report, options: Options | None = None
) -> Contents:
    """The applications of an answer that are over. source: of the answer, for messages.

    Raises InvalidInput where there is none.
    """
    options = options or Options()
    is_late: dict[str, bool] = {}

    def job_of(record: Mapping[str, Any]) -> RigidJob:
        job = _job(record)
        is_late.setdefault(job.job_id, not record.get("launchTime"))
        return job

    jobs = distinct_jobs(records_of(document), job_of, report, "application")
    if not jobs:
        raise nothing_found(source, report, "application that ran and ended", hint=_HINT)
    replay = Replay.asked(FORMAT, "vcores", options)
    late = [_LATE_NOTE] if any(is_late[job.job_id] for job in jobs) else []
    return contents_of(source, jobs, replay, (*_NOTES, *late))


def read_queue(path: Path, report: Report, limits: Limits) -> LiveQueue:
    """The applications that run and wait. Raises InvalidInput where there is none."""
    return queue_of(_document(path, report, limits), path, report)


def queue_of(document: object, source: Path | str, report: Report) -> LiveQueue:
    """The applications of an answer that run and wait. Arguments and errors as of `log_of`."""
    found: dict[str, tuple[int, QueuedJob]] = {}
    as_of_ms = 0
    records = records_of(document)
    for submitted_ms, listed_ms, job in each_read(records, _queued, report, "application"):
        as_of_ms = max(as_of_ms, listed_ms)
        found.setdefault(job.job_id, (submitted_ms, job))
    if not found:
        raise nothing_found(source, report, "application that runs or waits", hint=_HINT)
    in_order = sorted(found.values(), key=lambda one: (one[1].ran_s is None, one[0], one[1].job_id))
    return LiveQueue(
        format=FORMAT,
        jobs=tuple(job for _, job in in_order[:JOBS_MAX]),
        as_of=instant(as_of_ms / 1000),
        backfills=False,
    )


def _queued(record: Mapping[str, Any]) -> tuple[int, int, QueuedJob]:
    """When an application was submitted and when listed, and what is known of it.

    Raises Unreadable.
    """
    app_id = record.get("id")
    if not isinstance(app_id, str):
        raise Unreadable("it has no id")
    state = str(record.get("state", ""))[:40]
    if state not in {*_WAITING, _RUNNING}:
        raise Unreadable(f"{app_id} is {state.lower() or 'without a state'}")
    submitted_ms = _milliseconds(record, "startedTime")
    launched_ms = _milliseconds(record, "launchTime") or submitted_ms
    listed_ms = submitted_ms + _milliseconds(record, "elapsedTime")
    ran_ms = listed_ms - launched_ms
    held = record.get("allocatedVCores", record.get("runningContainers"))
    is_count = isinstance(held, int) and not isinstance(held, bool) and 0 < held <= SLOTS_MAX
    return (
        submitted_ms,
        listed_ms,
        QueuedJob(
            job_id=checked_id(app_id, what="application"),
            name=str(record.get("name") or FORMAT)[:200],
            user=str(record.get("user") or "")[:200],
            slots=int(held) if is_count and isinstance(held, int) else None,
            limit_s=None,
            ran_s=max(0.0, ran_ms / 1000) if state == _RUNNING else None,
            queue=str(record.get("queue") or "")[:200],
            is_gang=_IS_GANG,
        ),
    )


def _is_xml(content: bytes) -> bool:
    return content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<"


def _document(path: Path, report: Report, limits: Limits) -> object:
    """The answer as plain values. Raises InvalidInput where it is neither JSON nor XML."""
    content = log_bytes(path, report, limits)
    if not _is_xml(content):
        return parsed(path, content)
    if content.count(b"<") > _ELEMENTS_MAX:
        raise InvalidInput(
            f"it has more than {_ELEMENTS_MAX} elements", where=str(path), hint="cut it into parts"
        )
    root = read_xml(content, str(path))
    apps = [root] if root.tag == "app" else root.named("app")
    return [{one.tag: _value(one) for one in app.children} for app in apps]


def _value(element: XmlElement) -> object:
    """XML has no types: what is a number in JSON is one here, except where it is a name."""
    is_number = element.text.isascii() and element.text.isdigit() and element.tag not in _TEXTS
    return int(element.text[:_DIGITS_MAX]) if is_number else element.text


def records_of(value: object) -> list[Mapping[str, Any]]:
    """The applications of `{"apps": {"app": [..]}}`, of one `{"app": {..}}`, or of a bare list."""
    for key in ("apps", "app"):
        value = value.get(key, value) if isinstance(value, dict) else value
    if isinstance(value, dict):
        return [value] if "id" in value else []
    return [mapping(one) for one in listed(value)]


def _job(record: Mapping[str, Any]) -> RigidJob:
    app_id = record.get("id")
    if not isinstance(app_id, str):
        raise Unreadable("it has no id")
    checked_id(app_id, what="application")
    state = str(record.get("state", ""))[:40]
    if state not in _OVER:
        raise Unreadable(f"{app_id} is {state.lower() or 'without a state'}")
    submitted_ms = _milliseconds(record, "startedTime")
    ended_ms = _milliseconds(record, "finishedTime")
    if not submitted_ms or not ended_ms:
        raise Unreadable(f"{app_id} has no start or end")
    launched_ms = _milliseconds(record, "launchTime") or submitted_ms
    if not submitted_ms <= launched_ms <= ended_ms:
        raise Unreadable(f"{app_id} ends before it begins")
    run_s = (ended_ms - launched_ms) / 1000
    queue, user = str(record.get("queue") or ""), str(record.get("user") or "")
    return RigidJob(
        job_id=app_id,
        profile=str(record.get("name") or FORMAT),
        pool=queue or user or app_id,
        tasks=_containers(record, app_id, run_s),
        submitted_at_s=submitted_ms / 1000,
        started_at_s=launched_ms / 1000,
        run_s=run_s,
        is_gang=_IS_GANG,
        is_failed=state != "FINISHED" or record.get("finalStatus") != "SUCCEEDED",
        queue=queue or None,
        user=user or None,
    )


def _milliseconds(record: Mapping[str, Any], name: str) -> int:
    """An instant; 0 where there is none."""
    value = record.get(name, 0)
    if not isinstance(value, int) or not 0 <= value <= _MILLISECONDS_MAX:
        raise Unreadable(f"{name} is {str(value)[:40]}")
    return int(value)


def _containers(record: Mapping[str, Any], app_id: str, run_s: float) -> int:
    value = record.get("vcoreSeconds")
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unreadable(f"{app_id} has no vcoreSeconds")
    if value == 0:
        raise Unreadable(f"{app_id} never held a container")
    if not 0 < value <= _VCORE_SECONDS_MAX:
        raise Unreadable(f"vcoreSeconds is {value}")
    held = max(1, round(value / run_s)) if run_s else 1
    if held > SLOTS_MAX:
        raise Unreadable(f"{app_id} held {held} vcores")
    return held
