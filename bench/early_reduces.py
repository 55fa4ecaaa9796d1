"""What do reduces gain that start early, and fetch while maps run?

Question: 64 MB of lines are sorted: all input goes through the shuffle. Two virtual nodes exchange
it over the network, with 4 reduces. The run takes so many seconds with `slowstart` 1 (reduces start
after the last map) and with 0.05 (Hadoop's default): with one map at a time, so that a core is free
to fetch; with two, which leave none; and with two that wait half a second each, as for a remote
store. The runs take turns, and the median counts. The output of all is compared first.
Budget: at most a quarter slower than late reduces, which a machine without other work must keep.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench._figures import verdict

FILES = 16
FILE_BYTES = 4_000_000
SLOWER_MAX = 1.25


class Case(NamedTuple):
    """How many maps run at once, and what each does."""

    map_slots: int
    mapper: str


CASES = {
    "1 map at a time": Case(1, "cat"),
    "2 maps at a time": Case(2, "cat"),
    "2 maps that wait half a second": Case(2, "sh -c 'sleep 0.5; cat'"),
}
SLOWSTARTS = {"late": 1.0, "early": 0.05}


def write_input(folder: Path) -> None:
    """Files of lines with random keys."""
    folder.mkdir()
    rng = random.Random(1)
    for number in range(FILES):
        lines = (f"{rng.getrandbits(64):016x}\t{'x' * 82}\n" for _ in range(FILE_BYTES // 100))
        (folder / f"f{number:02}").write_text("".join(lines))


def seconds(folder: Path, name: str, case: Case) -> tuple[float, list[bytes]]:
    """How long the job of one run took from its submission, and its part files."""
    slots = {"reduce_slots": 2}
    groups = [
        {"id": "first", "nodes": 1, "map_slots": 1, **slots},
        {"id": "second", "nodes": 1, "map_slots": case.map_slots - 1, **slots},
    ]
    run = {
        "input": ["in"],
        "output": f"out-{time.monotonic_ns()}",
        "mapper": case.mapper,
        "reducer": "cat",
    }
    workload = {
        "version": 1,
        "cluster": {"node_groups": groups},
        "settings": {"slowstart": SLOWSTARTS[name], "run.data_plane": "network"},
        "jobs": [{"id": "sort", "reduces": {"tasks": 4}, "run": run}],
    }
    file = folder / "jobs.json"
    file.write_text(json.dumps(workload))
    made = subprocess.run(
        [sys.executable, "-m", "sluice", "run", str(file), "--json"],
        env=os.environ | {"SLUICE_HOME": str(folder / "home")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        cwd=folder,
    )
    job = json.loads(made.stdout)["jobs"]["sort"]
    parts = [path.read_bytes() for path in sorted((folder / str(run["output"])).glob("part-*"))]
    return job["finished_at_s"] - job["started_at_s"], parts


def main() -> int:
    """Print the figures; 1 if the budget is missed or an output differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="the median counts")
    rounds = parser.parse_args().rounds
    fits = True
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_input(folder / "in")
        for label, case in CASES.items():
            took: dict[str, list[float]] = {"late": [], "early": []}
            wanted: list[bytes] = []
            for _ in range(rounds):
                for name, of in took.items():
                    length_s, parts = seconds(folder, name, case)
                    wanted = wanted or parts
                    if parts != wanted:
                        print(f"{name}: its output differs")
                        return 1
                    of.append(length_s)
            late_s, early_s = (statistics.median(of) for of in took.values())
            fits = fits and early_s <= SLOWER_MAX * late_s
            print(
                f"{label}: late {late_s:.1f} s, early {early_s:.1f} s ({early_s / late_s - 1:+.0%})"
            )
    print(f"early against late{verdict(fits=fits)}")
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
