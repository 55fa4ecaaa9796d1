"""How many agents can one driver drive?

Question: 10, 100 and 1,000 agents that are made up (`bench/_fake_nodes.py`: the real protocol with
handshake, codes, sessions and heartbeats; attempts that only take time), 1,000 slots in all, driven
by the live driver with its journal: CPU seconds of the driver's process in a second, idle with
heartbeats alone, and at 10,000 attempts a minute. Each task must be done once.
Budget: at 1,000 agents below one core. Growth is the ratio of both figures to those at 100 agents.
On paper: 10,000 agents cost 10 times the heartbeats of 1,000, and the attempts what they cost.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench._fake_nodes import host_of
from bench._figures import verdict

from sluice.core.commands import Launch
from sluice.core.events import Event, NodeJoined, NodeLost, TaskFinished
from sluice.core.rules import Rules
from sluice.core.scheduler import Policies, Scheduler
from sluice.core.transitions import AttemptState
from sluice.engines.agent_engine import AgentEngine, Launcher
from sluice.engines.cluster.handshake import new_token, token_key
from sluice.engines.cluster.launcher import NetworkLauncher
from sluice.engines.cluster.remote_agent import Access
from sluice.engines.driver import Driver
from sluice.engines.live_settings import LiveSettings
from sluice.engines.run_clock import RunClock
from sluice.engines.work_source import JobOutputs
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.slot_kind import SlotKind
from sluice.policies.defaults import AdmitAll, KeepPools, ReleaseOnArrival
from sluice.policies.orders.fifo import Fifo
from sluice.store.journal import Journal
from sluice.store.rows import RunHeader

SLOTS, TASK_S = 1_000, 4.0  # 10,000 attempts a minute, also on a busy machine
IDLE_S, LOADED_S = 10.0, 24.0
LEASE_S = 10.0
CORES_MAX = 1.0
HEADER = RunHeader(source="-", sha256="00", started_at="2026-01-01T00:00:00Z")


@dataclass(slots=True)
class Clocks:
    """Wall and CPU seconds of this process."""

    wall_s: float
    cpu_s: float

    @classmethod
    def now(cls) -> Clocks:
        """What they show."""
        return cls(time.perf_counter(), time.process_time())

    def cores_since(self, former: Clocks) -> float:
        """CPU seconds in a second."""
        return (self.cpu_s - former.cpu_s) / (self.wall_s - former.wall_s)


class Watched(AgentEngine):
    """Reads the clocks when all nodes are up, at the first launch, and at the last end."""

    def __init__(
        self, launcher: Launcher, clock: Callable[[], float], nodes: int, tasks: int
    ) -> None:
        super().__init__(launcher, 1, clock)
        self._joining, self._open_tasks = nodes, tasks
        self.begun = Clocks.now()
        self.up = self.first = self.last = self.begun
        self.finished: list[int] = []

    def launch(self, attempt: Any) -> None:  # noqa: ANN401  # an Attempt
        if not self.finished and self.first is self.begun:
            self.first = Clocks.now()
        super().launch(attempt)

    def events(self, timeout_s: float) -> list[Event]:
        """As of the engine."""
        events = super().events(timeout_s)
        for event in events:
            assert not isinstance(event, NodeLost), event
            self._joining -= isinstance(event, NodeJoined)
            if isinstance(event, TaskFinished):
                self.finished.append(event.key.task)
        if self._joining == 0 and self.up is self.begun:
            self.up = Clocks.now()
        if len(self.finished) == self._open_tasks:
            self.last = Clocks.now()
            self._open_tasks = -1
        return events


class NoWork:
    """Work that the made-up nodes do not look at; a `WorkSource`."""

    def check_unchanged(self, job_id: JobId) -> None:
        """Nothing changes."""

    def job_name(self, job_id: JobId) -> str:
        """The same for all."""
        return str(job_id)

    def sweep(self, epoch: int, kept: Collection[str] = ()) -> None:
        """Nothing was left."""

    def locations(self, job: Job) -> Mapping[int, tuple[tuple[NodeId, ...], ...]]:
        """Anywhere."""
        return {}

    def work(self, launch: Launch, outputs: JobOutputs) -> Mapping[str, Any]:
        """About as much text as a real task has."""
        return {"kind": "command", "job_name": "job", "argv": ["true", "x" * 500]}

    def commit(self, job_id: JobId, outputs: JobOutputs) -> None:
        """Nothing was written."""

    def abort(self, job_id: JobId) -> None:
        """Nothing was written."""

    def clear(self) -> None:
        """Nothing was written."""


def driven(nodes: int, port: int, token: str, folder: Path) -> Watched:
    """A run over so many nodes, from its start to its end."""
    each = SLOTS // nodes
    cluster = [Node(node_id=NodeId(f"node-{number}"), map_slots=each) for number in range(nodes)]
    addresses = {node.node_id: (host_of(at), port) for at, node in enumerate(cluster)}
    tasks = int(SLOTS * LOADED_S / TASK_S)
    phase = Phase(name="map", kind=SlotKind.MAP, tasks=tasks)
    clock = RunClock()
    launcher = NetworkLauncher(cluster, addresses, Access(key=token_key(token), lease_s=LEASE_S), 1)
    engine = Watched(launcher, clock.now_s, nodes, tasks)
    policies = Policies(
        admission=AdmitAll(), release=ReleaseOnArrival(), tasks=Fifo(), pools=KeepPools()
    )
    job = Job(
        job_id=JobId("job"),
        pool=PoolId("job"),
        phases=(phase,),
        submitted_at_s=IDLE_S + nodes / 100,
    )
    with Journal.create(folder, HEADER) as journal:
        run = Driver(
            engine=engine,
            scheduler=Scheduler(policies, rules=Rules()),
            journal=journal,
            source=NoWork(),
            jobs=[job],
            clock=clock,
            settings=LiveSettings(nodes=tuple(addresses), nodes_s=60.0),
        ).run()
    # Right before fast.
    done = [attempt for attempt in run.result.closed if attempt.state is AttemptState.DONE]
    assert len(done) == tasks == len(run.result.closed)
    assert sorted(engine.finished) == list(range(tasks))
    return engine


def measured(nodes: int) -> tuple[float, float]:
    """Print and return the cores that the driver uses: idle, and loaded."""
    token = new_token()
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-m", "bench._fake_nodes", str(nodes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as fakes,
    ):
        assert fakes.stdin is not None
        assert fakes.stdout is not None
        with closing(fakes.stdin):
            fakes.stdin.write(json.dumps({"token": token, "task_s": TASK_S}) + "\n")
            fakes.stdin.flush()
            port = int(fakes.stdout.readline())
            engine = driven(nodes, port, token, Path(folder))
    up_s = engine.up.wall_s - engine.begun.wall_s
    idle = engine.first.cores_since(engine.up)
    loaded = engine.last.cores_since(engine.first)
    rate = len(engine.finished) / (engine.last.wall_s - engine.first.wall_s)
    print(
        f"{nodes:5} agents: up after {up_s:4.1f} s; idle {idle:.3f} cores; with {rate * 60:,.0f}"
        f" attempts/min {loaded:.3f} cores",
        flush=True,
    )
    return idle, loaded


def main() -> int:
    """Exit code: 0 if all is within the budget."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--agents", type=int, nargs="+", default=[10, 100, 1_000])
    given = parser.parse_args()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    cores = {nodes: measured(nodes) for nodes in given.agents}
    most = max(cores)
    idle, loaded = cores[most]
    fits = loaded < CORES_MAX
    if len(cores) > 1:
        before = sorted(cores)[-2]
        print(
            f"{most // before} times the agents: {idle / cores[before][0]:.1f} times the idle CPU,"
            f" {loaded / cores[before][1]:.1f} times the loaded CPU"
        )
    attempts = cores[min(cores)][1]  # nearly without heartbeats
    print(
        f"on paper, {10 * most:,} agents: {10 * idle:.2f} cores for heartbeats,"
        f" {10 * idle + attempts:.2f} with as many attempts{verdict(fits=fits)}"
    )
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
