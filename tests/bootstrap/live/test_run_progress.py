"""The share of a live run that is done, and the time left."""

import pytest

from sluice.bootstrap.live.run_progress import EstimatingWatcher, works_of
from sluice.core.transitions import JobState
from sluice.engines.progress import JobProgress, PhaseProgress, Progress
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.slot_kind import SlotKind

A, B = JobId("a"), JobId("b")


class Kept:
    def __init__(self):
        self.last = None

    def on_progress(self, progress):
        self.last = progress

    def on_message(self, message): ...


def job(name, *, maps=4, map_s=None, reduces=2, reduce_s=None):
    return Job(
        job_id=JobId(name),
        pool=PoolId("p"),
        phases=tuple(
            Phase(
                name=kind.value,
                kind=kind,
                tasks=tasks,
                lengths=None if length_s is None else ConstantLengths(length_s, length_s),
            )
            for kind, tasks, length_s in (
                (SlotKind.MAP, maps, map_s), (SlotKind.REDUCE, reduces, reduce_s),
            )
        ),
    )  # fmt: skip


def progress(at_s, *done, ended=()):
    """One running job with this many tasks done in each of its phases of 4 and 2 tasks."""
    phases = tuple(
        PhaseProgress(tasks=tasks, done=part) for tasks, part in zip((4, 2), done, strict=False)
    )
    running = JobProgress(
        job_id=A, state=JobState.RUNNING, tasks=6, tasks_done=0, tasks_running=1, phases=phases
    )
    return Progress(
        at_s=at_s, jobs_total=2, jobs_ended=len(ended), jobs=(running,), ended=frozenset(ended)
    )


def test_work_is_slot_seconds_only_if_all_lengths_are_known():
    timed, unknown = job("a", map_s=3.0, reduce_s=5.0), job("b")

    assert {A: (12.0, 10.0)} == works_of([timed], {A: 700})
    assert {A: (700.0, 700.0), B: (4.0, 2.0)} == works_of([timed, unknown], {A: 700, B: 0})


def test_parts_of_running_tasks_and_the_bytes_of_ended_jobs_count():
    kept = Kept()
    watcher = EstimatingWatcher(kept, {A: (100.0, 100.0), B: (300.0,)}, None)
    watcher.on_progress(progress(1.0, 2.5, 0.0))

    assert 62.5 / 500 == kept.last.fraction
    assert 62.5 / 200 == kept.last.jobs[0].fraction
    watcher.on_progress(progress(2.0, 4.0, 1.0, ended=[B]))
    assert 450 / 500 == kept.last.fraction


def test_the_prediction_comes_first_and_the_measured_rate_later():
    kept = Kept()
    watcher = EstimatingWatcher(kept, {A: (100.0, 100.0)}, 50.0)
    watcher.on_progress(progress(0.0, 0.0, 0.0))
    assert kept.last.left_s == 50.0

    watcher.on_progress(progress(10.0, 0.0, 0.0))
    assert kept.last.left_s == 40.0

    watcher.on_progress(progress(40.0, 4.0, 0.0))  # half in 40 s, 40 s more by the rate
    assert kept.last.left_s == pytest.approx(0.5 * 40 + 0.5 * 10)

    watcher.on_progress(progress(72.0, 4.0, 1.6))  # 90 %: 8 s more by the rate, none predicted
    assert kept.last.left_s == pytest.approx(0.9 * 8)


def test_a_resumed_run_does_not_count_what_was_done_before_in_its_rate():
    kept = Kept()
    watcher = EstimatingWatcher(kept, {A: (100.0, 100.0)}, None)
    watcher.on_progress(progress(100.0, 3.0, 0.0))
    assert kept.last.left_s is None

    watcher.on_progress(progress(110.0, 4.0, 0.0))  # an eighth in 10 s, four eighths are left
    assert kept.last.left_s == pytest.approx(40.0)
