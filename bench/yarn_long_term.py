"""Is a tenant that was idle paid back on a real YARN, by its own scheduler and by LTYARN?

Question: three runs on one YARN with files in HDFS. In the first run one tenant has all jobs; in
the two others both tenants have the same ones, submitted together: as Hadoop Streaming in two
queues of equal capacity under YARN's CapacityScheduler, and to Sluice's agents under LTYARN, which
keeps its accounts over runs.
Budget: equal counts; in the second run LTYARN ends the jobs of the tenant that was idle first.
Machine: 2 cores, 24 GiB, Python 3.11, Java 17, Hadoop 3.4.2 by Maven. The table is in docs/yarn.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean

from bench.yarn import COUNT, STREAMING, WORDS
from tests.hadoop.cluster import Hadoop

import sluice

BUSY, IDLE = "a", "default"
RUNS = ((BUSY,), (BUSY, IDLE), (BUSY, IDLE))  # the tenants with jobs
JOBS_EACH = 1
MEGABYTES = 6
SPLIT_BYTES = 1 << 20
EQUAL = {"version": 1, "queues": {
    "root.a": {"capacity": 40}, "root.default": {"capacity": 40}, "root.b": {"capacity": 20},
}}  # fmt: skip
_Ends = dict[str, list[float]]


def main() -> int:
    """Print the table; 1 if two ways count differently, or the idle tenant is not paid back."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        hadoop = Hadoop(folder / "hadoop")
        try:
            hadoop.start()
            return _compare(hadoop, folder)
        finally:
            hadoop.stop()


def _compare(hadoop: Hadoop, folder: Path) -> int:
    line = "".join(f"it was the best of word{number} " for number in range(999)) + "\n"
    (folder / "text").write_text(line * (MEGABYTES * 1_000_000 // len(line)))
    hadoop.hdfs("-put", str(folder / "text"), "/shared-text")
    (folder / "equal.json").write_text(json.dumps(EQUAL))
    sluice.steer(folder / "equal.json", hadoop.address, undo=str(folder / "undo.yaml"))
    ways = {"LTYARN": _ours, "CapacityScheduler, Hadoop Streaming": _plain}
    print(f"| way | run | jobs of `{BUSY}`, mean | jobs of `{IDLE}`, mean | all jobs |")
    print("|---|---|---|---|---|")
    counts: dict[tuple[str, int], int] = {}
    ends: dict[tuple[str, int], _Ends] = {}
    for way, run_jobs in ways.items():
        for number, tenants in enumerate(RUNS, 1):
            names = [f"{one}-{each}" for one in tenants for each in range(JOBS_EACH)]
            found, text = run_jobs(hadoop, folder, number, names)
            ends[way, number] = found
            counts[way, number] = sum(
                int(row.split()[0]) for row in text.split("\n") if row.strip()
            )
            cells = [f"{fmean(found[one]):.1f} s" if one in found else "–" for one in (BUSY, IDLE)]
            longest_s = max(map(max, found.values()))
            print(f"| {way} | {number} | {' | '.join(cells)} | {longest_s:.1f} s |", flush=True)
    words = JOBS_EACH * (MEGABYTES * 1_000_000 // len(line)) * len(line.split())
    wrong = [run for run, found in ends.items() if counts[run] != words * len(found)]
    if wrong:
        sys.stderr.write(f"other counts: {wrong}\n")
    second = ends["LTYARN", 2]
    is_paid_back = max(second[IDLE]) < min(second[BUSY])
    return int(bool(wrong) or not is_paid_back)


def _plain(hadoop: Hadoop, _: Path, number: int, names: list[str]) -> tuple[_Ends, str]:
    """All jobs of a run at once, each in the queue of its tenant."""
    begun_s = time.monotonic()

    def submit(name: str) -> tuple[str, float]:
        queue = name.partition("-")[0]
        hadoop.java(
            STREAMING, f"-Dmapreduce.input.fileinputformat.split.maxsize={SPLIT_BYTES}",
            "-Dmapreduce.job.reduces=1", f"-Dmapreduce.job.queuename={queue}",
            "-mapper", WORDS, "-reducer", COUNT,
            "-input", "/shared-text", "-output", f"/long-term/{number}/{name}",
        )  # fmt: skip
        return queue, time.monotonic() - begun_s

    with ThreadPoolExecutor(len(names)) as pool:
        ends = list(pool.map(submit, names))
    return _by_tenant(ends), hadoop.hdfs("-cat", f"/long-term/{number}/*/part-*")


def _ours(hadoop: Hadoop, folder: Path, number: int, names: list[str]) -> tuple[_Ends, str]:
    """One `sluice run` for all jobs of a run; the runs share their records."""
    place = folder / f"run-{number}"
    place.mkdir()
    jobs = [
        {
            "id": name,
            "pool": name.partition("-")[0],
            "reduces": {"tasks": 1},
            "run": {
                "input": [f"{hadoop.files}/shared-text"],
                "output": f"out/{name}",
                "mapper": WORDS,
                "reducer": COUNT,
                "split_bytes": SPLIT_BYTES,
            },
        }
        for name in names
    ]
    slots = {"yarn_map_slots_per_vcore": 0, "yarn_reduce_slots_per_vcore": 0}
    settings = {**slots, "yarn_containers_per_vcore": 0.34}  # of 3 processors: one container
    queues = [{"id": BUSY}, {"id": IDLE}]
    document = {"version": 1, "queues": queues, "jobs": jobs, "settings": settings}
    (place / "jobs.json").write_text(json.dumps(document))
    begun_s = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "sluice", "run", "jobs.json", "--engine", "yarn",
         "--address", hadoop.address, "--tasks", "ltyarn", "--json"],
        cwd=place, env=os.environ | {"SLUICE_HOME": str(folder / "home")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    length_s = time.monotonic() - begun_s
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    result = json.loads(done.stdout)
    lag_s = length_s - result["makespan_s"]
    ends = [(one.partition("-")[0], found["finished_at_s"] + lag_s)
            for one, found in result["jobs"].items()]  # fmt: skip
    text = "".join(path.read_text() for path in sorted(place.glob("out/*/part-*")))
    return _by_tenant(ends), text


def _by_tenant(ends: list[tuple[str, float]]) -> _Ends:
    found: _Ends = {}
    for tenant, end_s in ends:
        found.setdefault(tenant, []).append(end_s)
    return found


if __name__ == "__main__":
    sys.exit(main())
