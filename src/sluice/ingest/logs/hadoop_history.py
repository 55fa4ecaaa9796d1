"""One MapReduce job, out of the events of its history.

Events may come in any order and more than once, and those of another job may be among them where a
file is damaged. An attempt is started and ended by two events, which are brought together at the
end. The first end counts, but for an attempt that ended well and was given up later, because its
output could not be fetched any more: that one failed, and another ran in its place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sluice.ingest.logs.hadoop_attempts import (
    MAP,
    REDUCE,
    Attempt,
    Work,
    fetched_ms_within,
    host_of,
)
from sluice.ingest.logs.hadoop_counters import counters_of, remote_maps, work_of
from sluice.ingest.logs.hadoop_values import Members, Unreadable, instant_ms, plain, text
from sluice.ingest.logs.report import Report

_ATTEMPT = re.compile(r"attempt_(\w{1,60}_\d{1,12})_([mr])_(\d{1,9})_(\d{1,9})", re.ASCII)
_TASK = re.compile(r"task_(\w{1,60}_\d{1,12})_([mr])_(\d{1,9})", re.ASCII)
_JOB = re.compile(r"job_\w{1,60}_\d{1,12}", re.ASCII)
_LETTERS = {MAP: "m", REDUCE: "r"}
_DONE, _FAILED, _KILLED = "done", "failed", "killed"
_LOCALITIES = frozenset({"NODE_LOCAL", "RACK_LOCAL", "OFF_SWITCH"})
_WELL = frozenset({"", "SUCCEEDED", "SUCCESS"})


@dataclass(slots=True)
class _Attempt:
    """An attempt as far as it is known."""

    kind: str
    task: int
    number: int
    line: int
    started_ms: int | None = None
    finished_ms: int | None = None
    fetched_ms: int | None = None
    end: str = ""
    node: str = ""
    locality: str = ""
    work: Work = field(default=Work())


class JobHistory:
    """All that is known of one job so far. Instants in milliseconds of the epoch."""

    def __init__(self, job_id: str, line: int) -> None:
        self.job_id = job_id
        self.line = line
        self.events = 0
        self.name = ""
        self.queue = ""
        self.submitted_ms: int | None = None
        self.launched_ms: int | None = None
        self.finished_ms: int | None = None
        self.succeeded: bool | None = None
        self.remote_maps: int | None = None
        self._hosts: dict[int, frozenset[str]] = {}  # of the input, by number of the map
        self._attempts: dict[str, _Attempt] = {}

    def take(self, line: int, kind: str, fields: Members) -> None:
        """Note an event. Raises Unreadable if a required field is missing."""
        _HANDLERS[kind](self, line, fields)
        self.events += 1

    def submitted(self, line: int, fields: Members) -> None:
        """JOB_SUBMITTED, and JOB_QUEUE_CHANGED and JOB_INFO_CHANGED, which have parts of it."""
        self.name = text(fields.get("jobName")) or self.name
        self.queue = text(fields.get("jobQueueName")) or self.queue
        self.submitted_ms = _instant(fields, "submitTime", self.submitted_ms)
        self.launched_ms = _instant(fields, "launchTime", self.launched_ms)

    def finished(self, line: int, fields: Members) -> None:
        """JOB_FINISHED."""
        self.finished_ms = _instant(fields, "finishTime", self.finished_ms)
        self.succeeded = True
        self.remote_maps = remote_maps(counters_of(fields.get("totalCounters")))

    def stopped(self, line: int, fields: Members) -> None:
        """JOB_FAILED, JOB_KILLED, JOB_ERROR."""
        self.finished_ms = _instant(fields, "finishTime", self.finished_ms)
        self.succeeded = False

    def task_started(self, line: int, fields: Members) -> None:
        """TASK_STARTED, which has the nodes of a map's input. A task without any is no use here."""
        match = _TASK.fullmatch(text(fields.get("taskid")))
        hosts = frozenset(filter(None, map(host_of, text(fields.get("splitLocations")).split(","))))
        if match is not None and match[2] == _LETTERS[MAP] and hosts:
            self._hosts[int(match[3])] = hosts

    def attempt_started(self, line: int, fields: Members, kind: str) -> None:
        """MAP_ATTEMPT_STARTED, REDUCE_ATTEMPT_STARTED."""
        started_ms = _required(fields, "startTime")
        attempt = self._attempt(line, fields, kind)
        if attempt.started_ms is not None:
            raise Unreadable(f"{text(fields.get('attemptId'))} starts a second time")
        attempt.started_ms, attempt.line = started_ms, line
        attempt.node = attempt.node or text(fields.get("trackerName"))
        attempt.locality = text(fields.get("locality"))

    def attempt_ended(self, line: int, fields: Members, kind: str, end: str) -> None:
        """.._ATTEMPT_FINISHED, .._ATTEMPT_FAILED, .._ATTEMPT_KILLED."""
        finished_ms = _required(fields, "finishTime")
        attempt = self._attempt(line, fields, kind)
        if end == _DONE and text(fields.get("taskStatus")).upper() not in _WELL:
            end = _KILLED if text(fields.get("taskStatus")).upper() == "KILLED" else _FAILED
        if attempt.end and (attempt.end != _DONE or end == _DONE):
            raise Unreadable(f"{text(fields.get('attemptId'))} ends a second time")
        attempt.end, attempt.finished_ms = end, finished_ms
        attempt.node = text(fields.get("hostname")) or attempt.node
        if end == _DONE:
            attempt.fetched_ms = instant_ms(fields.get("shuffleFinishTime"))
            attempt.work = work_of(counters_of(fields.get("counters")), kind)

    def _attempt(self, line: int, fields: Members, kind: str) -> _Attempt:
        name = text(fields.get("attemptId"))
        match = _ATTEMPT.fullmatch(name)
        if match is None or match[2] != _LETTERS[kind]:
            raise Unreadable(f"attemptId {name[:80]!r} names no attempt of a {kind}")
        attempt = self._attempts.get(name)
        if attempt is None:
            attempt = self._attempts[name] = _Attempt(kind, int(match[3]), int(match[4]), line)
        return attempt

    def attempts(self, report: Report) -> tuple[Attempt, ...]:
        """Those that ended well; those of which a part is missing are reported."""
        found = []
        for name, attempt in self._attempts.items():
            why = _missing(attempt)
            if why:
                report.skip(attempt.line, f"{name}: {why}")
            elif attempt.end == _DONE:
                found.append(replace(_whole(attempt), is_remote=self._is_remote(attempt)))
        return tuple(found)

    def _is_remote(self, attempt: _Attempt) -> bool | None:
        """Whether its input is on another node. Without input it is OFF_SWITCH, which says nothing.

        Hadoop records the locality since 2.8; before, the node is compared with those of the input.
        """
        hosts = self._hosts.get(attempt.task) if attempt.kind == MAP else None
        if not hosts:
            return None
        if attempt.locality in _LOCALITIES:
            return attempt.locality != "NODE_LOCAL"
        return host_of(attempt.node) not in hosts if attempt.node else None

    def failed(self) -> Counter[str]:
        """How many attempts failed, by kind."""
        return Counter(
            attempt.kind for attempt in self._attempts.values() if attempt.end == _FAILED
        )


