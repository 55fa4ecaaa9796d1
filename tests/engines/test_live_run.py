"""The driver over real processes: the same jobs, the same journal, nothing made up."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.effort import first_of
from tests.engines.fakes import HEADER, FakeSource, done_once, job, node, scheduler

import sluice
from sluice.core.events import JobSubmitted, TaskFinished, Tick
from sluice.core.transitions import AttemptState, JobState
from sluice.engines.driver import Driver
from sluice.engines.interruption import RunInterrupted
from sluice.engines.job_runner import JobRunner
from sluice.engines.local.engine import LocalEngine
from sluice.engines.mapreduce.layout import prepare
from sluice.engines.run_clock import RunClock
from sluice.model.ids import JobId, PoolId
from sluice.model.job import HIDDEN, Job, Phase, RunSpec
from sluice.model.slot_kind import SlotKind
from sluice.store.journal import Journal
from sluice.store.rows import EntryKind, entries

NODES = (node("n0", map_slots=2, reduce_slots=1), node("n1", map_slots=1, reduce_slots=1))
WORDS = "the quick brown fox jumps over the lazy dog the end\n"


class Commands(FakeSource):
    """Each task is one and the same command."""

    def __init__(self, jobs, *argv):
        super().__init__(jobs)
        self.argv = argv

    def locations(self, job):
        return {}

    def work(self, launch, outputs):
        return {**super().work(launch, outputs), "kind": "command", "argv": list(self.argv)}


def live(journal, source, jobs, scratch):
    """A driver over agents on this machine."""
    clock = RunClock()
    return Driver(
        engine=LocalEngine(NODES, scratch, journal.epoch, clock.now_s),
        scheduler=scheduler(),
        journal=journal,
        source=source,
        jobs=jobs,
        clock=clock,
    )


def write_files(folder, pause_s):
    """Input and code of the word count."""
    (folder / "in").mkdir()
    for number in range(8):
        (folder / "in" / f"{number}.txt").write_text(WORDS * 50)
    (folder / "map.py").write_text(
        "import sys, time\n"
        f"time.sleep({pause_s})\n"
        "for line in sys.stdin:\n"
        "    for word in line.split():\n"
        "        print(word, 1, sep='\\t')\n"
    )
    (folder / "reduce.py").write_text(
        "import itertools, sys\n"
        "pairs = (line.split('\\t') for line in sys.stdin)\n"
        "for word, group in itertools.groupby(pairs, key=lambda pair: pair[0]):\n"
        "    print(word, sum(int(one) for _, one in group), sep='\\t')\n"
    )


def wordcount(folder, *, pause_s=0.0):
    """A job that counts the words of eight files, each map taking its time."""
    if not (folder / "in").exists():  # a resumed run needs its files as they were
        write_files(folder, pause_s)
    spec = RunSpec(
        folder=str(folder),
        input=("in",),
        output="out",
        mapper=(sys.executable, "map.py"),
        reducer=(sys.executable, "reduce.py"),
    )
    reduces = Phase(name="reduce", kind=SlotKind.REDUCE, tasks=2, after=())
    return Job(job_id=JobId("words/1"), pool=PoolId("p"), phases=(reduces,), run=spec)


def counted(folder):
    """Return the words in the output folder, with their counts."""
    lines = [line for part in folder.glob("out/part-*") for line in part.read_text().splitlines()]
    return {word: int(count) for word, count in (line.split("\t") for line in lines)}


plain = wordcount
WANTED = {word: 400 * count for word, count in Counter(WORDS.split()).items()}


def start(folder, *, pause_s=0.0):
    """A new run of the word count."""
    runner = JobRunner([prepare(wordcount(folder, pause_s=pause_s))], folder / "scratch")
    with Journal.create(folder, HEADER, runner.records()) as journal:
        return live(journal, runner, runner.jobs, folder / "scratch").run()


def resume(folder):
    """Take up the run of a folder, from its journal alone."""
    rows = [entry for entry in entries(folder) if entry.kind is EntryKind.PREPARED]
    records = dict(row.prepared() for row in rows)
    runner = JobRunner.reopened([wordcount(folder)], records, folder / "scratch")
    with Journal.reopened(folder) as journal:
        return live(journal, runner, runner.jobs, folder / "scratch").run()


def test_real_processes_run_and_are_measured(tmp_path):
    jobs = [job("a", 6, 2), job("b/ü", 3, 1)]
    source = Commands(jobs, "/bin/true")
    with Journal.create(tmp_path, HEADER) as journal:
        state = live(journal, source, jobs, tmp_path / "scratch").run().result

    assert [entry.state for entry in state.jobs.values()] == [JobState.DONE] * 2
    assert source.disk.commits == {"a": 1, "b/ü": 1}
    assert done_once(state)
    assert all(attempt.usage.wall_s > 0 for attempt in state.closed)
    assert all(attempt.started_at_s <= attempt.finished_at_s for attempt in state.closed)


def test_a_command_that_fails_fails_its_job(tmp_path):
    jobs = [job("a", 2, 1)]
    source = Commands(jobs, "/bin/sh", "-c", "echo it broke >&2; exit 3")
    with Journal.create(tmp_path, HEADER) as journal:
        state = live(journal, source, jobs, tmp_path / "scratch").run().result

    assert state.jobs[JobId("a")].state is JobState.FAILED
    assert "it broke" in state.jobs[JobId("a")].reason
    assert source.disk.aborts == {"a": 1}


def test_words_are_counted_by_real_maps_and_reduces(tmp_path):
    result = start(tmp_path).result

    assert counted(tmp_path) == WANTED
    assert (tmp_path / "out" / "_SUCCESS").exists()
    assert sorted(path.name for path in tmp_path.glob("out/part-*")) == ["part-00000", "part-00001"]
    assert result.jobs[JobId("words/1")].state is JobState.DONE
    assert not (tmp_path / "scratch").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def interrupted(folder, when, number):
    """Run the word count in a process of its own; send it a signal when so many maps are done."""
    script = (
        "import pathlib, sys\n"
        "from tests.engines.test_live_run import start\n"
        "start(pathlib.Path(sys.argv[1]), pause_s=0.3)\n"
    )
    here = Path(__file__).parents[2]
    paths = os.pathsep.join([str(Path(sluice.__path__[0]).parent), str(here)])
    process = subprocess.Popen(
        [sys.executable, "-c", script, folder],
        env={**os.environ, "PYTHONPATH": paths},
        stderr=subprocess.PIPE,
        text=True,
    )
    give_up_at_s = time.monotonic() + 60
    while len(finished(folder)) < when and process.poll() is None:
        assert time.monotonic() < give_up_at_s
        time.sleep(0.02)
    process.send_signal(number)
    _, heard = process.communicate(timeout=60)
    return process.returncode, heard


def finished(folder):
    """Keys of the attempts that a run's journal knows to have ended well."""
    if not (folder / "journal.db").exists():
        return []
    heard = [entry.event() for entry in entries(folder) if entry.kind is EntryKind.EVENT]
    return [event.key for event in heard if isinstance(event, TaskFinished)]


