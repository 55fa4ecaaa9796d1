"""Putting live runs together: what a run is made of, shown in its journal, and made of it again."""

import json
import os
import time
from dataclasses import fields, replace

import pytest

from sluice.api.sources import parse_workload, workload_in
from sluice.api.workload import validate
from sluice.bootstrap.history import past_runs
from sluice.bootstrap.live import live_run
from sluice.bootstrap.live.run_options import RunOptions, scheduler_part
from sluice.core.events import JobSubmitted, TaskFinished
from sluice.ingest.reading import read_text
from sluice.model.attempts import AttemptKey, Usage
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun
from sluice.reporting.history.past_runs import SOURCE, WORK, work_digest
from sluice.store.profiles import Profiles
from sluice.store.rows import RunHeader
from sluice.store.run_record import RunIdentity
from sluice.store.runs import Runs

FILE = """
version: 1
pools: [{id: etl, weight: 2, map_slots_min: 1, order: fifo}]
settings: {slowstart: 0.5, fair.slowstart: 0.1}
jobs:
  - id: words
    pool: etl
    reduces: {tasks: 2}
    run: {input: [in/*], output: out, mapper: cat, reducer: cat, split_bytes: 16}
"""
SAVED = {"tasks": "fair", "seed": 7, "settings": ("slowstart=0.2", "jitter=0.1")}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "text").write_text("a b c\n" * 8)
    return tmp_path


def read_in(folder, text=FILE):
    path = folder / "jobs.yaml"
    path.write_text(text)
    source = read_text(str(path))
    return workload_in(source), live_run.identity_of(source)


def begun(folder, text=FILE, **plan):
    """A run that is put together and not started; its journal is closed again."""
    workload, identity = read_in(folder, text)
    assembly = live_run.begin(workload, identity, RunOptions(**plan))
    assembly.journal.close()
    return assembly


# --- the plan -------------------------------------------------------------------------------------


def test_runs_that_start_in_one_second_have_an_order(home):
    """`explain NAME` takes the newest run of NAME in the profile store."""
    workload, identity = read_in(home)
    first = RunOptions().header(workload, identity)
    time.sleep(0.005)

    assert first.started_at < RunOptions().header(workload, identity).started_at


@pytest.mark.parametrize(
    "plan",
    [
        RunOptions(),
        RunOptions(**SAVED),
        RunOptions(nodes=3, map_slots=2, reduce_slots=1),
        RunOptions(tasks="yarn-like", release="input", admission="all", engine="local"),
    ],
)
def test_a_plan_comes_back_out_of_the_header_that_shows_it(plan, home):
    """By way of its line in the journal, where tuples become lists."""
    header = plan.header(*read_in(home))
    read = RunHeader(**json.loads(header.line()))

    assert plan == RunOptions.of(header)
    assert plan == RunOptions.of(read)


def test_the_header_names_the_file_and_its_text(home):
    one, same = (RunOptions().header(*read_in(home)) for _ in range(2))

    assert str(home / "jobs.yaml") == one.source
    assert str(home) == one.folder
    assert RunIdentity.of(one) == RunIdentity.of(same)
    assert one.sha256 != RunOptions().header(*read_in(home, FILE + " ")).sha256


def test_every_field_of_a_plan_is_shown():
    """A field that the header forgot would come back as its default, unnoticed."""
    odd = {
        "tasks": "fair", "release": "input", "admission": "all", "engine": "ray",
        "address": "auto", "nodes": 5, "map_slots": 6, "reduce_slots": 7,
        "settings": ("slowstart=0.3",), "seed": 8, "advice": "acf277ce82d7",
    }  # fmt: skip
    plan = RunOptions(**odd)

    assert {field.name for field in fields(RunOptions)} == odd.keys()
    assert plan == RunOptions.of(
        plan.header(parse_workload(FILE), RunIdentity(source="-", folder="/", sha256=""))
    )


# --- the cluster ----------------------------------------------------------------------------------


def shape(cluster):
    return [(node.node_id, node.map_slots, node.reduce_slots) for node in cluster.nodes]


def with_cluster(text="{map_slots: 4, reduce_slots: 3}"):
    return parse_workload(FILE + f"cluster: {text}\n")