def _missing(attempt: _Attempt) -> str:
    if not attempt.end:
        return "it starts, but its end is missing"
    if attempt.end != _DONE:
        return ""
    if attempt.started_ms is None:
        return "it ends, but its start is missing"
    assert attempt.finished_ms is not None, "an end has an instant"
    return "it ends before it starts" if attempt.finished_ms < attempt.started_ms else ""


def _whole(attempt: _Attempt) -> Attempt:
    assert attempt.started_ms is not None, "looked at before"
    assert attempt.finished_ms is not None, "as above"
    return Attempt(
        kind=attempt.kind,
        task=attempt.task,
        number=attempt.number,
        started_ms=attempt.started_ms,
        finished_ms=attempt.finished_ms,
        fetched_ms=fetched_ms_within(attempt.fetched_ms, attempt.started_ms, attempt.finished_ms),
        node=attempt.node,
        work=attempt.work,
    )


def _instant(fields: Members, name: str, known_ms: int | None) -> int | None:
    """An optional instant of an event; Hadoop writes 0 or -1 for none."""
    return instant_ms(fields.get(name)) or known_ms


def _required(fields: Members, name: str) -> int:
    found_ms = instant_ms(fields.get(name))
    if not found_ms:
        raise Unreadable(f"{name} is not an instant")
    return found_ms


def job_id_of(fields: Members) -> str:
    """The job that an event is of. Raises Unreadable where it names none."""
    job_id = plain(fields.get("jobid"))
    if isinstance(job_id, str) and _JOB.fullmatch(job_id):
        return job_id
    for name, pattern in (("attemptId", _ATTEMPT), ("taskid", _TASK)):
        match = pattern.fullmatch(str(plain(fields.get(name)))[:200])
        if match:
            return f"job_{match[1]}"
    raise Unreadable("an event of no job")


def _start_of(kind: str) -> Callable[[JobHistory, int, Members], None]:
    return lambda job, line, fields: job.attempt_started(line, fields, kind)


def _end_of(kind: str, end: str) -> Callable[[JobHistory, int, Members], None]:
    return lambda job, line, fields: job.attempt_ended(line, fields, kind, end)


_HANDLERS: dict[str, Callable[[JobHistory, int, Members], None]] = {
    "JOB_SUBMITTED": JobHistory.submitted,
    "JOB_INITED": JobHistory.submitted,
    "JOB_INFO_CHANGED": JobHistory.submitted,
    "JOB_QUEUE_CHANGED": JobHistory.submitted,
    "JOB_FINISHED": JobHistory.finished,
    "JOB_FAILED": JobHistory.stopped,
    "JOB_KILLED": JobHistory.stopped,
    "JOB_ERROR": JobHistory.stopped,
    "TASK_STARTED": JobHistory.task_started,
}
for _kind in (MAP, REDUCE):
    _HANDLERS[f"{_kind.upper()}_ATTEMPT_STARTED"] = _start_of(_kind)
    for _word, _end in (("FINISHED", _DONE), ("FAILED", _FAILED), ("KILLED", _KILLED)):
        _HANDLERS[f"{_kind.upper()}_ATTEMPT_{_word}"] = _end_of(_kind, _end)
HANDLED = frozenset(_HANDLERS)

# Known, and not used here: of tasks what their attempts have as well, of the job what bears on
# nothing, and the attempts that set a job up and clean up behind it.
IGNORED = frozenset(
    {
        "AM_STARTED",
        "JOB_PRIORITY_CHANGED",
        "JOB_STATUS_CHANGED",
        "NORMALIZED_RESOURCE",
        "TASK_FAILED",
        "TASK_FINISHED",
        "TASK_UPDATED",
        *(
            f"{part}_ATTEMPT_{end}"
            for part in ("SETUP", "CLEANUP")
            for end in ("STARTED", "FINISHED", "FAILED", "KILLED")
        ),
    }
)
