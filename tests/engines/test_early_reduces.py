"""Reduces that start before their maps have ended: what they fetch, when, and what comes of it."""

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.engines.fakes import NODES, FakeEngine, FakeSource, Faults, drive, job, scheduler
from tests.engines.test_agent_node import Talk
from tests.engines.work_runs import attempt as forked
from tests.engines.work_runs import job_in, place_in, write_input

from sluice.core.commands import Launch
from sluice.core.events import FailureKind, JobSubmitted, NodeJoined, TaskFailed, TaskFinished, Tick
from sluice.core.rules import Rules
from sluice.core.scheduler import Scheduler
from sluice.core.transitions import JobState
from sluice.engines.agent.orders import Orders
from sluice.engines.base import Limits
from sluice.engines.dispatch import Dispatcher
from sluice.engines.driver_state import DriverState
from sluice.engines.mapreduce import WorkFailed, early_fetch, perform, reducing
from sluice.engines.mapreduce.layout import begin_job, prepare

MAPS = 5


# --- the reduce itself --------------------------------------------------------------------------


class Maps:
    """A job whose maps are done. `paths`: their outputs, by (phase, task)."""

    def __init__(self, folder):
        self.folder = folder
        write_input(folder, *(f"k{number % 3}\t{number}\nall\t1\n" for number in range(MAPS)))
        self.prepared = prepare(
            job_in(folder, mapper="cat", reducer="cat")
        )  # which shows the order
        begin_job(self.prepared)
        self.paths = {}
        for task in range(MAPS):
            place = place_in(folder, f"m{task}")
            self.paths[0, task] = forked(self.prepared.work(0, task, {}), place)["outputs"]

    def late(self):
        """The output of a reduce that starts when all maps are done."""
        result = forked(self.prepared.work(1, 0, self.paths), place_in(self.folder, "late"))
        return Path(result["outputs"][0]).read_bytes()

    def early(self, known, messages):
        """That of one that knows of some maps at its start. messages: what comes afterwards."""
        work = self.prepared.work(1, 0, {(0, task): self.paths[0, task] for task in known})
        reading, writing = os.pipe()
        orders = Orders(reading)
        try:
            for message in messages:
                os.write(writing, json.dumps(message).encode() + b"\n")
            place = place_in(self.folder, "early") | {"orders": orders}
            result = perform(json.loads(json.dumps(work)), place)
        finally:
            os.close(writing)
            orders.close()
        (path,) = map(Path, result["outputs"])
        return path.read_bytes()

    def news(self, *tasks, is_all=False):
        news = [[0, task, self.paths[0, task][0]] for task in tasks]
        return {"news": news, "is_all": is_all}


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    return Maps(tmp_path_factory.mktemp("maps"))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_an_early_reduce_writes_what_a_late_one_writes(maps, data):
    """Whatever it knows at first, however the news comes, in which order, and how often."""
    known = data.draw(st.sets(st.integers(0, MAPS - 1), max_size=MAPS - 1))
    later = data.draw(st.permutations([task for task in range(MAPS) if task not in known]))
    repeated = data.draw(st.lists(st.integers(0, MAPS - 1), max_size=3))
    cut = data.draw(st.integers(0, len(later)))
    messages = [maps.news(*later[:cut]), maps.news(*later[cut:], *repeated), maps.news(is_all=True)]
    event(f"known at first: {len(known)}")

    assert maps.early(known, messages) == maps.late()


def test_news_of_another_file_replaces_one_that_does_not_answer(maps, monkeypatch):
    """The node of the first file is lost: the map runs again elsewhere, and the reduce waits."""
    asked = []
    monkeypatch.setattr(early_fetch, "RETRY_S", 0.01)

    def copied(context, path, number, target):
        asked.append(path)
        if path == "lost":
            return ConnectionRefusedError("no node")
        return copy(context, path, number, target)

    copy = reducing.copied_segment
    monkeypatch.setattr(reducing, "copied_segment", copied)
    lost = {"news": [[0, 4, "lost"]], "is_all": False}
    quiet = {"news": [], "is_all": False}

    messages = [lost, quiet, quiet, maps.news(4), maps.news(is_all=True)]
    assert maps.early({0, 1, 2, 3}, messages) == maps.late()
    assert "lost" in asked
    assert asked.count(maps.paths[0, 0][0]) == 1


def test_a_file_that_is_gone_is_blamed_while_other_maps_still_run(maps, tmp_path):
    gone = {"news": [[0, 1, str(tmp_path / "gone.spill")]], "is_all": False}

    with pytest.raises(WorkFailed, match=r"lost or damaged.*gone\.spill") as failure:
        maps.early({0}, [gone])

    assert failure.value.blames == [(0, 1)]


