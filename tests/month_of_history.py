"""A month of job histories of a cluster that three tenants share, made up from a seed.

etl loads data each night, and works off a backlog in the second and third week. ads pays for as
much, is idle in the first ten days, and then has more reports than its share can do. adhoc asks
now and then.
"""

import json
import random

DAY_S, HOUR_S, DAYS = 86_400, 3_600, 30
BEGAN_S = 1_790_812_800  # 2026-10-01
ADS_FROM_DAY = 10
BACKLOG_DAYS = range(7, 20)
_EVENT = "org.apache.hadoop.mapreduce.jobhistory"


def jobs_of(seed):
    """(queue, name, seconds after the beginning of the month, lengths of maps, of reduces)."""
    draw = random.Random(seed)

    def lengths(tasks, low_s, high_s):
        return [draw.randint(low_s, high_s) for _ in range(tasks)]

    found = []
    for day in range(DAYS):
        night_s = day * DAY_S + HOUR_S
        found.append(("etl", "load", night_s, lengths(15, 1800, 4800), lengths(2, 600, 1800)))
        if day in BACKLOG_DAYS:
            found.append(("etl", "backlog", night_s + 60, lengths(50, 2400, 7200), []))
        if day >= ADS_FROM_DAY:
            for hour in range(7, 19, 2):
                at_s = day * DAY_S + hour * HOUR_S + draw.randrange(HOUR_S)
                found.append(
                    ("ads", "report", at_s, lengths(12, 2400, 4800), lengths(1, 600, 1800))
                )
        for _ in range(draw.randint(2, 6)):
            at_s = day * DAY_S + draw.randrange(DAY_S)
            found.append(("adhoc", "query", at_s, lengths(draw.randint(1, 4), 60, 900), []))
    return sorted(found, key=lambda job: job[2])


def write_month(folder, seed):
    """One history for each job. Returns the number of jobs and of tasks."""
    folder.mkdir()
    jobs = jobs_of(seed)
    for number, (queue, name, at_s, maps, reduces) in enumerate(jobs, start=1):
        lines = _lines(f"job_{BEGAN_S}_{number:04d}", queue, name, BEGAN_S + at_s, maps, reduces)
        text = "\n".join(("Avro-Json", *map(json.dumps, lines))) + "\n"
        (folder / f"job_{BEGAN_S}_{number:04d}.jhist").write_text(text)
    return len(jobs), sum(len(maps) + len(reduces) for _, _, _, maps, reduces in jobs)


def _lines(job, queue, name, at_s, maps, reduces):
    """The events of a job that had the cluster to itself."""
    yield _event(
        "JOB_SUBMITTED", jobid=job, jobName=name, submitTime=1000 * at_s, jobQueueName=queue
    )
    end_s = at_s
    for kind, tasks in (("MAP", maps), ("REDUCE", reduces)):
        start_s, end_s = end_s, end_s + max(tasks, default=0)
        for number, length_s in enumerate(tasks):
            attempt = f"attempt{job[3:]}_{kind[0].lower()}_{number:06d}_0"
            yield _event(f"{kind}_ATTEMPT_STARTED", attemptId=attempt, startTime=1000 * start_s)
            yield _event(
                f"{kind}_ATTEMPT_FINISHED",
                attemptId=attempt,
                finishTime=1000 * (start_s + length_s),
            )
    yield _event("JOB_FINISHED", jobid=job, finishTime=1000 * end_s)


def _event(kind, **fields):
    return {"type": kind, "event": {f"{_EVENT}.Some": fields}}
