"""Makes the history in examples/nightly: Spark event logs of six jobs over a week of nights.

`python -m examples.nightly_logs` writes the same files every time. The logs are synthetic, and have
only the events and fields that Sluice reads. Each job has a driver that works before, between and
after its stages; tasks vary by 10 %, and one in twenty takes far longer; nights and runs have some
luck of their own.
"""

from __future__ import annotations

import gzip
import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "nightly"
NIGHTS = 7
EXECUTORS, CORES = 4, 2
FIRST_NIGHT_S = 1_762_131_600  # 3 November 2025, 01:00 UTC
NIGHT_S = 86_400
SEED = 14
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class NightlyJob:
    """A job of each night. stages: (tasks, mean seconds of a task); at_s: after 01:00."""

    name: str
    queue: str
    at_s: int
    driver_s: float
    stages: tuple[tuple[int, float], ...]


JOBS = (
    NightlyJob(name="ingest", queue="etl", at_s=0, driver_s=16, stages=((48, 7.0),)),
    NightlyJob(name="clean", queue="etl", at_s=90, driver_s=22, stages=((40, 6.0), (16, 8.0))),
    NightlyJob(name="sessions", queue="etl", at_s=180, driver_s=18, stages=((32, 9.0), (12, 7.0))),
    NightlyJob(name="report", queue="etl", at_s=300, driver_s=12, stages=((16, 6.0), (8, 5.0))),
    NightlyJob(name="features", queue="science", at_s=45, driver_s=25, stages=((24, 11.0),)),
    NightlyJob(
        name="training", queue="science", at_s=240, driver_s=20, stages=((20, 12.0), (10, 9.0))
    ),
)


def write_logs(folder: Path = FOLDER) -> list[Path]:
    """Write one log for each job and night; returns their paths."""
    folder.mkdir(exist_ok=True)
    return [_write(folder, job, night) for night in range(NIGHTS) for job in JOBS]


def _write(folder: Path, job: NightlyJob, night: int) -> Path:
    number = night * len(JOBS) + JOBS.index(job) + 1
    app_id = f"application_{FIRST_NIGHT_S}_{number:04}"
    lines = [json.dumps(event, separators=(",", ":")) for event in _events(job, night, app_id)]
    path = folder / f"{app_id}.gz"
    # Without a time in its head, the file is the same every time.
    path.write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), mtime=0))
    return path


def _events(job: NightlyJob, night: int, app_id: str) -> Iterator[dict[str, object]]:
    draw = random.Random(f"{SEED}/{night}/{job.name}")
    luck = math.exp(random.Random(f"{SEED}/{night}").gauss(0, 0.03) + draw.gauss(0, 0.04))
    began_s = FIRST_NIGHT_S + night * NIGHT_S + job.at_s
    yield {"Event": "SparkListenerLogStart", "Spark Version": "3.5.1"}
    yield {
        "Event": "SparkListenerEnvironmentUpdate",
        "Spark Properties": {"spark.master": "yarn", "spark.yarn.queue": job.queue},
    }
    yield {
        "Event": "SparkListenerApplicationStart", "App Name": job.name, "App ID": app_id,
        "Timestamp": _ms(began_s), "User": job.queue,
    }  # fmt: skip
    now_s = began_s + 0.7 * job.driver_s * luck
    for executor in range(1, EXECUTORS + 1):
        yield {
            "Event": "SparkListenerExecutorAdded", "Timestamp": _ms(now_s),
            "Executor ID": str(executor),
            "Executor Info": {"Host": f"node-{executor}", "Total Cores": CORES},
        }  # fmt: skip
    for number, (tasks, mean_s) in enumerate(job.stages):
        lengths_s = [_length_s(mean_s * luck, draw) for _ in range(tasks)]
        ends_s = []
        for index, executor, start_s, end_s in _scheduled(lengths_s, now_s):
            ends_s.append(end_s)
            yield _task_end(number, index, executor, start_s, end_s)
        yield _stage_completed(number, tasks, now_s, max(ends_s))
        now_s = max(ends_s) + 0.1 * job.driver_s * luck
    yield {"Event": "SparkListenerApplicationEnd", "Timestamp": _ms(now_s + 0.2 * job.driver_s)}


def _length_s(mean_s: float, draw: random.Random) -> float:
    tail = 2.5 if draw.random() < 0.05 else 1.0
    return mean_s * tail * math.exp(draw.gauss(0, 0.1))


def _scheduled(lengths_s: list[float], began_s: float) -> Iterator[tuple[int, int, float, float]]:
    """Number, executor, start and end of each task, on the first core that is free."""
    free = [(began_s, core) for core in range(EXECUTORS * CORES)]
    heapify(free)
    for index, length_s in enumerate(lengths_s):
        start_s, core = heappop(free)
        heappush(free, (start_s + length_s, core))
        yield index, core // CORES + 1, start_s, start_s + length_s


def _task_end(
    stage: int, index: int, executor: int, start_s: float, end_s: float
) -> dict[str, object]:
    reads = {"Input Metrics": {"Bytes Read": 64 * MIB}} if stage == 0 else {}
    fetches = {"Shuffle Read Metrics": {"Remote Bytes Read": 16 * MIB}} if stage else {}
    return {
        "Event": "SparkListenerTaskEnd", "Stage ID": stage, "Stage Attempt ID": 0,
        "Task End Reason": {"Reason": "Success"},
        "Task Info": {
            "Task ID": 1000 * stage + index, "Index": index, "Attempt": 0,
            "Launch Time": _ms(start_s), "Finish Time": _ms(end_s),
            "Executor ID": str(executor), "Host": f"node-{executor}",
        },
        "Task Metrics": reads | fetches,
    }  # fmt: skip


def _stage_completed(number: int, tasks: int, began_s: float, end_s: float) -> dict[str, object]:
    name = "save at nightly.py:40" if number else "read at nightly.py:12"
    return {
        "Event": "SparkListenerStageCompleted",
        "Stage Info": {
            "Stage ID": number, "Stage Attempt ID": 0, "Stage Name": name,
            "Number of Tasks": tasks, "Parent IDs": list(range(number)),
            "Submission Time": _ms(began_s), "Completion Time": _ms(end_s),
        },
    }  # fmt: skip


def _ms(instant_s: float) -> int:
    return round(instant_s * 1000)


if __name__ == "__main__":
    print(f"{len(write_logs())} logs are in {FOLDER}")
