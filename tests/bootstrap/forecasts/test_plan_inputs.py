"""The facts that planning knows of real jobs: their tasks, their lengths, and past mistakes."""

from dataclasses import replace

import pytest
from tests.store.histories import past_run

from sluice.api import plan
from sluice.api.sources import load_workload
from sluice.bootstrap.forecasts.plan_inputs import laid_out, last_prediction_error
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastTask
from sluice.reporting.history.past_runs import WORK, work_digest
from sluice.store.profiles import Profiles

FILE = """\
version: 1
cluster: {map_slots_per_vm: 1, reduce_slots_per_vm: 1}
prices: {vm_hour_usd: 1.0, billing_s: 0}
jobs:
  - id: words
    reduces: {tasks: 2}
    run: {input: [text], output: out, mapper: cat, reducer: uniq -c, split_bytes: 4}
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SLUICE_STORE", raising=False)


@pytest.fixture
def file(tmp_path):
    (tmp_path / "jobs.yaml").write_text(FILE)
    (tmp_path / "text").write_text("a b\nc d\ne f\n")
    return tmp_path / "jobs.yaml"


def on_message(sentence):
    raise AssertionError(sentence)


def phase(kind, tasks, length_s, *, from_s=0.0, slots=1, after=()):
    """Tasks of one length, so many of them side by side."""
    timeline = tuple(
        PastTask(started_at_s=begin_s, finished_at_s=begin_s + length_s)
        for number in range(tasks)
        for begin_s in (from_s + number // slots * length_s,)
    )
    return PastPhase(
        name=kind, kind=kind, tasks=tasks, avg_s=length_s, max_s=length_s, timeline=timeline,
        after=after,
    )  # fmt: skip


def remember(file, run_id, map_s, *, slots=1, submitted_at_s=0.0):
    """A former run of the job: three maps, then two reduces of half their length."""
    (job,) = laid_out(load_workload(str(file)), on_message).jobs
    maps = phase("map", 3, map_s, slots=slots)
    ends_s = max(task.finished_at_s for task in maps.timeline)
    run = past_run(
        run_id,
        maps,
        phase("reduce", 2, map_s / 2, from_s=ends_s, slots=slots, after=(0,)),
        profile="words",
        submitted_at_s=submitted_at_s,
        configuration={WORK: work_digest(job.run)},
    )
    with Profiles.open() as profiles:
        profiles.add([run])


def test_a_job_is_laid_out_as_it_would_run_and_its_output_may_be_there_already(file):
    (file.parent / "out").mkdir()
    (job,) = laid_out(load_workload(str(file)), on_message).jobs

    assert [(phase.name, phase.tasks) for phase in job.phases] == [("map", 3), ("reduce", 2)]
    assert job.run.output == "out"


def test_a_job_that_never_ran_cannot_be_planned(file):
    with pytest.raises(InvalidInput, match=r"words.*maps has no lengths.*run the job once"):
        plan.plan(file)


def test_what_a_run_took_is_what_the_next_plan_reckons_with(file):
    remember(file, "first", 10.0)
    found = plan.plan(file)

    assert found.plan(len(found)).makespan_s == 3 * 10.0 + 2 * 5.0
    assert found.off == ()


def test_the_last_run_is_predicted_from_those_before_it(file):
    """Ten seconds a map were known when it took twelve, with two slots of each kind."""
    remember(file, "first", 10.0, submitted_at_s=0.0)
    remember(file, "second", 12.0, slots=2, submitted_at_s=100.0)
    (one,) = last_prediction_error(laid_out(load_workload(str(file)), on_message), on_message)

    assert one.measured_s == 2 * 12.0 + 6.0
    assert one.predicted_s == pytest.approx(2 * 10.0 + 5.0)
    assert one.error == pytest.approx(25 / 30 - 1)
    assert plan.plan(file).document()["predictions_off"] == {"words": one.error}


def test_jobs_that_only_have_lengths_are_not_looked_up(file, monkeypatch):
    def opened():
        raise AssertionError("the store is not needed")

    monkeypatch.setattr(Profiles, "open", opened)
    workload = load_workload(str(file))
    plain = replace(workload, jobs=tuple(replace(job, run=None) for job in workload.jobs))

    assert laid_out(plain, on_message) is plain
    assert last_prediction_error(plain, on_message) == ()