def test_what_was_fetched_whole_is_kept_when_its_file_goes(maps, tmp_path):
    """A second word on a task changes nothing, even if that file is damaged."""
    copy = tmp_path / "copy.spill"
    shutil.copy(maps.paths[0, 1][0], copy)
    first = {"news": [[0, 1, str(copy)]], "is_all": False}
    again = {"news": [[0, 1, str(tmp_path / "not there")]], "is_all": False}

    messages = [first, {"news": [], "is_all": False}, again, maps.news(0, 2, 3, 4, is_all=True)]
    assert maps.early((), messages) == maps.late()


def test_an_attempt_whose_agent_is_gone_ends(maps):
    reading, writing = os.pipe()
    os.close(writing)
    orders = Orders(reading)
    place = place_in(maps.folder, "early") | {"orders": orders}

    with pytest.raises(WorkFailed, match="the agent has ended"):
        perform(json.loads(json.dumps(maps.prepared.work(1, 0, {}))), place)
    orders.close()


def test_orders_are_read_whole_and_news_that_came_too_late_is_passed_over():
    reading, writing = os.pipe()
    orders = Orders(reading)
    order, long = {"id": "next"}, {"news": ["x" * 100_000]}

    def write():
        text = b"".join(json.dumps(one).encode() + b"\n" for one in (long, long, order, long))
        while text:
            text = text[os.write(writing, text) :]
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    assert orders.news(5.0) == long
    assert orders.next_order() == order
    assert orders.next_order() is None
    with pytest.raises(EOFError):
        orders.news(0.0)
    thread.join()
    orders.close()


# --- the agent ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("is_fed", "ends"), [(False, "killed"), (True, "timeout")])
def test_limits_of_time_count_from_the_input(tmp_path, maps, is_fed, ends):
    """A wait for maps is no time of the task, nor a sign that it hangs."""
    hangs = prepare(job_in(maps.folder, mapper="cat", reducer="sleep 60", job_id="hangs"))
    begin_job(hangs)
    work = hangs.work(1, 0, {})
    talk = Talk(tmp_path)
    with talk.process:
        limits = {"wall_s": 0.6, "idle_s": 0.9}
        talk.say(do="launch", id="a", work=dict(work), limits=limits, grace_s=0.1)
        if is_fed:
            talk.say(do="feed", id="a", **maps.news(*range(MAPS), is_all=True))
        else:
            threading.Timer(2.0, lambda: talk.say(do="kill", id="a", reason="enough")).start()
        reports: list[dict[str, Any]] = []
        while not reports or reports[-1]["report"] not in {"failed", "finished"}:
            reports.append(talk.hear())
        assert talk.process.stdin is not None
        talk.process.stdin.close()
        talk.process.wait(20)

    assert reports[-1]["kind"] == ends


# --- the driver ---------------------------------------------------------------------------------


class FeedingEngine(FakeEngine):
    """One whose reduces may start early: they end when they have heard of all maps."""

    def __init__(self, **more):
        super().__init__(**more)
        self.fed = {}
        self._waiting = {}

    def launch(self, attempt):
        if attempt.work.get("is_early"):
            self.fed[attempt.key] = dict(attempt.work["known"])
            self.launched.append(attempt)
            self._running[attempt.key] = attempt
            self._waiting[attempt.key] = attempt
        else:
            super().launch(attempt)

    def feed(self, key, news, *, is_all):
        if key not in self._running:
            return
        self.fed[key] |= {one.task: one.path for one in news}
        if is_all:
            attempt = self._waiting.pop(key)
            self._later(0.5, self._ending(str(key)), attempt)


class EarlySource(FakeSource):
    """Reduces start early, and their work names the maps that they know of."""

    def starts_early(self, job_id, phase):
        return phase == 1

    def work(self, launch, outputs):
        key = launch.key
        maps = self.jobs[key.job_id].phases[0].tasks
        if key.phase == 0 or len(outputs.get(0, {})) == maps:
            return super().work(launch, outputs)
        known = {task: one.files[0] for task, one in outputs.get(0, {}).items()}
        name = self.job_name(key.job_id)
        return {"kind": "noop", "job_name": name, "is_early": True, "known": known}


def run_early(folder, jobs, slowstart=0.1, **faults):
    engine, source = FeedingEngine(faults=Faults(**faults)), EarlySource(jobs)
    state = drive(folder, jobs, engine=engine, source=source, slowstart=slowstart).result
    return engine, source, state


def test_reduces_start_when_their_share_of_maps_is_done_and_hear_of_the_others(tmp_path):
    engine, source, state = run_early(tmp_path, [job("a", 9, 3)])

    maps_over_at_s = max(a.finished_at_s for a in state.closed if a.key.phase == 0)
    early = [a for a in state.closed if a.key.phase == 1 and a.started_at_s < maps_over_at_s]
    assert len(early) == 3
    assert source.disk.commits == {"a": 1}
    for attempt in early:
        winners = {a.key.task: f"{_id(a)}.out" for a in state.closed if a.key.phase == 0}
        assert engine.fed[attempt.key] == winners


