"""Runs of real jobs on the local engine, and on nodes that share nothing."""

import random
import shutil
import sys
from pathlib import Path

from tests.engines.fakes import HEADER, node, scheduler
from tests.engines.local_servers import LocalServersLauncher

from sluice.core.events import NodeLost, TaskFinished
from sluice.engines.agent_engine import AgentEngine
from sluice.engines.cluster.handshake import new_token, token_key
from sluice.engines.cluster.remote_agent import Access
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.engines.data_plane.plane import DataPlane
from sluice.engines.data_plane.settings import DataPlaneSettings
from sluice.engines.driver import Driver
from sluice.engines.job_runner import JobRunner
from sluice.engines.local.engine import LocalEngine
from sluice.engines.mapreduce.layout import prepare
from sluice.engines.run_clock import RunClock
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase, RunSpec
from sluice.model.slot_kind import SlotKind
from sluice.store.journal import Journal

NODES = tuple(node(f"n{number}", map_slots=1, reduce_slots=1) for number in range(3))
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "jobs"
WORDS = [f"word{number}" for number in range(300)]


class Watched(AgentEngine):
    """Calls `on_map(engine, node_id)` when the first map has finished; remembers lost nodes."""

    def __init__(self, launcher, epoch, clock, on_map):
        super().__init__(launcher, epoch, clock)
        self.launcher, self.lost = launcher, []
        self._on_map, self._nodes_of = on_map, {}

    def launch(self, attempt):
        self._nodes_of[attempt.key] = attempt.node_id
        super().launch(attempt)

    def events(self, timeout_s):
        events = super().events(timeout_s)
        self.lost += [event.node_id for event in events if isinstance(event, NodeLost)]
        for event in events:
            if isinstance(event, TaskFinished) and event.key.phase == 0 and self._on_map:
                act, self._on_map = self._on_map, None
                act(self, self._nodes_of[event.key])
        return events


def write_files(folder):
    """Input and code: the same for each engine."""
    rng = random.Random(5)
    (folder / "in").mkdir(parents=True)
    for number in range(2):
        lines = (" ".join(rng.choices(WORDS, k=7)) for _ in range(300))
        (folder / "in" / f"{number}.txt").write_text("\n".join(lines) + "\n")
    for name in ("inverted_index.py", "word_count.py"):
        shutil.copy(EXAMPLES / name, folder / name)


def jobs(folder, *, pause_s=0.0, split_bytes=6_000, output="{}"):
    """The four jobs of the demo, in small, and a word count by two scripts."""
    (folder / "map.py").write_text(
        "import os, sys, time\n"
        f"time.sleep({pause_s})\n"
        "for line in sys.stdin:\n"
        "    for word in line.split():\n"
        "        print(word, 1, sep='\\t')\n"
    )
    (folder / "count.sh").write_text("#!/bin/sh\ncut -f 1 | uniq -c\n")
    (folder / "count.sh").chmod(0o755)
    parts_of = {
        "word-count": {"python": "word_count.py"},
        "inverted-index": {"python": "inverted_index.py"},
        "grep": {"mapper": ("grep", "word1")},
        "sort": {"mapper": ("cat",), "reducer": ("cat",)},
        "scripts": {"mapper": (sys.executable, "map.py"), "reducer": (str(folder / "count.sh"),)},
    }
    reduces = Phase(name="reduce", kind=SlotKind.REDUCE, tasks=3, after=())
    return [
        Job(
            job_id=JobId(name),
            pool=PoolId("p"),
            phases=() if name == "grep" else (reduces,),
            run=RunSpec(
                folder=str(folder),
                input=("in/*.txt",),
                output=output.format(name),
                split_bytes=split_bytes,
                **run,
            ),
        )
        for name, run in parts_of.items()
    ]


def wanted_jobs(given, names):
    """Those with these names."""
    return [one for one in given if one.job_id in names]


def run_local(folder, given):
    """The result of jobs on the local engine."""
    source = JobRunner([prepare(one) for one in given], folder / "scratch")
    clock = RunClock()
    with Journal.create(folder, HEADER, source.records()) as journal:
        engine = LocalEngine(NODES, folder / "scratch", journal.epoch, clock.now_s)
        return _driven(engine, journal, source, clock)


def run_apart(folder, given, *, on_map=None, mode="network", tls=None, port_file=None, **settings):
    """The result of jobs on nodes that share nothing, and the engine."""
    source = JobRunner([prepare(one) for one in given], folder / "scratch")
    clock, token = RunClock(), new_token()
    key = token_key(token)
    with (
        Journal.create(folder, HEADER, source.records()) as journal,
        DataPlane(
            source.prepared,
            key,
            DataPlaneSettings(data_plane=mode, **settings),
            port_file=port_file,
            tls=tls,
        ) as plane,
    ):
        source.move_data_by(plane)
        launcher = LocalServersLauncher(
            NODES,
            folder / "roots",
            Access(key=key, lease_s=10, tls=tls and tls.client_context()),
            journal.epoch,
            ServerSettings(token=token, certificate=tls and tls.certificate, key=tls and tls.key),
        )
        launcher.hear_own_hosts(plane.listen_at)
        engine = Watched(launcher, journal.epoch, clock.now_s, on_map)
        return engine, _driven(engine, journal, source, clock)


def _driven(engine, journal, source, clock):
    return (
        Driver(
            engine=engine,
            scheduler=scheduler(),
            journal=journal,
            source=source,
            jobs=source.jobs,
            clock=clock,
        )
        .run()
        .result
    )


def outputs(folder, given):
    """The files of each job's output, without the mark that names the run."""
    return {
        one.job_id: {
            path.name: path.read_bytes()
            for path in (folder / one.job_id).iterdir()
            if path.name != ".sluice"
        }
        for one in given
    }
