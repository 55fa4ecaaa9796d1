"""How many events a second become durable, and how fast is a run read back?

Question: events a second through `Journal.append` in batches of 1, 10 and 100, each batch followed
by the note of what was decided on it, as the live driver does; the rate at which a journal is read
and verified, and at which a scheduler handles it again. Base, in the same run: writing the same
bytes to a plain file, with an fsync for each batch.
Budgets: at most 6 times the plain file one by one, 3 times in hundreds; CPU for an event at most
500 us one by one, 40 us in hundreds, 40 us read back. What a disk does in a second is not ours.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench._figures import Spent, best_of, verdict

from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.core.commands import Launch
from sluice.core.events import Event, JobSubmitted, NodeJoined, TaskFinished, Tick
from sluice.core.record.codec import encode
from sluice.core.scheduler import Scheduler
from sluice.model.attempts import Usage
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.slot_kind import SlotKind
from sluice.store.journal import Journal
from sluice.store.rows import EntryKind, RunHeader

BATCHES = (1, 10, 100)
EVENTS = {1: 1_000, 10: 5_000, 100: 20_000}
SLOWDOWN_MAX = {1: 6.0, 10: 6.0, 100: 3.0}  # against the plain file
CPU_S_MAX = {1: 500e-6, 10: 120e-6, 100: 40e-6}
READ_CPU_S_MAX = 40e-6
ROUNDS = 3
HEADER = RunHeader(source="bench", sha256="0" * 64, started_at="", policies={}, settings={})


def life(tasks: int) -> list[Event]:
    """The events of a real run: 16 slots, every end with its usage and followed by a tick."""
    scheduler = _scheduler()
    node = Node(node_id=NodeId("node-1"), map_slots=16)
    phases = (Phase(name="map", kind=SlotKind.MAP, tasks=tasks),)
    job = Job(job_id=JobId("job"), pool=PoolId("pool"), phases=phases)
    events: list[Event] = [NodeJoined(0.0, node), JobSubmitted(0.0, job), Tick(0.0)]
    running = [launch for event in events for launch in scheduler.handle(event)]
    usage = Usage(1.25, 1.1, 52_428_800, 27_262_976, 1_048_576, 0, 400_000, 30_000)
    while running:
        launch = running.pop(0)
        assert isinstance(launch, Launch)
        at_s = round(0.1 * len(events), 3)
        output = f"/scratch/node-1/data/job-0-{launch.key.task}-1-e1.spill"
        end = TaskFinished(at_s, launch.key, at_s - 0.001, usage=usage, outputs=(output,))
        turn: list[Event] = [end, Tick(at_s)]
        running += [launch for event in turn for launch in scheduler.handle(event)]
        events += turn
    return events


def _scheduler() -> Scheduler:
    return scheduler_for(tasks="fifo", settings=resolved_settings({}), is_live=True)


def timed(act: Callable[[], object]) -> Spent:
    """Seconds of an act."""
    start = time.perf_counter(), time.process_time()
    act()
    return Spent(time.perf_counter() - start[0], time.process_time() - start[1])


def write(folder: Path, events: list[Event], batch: int) -> None:
    """A journal of these events."""
    with Journal.create(folder, HEADER) as journal:
        for start in range(0, len(events), batch):
            journal.append(events[start : start + batch])
            journal.note(())
        journal.finish()


def write_plainly(folder: Path, events: list[Event], batch: int) -> None:
    """The same bytes, as durable, without order, checksums or transactions."""
    with (folder / "plain").open("wb") as file:
        for start in range(0, len(events), batch):
            lines = [encode(event).encode() for event in events[start : start + batch]]
            file.write(b"\n".join(lines) + b"\n")
            file.flush()
            os.fsync(file.fileno())


def replay(folder: Path) -> list[Event]:
    """What a journal tells, verified."""
    with Journal.reopened(folder) as journal:
        return [entry.event() for entry in journal.read() if entry.kind is EntryKind.EVENT]


def measured_writing(place: Path, batch: int) -> bool:
    """Print the rate at which events become durable; whether it is within its budget."""
    events = life(EVENTS[batch] // 2)
    numbers = iter(range(2 * ROUNDS))

    def folder() -> Path:
        path = place / f"{batch}-{next(numbers)}"
        path.mkdir()
        return path

    base = best_of(ROUNDS, lambda: timed(lambda: write_plainly(folder(), events, batch)))
    spent = best_of(ROUNDS, lambda: timed(lambda: write(folder(), events, batch)))
    each_cpu_s, slowdown = spent.cpu_s / len(events), spent.wall_s / base.wall_s
    fits = slowdown <= SLOWDOWN_MAX[batch] and each_cpu_s <= CPU_S_MAX[batch]
    print(
        f"append by {batch:3}: {len(events) / spent.wall_s:9,.0f} events/s,"
        f" {each_cpu_s * 1e6:6.1f} us CPU each; {slowdown:5.2f} x a plain file"
        f" ({len(events) / base.wall_s:,.0f}/s){verdict(fits=fits)}",
        flush=True,
    )
    return fits


def measured_reading(place: Path) -> bool:
    """Print how fast a journal is read and handled anew; whether it is within its budget."""
    events = life(EVENTS[100] // 2)
    write(place, events, 100)
    assert replay(place) == events, "a journal gives back what was put in"
    read = best_of(ROUNDS, lambda: timed(lambda: replay(place)))

    def handle_all() -> None:
        scheduler = _scheduler()
        for event in events:
            scheduler.handle(event)
        assert not scheduler.state.active, "the replayed run ends as it ended"

    handled = best_of(ROUNDS, lambda: timed(handle_all))
    each_cpu_s = read.cpu_s / len(events)
    fits = each_cpu_s <= READ_CPU_S_MAX
    print(
        f"read back    : {len(events) / read.wall_s:9,.0f} events/s, {each_cpu_s * 1e6:6.1f} us CPU"
        f" each; handling them {len(events) / handled.wall_s:,.0f}/s{verdict(fits=fits)}"
    )
    return fits


def main() -> int:
    """Exit code: 0 if all is within the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"), help="on a real disk")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as place:
        answers = [measured_writing(Path(place), batch) for batch in BATCHES]
        (reading := Path(place) / "read").mkdir()
        answers.append(measured_reading(reading))
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
