"""Made-up samples of the smaller formats, and for each a few lines that count them by themselves.

A writer draws the text of a log. A counter gets nothing but that text, and reads it with `json`,
`csv` or `re`: by job, how many tasks ended well and how many seconds they took together.
"""

import csv
import io
import json
import re
from collections import defaultdict
from itertools import count

from tests.ingest.stage_logs import (
    dbt_result,
    dbt_results,
    listing,
    philly_job,
    tez_attempt,
    tez_history,
)
from tests.ingest.test_mr1 import META, attempt, job_line
from tests.ingest.test_volcano import job
from tests.runs import even_nodes, map_reduce, simulate

from sluice.reporting.run.trace import lines


def spans(draw, most=30):
    """A start and an end, in whole seconds."""
    start = draw.randint(0, 500)
    return start, start + draw.randint(1, most)


def summed(rows):
    """By job, tasks and seconds, of (job, tasks, seconds of each)."""
    found: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
    for job_id, tasks, each_s in rows:
        found[str(job_id)][0] += tasks
        found[str(job_id)][1] += tasks * each_s
    return {job_id: (tasks, round(seconds, 3)) for job_id, (tasks, seconds) in found.items()}


# --- tables of rigid jobs -------------------------------------------------------------------------


def swf(draw):
    rows = [
        [n, 10 * n, draw.randint(0, 90), draw.choice([-1, draw.randint(1, 900)]),
         draw.randint(1, 40), *[-1] * 13]
        for n in range(1, draw.randint(5, 60))
    ]  # fmt: skip
    rows.append([99, 990, 0, 5, 1, *[-1] * 13])
    return "; MaxProcs: 64\n" + "\n".join(" ".join(map(str, row)) for row in rows)


def count_swf(text):
    rows = [line.split() for line in text.splitlines() if not line.startswith(";")]
    return summed((row[0], int(row[4]), int(row[3])) for row in rows if int(row[3]) >= 0)


def batsim(draw):
    profiles = {f"p{n}": {"type": "delay", "delay": draw.randint(1, 99)} for n in range(4)}
    jobs = [
        {"id": n, "subtime": 3 * n, "res": draw.randint(1, 16), "profile": draw.choice([*profiles]),
         "walltime": draw.choice([-1, 50, 100])}
        for n in range(draw.randint(1, 50))
    ]  # fmt: skip
    return json.dumps({"nb_res": 16, "jobs": jobs, "profiles": profiles})


def count_batsim(text):
    said = json.loads(text)
    return summed(
        (one["id"], one["res"], min(delay, one["walltime"]) if one["walltime"] > 0 else delay)
        for one in said["jobs"]
        for delay in [said["profiles"][one["profile"]]["delay"]]
    )


def philly(draw):
    jobs = []
    for n in range(draw.randint(3, 40)):
        starts = sorted(draw.sample(range(n, 900, 30), draw.randint(1, 3)))
        tries = [
            (start, start + draw.randint(1, 29), [draw.randint(1, 8)] * draw.randint(1, 3))
            for start in starts
        ]
        jobs.append(philly_job(f"app_{n}", n, tries, draw.choice(["Pass", "Killed", "Failed"])))
    jobs.append(philly_job("app_wait", 5, []))
    return listing(jobs)


def count_philly(text):
    found = []
    for one in json.loads(text):
        held = [sum(len(at_["gpus"]) for at_ in part["detail"]) for part in one["attempts"]]
        clocks = [
            [at_s(part[key]) for key in ("start_time", "end_time")] for part in one["attempts"]
        ]
        if held:
            found.append((one["jobid"], max(held), sum(end - start for start, end in clocks)))
    return summed(found)


def at_s(instant):
    """Seconds of the day of a date's clock."""
    hours, minutes, seconds = re.search(r"(\d\d):(\d\d):([\d.]+)", instant).groups()
    days = int(re.search(r"-(\d\d)[ T]", instant)[1])
    return 86400 * days + 3600 * int(hours) + 60 * int(minutes) + float(seconds)


