"""Does the driver of a cluster that never ends need more and more memory?

The real driver with its journal, intake, reception and scheduler, in made-up time: an engine that
ends each attempt after some seconds of that time, and work that touches no disk. Users keep some
jobs open, each with a key, until all have run. It asserts that memory is flat after the first part,
that every job ran once, and that what a restart reads of the journal is as small.
Arguments: jobs, attempts of each, policy. 1,000,000 attempts in 10,000 jobs: `10000 100`.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import heapq
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from bench._service import place

from sluice.bootstrap.live.run_options import RunOptions
from sluice.bootstrap.service.begun_segments import begun_segment
from sluice.bootstrap.service.config import ServiceConfig
from sluice.bootstrap.service.intake import QueuedIntake, Waiting
from sluice.bootstrap.service.received import Received
from sluice.bootstrap.service.reception import Reception
from sluice.core.commands import Launch
from sluice.core.events import Event, NodeJoined, TaskFinished, TaskStarted
from sluice.engines.base import Attempt, Snapshot
from sluice.engines.driver import Driver
from sluice.engines.intake import Request
from sluice.engines.interruption import RunInterrupted
from sluice.engines.job_runner import JobRunner
from sluice.engines.live_settings import LiveSettings
from sluice.engines.mapreduce.commit import Staging
from sluice.engines.run_clock import RunClock
from sluice.engines.work_source import JobOutputs, TaskOutput
from sluice.ingest.reading import read_text
from sluice.model.attempts import AttemptKey, Usage
from sluice.model.cluster import Node
from sluice.model.ids import JobId
from sluice.store.journal import Journal
from sluice.store.service.places import ServicePlace

OPEN_JOBS = 20
NODES, SLOTS = 20, 10
LENGTH_S = (0.5, 2.5)
TICK_S = 0.25  # ends of attempts are reported together
MB_MAX = 150.0
GROWTH_MAX = 1.05  # from the middle of the run to its end
_QUEUES = ("production", "research", "reports")
_CONFIG = """version: 1
cluster: {{nodes: {nodes}, node: {{map_slots: {slots}, reduce_slots: 1}}}}
service: {{forget_s: 60}}
"""
_JOB = """version: 1
jobs:
  - id: nightly
    maps: {{tasks: {maps}, avg_s: 5, max_s: 10}}
    run: {{input: [in/*.txt], output: 'out/{{job_id}}', mapper: cat}}
"""


class InstantEngine:
    """Ends each attempt after some seconds of time that only it passes."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._now_s = 0.0
        self.clock = RunClock(lambda: self._now_s)
        self._draw = random.Random(1)
        self._order = count()
        self._heap: list[tuple[float, int, AttemptKey, int]] = []
        self._news: list[Event] = []
        self._nodes = nodes
        self.ended = 0

    def start(self) -> None:
        """All nodes are there at once."""
        self._news = [NodeJoined(self.clock.now_s(), node) for node in self._nodes]

    def capabilities(self) -> frozenset[str]:
        """Nothing that matters here."""
        return frozenset()

    def adopt(self, attempts: Iterable[Attempt], since_s: float) -> None:
        """Nothing runs on without its driver."""

    def launch(self, attempt: Attempt) -> None:
        """It starts now, and ends at a tick some seconds later."""
        now_s = self.clock.now_s()
        self._news.append(TaskStarted(now_s, attempt.key))
        end_s = round((now_s + self._draw.uniform(*LENGTH_S)) / TICK_S) * TICK_S
        heapq.heappush(self._heap, (end_s, next(self._order), attempt.key, attempt.epoch))

    def kill(self, attempt: AttemptKey, reason: str) -> None:
        """No attempt is killed here."""
        raise AssertionError(f"{attempt}: {reason}")

    def events(self, timeout_s: float) -> list[Event]:
        """What happens next within the time."""
        news, self._news = self._news, []
        zero_s = self._now_s - self.clock.now_s()
        if not news:
            until_s = self._now_s + timeout_s
            next_s = self._heap[0][0] + zero_s if self._heap else until_s
            self._now_s = max(self._now_s, min(until_s, next_s))
        now_s = self.clock.now_s()
        while self._heap and self._heap[0][0] <= now_s:
            _, _, key, epoch = heapq.heappop(self._heap)
            usage = Usage(wall_s=5.0, cpu_s=self._draw.random(), rss_bytes_max=10**7)
            files = (f"{key}-e{epoch}.tmp",)
            news.append(TaskFinished(now_s, key, now_s, usage=usage, outputs=files))
            self.ended += 1
        return news

    def reconcile(self) -> Snapshot:
        """No attempt of an earlier life runs."""
        return Snapshot(nodes=tuple(self._nodes), attempts=frozenset())

    def stop(self, *, kill_running: bool) -> None:
        """Nothing is to be stopped."""


class InstantRunner(JobRunner):
    """Prepared jobs whose tasks leave nothing."""

    committed = 0

    def work(self, launch: Launch, outputs: JobOutputs) -> Mapping[str, Any]:
        """As it is made up for a real attempt, without the folder that it writes to."""
        return {"kind": "noop", "job_name": self.job_name(launch.key.job_id)}

    def broken_outputs(self, job_id: JobId, outputs: Mapping[int, TaskOutput]) -> Mapping[int, str]:
        """There are no files that could be broken."""
        return {}

    def commit(self, job_id: JobId, outputs: JobOutputs) -> None:
        """Count it."""
        self.committed += 1


class BusyUsers(QueuedIntake):
    """Submit a job when one of those that are open has ended."""

    def begin(
        self, received: Iterator[Received], engine: InstantEngine, runner: InstantRunner, jobs: int
    ) -> None:
        """jobs: how many in all."""
        self._received, self._engine, self._done, self._left = received, engine, runner, jobs
        self._taken, self._every = 0, max(1, jobs // 40)
        self.sampled: list[tuple[int, float]] = []  # ended attempts, MB

    def take(self, now_s: float) -> Sequence[Request]:
        """What they submit now; ends the driver when all has run."""
        while self._left and self._taken - self._done.committed < OPEN_JOBS:
            self._queue.append(Waiting(received=next(self._received), promises=[_promise()]))
            self._left -= 1
            self._taken += 1
            if self._left % self._every == 0:
                self.sampled.append((self._engine.ended, rss_mb()))
        if self._taken == self._done.committed:
            raise KeyboardInterrupt
        return super().take(now_s)


def _promise() -> dict[str, Any]:
    """One as large as the follower makes."""
    interval = dict.fromkeys(("expected", "low", "high"), "2026-01-01T00:00:00.000Z")
    return {
        "decision": "accepted", "why_not": None, "starts_at": interval, "ends_at": interval,
        "cost_usd": {"expected": 0.1, "low": 0.05, "high": 0.2}, "level": 0.9,
        "deadline_at": None, "deadline_probability": None, "reason": None, "counter_offers": [],
    }  # fmt: skip


def received(template: Received, first: int) -> Iterator[Received]:
    """The template under the next ids, outputs and keys, in one queue after the other."""
    (each,) = template.prepared
    assert isinstance(each.staging, Staging)
    for number in count(first):
        job_id = JobId(f"job-{number:06d}")
        job = replace(each.job, job_id=job_id, pool=_QUEUES[number % len(_QUEUES)])
        staging = Staging.beside(each.staging.output.with_name(job_id), job_id)
        prepared = replace(each, job=job, name=f"{job_id}-{number:08x}", staging=staging)
        yield replace(template, prepared=(prepared,), key=f"auto-{number:032x}")


def rss_mb() -> float:
    """Resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def lived(
    config: ServiceConfig, at: ServicePlace, segment: Path, jobs: int, known: Iterator[Received]
) -> tuple[BusyUsers, InstantEngine, InstantRunner]:
    """One life of the driver, until all jobs have run."""
    scheduler = config.scheduler()
    engine = InstantEngine(config.cluster.nodes)
    runner = InstantRunner((), segment / "scratch")
    users = BusyUsers(scheduler.state, runner, at, config)
    users.begin(known, engine, runner, jobs)
    with Journal.reopened(segment) as journal, suppress(RunInterrupted):
        Driver(
            engine=engine, scheduler=scheduler, journal=journal, source=runner, jobs=(),
            clock=engine.clock, intake=users, settings=LiveSettings(forget_s=config.forget_s),
        ).run()  # fmt: skip
    return users, engine, runner


def busy_service(
    folder: Path, maps: int, tasks: str
) -> tuple[ServiceConfig, ServicePlace, Path, Iterator[Received]]:
    """A service in a folder, the segment that its journal begins with, and what users submit."""
    (folder / "in").mkdir()
    for number in range(maps):
        (folder / "in" / f"{number:03d}.txt").write_text("a b\n")
    (folder / "serve.yaml").write_text(_CONFIG.format(nodes=NODES, slots=SLOTS))
    config = ServiceConfig.read(read_text("serve.yaml"), RunOptions(tasks=tasks))
    at = ServicePlace()
    at.make()
    segment = begun_segment(at, config)
    template = Reception(config, 1).receive(
        {"content": _JOB.format(maps=maps), "source": "job.yaml", "folder": str(folder),
         "tenant": "local", "key": "first"}
    )  # fmt: skip
    return config, at, segment, received(template, 1)


def main(jobs: int = 2000, maps: int = 100, tasks: str = "fair") -> None:
    """Run the jobs, and print what memory they took."""
    with place() as folder:
        config, at, segment, known = busy_service(folder, maps, tasks)
        began_s, cpu_s = time.perf_counter(), time.process_time()
        users, engine, runner = lived(config, at, segment, jobs, known)
        took_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
        assert runner.committed == jobs
        assert engine.ended == jobs * maps
        for ended, memory_mb in users.sampled[:: max(1, len(users.sampled) // 10)]:
            print(f"{ended:>9,} attempts: {memory_mb:6.1f} MB")
        early = next(mb for ended, mb in users.sampled if ended >= engine.ended / 2)
        late = max(mb for _, mb in users.sampled)
        print(
            f"{engine.ended:,} attempts in {jobs:,} jobs under {tasks}: {late:.1f} MB at most,"
            f" {early:.1f} MB in its middle; {took_s:.0f} s, {cpu_s:.0f} s CPU"
        )
        assert late <= MB_MAX
        assert late <= early * GROWTH_MAX


if __name__ == "__main__":
    given = sys.argv[1:]
    main(*map(int, given[:2]), *given[2:3])