def test_by_default_one_node_has_a_slot_of_each_kind_for_each_processor(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert [("node-1", 6, 6)] == shape(RunOptions().cluster(parse_workload(FILE)))
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert [("node-1", 1, 1)] == shape(RunOptions().cluster(parse_workload(FILE)))


def test_the_file_s_cluster_is_taken_as_it_stands():
    workload = with_cluster()

    assert workload.cluster is RunOptions().cluster(workload)


def test_what_is_given_beside_it_makes_virtual_nodes():
    workload = with_cluster("{nodes: 2, node: {map_slots: 4, reduce_slots: 3}}")

    assert [("node-1", 4, 3), ("node-2", 4, 3), ("node-3", 4, 3)] == shape(
        RunOptions(nodes=3).cluster(workload)
    )
    assert [("node-1", 9, 3), ("node-2", 9, 3)] == shape(RunOptions(map_slots=9).cluster(workload))
    assert [("node-1", 1, 0)] == shape(
        RunOptions(nodes=1, map_slots=1, reduce_slots=0).cluster(workload)
    )


# --- a new run ------------------------------------------------------------------------------------


def test_a_new_run_is_prepared_whole_and_written_down(home):
    assembly = begun(home, **SAVED)
    (info,) = Runs().all()

    assert info.run_id == assembly.run_id
    assert RunOptions(**SAVED) == RunOptions.of(info.header)
    assert 0.2 == assembly.scheduler.rules.slowstart, "--set wins over all that the file says"
    assert "fair" == assembly.scheduler.policies.tasks.name
    (job,) = assembly.runner.jobs
    assert [("map", 3), ("reduce", 2)] == [(phase.name, phase.tasks) for phase in job.phases]
    assert not info.is_finished
    assert not (home / "out").exists()


@pytest.mark.parametrize(
    ("text", "plan", "said"),
    [
        (FILE, {"engine": "slurm"}, "unknown engine 'slurm'"),
        (FILE, {"tasks": "fiar"}, "unknown policy 'fiar'"),
        (FILE, {"settings": ("slowstrat=1",)}, "unknown setting slowstrat"),
        (FILE, {"map_slots": 2, "reduce_slots": 0}, "reduce_slots of the cluster is 0"),
        (FILE.replace("input: [in/*]", "input: [none/*]"), {}, "none/"),
        ("version: 1\njobs: [{id: j, maps: {tasks: 1, avg_s: 1}}]", {}, "run is missing"),
        ("version: 1\njobs: []", {}, "jobs is empty"),
    ],
)  # fmt: skip
def test_a_run_that_cannot_be_leaves_nothing_behind(home, text, plan, said):
    with pytest.raises(InvalidInput) as caught:
        begun(home, text, **plan)

    assert said in str(caught.value)
    assert () == Runs().all()


def test_two_jobs_may_not_write_to_one_folder(home):
    second = """
  - {id: again, run: {input: [in/*], output: ./other/../out, mapper: cat}}
"""
    with pytest.raises(InvalidInput, match=r"'again': output .* is also the output of job 'words'"):
        begun(home, FILE + second)
    assert () == Runs().all()


@pytest.mark.parametrize("output", ["out/inner", "./other/../out/a/b"])
def test_an_output_may_not_be_inside_another(home, output):
    """It is refused before anything runs, and by `validate`."""
    second = f"""
  - {{id: again, run: {{input: [in/*], output: {output}, mapper: cat}}}}
"""
    for check in (lambda text: begun(home, text), lambda text: validate(read_in(home, text)[0])):
        with pytest.raises(InvalidInput, match=r"'again': output .* inside .* of job 'words'"):
            check(FILE + second)
    assert () == Runs().all()


# --- prediction -----------------------------------------------------------------------------------


def finished_before(assembly, *, map_s, reduce_s):
    """As if the run had been run: each task done in so many seconds."""
    journal = Runs().reopened(Runs().latest())
    (job,) = assembly.runner.jobs
    journal.append([JobSubmitted(0.0, job)])
    for index, (phase, wall_s) in enumerate(zip(job.phases, (map_s, reduce_s), strict=True)):
        for task in range(phase.tasks):
            key = AttemptKey(job.job_id, index, task, 1)
            journal.append([TaskFinished(9.0, key, 9.0, usage=Usage(wall_s=wall_s))])
    journal.finish()
    journal.close()
    with Profiles.open() as profiles:
        profiles.add([learned(job, map_s=map_s, reduce_s=reduce_s)])


def learned(job, *, map_s, reduce_s):
    """The run of the job as the store knows it after that."""
    phases = tuple(
        PastPhase(name=phase.name, kind=phase.kind.value, tasks=phase.tasks, avg_s=s, max_s=s)
        for phase, s in zip(job.phases, (map_s, reduce_s), strict=True)
    )
    work = {WORK: work_digest(job.run)}
    return PastRun(run_id="r", profile=job.job_id, source=SOURCE, phases=phases, configuration=work)


def test_a_first_run_predicts_nothing(home):
    assembly = begun(home)

    assert assembly.predicted_makespan_s is None
    assert [None, None] == [p.lengths for p in assembly.predicted["words"].phases]


def test_a_former_run_predicts_the_next(home):
    """Three maps of 10 s on two slots, then two reduces of 4 s on one: 20 + 8."""
    slots = {"map_slots": 2, "reduce_slots": 1}
    finished_before(begun(home, **slots), map_s=10.0, reduce_s=4.0)

    assert 28.0 == begun(home, **slots).predicted_makespan_s
    assert 14.0 == begun(home, map_slots=3, reduce_slots=2).predicted_makespan_s


def test_the_prediction_is_of_a_machine_that_shows_ends_at_once(home):
    """Heartbeats are the simulator's: a live engine has none."""
    slots = {"map_slots": 2, "reduce_slots": 1}
    finished_before(begun(home, **slots), map_s=10.0, reduce_s=4.0)
    assembly = begun(home, **slots, settings=("heartbeat_s=3",))

    assert 28.0 == assembly.predicted_makespan_s


def test_lengths_in_the_file_predict_too(home):
    text = FILE.replace("{tasks: 2}", "{tasks: 2, avg_s: 5}")
    finished_before(begun(home, text), map_s=1.0, reduce_s=50.0)

    assert 6.0 == begun(home, text, map_slots=3, reduce_slots=2).predicted_makespan_s


# --- taking up and looking back -------------------------------------------------------------------


def test_a_run_is_taken_up_as_it_was_begun(home):
    """Its plan stands in the journal; what the command line says now does not count."""
    first = begun(home, **SAVED)
    workload, identity = read_in(home)
    again = live_run.resume(workload, live_run.resumable(identity))
    again.journal.close()

    assert first.run_id == again.run_id
    assert "fair" == again.scheduler.policies.tasks.name
    assert first.scheduler.rules == again.scheduler.rules
    assert first.cluster == again.cluster
    assert [job.phases for job in first.runner.jobs] == [job.phases for job in again.runner.jobs]


def test_a_file_that_never_ran_has_nothing_to_take_up(home):
    assert live_run.resumable(read_in(home)[1]) is None


def test_a_recorded_run_is_found_by_its_id_or_as_the_newest(home):
    with pytest.raises(InvalidInput, match="no run is recorded yet"):
        past_runs.recorded(None)
    first, second = begun(home), begun(home)

    assert second.run_id == past_runs.recorded(None).run_id
    assert first.run_id == past_runs.recorded(first.run_id).run_id
    with pytest.raises(InvalidInput, match="no recorded run 'x'"):
        past_runs.recorded("x")


def test_a_replay_knows_the_file_as_it_was(home):
    """Pools and settings are those of the run, though the file is gone by now."""
    assembly = begun(home, tasks="fair")
    finished_before(assembly, map_s=1.0, reduce_s=1.0)
    (home / "jobs.yaml").unlink()
    scheduler = past_runs.replayed(past_runs.recorded(None))
    (pool,) = [entry.pool for entry in scheduler.state.pools.values()]

    assert read_in(home)[0].pools == (pool,)
    assert 0.1 == scheduler.rules.slowstart
    assert ["words"] == list(scheduler.state.jobs)
    assert {} == past_runs.replayed(past_runs.recorded(None), until_s=-1.0).state.jobs


def test_a_header_of_a_run_without_the_file_s_part_still_opens(home):
    """Older runs shown of the plan alone."""
    header = RunOptions(**SAVED).header(*read_in(home))
    bare = replace(header, settings={k: v for k, v in header.settings.items() if k != "of_file"})

    assert RunOptions(**SAVED) == RunOptions.of(bare)
    assert () == scheduler_part(bare).pools


def test_the_rounds_of_queues_are_written_as_plain_json_and_come_back(home):
    """A round without an end is 0: JSON has no infinite numbers."""
    queues = "[{id: etl, round_s: none}, {id: ads, round_s: 60}]"
    text = FILE.replace("pools: [{id: etl, weight: 2, map_slots_min: 1, order: fifo}]", "QUEUES")
    workload, identity = read_in(home, text.replace("QUEUES", f"queues: {queues}"))

    header = RunOptions(tasks="ltyarn").header(workload, identity)
    written = json.dumps(header.settings["of_file"], allow_nan=False)

    settings = {**header.settings, "of_file": json.loads(written)}
    pools = scheduler_part(replace(header, settings=settings)).pools
    assert pools == workload.pools
    assert [0.0, 60.0] == [pool.queue.round_s for pool in pools]