@pytest.mark.slow
@pytest.mark.parametrize("number", first_of([signal.SIGKILL, signal.SIGTERM, signal.SIGINT], 2))
def test_a_real_run_that_was_ended_goes_on_where_it_was(tmp_path, number):
    """The work that was done before is not done again, and the output is whole."""
    code, heard = interrupted(tmp_path, 3, number)
    before = finished(tmp_path)
    had_output = (tmp_path / "out").exists()

    result = resume(tmp_path).result

    assert code == (-9 if number is signal.SIGKILL else 1), heard
    assert (RunInterrupted.__name__ in heard) == (number is not signal.SIGKILL)
    assert 3 <= len(before) < 10
    assert not had_output
    assert counted(tmp_path) == WANTED
    done = [a.key for a in result.closed if a.state is AttemptState.DONE]
    assert set(before) <= set(done)
    assert len(done) == len({key[:3] for key in done}) == 10
    assert not (tmp_path / "scratch").exists()


def test_a_finished_real_run_is_left_alone(tmp_path):
    start(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/*")}

    assert resume(tmp_path).was_finished
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/*")} == before


def test_a_run_of_an_older_release_with_clear_values_is_resumed(tmp_path, monkeypatch):
    """Its journal holds values of `env`, which make no difference."""
    with_env = replace(wordcount(tmp_path).run, env=(("TOKEN", "swordfish"),))
    monkeypatch.setattr(
        sys.modules[__name__], "wordcount", lambda folder: replace(plain(folder), run=with_env)
    )
    prepared = prepare(wordcount(tmp_path))
    assert prepared.job.run.env == (("TOKEN", HIDDEN),)
    assert prepared.env == (("TOKEN", "swordfish"),)
    assert "swordfish" not in repr(prepared)
    assert prepared.job.run is not None
    clear = replace(prepared.job, run=replace(prepared.job.run, env=with_env.env))
    with Journal.create(tmp_path, HEADER, {JobId("words/1"): prepared.to_json()}) as journal:
        journal.append([JobSubmitted(0.0, clear, {}, is_last=True), Tick(0.0)])

    assert resume(tmp_path).uncommitted == {}
    assert counted(tmp_path) == WANTED