def _id(attempt):
    key = attempt.key
    return f"{FakeSource([]).job_name(key.job_id)}-{key.phase}-{key.task}-{key.attempt}-e1"


def test_a_map_that_runs_again_on_another_node_is_made_known_to_reduces_that_wait(tmp_path):
    """Its node is lost with its output, while reduces on the other nodes wait."""
    engine, source, state = run_early(tmp_path, [job("a", 18, 2)], losses={2.5: "n1"})

    assert source.disk.commits == {"a": 1}
    again = {a.key.task for a in state.closed if a.key.phase == 0 and a.key.attempt > 1}
    assert again
    done = [a for a in state.closed if a.key.phase == 1 and a.state.value == "done"]
    assert any(a.key.attempt == 1 and a.key in engine.fed for a in done)
    for attempt in done:
        heard = engine.fed.get(attempt.key, {})
        assert all("-e1.out" in heard[task] and f"-{task}-2-" in heard[task] for task in again)


def test_an_early_reduce_of_a_failed_job_is_killed_by_the_engine(tmp_path):
    exits = {f"a/0/8/{attempt}" for attempt in range(1, 5)}
    engine, source, state = run_early(tmp_path, [job("a", 9, 3)], exits=exits)

    assert state.jobs["a"].state is JobState.FAILED
    assert {name for name, _ in engine.killed} >= {"a/1/0/1", "a/1/1/1", "a/1/2/1"}
    assert source.disk.aborts == {"a": 1}


def test_an_adopted_reduce_hears_of_everything_once_more(tmp_path):
    """Outputs it had heard of in the former life of the driver are not known to the next one."""
    made = job("a", 9, 3)
    state = DriverState(scheduler(slowstart=0.1))
    launches = []
    for one in [*(NodeJoined(0.0, each) for each in NODES), JobSubmitted(0.0, made), Tick(0.0)]:
        launches += [each for each in state.handle(one) if isinstance(each, Launch)]
    done = launches[:2]
    for number, launch in enumerate(done):
        state.handle(TaskFinished(1.0, launch.key, 1.0, outputs=(f"file {number}",)))
    launches += [each for each in state.handle(Tick(1.0)) if isinstance(each, Launch)]
    (reduce, *_) = [each.key for each in launches if each.key.phase == 1]
    engine = FeedingEngine()
    engine.fed, engine._running = {reduce: {}}, {reduce: None}
    clock, limits = engine.clock, Limits()
    dispatcher = Dispatcher(
        engine=engine, source=EarlySource([made]), driver_state=state, clock=clock,
        limits=limits, epoch=2,
    )  # fmt: skip
    dispatcher.kill_unwanted([reduce])
    dispatcher.carry_out([])

    assert engine.fed[reduce] == {done[0].key.task: "file 0", done[1].key.task: "file 1"}
    third = launches[2].key
    state.handle(TaskFinished(2.0, third, 2.0, outputs=("file 2",)))
    dispatcher.carry_out([])
    assert engine.fed[reduce][third.task] == "file 2"


def test_an_early_reduce_that_fails_by_itself_counts_against_its_job():
    """While maps are left nothing excuses it, or it would be tried again without end."""
    policies = scheduler().policies
    state = DriverState(Scheduler(policies, rules=Rules(slowstart=0.0, is_live=True)))
    launches, failures, at_s = [], 0, 0.0
    for one in [*(NodeJoined(0.0, each) for each in NODES), JobSubmitted(0.0, job("a", 9, 1))]:
        state.handle(one)
    while not state.state.jobs["a"].has_ended:
        launches = [one for one in state.handle(Tick(at_s)) if isinstance(one, Launch)]
        (key,) = [one.key for one in launches if one.key.phase == 1]
        at_s += 1.0
        state.handle(TaskFailed(at_s, key, at_s, FailureKind.EXIT, "no such module"))
        failures += 1

    assert failures == 4
    assert "failed 4 times" in state.state.jobs["a"].reason


def test_one_that_blames_a_lost_map_is_excused():
    policies = scheduler().policies
    state = DriverState(Scheduler(policies, rules=Rules(slowstart=0.0, is_live=True)))
    for one in [*(NodeJoined(0.0, each) for each in NODES), JobSubmitted(0.0, job("a", 9, 1))]:
        state.handle(one)
    for at_s in range(1, 8):
        launches = [one for one in state.handle(Tick(at_s - 1.0)) if isinstance(one, Launch)]
        (key,) = [one.key for one in launches if one.key.phase == 1]
        gone = ((0, 0),)
        state.handle(TaskFailed(at_s, key, at_s, FailureKind.EXIT, "lost", blames=gone))

    assert not state.state.jobs["a"].has_ended
