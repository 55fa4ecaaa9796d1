"""A follower that starts from an opening answers as one that has read all segments before it.

The driver is the real one with the journal, the intake and the reception of a service, over an
engine in made-up time: tasks fail, nodes are lost, and users submit, change, hold and kill jobs.
"""

import itertools
import json
import random
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any
from weakref import ref

import pytest
from bench.service.flat_memory import InstantRunner
from tests.engines.fakes import FakeEngine

from sluice.bootstrap.live.run_options import RunOptions
from sluice.bootstrap.service import driver_process
from sluice.bootstrap.service.begun_segments import begun_segment
from sluice.bootstrap.service.changes import WantedChange
from sluice.bootstrap.service.config import ServiceConfig
from sluice.bootstrap.service.driver_process import DriverProcess
from sluice.bootstrap.service.futures import instant
from sluice.bootstrap.service.history import history_of
from sluice.bootstrap.service.intake import QueuedIntake, Waiting
from sluice.bootstrap.service.past_why import past_why
from sluice.bootstrap.service.questions import Questions
from sluice.bootstrap.service.replica import Replica
from sluice.bootstrap.service.verification import kept_history, verified
from sluice.core.events import TaskFinished
from sluice.core.transitions import AttemptState
from sluice.engines.driver import Driver
from sluice.engines.interruption import RunInterrupted
from sluice.engines.live_settings import LiveSettings
from sluice.engines.segments import SegmentLimits, SegmentOpening
from sluice.ingest.reading import read_text
from sluice.model.attempts import Usage
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.store.database import StoreUnavailable
from sluice.store.rows import FILE_NAME, header_and_end, opening_row
from sluice.store.service.places import ServicePlace
from sluice.store.service.segments import chain_of, drop_old_segments, following, origin_of

BEGAN_S = 1_800_000_000.0
CONFIG = """version: 1
cluster: {nodes: 3, node: {map_slots: 2, reduce_slots: 1}}
queues: [{id: a, weight: 2}, {id: b}]
"""
JOB = """version: 1
jobs:
  - id: nightly
    pool: %s
    maps: {tasks: %d, avg_s: 5, max_s: 10}
    reduces: {tasks: %d, avg_s: 2, max_s: 4}
    run: {input: [%s], output: 'out/{job_id}', mapper: cat, reducer: cat}
"""
INTERVAL = dict.fromkeys(("expected", "low", "high"), "2027-01-15T08:00:30.000Z")
PROMISE: dict[str, object] = {
    "decision": "accepted", "why_not": None, "starts_at": INTERVAL, "ends_at": INTERVAL,
    "cost_usd": {"expected": 0.1, "low": 0.05, "high": 0.2}, "level": 0.9, "deadline_at": None,
    "deadline_probability": None, "reason": None, "counter_offers": [],
}  # fmt: skip


class Faulty(FakeEngine):
    """An engine whose tasks fail now and then."""

    def __init__(self, nodes, draw):
        super().__init__(nodes, length_s=lambda _: draw.uniform(0.5, 6.0))
        self._draw = draw

    def _ending(self, name):
        self.faults.exits = {name} if self._draw.random() < 0.1 else set()
        ending = super()._ending(name)

        def measured(at_s, attempt):
            event = ending(at_s, attempt)
            is_done = isinstance(event, TaskFinished)
            return event._replace(usage=Usage(cpu_s=at_s)) if is_done else event

        return measured


class Scripted(QueuedIntake):
    """The requests of users at instants; the driver is killed after the last one."""

    script: list[tuple[float, object]]

    def take(self, now_s):
        if not self.script:
            raise KeyboardInterrupt
        while self.script and self.script[0][0] <= now_s:
            self._queue.append(self.script.pop(0)[1])
        return super().take(now_s)


def asked(process, draw, number):
    """A request of a user."""
    job_id = f"job-{draw.randint(max(1, number - 3), max(1, number)):06d}"
    kind = draw.choice(["submit", "submit", "submit", "hold", "free", "move", "kill"])
    if kind == "kill":
        return Waiting(job_id=job_id, reason="enough")
    if kind != "submit":
        given = {"hold": {"hold": True}, "free": {"hold": False}}.get(kind, {"weight": 3.0})
        change = WantedChange.of({"changes": given, "by": "ann"}, lambda _: None)
        return Waiting(job_id=job_id, change=change.made_on)
    maps, files = draw.choice([(6, "in/*.txt"), (1, "in/1.txt")])
    content = JOB % (draw.choice("ab"), maps, draw.randint(1, 3), files)
    received = process._reception.receive(
        {"content": content, "source": "job.yaml", "folder": ".", "tenant": draw.choice(["x", "y"]),
         "key": None, "labels": {"team": "red"}}
    )  # fmt: skip
    return Waiting(received=received, promises=[PROMISE])