def volcano(draw):
    items = []
    for n in range(draw.randint(2, 30)):
        start, end = spans(draw, 90)
        last = draw.choice(["Completed", "Failed", "Terminated", "Running"])
        phases = [("Pending", start - 2), ("Running", start)]
        if last != "Running":
            phases.append((last, end))
        items.append(job(f"j{n}", start - 3, phases, draw.randint(1, 4), draw.randint(1, 9)))
    items.append(job("sure", 1, [("Running", 5), ("Completed", 9)], 2))
    return json.dumps({"kind": "List", "items": items})


def count_volcano(text):
    found = []
    for one in json.loads(text)["items"]:
        when = {
            each["status"]: at_s(each["lastTransitionTime"]) for each in one["status"]["conditions"]
        }
        if ends := [when[last] for last in ("Completed", "Failed", "Terminated") if last in when]:
            pods = sum(task["replicas"] for task in one["spec"]["tasks"])
            found.append((one["metadata"]["name"], pods, ends[0] - when["Running"]))
    return summed(found)


def squeue(draw):
    rows = ["JOBID|NAME|USER|PARTITION|STATE|CPUS|TIME_LIMIT|TIME"]
    for n in range(1, draw.randint(3, 50)):
        hours, cpus = draw.randint(1, 30), draw.randint(1, 64)
        limit = f"{hours // 24}-{hours % 24:02}:00:00" if hours >= 24 else f"{hours}:00:00"
        array = draw.choice(["", "", "_[1-3,7]", "_4"])
        state = "PENDING" if "[" in array else draw.choice(["PENDING", "RUNNING", "COMPLETING"])
        ran = f"{draw.randint(0, 59)}:{draw.randint(0, 59):02}" if state == "RUNNING" else "0:00"
        rows.append(f"{n}{array}|name|u|cpu|{state}|{cpus}|{limit}|{ran}")
    rows.append("99|name|u|cpu|RUNNING|1|1:00:00|0:30")
    return "\n".join(rows) + "\n"


def count_squeue(text):
    found = []
    for row in csv.DictReader(io.StringIO(text), delimiter="|"):
        if row["STATE"] == "COMPLETING":
            continue
        days, _, clock = row["TIME_LIMIT"].rpartition("-")
        limit_s = 86400 * int(days or 0) + 3600 * int(clock.partition(":")[0])
        minutes, seconds = map(int, row["TIME"].split(":"))
        names = [row["JOBID"]]
        if "[" in row["JOBID"]:
            names = [row["JOBID"].replace("[1-3,7]", str(task)) for task in (1, 2, 3, 7)]
        found += [(name, int(row["CPUS"]), limit_s - 60 * minutes - seconds) for name in names]
    return summed(found)


def sinfo(draw):
    """Each node once a partition, some of them away."""
    rows = ["NODELIST|PARTITION|STATE|CPUS|MEMORY", "n000|cpu*|idle|8|64000"]
    for n in range(1, draw.randint(5, 60)):
        state = draw.choice(["idle", "mixed", "alloc", "down*", "drain", "resv", "idle~"])
        about = f"{state}|{draw.choice([8, 16, 48])}|64000"
        partitions = draw.choice([["cpu*"], ["gpu"], ["cpu*", "gpu"]])
        rows += [f"n{n:03}|{partition}|{about}" for partition in partitions]
    return "\n".join(rows) + "\n"


def count_sinfo(text):
    rows = csv.DictReader(io.StringIO(text), delimiter="|")
    nodes = {row["NODELIST"]: row for row in rows}.values()
    return sum(int(row["CPUS"]) for row in nodes if not re.match("down|drain|resv", row["STATE"]))


# --- jobs of stages -------------------------------------------------------------------------------


def swim(draw):
    rows = [
        [f"job{n}", 10 * n, 10, *(draw.choice([0, draw.randrange(10**10)]) for _ in range(3))]
        for n in range(draw.randint(1, 50))
    ]
    return "\n".join("\t".join(map(str, row)) for row in rows) + "\n"


