"""How fast is a Spark event log read, and how much memory does that take?

Question: the 48 MB log of Spark 3.5 (49 stages, 13,504 tasks; 1.2 MB of zstd), unpacked on the way,
against a loop of `json.loads` over the same plain lines; then the peak memory of a fresh process
that reads it once, and one that reads ten such applications joined into one file of 480 MB.
Budget: 50 MB a second or more, and no slower than the loop, which neither unpacks nor looks at
what it reads; ten times the log takes at most a quarter more memory. MB are 10^6 bytes of the
unpacked log, seconds are CPU seconds, the best of the rounds.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import zstandard
from bench._figures import Spent, best_of, verdict

from sluice.ingest.logs.formats import read_log

HOUSE = Path(__file__).resolve().parent.parent
LOG = HOUSE / "tests" / "data" / "logs" / "spark" / "nds_q72_dataproc_2_2.zstd"
JOINED = HOUSE / "build" / "bench" / "logs"
COPIES = 10
MB_PER_S_MIN = 50.0
RATIO_MIN = 1.0
MEMORY_RATIO_MAX = 1.25

_READ_AND_TELL = """
import sys
from sluice.ingest.logs.formats import read_log
runs = read_log(sys.argv[1]).runs
assert sum(phase.tasks for run in runs for phase in run.phases) == int(sys.argv[2]), runs
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def main() -> int:
    """Print the figures; 1 where a budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds: int = parser.parse_args().rounds

    plain = zstandard.ZstdDecompressor().stream_reader(LOG.open("rb")).read()
    tasks = _check(plain)
    ours = best_of(rounds, lambda: _timed(lambda: read_log(LOG)))
    loop = best_of(max(1, rounds // 2), lambda: _timed(lambda: _json_loop(plain)))
    megabytes = len(plain) / 1e6
    speed, ratio = megabytes / ours.cpu_s, loop.cpu_s / ours.cpu_s
    once, joined = _peak_bytes(LOG, tasks), _peak_bytes(_joined(plain), COPIES * tasks)
    growth = joined / once
    fits = (speed >= MB_PER_S_MIN, ratio >= RATIO_MIN, growth <= MEMORY_RATIO_MAX)
    print(f"{megabytes:.1f} MB, {tasks} tasks, in every stage as many as json counts")
    print(f"read_log         {ours}  {speed:5.0f} MB/s{verdict(fits=fits[0])}")
    print(f"json.loads loop  {loop}  {ratio:5.2f} of ours{verdict(fits=fits[1])}")
    print(
        f"peak memory      {once / 1e6:.0f} MB; {growth:.2f} of it for ten{verdict(fits=fits[2])}"
    )
    return 0 if all(fits) else 1


def _check(plain: bytes) -> int:
    """Tasks by stage are what json counts; how many they are together."""
    counted: Counter[int] = Counter()
    for event in map(json.loads, plain.splitlines()):
        if event["Event"] == "SparkListenerTaskEnd":
            counted[event["Stage ID"]] += event["Task End Reason"]["Reason"] == "Success"
    (run,) = read_log(LOG).runs
    assert [phase.tasks for phase in run.phases] == [counted[stage] for stage in sorted(counted)]
    return counted.total()


def _json_loop(plain: bytes) -> None:
    for line in plain.splitlines():
        json.loads(line)


def _timed(work: Callable[[], object]) -> Spent:
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    work()
    return Spent(time.perf_counter() - wall_s, time.process_time() - cpu_s)


def _joined(plain: bytes) -> Path:
    """The same application so many times over, each under an id of its own."""
    JOINED.mkdir(parents=True, exist_ok=True)
    path = JOINED / f"joined-{COPIES}.zstd"
    if not path.exists():
        (run,) = read_log(LOG).runs
        packer = zstandard.ZstdCompressor(level=1)
        with path.open("wb") as stream, packer.stream_writer(stream) as packed:
            for copy in range(COPIES):
                packed.write(plain.replace(run.run_id.encode(), f"application_{copy}".encode()))
    return path


def _peak_bytes(log: Path, tasks: int) -> int:
    """Of a fresh process that reads the log, and nothing else."""
    argv = [sys.executable, "-c", _READ_AND_TELL, str(log), str(tasks)]
    said = subprocess.run(argv, check=True, capture_output=True, text=True, cwd=HOUSE)
    return int(said.stdout) * 1024


if __name__ == "__main__":
    sys.exit(main())
