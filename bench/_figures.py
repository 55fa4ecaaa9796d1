"""Figures as the benchmarks print them, and what a whole process tree took.

The machine is shared, so CPU seconds stand beside wall seconds, and the best of the rounds counts.
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sluice.engines.agent import kernel

KEPT_BYTES_MAX = 2000  # of what a failed process had said


class Spent(NamedTuple):
    """Seconds that something took."""

    wall_s: float
    cpu_s: float

    def best(self, other: Spent) -> Spent:
        """The better of each: load of others only ever adds."""
        return Spent(min(self.wall_s, other.wall_s), min(self.cpu_s, other.cpu_s))

    def __str__(self) -> str:
        return f"{self.wall_s:7.2f} s wall {self.cpu_s:7.2f} s CPU"


def quantile(figures: Sequence[float], share: float) -> float:
    """The figure below which that share of them stands.

    >>> quantile([4, 1, 3, 2], 0.5)
    3
    """
    return sorted(figures)[min(len(figures) - 1, int(share * len(figures)))]


def best_of(rounds: int, once: Callable[[], Spent]) -> Spent:
    """The best of some rounds."""
    spent = once()
    for _ in range(rounds - 1):
        spent = spent.best(once())
    return spent


def whole_process(
    argv: Sequence[str], *, log: Path, output: Path | None = None, env: Mapping[str, str] = {}
) -> Spent:
    """Run a program to its end: wall seconds of itself, CPU seconds of all that it started.

    output: where its standard output goes, if not to the log.  Raises RuntimeError if it fails.
    What it leaves behind (a JVM that ends after its client) comes to us and is waited for as well.
    """
    kernel.adopt_orphans()
    before = _cpu_of_children_s()
    with log.open("wb") as talk, (output or Path(os.devnull)).open("wb") as result:
        start_s = time.perf_counter()
        process = subprocess.Popen(
            argv, stdout=result if output else talk, stderr=talk, env=os.environ | dict(env)
        )
        code = process.wait()
        wall_s = time.perf_counter() - start_s
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    if code:
        said = log.read_bytes()[-KEPT_BYTES_MAX:].decode(errors="replace")
        raise RuntimeError(f"{argv[0]} exited with {code}:\n{said}")
    return Spent(wall_s, _cpu_of_children_s() - before)


def _cpu_of_children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def verdict(*, fits: bool) -> str:
    """What stands at the end of a line that is held against a budget."""
    return "" if fits else "  <-- over budget"