def live(place, draw, monkeypatch, rows):
    """One life of the driver, which a kill ends."""
    segments = place.segments()
    process = DriverProcess(place, segments[-1], segments[:-1])
    engine = Faulty(process._config.cluster.nodes, draw)
    engine.lose("node-1", draw.uniform(5, 40), back_s=4.0)
    at_s = process._scheduler.state.now_s
    intake, number = process._intake, process._intake.last_number
    intake.script = []
    for _ in range(30):
        at_s += draw.uniform(0.1, 4.0)
        request = asked(process, draw, number)
        number += request.received is not None
        intake.script.append((at_s, request))
    with monkeypatch.context() as patched, suppress(RunInterrupted):
        patched.setattr(time, "time", lambda: BEGAN_S + engine.clock.now_s())
        Driver(
            engine=engine, scheduler=process._scheduler, journal=process._journal,
            source=process._runner, jobs=process._runner.jobs, clock=engine.clock, intake=intake,
            settings=LiveSettings(forget_s=5.0, segments=SegmentLimits(rows=rows)),
            segments=process,
        ).run()  # fmt: skip
    process._journal.close()
    if process._first_lock is not None:
        process._first_lock.release()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder of a service with its first segment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(driver_process, "JobRunner", InstantRunner)
    monkeypatch.setattr(driver_process, "QueuedIntake", Scripted)
    (tmp_path / "in").mkdir()
    for number in range(6):
        (tmp_path / "in" / f"{number}.txt").write_text("a b\n")
    (tmp_path / "serve.yaml").write_text(CONFIG)
    found = ServicePlace()
    found.make()
    return found


def answers(replica, job_ids):
    """All that a follower says of some jobs, and of the queues.

    The cause of a broken promise may be a job that was over before the opening; and the journal
    position counts the rows that were read.
    """
    questions = Questions(replica)
    asked = [("queues", {}), ("nodes", {"tenant": None})]
    asked += [
        (question, {"job_id": job_id, "tenant": None})
        for job_id in job_ids
        for question in ("job", "why", "attempts", "story", "workload")
    ]
    found = {
        f"{question} {given.get('job_id', '')}": json.loads(
            json.dumps(questions.answer(question, given), default=str)
        )
        for question, given in asked
    }
    del found["queues "]["as_of_seq"]
    for job_id in job_ids:
        found[f"story {job_id}"].pop("kept_from", None)
        promise, why = found[f"job {job_id}"]["promise"], found[f"why {job_id}"]
        del promise["outcome"]["cause"], why["promise"]["cause"]
    return found


def without_what_no_longer_counted(found_here, whole, began_at, job_ids):
    """The answers of the whole journal without attempts that an opening leaves out."""
    found = dict(whole)
    for job_id in job_ids:
        of_job = f"attempts {job_id}"
        kept = [one for one in whole[of_job]["attempts"] if one in found_here[of_job]["attempts"]]
        left_out = [one for one in whole[of_job]["attempts"] if one not in kept]
        assert all(one["ended_at"] <= began_at for one in left_out)
        if left_out:
            lengths = found_here[of_job].pop("lengths")
            assert sum(each["done"] for each in lengths) == sum(
                one["state"] == "done" for one in kept
            )
            found[of_job] = {"attempts": kept, "total": len(kept)}
            del found[f"story {job_id}"], found_here[f"story {job_id}"]
    return found


