"""The history server of MapReduce: jobs, their tasks and counters. Source: its REST interface.

A run is the same as from the job's history file, but for what the server leaves out: the nodes of
the maps' input, so that only the job's own count says how many maps were away from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from sluice.ingest.logs.hadoop_attempts import MAP, REDUCE, Attempt
from sluice.ingest.logs.hadoop_counters import counters_of, remote_maps, work_of
from sluice.ingest.logs.hadoop_jobs import HadoopJob, past_run
from sluice.ingest.logs.hadoop_values import Members, instant_ms, items, members, text
from sluice.ingest.logs.report import Unreadable
from sluice.ingest.servers.web import WebServer
from sluice.model.history import PastRun

FORMAT = "jhist"  # the runs are those of the history files
PROBE = "/ws/v1/history/info"
THREADS = 8
_JOBS = "/ws/v1/history/mapreduce/jobs"
_KINDS = {"MAP": MAP, "REDUCE": REDUCE}


def job_ids(server: WebServer) -> list[str]:
    """The jobs that the server has, oldest first. Raises Unreadable."""
    rows = items(members(server.json(_JOBS).get("jobs")).get("job"))
    found = [(instant_ms(members(row).get("finishTime")) or 0, text(members(row).get("id")))
             for row in rows]  # fmt: skip
    return [job_id for _, job_id in sorted(found) if job_id]


def run_of(server: WebServer, job_id: str) -> PastRun:
    """The run of a job, with all its tasks. Raises Unreadable."""
    job = members(server.json(f"{_JOBS}/{job_id}").get("job"))
    tasks = items(members(server.json(f"{_JOBS}/{job_id}/tasks").get("tasks")).get("task"))
    counted = members(server.json(f"{_JOBS}/{job_id}/counters").get("jobCounters"))
    failed: Counter[str] = Counter()
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(partial(_attempts, server, job_id), map(members, tasks)))
    for _, kind, failures in found:
        failed[kind] += failures
    return past_run(
        HadoopJob(
            source=FORMAT,
            job_id=job_id,
            names=(text(job.get("name")),),
            attempts=tuple(attempt for attempt, _, _ in found if attempt is not None),
            failed=failed,
            succeeded=text(job.get("state")) == "SUCCEEDED",
            submitted_ms=instant_ms(job.get("submitTime")),
            launched_ms=instant_ms(job.get("startTime")),
            finished_ms=instant_ms(job.get("finishTime")),
            queue=text(job.get("queue")),
            remote_maps=remote_maps(_counters(counted.get("counterGroup"), "totalCounterValue")),
        )
    )


def runs(server: WebServer, known: Collection[str]) -> Iterator[PastRun | tuple[str, str]]:
    """The runs of jobs that are not known yet; for one that cannot be read, its id and why."""
    for job_id in job_ids(server):
        if job_id in known:
            continue
        try:
            yield run_of(server, job_id)
        except Unreadable as error:
            yield job_id, str(error)


def _attempts(server: WebServer, job_id: str, task: Members) -> tuple[Attempt | None, str, int]:
    """The attempt of a task that ended well, if any; its kind; and how many failed."""
    task_id, kind = text(task.get("id")), _KINDS.get(text(task.get("type")), MAP)
    base = f"{_JOBS}/{job_id}/tasks/{task_id}/attempts"
    rows = items(members(server.json(base).get("taskAttempts")).get("taskAttempt"))
    well: Attempt | None = None
    failed = 0
    for row in map(members, rows):
        state = text(row.get("state"))
        failed += state == "FAILED"
        if state == "SUCCEEDED":
            well = _attempt(server, base, row, kind)
    return well, kind, failed


def _attempt(server: WebServer, base: str, row: Members, kind: str) -> Attempt | None:
    name = text(row.get("id"))
    numbers = name.rsplit("_", 2)
    started, finished = instant_ms(row.get("startTime")), instant_ms(row.get("finishTime"))
    if started is None or finished is None or finished < started or not _are_numbers(numbers[1:]):
        return None
    said = members(server.json(f"{base}/{name}/counters").get("jobTaskAttemptCounters"))
    counters = _counters(said.get("taskAttemptCounterGroup"), "value")
    return Attempt(
        kind=kind,
        task=int(numbers[1]),
        number=int(numbers[2]),
        started_ms=started,
        finished_ms=finished,
        fetched_ms=instant_ms(row.get("shuffleFinishTime")) if kind == REDUCE else None,
        node=text(row.get("nodeHttpAddress")).rpartition(":")[0],
        work=work_of(counters, kind),
    )


def _are_numbers(parts: list[str]) -> bool:
    return bool(parts) and all(part.isascii() and part.isdigit() for part in parts)


def _counters(groups: object, value: str) -> Mapping[str, int]:
    """Counters as the history files have them."""
    as_in_files: list[dict[str, Any]] = [
        {
            "counts": [
                {"name": members(one).get("name"), "value": members(one).get(value)}
                for one in items(members(group).get("counter"))
            ]
        }
        for group in items(groups)
    ]
    return counters_of({"groups": as_in_files})
