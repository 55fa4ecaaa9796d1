"""How many tiny Python tasks a second does a whole run get through, and how busy are its slots?

Question: 2,000 files of one line, counted by Python functions: one map for each file, 2 map slots,
1 reduce. Tasks a second and the share of the makespan in which map slots were busy; CPU seconds a
task of all processes of the run, without the start-up that a run of one file takes. Base, in the
same run: a bare loop of fork, exec of `true` and wait, 2 in flight. The counts must be right first.
Target on 2 quiet cores: 300 tasks/s. A task of this job takes a millisecond or two, less than the
way from its end through the scheduler to the next one, so that slots are idle most of the time.
Budget: 8 times the CPU of a fork and exec for each task, which a busy machine changes little.
Machine: 2 cores, 24 GiB, Python 3.11.

`--tasks 300` is quick.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from bench._figures import Spent, verdict, whole_process
from bench.agent import base_s

SOURCE = Path(__file__).parents[1] / "src"
TASKS, SLOTS = 2_000, 2
RATE_TARGET, CPU_MAX = 300.0, 8.0
PROGRAM = """\
def mapper(line):
    for word in line.split():
        yield word, 1


def reducer(word, ones):
    yield word, sum(ones)
"""


class Ran(NamedTuple):
    """A run: what it took, how long its jobs took, and the share of its map slots in use."""

    spent: Spent
    makespan_s: float
    busy: float


def ran(tasks: int) -> Ran:
    """Run that many tasks through the command line, and check their answer."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "in").mkdir()
        for number in range(tasks):
            (place / "in" / f"file-{number:06}").write_text(f"word number-{number}\n")
        (place / "count.py").write_text(PROGRAM)
        run = {"input": ["in"], "output": "out", "python": "count.py"}
        job = {"id": "words", "reduces": {"tasks": 1}, "run": run}
        cluster = {"map_slots": SLOTS, "reduce_slots": 1}
        (place / "jobs.json").write_text(
            json.dumps({"version": 1, "cluster": cluster, "jobs": [job]})
        )
        spent = whole_process(
            [sys.executable, "-m", "sluice", "run", str(place / "jobs.json"), "--json"],
            log=place / "log",
            output=place / "document",
            env={"SLUICE_HOME": str(place / "home"), "PYTHONPATH": str(SOURCE)},
        )
        _check((place / "out" / "part-00000").read_text(), tasks)
        document = json.loads((place / "document").read_text())
    return Ran(spent, document["makespan_s"], document["utilisation"]["map_slots"])


def _check(output: str, tasks: int) -> None:
    counts = dict(line.split("\t") for line in output.splitlines())
    expected = {f"number-{number}": "1" for number in range(tasks)} | {"word": str(tasks)}
    assert counts == expected, "the counts are wrong"


def main() -> int:
    """Exit code: 0 if a task costs no more than its budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=TASKS)
    tasks = parser.parse_args().tasks
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    base_wall_s, base_cpu_s = base_s(tasks, SLOTS)
    start, all_of_them = ran(1), ran(tasks)
    cpu_s = (all_of_them.spent.cpu_s - start.spent.cpu_s) / tasks
    rate, base_rate = tasks / all_of_them.makespan_s, tasks / base_wall_s
    ratio = cpu_s / (base_cpu_s / tasks)
    print(
        f"{tasks:,} tasks: {rate:.0f}/s (target {RATE_TARGET:.0f}), {rate / base_rate:.2f} x the"
        f" bare loop ({base_rate:,.0f}/s); map slots {all_of_them.busy:.0%} busy"
    )
    print(
        f"CPU of a task {cpu_s * 1e3:.1f} ms, {ratio:.1f} x a fork and exec"
        f"{verdict(fits=ratio <= CPU_MAX)}"
    )
    return 0 if ratio <= CPU_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