def count_swim(text):
    """By the sizes of the documentation: maps of 128 MiB, reduces of 1 GiB, and no lengths."""
    found = []
    for row in csv.reader(io.StringIO(text), delimiter="\t"):
        read, moved, written = map(int, row[3:6])
        maps = max(1, -(-read // 2**27))
        found.append((row[0], maps + -(-max(moved, written if moved else 0) // 2**30), None))
    return {name: (tasks, None) for name, tasks, _ in found}


def hadoop_attempts(draw):
    """Of one task: failures, then mostly a success."""
    results = ["FAILED"] * draw.choice([0, 0, 1]) + [draw.choice(["SUCCESS"] * 4 + ["KILLED"])]
    start_s, end_s = spans(draw)
    return [
        {"result": result, "startTime": 1000 * start_s, "finishTime": 1000 * end_s}
        for result in results
    ]


def rumen(draw):
    sure = [{"attempts": [{"result": "SUCCESS", "startTime": 2000, "finishTime": 9000}]}]
    return "\n".join(
        json.dumps(
            {
                "jobID": f"job_1_{n:04}", "jobName": "wc", "submitTime": 0, "finishTime": 10**6,
                "outcome": "SUCCESS", "reduceTasks": [
                    {"attempts": hadoop_attempts(draw)} for _ in range(draw.randint(0, 3))
                ],
                "mapTasks": sure + [
                    {"attempts": hadoop_attempts(draw)} for _ in range(draw.randint(0, 9))
                ],
            },
            indent=1,
        )
        for n in range(draw.randint(1, 9))
    )  # fmt: skip


def count_rumen(text):
    jobs = json.loads("[" + text.replace("\n}\n{", "\n},{") + "]")
    return summed(
        (one["jobID"], 1, (part["finishTime"] - part["startTime"]) / 1000)
        for one in jobs
        for task in one["mapTasks"] + one["reduceTasks"]
        for part in task["attempts"]
        if part["result"] == "SUCCESS"
    )


def sls(draw):
    jobs = []
    for n in range(draw.randint(1, 9)):
        tasks = [
            {"container.host": f"/r/n{draw.randint(1, 3)}", "container.type": kind,
             "container.start.ms": 1000 * start, "container.end.ms": 1000 * end,
             "container.priority": 20}
            for kind in ["map", *draw.choices(["map", "reduce"], k=draw.randint(0, 20))]
            for start, end in [spans(draw)]
        ]  # fmt: skip
        jobs.append(
            {"am.type": "mapreduce", "job.id": f"job_{n}", "job.queue.name": "q", "job.user": "u",
             "job.start.ms": 0, "job.end.ms": 10**6, "job.tasks": tasks}
        )  # fmt: skip
    return "\n".join(json.dumps(one) for one in jobs)


def count_sls(text):
    return summed(
        (one["job.id"], 1, (task["container.end.ms"] - task["container.start.ms"]) / 1000)
        for one in map(json.loads, text.splitlines())
        for task in one["job.tasks"]
    )


def mr1(draw):
    parts = [META, job_line(JOBNAME="wc", USER="ann", SUBMIT_TIME=1240335960000)]
    for kind, tasks in (("MAP", draw.randint(1, 20)), ("REDUCE", draw.randint(0, 6))):
        for task in range(tasks):
            start, end = spans(draw)
            if draw.random() < 0.3:
                parts.append(attempt(kind, task, 0, at_s=1, takes_s=1, status="FAILED"))
            parts.append(attempt(kind, task, 1, at_s=start, takes_s=end - start))
    return "".join([*parts, job_line(FINISH_TIME=1240336960000, JOB_STATUS="SUCCESS")])


def count_mr1(text):
    starts: dict[str, int] = {}
    ends: dict[str, int] = {}
    for line in text.splitlines():
        said = dict(re.findall(r'(\w+)="([^"]*)"', line))
        if re.match(r"(Map|Reduce)Attempt ", line):
            starts.setdefault(said["TASK_ATTEMPT_ID"], said.get("START_TIME"))
            if said.get("TASK_STATUS") == "SUCCESS":
                ends[said["TASK_ATTEMPT_ID"]] = said["FINISH_TIME"]
    job_id = re.search(r'JOBID="([^"]*)"', text)[1]
    return summed((job_id, 1, (int(end) - int(starts[key])) / 1000) for key, end in ends.items())


def dbt(draw):
    results = [dbt_result("model.shop.sure", 0, 9)]
    for n in range(draw.randint(1, 50)):
        start, end = spans(draw)
        results.append(
            dbt_result(f"model.shop.m{n}", start, end, draw.choice(["success", "skipped", "pass"]))
        )
    return dbt_results(results)


def count_dbt(text):
    said = json.loads(text)
    return summed(
        (said["metadata"]["invocation_id"], 1,
         at_s(one["timing"][-1]["completed_at"]) - at_s(one["timing"][0]["started_at"]))
        for one in said["results"]
        if one["status"] in {"success", "pass"}
    )  # fmt: skip


def ray(draw):
    events = []
    for n in range(draw.randint(1, 60)):
        start, end = spans(draw)
        about = {"task_id": f"{n:016x}01000000", "job_id": f"0{draw.randint(1, 3)}000000"}
        events.append(
            {"cat": f"task::f{n % 3}", "name": "f", "ph": "X", "ts": start * 1e6,
             "dur": (end - start) * 1e6, "args": about}
        )  # fmt: skip
        events.append({"cat": "task:execute", "name": "x", "ph": "X", "ts": 0, "dur": 1})
    return json.dumps(events)


def count_ray(text):
    return summed(
        (one["args"]["job_id"], 1, one["dur"] / 1e6)
        for one in json.loads(text)
        if one["cat"].startswith("task::")
    )


def tez(draw):
    attempts = [tez_attempt(0, 99, 1, 9)]
    for vertex in range(3):
        for task in range(draw.randint(0, 20)):
            start, end = spans(draw)
            numbers = count()
            if draw.random() < 0.3:
                attempts.append(tez_attempt(vertex, task, 0, 3, next(numbers), "FAILED"))
            attempts.append(tez_attempt(vertex, task, start, end, next(numbers)))
    return tez_history(attempts)


def count_tez(text):
    found = []
    for part in filter(str.strip, text.split("\x01")):
        said = json.loads(part)
        about = said["otherinfo"]
        if "ATTEMPT" in said["entitytype"] and about.get("status") == "SUCCEEDED":
            found.append((1, (about["endTime"] - about["startTime"]) / 1000))
    dag = re.search(r'"(dag_[^"]*)"', text)[1]
    return summed((dag, *one) for one in found)


def alibaba(draw):
    rows = []
    for n in range(draw.randint(1, 30)):
        for name in draw.choice([["M1"], ["M1", "R2_1"], ["M1", "M2", "J3_1_2"]]):
            start, end = spans(draw)
            cells = [
                name,
                draw.randint(1, 40),
                f"j_{n}",
                1,
                "Terminated",
                start + 1,
                end + 1,
                50,
                1,
            ]
            rows.append(",".join(map(str, cells)))
    return "\n".join(rows) + "\n"


def count_alibaba(text):
    return summed(
        (row[2], int(row[1]), int(row[6]) - int(row[5])) for row in csv.reader(io.StringIO(text))
    )


def trace(draw):
    jobs = [
        map_reduce(f"j{n}", draw.randint(1, 9), float(draw.randint(1, 9)), draw.randint(0, 4), 2.0)
        for n in range(draw.randint(1, 9))
    ]
    return "".join(
        f"{one}\n" for one in lines(simulate(even_nodes(2, 2, 1), jobs, jitter=0.3).closed)
    )


def count_trace(text):
    return summed(
        (one["job"], 1, one["finished_at_s"] - one["started_at_s"])
        for one in map(json.loads, text.splitlines())
        if one["outcome"] == "done"
    )
