"""How many attempts a second can the local engine start, and how soon is the end of one known?

Question: commands that do nothing (`true`), 4 in flight, on 1 node and on 2: attempts a second,
and CPU seconds of an attempt in the engine's process, in the agent and in the child; one at a
time: seconds from `launch` to its TaskFinished, median and p95. Base, in the same run: a bare loop
of fork, exec and wait, 4 in flight, in a process as small as an agent.
Budgets: 500/s, median under 5 ms. On a busy machine, where the bare loop makes less than 1,500/s:
a third of the bare loop, and a median of 6 times its time for one.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from bench._figures import quantile, verdict

from sluice.core.events import NodeJoined, NodeLost, TaskFailed, TaskFinished
from sluice.engines.agent import kernel
from sluice.engines.base import Attempt, Engine
from sluice.engines.local.engine import LocalEngine
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId

ATTEMPTS, ALONE, IN_FLIGHT, ROUNDS = 2_000, 300, 4, 3
NOTHING = ["/bin/true"]
RATE_MIN, MEDIAN_S_MAX = 500.0, 0.005
BUSY_BASE_RATE, BUSY_SHARE_MIN, BUSY_MEDIAN_MAX = 1_500.0, 1 / 3, 6.0

BASE = """
import os, sys, time
def start():
    if not (pid := os.fork()):
        os.execv(sys.argv[1], sys.argv[1:2])
    return pid
attempts, in_flight = int(sys.argv[2]), int(sys.argv[3])
began_s = time.perf_counter()
for number in range(attempts):
    if number >= in_flight:
        assert os.wait()[1] == 0
    start()
for _ in range(min(attempts, in_flight)):
    os.wait()