@pytest.mark.parametrize("tasks", ["fifo", "fair", "ltyarn"])
def test_a_follower_from_an_opening_answers_as_one_from_the_start(place, monkeypatch, tasks):
    draw = random.Random(tasks)
    begun_segment(place, ServiceConfig.read(read_text("serve.yaml"), RunOptions(tasks=tasks)))
    for _ in range(2):
        live(place, draw, monkeypatch, rows=80)
    chain = chain_of(place.segments()[-1])
    assert len(chain) > 4
    monkeypatch.setattr("sluice.bootstrap.service.replica.silent_s", lambda _: 0.0)
    whole = Replica(chain[0])
    whole.follow()
    stories = 0
    for before, segment in itertools.pairwise(chain):
        shutil.rmtree(before)
        assert chain_of(chain[-1])[0] == segment
        replica = Replica(segment)
        began_at = instant(replica.wall_s(replica.state.now_s))
        assert replica.follow() == [one for one in whole.settled if one in replica.settled]
        assert replica.open_jobs == whole.open_jobs
        found, jobs = answers(replica, replica.submitted), replica.submitted
        expected = without_what_no_longer_counted(found, answers(whole, jobs), began_at, jobs)
        assert found == expected
        stories += sum(key.startswith("story") for key in found)
    assert stories > 20


class Cycle:
    """Only the collector of garbage finds it, as what a question to a database leaves."""

    def __init__(self):
        self.itself = self


def test_a_follower_lets_go_of_measures_once_they_were_read(place, monkeypatch):
    """All that is answered stays as it is, and an attempt takes a row."""
    monkeypatch.setattr("sluice.bootstrap.service.replica.silent_s", lambda _: 0.0)
    monkeypatch.setattr("sluice.bootstrap.service.replica.SETTLED_TOGETHER", 3)
    begun_segment(place, ServiceConfig.read(read_text("serve.yaml"), RunOptions(tasks="fair")))
    draw = random.Random("light")
    for _ in range(3):
        live(place, draw, monkeypatch, rows=80)
    first = chain_of(place.segments()[-1])[0]
    whole = Replica(first)
    whole.follow()
    given: dict[JobId, Sequence[int]] = {}
    dropped: list[Any] = []

    def take(rows):
        assert not any(one() for one in dropped), "garbage piles up until all is read"
        cycle = Cycle()
        dropped.append(ref(cycle))
        assert len(rows) <= 3
        for job_id, numbers in rows.items():
            attempts = [light.state.closed.attempt(row) for row in numbers]
            assert {one.phase.job_id for one in attempts} <= {job_id}
            done = [one for one in attempts if one.state is AttemptState.DONE]
            assert None not in [one.usage for one in done]
        given.update(rows)

    light = Replica(first, on_settled=take)
    assert light.follow() == list(whole.settled) == list(given)
    found, expected = light.state.closed, whole.state.closed
    in_time = {row for rows in given.values() for row in rows}
    assert {one.phase.job_id for one in expected if one.phase.job_id in given} == {
        job_id for job_id, rows in given.items() if rows
    }
    assert all(found[row].usage is None for row in in_time)
    known = light.jobs.values()
    assert {key for one in known for key in one.submitted.prepared} <= {
        "name",
        "output",
        "deadline",
    }
    assert all(one.submitted.prepared["output"] for one in known)
    assert not any(one.workload.jobs for one in known)
    done = {row for row, one in enumerate(found) if one.state is AttemptState.DONE}
    undone = {row for row in done if found[row].is_undone}
    assert len(in_time & done - undone) > 50
    assert not (in_time & done - undone) & found._kept.keys()
    assert answers(light, whole.submitted) == answers(whole, whole.submitted)
    span = {"start": instant(BEGAN_S), "end": instant(BEGAN_S + 300), "tenant": None}
    light_rows, whole_rows = (
        Questions(one).answer("attempts_between", span) for one in (light, whole)
    )
    assert light_rows == whole_rows
    assert history_of(light, span["start"], span["end"]) == history_of(
        whole, span["start"], span["end"]
    )


