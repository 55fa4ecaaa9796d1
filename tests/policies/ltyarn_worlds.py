"""Workloads of queues and tasks for tests of long-term sharing."""

import json

import sluice


def workload(containers, queues, apps, settings=None):
    """A workload as its file gives it.

    containers: how many; or the cluster.  queues: mappings as in a file, or names of `ltrf` queues.
    apps: (name, queue, arrival in seconds, lengths of its tasks), and more keys of its maps.
    """
    jobs = []
    for name, queue, arrival_s, lengths, *more in apps:
        phase = {"durations_s": list(map(float, lengths)), **(more[0] if more else {})}
        jobs.append({"id": name, "pool": queue, "submitted_at_s": arrival_s, "maps": phase})
    document = {
        "version": 1,
        "cluster": containers if isinstance(containers, dict) else {"containers": containers},
        "queues": [{"id": q, "order": "ltrf"} if isinstance(q, str) else q for q in queues],
        "jobs": jobs,
        "settings": settings or {},
    }
    return sluice.parse_workload(json.dumps(document))


def starts(result):
    """Starts of tasks by job, in order."""
    found: dict[str, list[float]] = {}
    for attempt in sorted(result.attempts, key=lambda one: (one.started_at_s, one.key.task)):
        times = found.setdefault(str(attempt.key.job_id), [])
        times += [attempt.started_at_s] * attempt.tasks
    return found


def running_at(result, at_s):
    """Units that run at an instant, by pool."""
    held: dict[str, float] = {}
    for attempt in result.attempts:
        if attempt.started_at_s <= at_s < attempt.finished_at_s:
            pool = str(attempt.phase.job.pool.pool_id)
            held[pool] = held.get(pool, 0.0) + attempt.tasks * attempt.phase.phase.units
    return held