print(time.perf_counter() - began_s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Seconds that many attempts took: on the wall, and of the processor by who used it."""

    wall_s: float
    engine_s: float
    agents_s: float
    children_s: float


class Bench:
    """An engine at work on nothing."""

    def __init__(self, nodes: int, make_engine: Callable[[tuple[Node, ...]], Engine]) -> None:
        self._nodes = [
            Node(node_id=NodeId(f"node-{number}"), map_slots=IN_FLIGHT) for number in range(nodes)
        ]
        self._engine = make_engine(tuple(self._nodes))
        self._launched = 0

    def __enter__(self) -> Self:
        try:
            self._engine.start()
            up = 0
            while up < len(self._nodes):
                events = self._engine.events(1.0)
                assert not any(isinstance(event, NodeLost) for event in events), events
                up += sum(isinstance(event, NodeJoined) for event in events)
        except BaseException:
            self._engine.stop(kill_running=True)
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._engine.stop(kill_running=True)

    def burst(self, attempts: int, in_flight: int) -> Burst:
        """That many attempts, nodes in turn."""
        agents = kernel.children()
        before = _agents_cpu_s(agents)
        start = time.perf_counter(), time.process_time()
        begun = ended = 0
        while ended < attempts:
            while begun < attempts and begun - ended < in_flight:
                self._launch()
                begun += 1
            ended += self._ends()
        wall_s, engine_s = time.perf_counter() - start[0], time.process_time() - start[1]
        after = _agents_cpu_s(agents)
        return Burst(
            wall_s=wall_s,
            engine_s=engine_s,
            agents_s=after[0] - before[0],
            children_s=after[1] - before[1],
        )

    def check(self, attempts: int, folder: Path) -> None:
        """Whether each of these attempts runs once, on its node. Raises AssertionError."""
        first = self._launched
        for number in range(first, first + attempts):
            line = f"{number} $SLUICE_NODE"
            self._launch(["/bin/sh", "-c", f"echo {line} >> {folder}/ran"])
        ended = 0
        while ended < attempts:
            ended += self._ends()
        ran = [line.split() for line in (folder / "ran").read_text("utf-8").splitlines()]
        assert sorted(int(number) for number, _ in ran) == list(range(first, first + attempts))
        nodes = {(int(number) % len(self._nodes), node) for number, node in ran}
        assert len(nodes) == len(self._nodes), nodes

    def alone_s(self, attempts: int) -> list[float]:
        """Seconds from launch to the news of the end, one attempt at a time."""
        lengths_s = []
        for _ in range(attempts):
            start_s = time.perf_counter()
            self._launch()
            while not self._ends():
                pass
            lengths_s.append(time.perf_counter() - start_s)
        return lengths_s

    def _launch(self, argv: Sequence[str] = NOTHING) -> None:
        number = self._launched
        self._launched += 1
        self._engine.launch(
            Attempt(
                key=AttemptKey(JobId("job"), 0, number, 1),
                epoch=1,
                node_id=self._nodes[number % len(self._nodes)].node_id,
                slot=0,
                work={"kind": "command", "argv": list(argv), "job_name": "job-0"},
            )
        )

    def _ends(self) -> int:
        events = self._engine.events(10.0)
        # Right before fast: each attempt ends once, and well.
        assert not any(isinstance(event, TaskFailed | NodeLost) for event in events), events
        return sum(isinstance(event, TaskFinished) for event in events)


def local(scratch: Path) -> Callable[[tuple[Node, ...]], Engine]:
    """Makes an engine over pipes."""
    return lambda nodes: LocalEngine(nodes, scratch, 1, time.monotonic)


def _agents_cpu_s(agents: set[int]) -> tuple[float, float]:
    """CPU seconds so far of the agents themselves, and of the children that they reaped."""
    own = children = 0
    for pid in agents:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
        own += int(fields[11]) + int(fields[12])
        children += int(fields[13]) + int(fields[14])
    return own / kernel.TICKS_PER_S, children / kernel.TICKS_PER_S


def base_s(attempts: int, in_flight: int) -> tuple[float, float]:
    """Wall and CPU seconds of the bare loop."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    argv = [sys.executable, "-S", "-c", BASE, *NOTHING, str(attempts), str(in_flight)]
    told = subprocess.run(argv, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(told.stdout), cpu_s


def measured(nodes: int, rounds: int) -> bool:
    """Print what one engine does; whether it is within the budget."""
    with tempfile.TemporaryDirectory() as scratch, Bench(nodes, local(Path(scratch))) as bench:
        bench.burst(100, IN_FLIGHT)
        bases, alone_bases, bursts, alone_s = [], [], [], []
        for _ in range(rounds):
            bases.append(base_s(ATTEMPTS, IN_FLIGHT))
            alone_bases.append(base_s(ALONE, 1))
            bursts.append(bench.burst(ATTEMPTS, IN_FLIGHT))
            alone_s.append(bench.alone_s(ALONE))
    base_rate = ATTEMPTS / min(wall_s for wall_s, _ in bases)
    base_each_s = min(cpu_s for _, cpu_s in bases) / ATTEMPTS
    base_alone_s = min(wall_s for wall_s, _ in alone_bases) / ALONE
    rate = ATTEMPTS / min(burst.wall_s for burst in bursts)
    median_s = min(quantile(times_s, 0.5) for times_s in alone_s)
    p95_s = min(quantile(times_s, 0.95) for times_s in alone_s)
    is_busy = base_rate < BUSY_BASE_RATE
    fits_rate = rate >= RATE_MIN or (is_busy and rate >= BUSY_SHARE_MIN * base_rate)
    fits_median = median_s < MEDIAN_S_MAX or (is_busy and median_s < BUSY_MEDIAN_MAX * base_alone_s)
    each = [
        min(getattr(burst, name) for burst in bursts) / ATTEMPTS * 1e3
        for name in ("engine_s", "agents_s", "children_s")
    ]
    print(
        f"{nodes} node(s), {IN_FLIGHT} in flight: {rate:6,.0f}/s, {rate / base_rate:.2f} x the bare"
        f" loop ({base_rate:,.0f}/s); CPU ms each: engine {each[0]:.2f}, agent {each[1]:.2f},"
        f" child {each[2]:.2f}; bare loop {base_each_s * 1e3:.2f}{verdict(fits=fits_rate)}"
    )
    print(
        f"{nodes} node(s), one at a time: p50 {median_s * 1e3:.2f} ms, p95 {p95_s * 1e3:.2f} ms,"
        f" bare {base_alone_s * 1e3:.2f} ms on average{verdict(fits=fits_median)}",
        flush=True,
    )
    return fits_rate and fits_median


def main() -> int:
    """Exit code: 0 if all is within the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    answers = [measured(nodes, rounds) for nodes in (1, 2)]
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