def test_a_driver_removes_segments_that_are_too_old(place, monkeypatch):
    """Here a day has 0.1 s, so that they are kept for 40 s."""
    monkeypatch.setattr(driver_process, "_DAY_S", 0.1)
    draw = random.Random("old")
    begun_segment(place, ServiceConfig.read(read_text("serve.yaml"), RunOptions(tasks="fair")))
    (first,) = place.segments()
    kept = first / "scratch" / "node-1" / "data" / "output"
    kept.parent.mkdir(parents=True)
    kept.touch()
    slow = Replica(first)  # a follower that has this segment open
    numbers = []
    for _ in range(3):
        live(place, draw, monkeypatch, rows=80)
        process = DriverProcess(place, place.segments()[-1], place.segments()[:-1])
        numbers.append(process._intake.last_number)
        assert process._scratch == first / "scratch"
        assert process._first_lock is not None
        process._first_lock.release()
        process._journal.close()
    chain = chain_of(place.segments()[-1])

    assert numbers == sorted(set(numbers))
    assert place.segments() == chain
    assert not (first / FILE_NAME).exists()
    assert kept.exists()
    assert [one.name for one in sorted(place.journal.iterdir())] == [
        one.name for one in [first, *chain]
    ]
    assert len(chain) >= 2
    assert opening_row(chain[0]) is not None
    began_s = [
        datetime.fromisoformat(header_and_end(one)[0].started_at).timestamp() for one in chain
    ]
    assert len(chain) == 2 or began_s[-1] - began_s[1] <= 40
    assert origin_of(chain[0]) == first
    replica = Replica(chain[0])
    replica.follow()
    assert replica.segment == first
    assert replica.open_jobs
    kept = kept_history(chain)
    assert Questions(replica).answer("jobs", {})["kept_from"] == kept["kept_from"]
    assert kept["kept_from"] == instant(began_s[0])
    newest = Questions(replica).answer("story", {"job_id": replica.submitted[-1], "tenant": None})
    assert "kept_from" not in newest
    assert (
        Questions(replica).answer("story", {"job_id": "node-1", "tenant": None}).items()
        > kept.items()
    )
    oldest = replica.jobs[replica.submitted[0]]
    came_s = oldest.workload.made_at_s
    assert came_s < began_s[0] - 0.01
    monkeypatch.setattr(time, "time", lambda: began_s[-1] + 60)
    with pytest.raises(InvalidInput, match="kept from"):
        past_why(replica, replica.submitted[0], instant(came_s + 0.01), None)
    past_why(replica, replica.submitted[0], instant(began_s[0] + 0.01), None)
    assert [verified(one)["segment"] for one in chain] == [one.name for one in chain]
    with pytest.raises(StoreUnavailable, match="removed"):
        slow.follow()  # it begins again, with the opening
    assert following(chain[0]) == chain[1]


def test_a_removal_that_did_not_come_to_its_end_goes_on(place, monkeypatch):
    begun_segment(place, ServiceConfig.read(read_text("serve.yaml"), RunOptions(tasks="fair")))
    live(place, random.Random("crash"), monkeypatch, rows=40)
    before = place.segments()
    assert len(before) > 4
    (before[0] / "scratch").mkdir()
    remove = shutil.rmtree
    for finished in (0, 1, 1):
        monkeypatch.setattr(shutil, "rmtree", failing_after(finished, remove))
        with pytest.raises(StoreUnavailable):
            drop_old_segments(place.journal, time.time() * 2)
        chain = chain_of(place.segments()[-1])
        assert chain == place.segments()
        assert origin_of(chain[0]) == before[0]
        Replica(chain[0]).follow()
    monkeypatch.setattr(shutil, "rmtree", remove)
    drop_old_segments(place.journal, time.time() * 2)
    assert place.segments() == before[-2:]
    assert sorted(place.journal.iterdir()) == [before[0], *before[-2:]]
    assert (before[0] / "scratch").exists()


def failing_after(finished, remove):
    """An `rmtree` that meets a fault of the disk after so many folders."""
    calls = itertools.count()

    def failing(folder):
        if next(calls) >= finished:
            raise OSError(5, "Input/output error")
        remove(folder)

    return failing


def test_a_chain_that_begins_with_nothing_knows_what_users_did_before_the_oldest_segment(
    place, monkeypatch
):
    """The next job gets a new number, also where no job came since the oldest that is left."""
    draw = random.Random("idle")
    begun_segment(place, ServiceConfig.read(read_text("serve.yaml"), RunOptions(tasks="fair")))
    live(place, draw, monkeypatch, rows=80)
    process = DriverProcess(place, place.segments()[-1], place.segments()[:-1])
    number = process._intake.last_number
    process._journal.go_on_in(*process.next(), opening_of_now(process))
    process._journal.close()
    for segment in place.segments()[:-1]:
        shutil.rmtree(segment)
    begun_segment(place, ServiceConfig.read(read_text("serve.yaml"), RunOptions(tasks="fifo")))

    process = DriverProcess(place, place.segments()[-1], place.segments()[:-1])
    process._journal.close()
    assert process._intake.last_number == number > 0


def opening_of_now(process):
    """An opening with what a driver knows of users."""
    return SegmentOpening(scheduler="", driver={}, users=process.saved(())).line()
