"""Lengths of former runs: of the newest that has the whole job, with the same commands."""

from dataclasses import replace

import pytest

from sluice.core.events import (
    AttemptKey,
    FailureKind,
    JobSubmitted,
    TaskFailed,
    TaskFinished,
    Usage,
)
from sluice.model.job import Job, Phase, RunSpec, SlotKind
from sluice.model.lengths import ConstantLengths
from sluice.store import past_lengths
from sluice.store.past_lengths import with_past_lengths
from sluice.store.rows import RunHeader
from sluice.store.runs import Runs

SPEC = RunSpec(folder="/f", input=("in",), output="out", mapper=("cat",), reducer=("cat",))


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def job(job_id="j", *, lengths=None, **spec):
    """A job that is to run; nobody knows how long its tasks take unless `lengths` says so."""
    phases = (
        Phase(name="map", kind=SlotKind.MAP, tasks=3, lengths=lengths),
        Phase(name="reduce", kind=SlotKind.REDUCE, tasks=1, lengths=lengths, after=(0,)),
    )
    return Job(job_id=job_id, pool="p", phases=phases, run=replace(SPEC, **spec))


def ended(job_id, phase, task, wall_s):
    usage = None if wall_s is None else Usage(wall_s=wall_s)
    return TaskFinished(1.0, AttemptKey(job_id, phase, task, 1), 1.0, usage=usage)


def ran(runs, *jobs, maps_s=(1.0, 2.0, 6.0), reduces_s=(4.0,), is_finished=True):
    """A run of these jobs, whose tasks took so long."""
    with runs.create(RunHeader(source="/w.yaml", sha256="1", started_at="")) as journal:
        for one in jobs:
            journal.append([JobSubmitted(0.0, one)])
            for phase, each_s in enumerate((maps_s, reduces_s)):
                for task, wall_s in enumerate(each_s):
                    journal.append([ended(one.job_id, phase, task, wall_s)])
        if is_finished:
            journal.finish()


def told(runs, wanted=None):
    """The lengths of each phase of a job, as (average, longest) or None."""
    (found,) = with_past_lengths([wanted or job()], runs)
    return [
        None if p.lengths is None else (p.lengths.avg_s(p.tasks), p.lengths.max_s(p.tasks))
        for p in found.phases
    ]


NOTHING = [None, None]
MEASURED = [(3.0, 6.0), (4.0, 4.0)]


def test_average_and_longest_of_what_was_measured(runs):
    ran(runs, job())

    assert MEASURED == told(runs)


def test_where_nothing_ever_ran_nothing_is_told(runs):
    assert NOTHING == told(runs)


def test_the_newest_run_tells(runs):
    ran(runs, job(), maps_s=(50.0,))
    ran(runs, job())

    assert MEASURED == told(runs)


def test_a_run_that_did_not_finish_does_not_tell(runs):
    """Its short tasks have ended and its long ones have not: it would promise too much."""
    ran(runs, job())
    ran(runs, job(), maps_s=(0.5,), is_finished=False)

    assert MEASURED == told(runs)


def test_a_run_in_which_the_job_got_nowhere_hides_no_older_one(runs):
    """It failed at once, or its reduces never ran: the run before it knows the whole job."""
    ran(runs, job())
    ran(runs, job(), maps_s=(), reduces_s=())
    ran(runs, job(), maps_s=(9.0,), reduces_s=())

    assert MEASURED == told(runs)


@pytest.mark.parametrize(
    "changed",
    [{"mapper": ("sort",)}, {"reducer": ("wc",)}, {"combiner": ("wc",)}, {"split_bytes": 1024},
     {"folder": "/g"}, {"env": (("LANG", "C"),)}],
)  # fmt: skip
def test_other_commands_are_other_work(runs, changed):
    ran(runs, job())

    assert NOTHING == told(runs, job(**changed))


def test_other_data_are_the_same_work(runs):
    """Tasks are cut to the same size, whatever they read and wherever they write."""
    ran(runs, job())

    assert MEASURED == told(runs, job(input=("today/*",), output="out-2"))


def test_a_job_is_known_by_its_id(runs):
    ran(runs, job("other"))

    assert NOTHING == told(runs)


def test_each_job_has_its_own(runs):
    ran(runs, job("a"), maps_s=(8.0,))
    ran(runs, job("b"), maps_s=(5.0,))
    found = with_past_lengths([job("b"), job("a"), job("c")], runs)

    assert ["b", "a", "c"] == [each.job_id for each in found]
    assert [ConstantLengths(5.0, 5.0), ConstantLengths(8.0, 8.0), None] == [
        each.phases[0].lengths for each in found
    ]


def test_what_the_file_says_wins(runs):
    ran(runs, job())
    given = job(lengths=ConstantLengths(70.0, 80.0))

    assert [(70.0, 80.0)] * 2 == told(runs, given)
    half = replace(given, phases=(given.phases[0], job().phases[1]))
    assert [(70.0, 80.0), (4.0, 4.0)] == told(runs, half)


def test_an_empty_task_may_take_no_time_that_a_clock_tells(runs):
    ran(runs, job(), maps_s=(0.0, 0.0), reduces_s=(0.0,))

    assert [(1e-6, 1e-6)] * 2 == told(runs)


def test_failures_and_tasks_without_a_measurement_tell_no_length(runs):
    key = AttemptKey("j", 0, 0, 1)
    failed = TaskFailed(1.0, key, 1.0, FailureKind.EXIT, usage=Usage(wall_s=99.0))
    with runs.create(RunHeader(source="/w.yaml", sha256="1", started_at="")) as journal:
        journal.append([JobSubmitted(0.0, job()), failed, ended("j", 0, 1, None)])
        journal.append([ended("j", 0, 0, 2.0), ended("j", 1, 0, 1.0)])
        journal.finish()

    assert [(2.0, 2.0), (1.0, 1.0)] == told(runs)


def test_a_job_that_does_not_run_commands_has_no_past(runs):
    ran(runs, job())

    assert NOTHING == told(runs, replace(job(), run=None))


def test_only_so_many_runs_are_read(runs, monkeypatch):
    """Reading every journal that is kept would take longer than some runs."""
    monkeypatch.setattr(past_lengths, "RUNS_LOOKED_AT", 2)
    ran(runs, job())
    ran(runs, job("other"))
    assert MEASURED == told(runs)
    ran(runs, job("other"))
    assert NOTHING == told(runs)


def test_a_reader_need_not_open_journals_for_what_is_known(runs, monkeypatch):
    def refuse(folder):
        raise AssertionError(folder)

    ran(runs, job())
    monkeypatch.setattr(past_lengths, "entries", refuse)

    assert [(7.0, 8.0)] * 2 == told(runs, job(lengths=ConstantLengths(7.0, 8.0)))
