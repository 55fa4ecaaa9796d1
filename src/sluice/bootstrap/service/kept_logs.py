"""How long a service keeps the logs of its tasks: for days after the end of their job, and no more
bytes of them than are allowed. On a disk that is nearly full, the oldest day of them goes.

Source: service spec, section 12.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from sluice.model.ids import JobId
from sluice.store.database import StoreUnavailable
from sluice.store.service.places import ServicePlace
from sluice.store.service.task_logs import (
    TaskLog,
    keep_removed,
    remove_task_logs,
    removed,
    task_logs,
)

if TYPE_CHECKING:
    from sluice.bootstrap.service.config import ServiceConfig
    from sluice.bootstrap.service.replica import Replica

EVERY_S = 3600.0  # how often logs are looked for that are to go,
FULL_EVERY_S = 60.0  # and on a disk that is nearly full
_DAY_S = 86400.0
_UNKNOWN_S = 60.0  # the job of a log that is younger may not be in the replica yet


def drop_logs(place: ServicePlace, replica: Replica) -> None:
    """Remove the logs that are too old, and the oldest of those that need too much room.

    Those of jobs that are open stay.
    """
    config, now_s = replica.config, time.time()
    ends = _Ends(replica, now_s)
    found = list(task_logs(place.journal))
    dated = [(at_s, log) for log in found if (at_s := ends.of(log)) is not None]
    dated.sort(key=lambda each: each[0])
    total_bytes = sum(log.size_bytes for log in found)
    kept_from_s = now_s - config.logs_days * _DAY_S
    is_full = is_nearly_full(place, config)
    if is_full and dated:
        kept_from_s = max(kept_from_s, dated[0][0] + _DAY_S)
    gone: list[TaskLog] = []
    until_s = (removed(replica.segment) or {"until_s": -math.inf})["until_s"]
    for at_s, log in dated:
        if at_s >= kept_from_s and total_bytes <= config.logs_bytes:
            break
        total_bytes -= log.size_bytes
        gone.append(log)
        until_s = max(until_s, at_s)
    if gone:
        note = {"until_s": until_s, "days": config.logs_days, "bytes": config.logs_bytes}
        if is_full:
            note["disk_percent"] = config.disk_percent_logs
        with suppress(OSError):  # of a disk that is full before they are gone
            keep_removed(replica.segment, note)
        remove_task_logs(place.journal, gone)
        keep_removed(replica.segment, note)


def is_nearly_full(place: ServicePlace, config: ServiceConfig) -> bool:
    """Whether the disk has no room for all logs that are young enough."""
    with suppress(StoreUnavailable):
        return place.disk_percent >= config.disk_percent_logs
    return False


class _Ends:
    """When the job of a log has ended."""

    def __init__(self, replica: Replica, now_s: float) -> None:
        self._replica, self._now_s = replica, now_s
        self._jobs: dict[str, JobId] = {
            known.submitted.prepared.get("name", job_id): job_id
            for job_id, known in replica.jobs.items()
        }

    def of(self, log: TaskLog) -> float | None:
        """Seconds since 1970; None if the job is open.

        Jobs that the replica does not know ended long ago; then it is the last word in the log.
        """
        job_id = None
        if log.segment == self._replica.segment.name:
            job_id = self._jobs.get(log.name.rsplit("-", 4)[0])
            if job_id is None and log.written_at_s > self._now_s - _UNKNOWN_S:
                return None
        if job_id is None:
            return log.written_at_s
        if job_id not in self._replica.settled:
            return None
        return self._replica.wall_s(self._replica.state.jobs[job_id].finished_at_s)
