"""How long do the same jobs take on the same YARN, by its own scheduler and by ours?

Question: six word counts of files in HDFS, two of them long, are submitted together: as Hadoop
Streaming under YARN's CapacityScheduler, and to Sluice's agents in containers of the same three
nodes under each of its systems, with the same commands.
Budget: equal counts; each way of ours in less time than Hadoop's.
Machine: 2 cores, 24 GiB, Python 3.11, Java 17, Hadoop 3.4.2 by Maven. The table is in docs/yarn.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.hadoop.cluster import Hadoop

STREAMING = "org.apache.hadoop.streaming.HadoopStreaming"
WORDS, COUNT = "tr -s '[:space:]' '\\n'", "uniq -c"
TENANTS = ("a", "default")
# Job: megabytes. The long ones come first, as bad luck has it.
JOBS = {"long-1": 12, "long-2": 12, "short-1": 1, "short-2": 1, "short-3": 1, "short-4": 1}
SPLIT_BYTES = 2 << 20
WAYS = {
    "fifo": ("--tasks", "fifo"),
    "MROrder": ("--release", "mrorder", "--set", "mrorder.interval_s=1"),
    "DynamicMR": ("--tasks", "dynamicmr"),
    "RAS": ("--tasks", "ras", "--set", "ras.period_s=2"),
    "LTYARN": ("--tasks", "ltyarn"),
    "order=ltrf, guarded goals, lent slots, late copies": (
        "--order", "ltrf", "--goals", "guarded", "--slots", "lent", "--copies", "late",
    ),
}  # fmt: skip


def main() -> int:
    """Print the table; 1 if two ways count differently."""
    with tempfile.TemporaryDirectory() as folder:
        hadoop = Hadoop(Path(folder, "hadoop"))
        try:
            hadoop.start()
            return _compare(hadoop, Path(folder))
        finally:
            hadoop.stop()


def _compare(hadoop: Hadoop, folder: Path) -> int:
    texts = folder / "texts"
    texts.mkdir()
    for name, megabytes in JOBS.items():
        line = f"it was the best of {name} and the worst of words\n"
        text = "".join(line.replace("words", f"word{number % 999}") for number in range(20_000))
        (texts / name).write_text(
            (text * (1 + megabytes * 1_000_000 // len(text)))[: megabytes * 1_000_000]
        )
    hadoop.hdfs("-put", str(texts), "/texts")
    counts = {"CapacityScheduler": _plain(hadoop)}
    for way, words in WAYS.items():
        counts[way] = _ours(hadoop, folder / f"run-{len(counts)}", words)
    (_, _, expected) = counts["CapacityScheduler"]
    wrong = [way for way, (_, _, found) in counts.items() if found != expected]
    print("| way | all jobs | mean of a job |\n|---|---|---|")
    for way, (makespan_s, mean_s, _) in counts.items():
        print(f"| {way} | {makespan_s:.1f} s | {mean_s:.1f} s |")
    if wrong:
        sys.stderr.write(f"other counts: {wrong}\n")
    slower = [way for way, (length_s, _, _) in counts.items()
              if length_s > counts["CapacityScheduler"][0]]  # fmt: skip
    if slower:
        sys.stderr.write(f"slower than Hadoop: {slower}\n")
    return int(bool(wrong or slower))


def _plain(hadoop: Hadoop) -> tuple[float, float, dict[str, int]]:
    """All jobs at once, in the queues of two tenants."""
    begun_s = time.monotonic()

    def submit(numbered: tuple[int, str]) -> float:
        number, name = numbered
        hadoop.java(
            STREAMING, f"-Dmapreduce.input.fileinputformat.split.minsize={SPLIT_BYTES}",
            "-Dmapreduce.job.reduces=1", f"-Dmapreduce.job.queuename={TENANTS[number % 2]}",
            "-mapper", WORDS, "-reducer", COUNT,
            "-input", f"/texts/{name}", "-output", f"/plain/{name}",
        )  # fmt: skip
        return time.monotonic() - begun_s

    with ThreadPoolExecutor(len(JOBS)) as pool:
        ends_s = list(pool.map(submit, enumerate(JOBS)))
    lines = {name: hadoop.hdfs("-cat", f"/plain/{name}/part-*") for name in JOBS}
    return max(ends_s), sum(ends_s) / len(ends_s), _summed(lines)


def _ours(
    hadoop: Hadoop, folder: Path, words: tuple[str, ...]
) -> tuple[float, float, dict[str, int]]:
    folder.mkdir()
    jobs = [
        {
            "id": name,
            "pool": TENANTS[number % 2],
            "reduces": {"tasks": 1},
            "run": {
                "input": [f"{hadoop.files}/texts/{name}"],
                "output": name,
                "mapper": WORDS,
                "reducer": COUNT,
                "split_bytes": SPLIT_BYTES,
            },
        }
        for number, name in enumerate(JOBS)
    ]
    slots = {"yarn_map_slots_per_vcore": 0.67, "yarn_reduce_slots_per_vcore": 0.34}
    if "ltyarn" in words:
        slots = {"yarn_map_slots_per_vcore": 0, "yarn_reduce_slots_per_vcore": 0}
        slots["yarn_containers_per_vcore"] = 1
    pools = [{"id": name} for name in TENANTS]
    document = {"version": 1, "pools": pools, "jobs": jobs, "settings": slots}
    (folder / "jobs.json").write_text(json.dumps(document))
    begun_s = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "sluice", "run", "jobs.json", "--engine", "yarn",
         "--address", hadoop.address, "--json", *words],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    length_s = time.monotonic() - begun_s
    if done.returncode != 0:
        raise RuntimeError(f"{words}: {done.stderr[-2000:]}")
    result = json.loads(done.stdout)
    lag_s = length_s - result["makespan_s"]
    ends_s = [one["finished_at_s"] + lag_s for one in result["jobs"].values()]
    lines = {name: (folder / name / "part-00000").read_text() for name in JOBS}
    return length_s, sum(ends_s) / len(ends_s), _summed(lines)


def _summed(lines: dict[str, str]) -> dict[str, int]:
    """How many words each job has counted, and how many different ones."""
    found: dict[str, int] = {}
    for name, text in lines.items():
        rows = text.split("\n")
        found[name] = sum(int(row.split()[0]) for row in rows if row.strip())
        found[f"{name}, different"] = sum(1 for row in rows if row.strip())
    return found


if __name__ == "__main__":
    sys.exit(main())
