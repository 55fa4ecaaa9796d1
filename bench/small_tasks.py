"""How many tiny Python tasks a second does a whole run get through, and how busy are its slots?

Question: 2,000 files of one line, counted by Python functions: one map for each file, 2 map slots,
1 reduce. Tasks a second of the makespan; CPU seconds a task of all processes of the run, without
the start-up that a run of one file takes. Of the map phase, from its first start to its last end:
the share of slot time in which an attempt ran, by its agent's clock, and the time from the end of
an attempt to the next start in its slot. The same again where each map waits for 10 ms, because a
tiny task takes less time than the way from its end through the scheduler to the next one.
Base, in the same run: a bare loop of fork, exec of `true` and wait, 2 in flight. The counts must be
right first.
Targets on 2 quiet cores: 300 tiny tasks/s, and slots 80 % busy with tasks of 10 ms.
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

from sluice.core.events import TaskFinished, TaskStarted
from sluice.model.attempts import AttemptKey
from sluice.store.rows import EntryKind, entries

SOURCE = Path(__file__).parents[1] / "src"
TASKS, SLOTS = 2_000, 2
RATE_TARGET, BUSY_TARGET, CPU_MAX = 300.0, 0.8, 8.0
WAIT_S = 0.01
PROGRAM = """\
import time


def mapper(line):
    time.sleep({wait_s})
    for word in line.split():
        yield word, 1


def reducer(word, ones):
    yield word, sum(ones)
"""


class Ran(NamedTuple):
    """A run: what it took, how long its jobs took; of its maps, the share of slot time in which
    one ran, and the mean time between two in a slot.
    """

    spent: Spent
    makespan_s: float
    busy: float
    gap_s: float


def ran(tasks: int, wait_s: float = 0.0) -> Ran:
    """Run that many tasks through the command line, and check their answer."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "in").mkdir()
        for number in range(tasks):
            (place / "in" / f"file-{number:06}").write_text(f"word number-{number}\n")
        (place / "count.py").write_text(PROGRAM.format(wait_s=wait_s))
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
        (run_folder,) = (place / "home" / "runs").glob("*/journal.db")
        return Ran(spent, document["makespan_s"], *_map_phase(run_folder.parent))


def _map_phase(folder: Path) -> tuple[float, float]:
    """The busy share of slot time, and the mean time between two attempts in a slot."""
    began_s: dict[AttemptKey, float] = {}
    ended_s: dict[AttemptKey, float] = {}
    events = [entry.event() for entry in entries(folder) if entry.kind is EntryKind.EVENT]
    for event in events:
        if isinstance(event, TaskStarted) and event.key.phase == 0:
            assert event.started_at_s is not None
            began_s[event.key] = event.started_at_s
        elif isinstance(event, TaskFinished) and event.key.phase == 0:
            ended_s[event.key] = event.finished_at_s
    busy_s = sum(end_s - began_s[key] for key, end_s in ended_s.items())
    slots_s = SLOTS * (max(ended_s.values()) - min(began_s.values()))
    return busy_s / slots_s, (slots_s - busy_s) / len(ended_s)


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
    start, all_of_them, waiting = ran(1), ran(tasks), ran(tasks // 4, WAIT_S)
    cpu_s = (all_of_them.spent.cpu_s - start.spent.cpu_s) / tasks
    rate, base_rate = tasks / all_of_them.makespan_s, tasks / base_wall_s
    ratio = cpu_s / (base_cpu_s / tasks)
    print(
        f"{tasks:,} tasks: {rate:.0f}/s (target {RATE_TARGET:.0f}), {rate / base_rate:.2f} x the"
        f" bare loop ({base_rate:,.0f}/s); map slots {all_of_them.busy:.0%} busy,"
        f" {all_of_them.gap_s * 1e3:.1f} ms from an end to the next start"
    )
    print(
        f"{tasks // 4:,} tasks that wait {WAIT_S * 1e3:.0f} ms: map slots {waiting.busy:.0%} busy"
        f" (target {BUSY_TARGET:.0%}), {waiting.gap_s * 1e3:.1f} ms from an end to the next start"
    )
    print(
        f"CPU of a task {cpu_s * 1e3:.1f} ms, {ratio:.1f} x a fork and exec"
        f"{verdict(fits=ratio <= CPU_MAX)}"
    )
    return 0 if ratio <= CPU_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
