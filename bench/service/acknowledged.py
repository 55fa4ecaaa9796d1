"""How long does a user of the service wait: for an acknowledgement, a first task, an answer?

A real service on this machine, with users in threads of this process. It asserts that every
acknowledged job was done, and times what users wait for. With the follower out of reach, an
acknowledgement is to read and prepare the file, the journal, and one wait for the disk; the peer is
such a wait alone. Growth: the same questions with 10, 100 and 1,000 open jobs.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from bench._figures import verdict
from bench._service import place, serving

from sluice.api import service as api
from sluice.store.service.places import ServicePlace

ALONE, TOGETHER, USERS = 40, 300, 50
ACK_MS_MAX, ACK_P99_MS_MAX, RATE_MIN = 60.0, 200.0, 60.0
WHOLE_MS_MAX = 250.0
WHY_MS_MAX = 300.0
PROMISE_S_MAX = 2.0
_JOB = """version: 1
jobs:
  - id: {name}
    maps: {{tasks: 1, avg_s: {seconds}, max_s: {seconds}}}
    run: {{input: [in.txt], output: 'out/{{job_id}}', mapper: {mapper}}}
"""


def job(folder: Path, name: str, seconds: float = 0.05) -> Path:
    """A workload file of one job."""
    path = folder / f"{name}.yaml"
    mapper = "cat" if seconds < 1 else f"sh -c 'sleep {seconds}; cat'"
    path.write_text(_JOB.format(name=name, seconds=seconds, mapper=mapper))
    return path


def timed_ms(act: Callable[[], object]) -> float:
    """How long a call takes, in milliseconds."""
    began_s = time.perf_counter()
    act()
    return (time.perf_counter() - began_s) * 1000


def sync_ms(folder: Path) -> float:
    """The peer: the median wait for the disk, for as many bytes as a submission writes."""
    found = []
    with (folder / "peer").open("wb") as file:
        for _ in range(ALONE):
            file.write(b"x" * 4096)
            file.flush()
            found.append(timed_ms(lambda: os.fdatasync(file.fileno())))
    return median(found)


def settled() -> dict[str, str]:
    """The state of each job, once none is open."""
    while True:
        rows = api.jobs(limit=1_000_000)["jobs"]
        if all(row["state"] not in {"waiting", "running"} for row in rows):
            return {row["job_id"]: row["state"] for row in rows}
        time.sleep(0.2)


def together(folder: Path) -> tuple[float, list[str]]:
    """Acknowledged jobs a second of many users, and their ids."""
    found: list[str] = []
    left = list(range(TOGETHER))

    def user() -> None:
        while True:
            try:
                number = left.pop()
            except IndexError:
                return
            found.append(api.submit(job(folder, f"t{number}"))["jobs"][0]["job_id"])

    users = [threading.Thread(target=user) for _ in range(USERS)]
    began_s = time.perf_counter()
    for one in users:
        one.start()
    for one in users:
        one.join()
    return TOGETHER / (time.perf_counter() - began_s), found


def main() -> int:
    """Measure; 1 if a budget is missed."""
    with place() as folder, serving(folder, "none"):
        return measured(folder)


def measured(folder: Path) -> int:
    """All figures, each with its budget."""
    promised = [timed_ms(lambda: api.submit(job(folder, "p"))) for _ in range(10)]
    whole = []
    for number in range(10):
        known = settled()
        made = api.submit(job(folder, f"f{number}"))["jobs"][0]
        (row,) = [row for row in api.wait([made["job_id"]])["jobs"] if row["job_id"] not in known]
        ended = row["ends_at"]["expected"]
        whole.append((instant_s(ended) - instant_s(row["submitted_at"])) * 1000)
    status = api.service_status()
    follower = status["follower"]["pid"]
    os.kill(follower, signal.SIGSTOP)  # no promise: the driver and the disk alone
    folder_of_service = ServicePlace().folder
    socket = ServicePlace().follower_socket
    socket.rename(folder_of_service / "away")
    alone = sorted(timed_ms(lambda: api.submit(job(folder, "a"))) for _ in range(ALONE))
    rate, acknowledged = together(folder)
    (folder_of_service / "away").rename(socket)
    os.kill(follower, signal.SIGCONT)
    peer_ms = sync_ms(folder)
    states = settled()
    assert len(set(acknowledged)) == TOGETHER
    assert all(states[job_id] == "done" for job_id in acknowledged)
    growth = {}
    for jobs in (10, 100, 1000):
        text = "".join(
            job(folder, "w", 30).read_text().partition("jobs:\n")[2].replace("id: w", f"id: w{n}")
            for n in range(jobs)
        )
        (folder / "w.yaml").write_text(f"version: 1\njobs:\n{text}")
        ids = [each["job_id"] for each in api.submit(folder / "w.yaml")["jobs"]]
        growth[jobs] = (
            timed_ms(lambda: api.submit(job(folder, "q", 30), quotes=True)) / 1000,
            timed_ms(partial(api.why_job, ids[-1])),
        )
        for job_id in ids:
            api.kill(job_id)
        settled()
    checks = {
        f"acknowledged alone, p50 ms (a sync takes {peer_ms:.1f})": (median(alone), ACK_MS_MAX),
        "acknowledged alone, p99 ms": (alone[-1], ACK_P99_MS_MAX),
        "with a promise, p50 ms": (median(promised), PROMISE_S_MAX * 1000),
        "submitted to done, of a tiny job, p50 ms": (median(whole), WHOLE_MS_MAX),
        **{
            f"quote with {jobs} open jobs, s": (quote_s, PROMISE_S_MAX)
            for jobs, (quote_s, _) in growth.items()
        },
        **{
            f"why with {jobs} open jobs, ms": (why_ms, WHY_MS_MAX)
            for jobs, (_, why_ms) in growth.items()
        },
    }
    is_fine = rate >= RATE_MIN
    print(f"{USERS} users: {rate:.0f} jobs/s acknowledged (at least {RATE_MIN:.0f})")
    for text, (value, most) in checks.items():
        is_fine = is_fine and value <= most
        print(f"{text}: {value:.2f} (at most {most:g}){verdict(fits=value <= most)}")
    print(json.dumps({"rate": rate, "alone_ms": median(alone), "sync_ms": peer_ms}))
    return 0 if is_fine else 1


def instant_s(text: str) -> float:
    """Seconds since 1970."""
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()


if __name__ == "__main__":
    sys.exit(main())
