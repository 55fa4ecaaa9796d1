"""Spark event logs: rolled, cut, retried, reused; what each rule of the importer is for."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.ingest.lz4_blocks import lz4_block_stream

from sluice.ingest.logs import spark
from sluice.ingest.logs.formats import read_log
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.report import NoOptions, Report
from sluice.ingest.logs.spark_settings import local_cores
from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun

DATA = Path(__file__).resolve().parents[1] / "data" / "logs" / "spark"
YARN = DATA / "application_1516285256255_0012"
BEGAN_MS = 1_500_000_000_000

Event = dict[str, object]


def event(kind: str, **fields: object) -> Event:
    return {"Event": f"SparkListener{kind}", **fields}


def began(app: str = "app-1", name: str = "words", **fields: object) -> Event:
    said = {"App Name": name, "App ID": app, "Timestamp": BEGAN_MS, **fields}
    return event("ApplicationStart", **said)


def ended(after_ms: int = 60_000) -> Event:
    return event("ApplicationEnd", Timestamp=BEGAN_MS + after_ms)


def stage(number: int, *, rdd: int, parents: Iterable[int] = (), tasks: int = 1) -> Event:
    return {
        "Stage ID": number,
        "Stage Name": f"step {number}",
        "Number of Tasks": tasks,
        "RDD Info": [{"RDD ID": rdd}],
        "Parent IDs": list(parents),
    }


def job(*stages: Event) -> Event:
    return event("JobStart", **{"Job ID": 0, "Stage Infos": list(stages)})


def task(
    stage_id: int, index: int = 0, start_s: float = 1, end_s: float = 3, *,
    reason: str = "Success", attempt: int = 0, metrics: Event | None = None,
) -> Event:  # fmt: skip
    info = {
        "Task ID": index,
        "Index": index,
        "Launch Time": BEGAN_MS + int(1000 * start_s),
        "Finish Time": BEGAN_MS + int(1000 * end_s),
        "Host": f"host-{index % 2}",
    }
    return event("TaskEnd", **{
        "Stage ID": stage_id, "Stage Attempt ID": attempt, "Task Info": info,
        "Task End Reason": {"Reason": reason}, "Task Metrics": metrics or {},
    })  # fmt: skip


def written(path: Path, *events: Event) -> Path:
    path.write_text("".join(f"{json.dumps(one, separators=(',', ':'))}\n" for one in events))
    return path


def only_run(path: Path, **limits: int) -> PastRun:
    (run,) = spark.read(path, Report(), NoOptions(), Limits(**limits)).runs
    return run


# --- what a log shows -----------------------------------------------------------------------------


def test_an_application_is_a_run_named_after_it(tmp_path):
    """Submission and length are the application's own, slots its executors' cores."""
    run = only_run(YARN)

    assert (run.run_id, run.profile) == ("application_1516285256255_0012", "Spark shell")
    assert (run.succeeded, run.submitted_at_s) == (True, 1516300235.119)
    assert run.slots == {"map": 5, "reduce": 5}
    assert run.configuration["spark.version"] == "2.3.0-SNAPSHOT"
    first = run.phases[0].timeline[0]
    assert (first.started_at_s, first.node) == (157.697, "apiros-3.gce.test.com")


def test_slots_are_the_most_cores_that_lived_together(tmp_path):
    """With dynamic allocation fifteen executors came, seven of four cores at once."""
    assert only_run(DATA / "eventlog_4nodes_8cores_dynamic_alloc.zstd").slots["map"] == 28


def test_cores_are_shared_by_tasks_that_want_several(tmp_path):
    executor = {"Executor ID": "1", "Executor Info": {"Total Cores": 8}}
    properties = {"Spark Properties": {"spark.task.cpus": "3"}}
    log = written(
        tmp_path / "log", began(), event("ExecutorAdded", **executor),
        event("EnvironmentUpdate", **properties), task(0), ended(),
    )  # fmt: skip

    assert only_run(log).slots == {"map": 2, "reduce": 2}


@pytest.mark.parametrize(("master", "cores"), [("local", 0), ("local[8, 3]", 8), ("local[x]", 0)])
def test_a_local_master_may_show_its_cores(master, cores):
    assert local_cores({"spark.master": master}) == cores


def test_failed_attempts_count_and_killed_ones_do_not(tmp_path):
    """A copy that lost its race, or a commit refused, is nobody's fault."""
    reasons = ("ExceptionFailure", "TaskKilled", "FetchFailed", "TaskCommitDenied", "Resubmitted")
    log = written(tmp_path / "log", began(), task(0), *(task(0, reason=one) for one in reasons))

    assert (only_run(log).phases[0].tasks, only_run(log).phases[0].failed) == (1, 2)


def test_a_stage_tried_again_runs_only_what_is_missing(tmp_path):
    """Its attempts count together, and tasks stand in their order, not in that of their end."""
    log = written(
        tmp_path / "log", began(), job(stage(0, rdd=1, tasks=3)),
        task(0, 2), task(0, 0), task(0, 1, reason="FetchFailed"), task(0, 1, 5, 9, attempt=1),
        ended(),
    )  # fmt: skip
    (phase,) = only_run(log).phases

    assert (phase.tasks, phase.max_s, phase.failed) == (3, 4.0, 1)
    assert [one.started_at_s for one in phase.timeline] == [1, 5, 1]


def test_stages_that_ran_again_and_failed_jobs_are_noted(tmp_path):
    again = stage(0, rdd=1, tasks=2) | {"Stage Attempt ID": 1}
    log = written(
        tmp_path / "log", began(), job(stage(0, rdd=1, tasks=2)), task(0, 0), task(0, 1),
        event("StageSubmitted", **{"Stage Info": again}), task(0, 1, 5, 9, attempt=1),
        event("JobEnd", **{"Job ID": 0, "Job Result": {"Result": "JobFailed"}}),
        ended() | {"ExitCode": 3},
    )  # fmt: skip
    run = only_run(log)

    assert not run.succeeded
    assert run.notes[:3] == (
        "1 Spark job of the application failed.",
        "The application ended with exit code 3.",
        "Stages that Spark ran again, for lost output: 0.",
    )


def test_a_reused_shuffle_leads_back_to_the_stage_that_wrote_it(tmp_path):
    """A later job lists that stage again, and never runs it: the data set shows which it was."""
    fetched = {"Shuffle Read Metrics": {"Remote Bytes Read": 3, "Local Bytes Read": 4}}
    log = written(
        tmp_path / "log", began(),
        job(stage(0, rdd=10), stage(1, rdd=20)), task(0), task(1),
        job(stage(2, rdd=20), stage(3, rdd=30, parents=[2])), task(3, metrics=fetched),
        job(stage(4, rdd=10), stage(5, rdd=40, parents=[4, 3])), task(5), ended(),
    )  # fmt: skip
    phases = only_run(log).phases

    assert [phase.name for phase in phases] == [f"stage {n}: step {n}" for n in (0, 1, 3, 5)]
    assert [phase.after for phase in phases] == [(), (), (1,), (0, 2)]
    assert [phase.kind for phase in phases] == ["map", "map", "reduce", "reduce"]
    assert phases[2].shuffle_read_bytes == 7


def test_a_log_without_parents_goes_by_time(tmp_path):
    """Spark 1.4 shows none; who reads a shuffle follows those who wrote one before."""
    assert [phase.after for phase in only_run(DATA / "local-1430917381534").phases] == [(), (0,)]


# --- rolled, unfinished, joined -------------------------------------------------------------------


def rolled(folder: Path, parts: dict[str, list[bytes]]) -> Path:
    folder.mkdir()
    for name, lines in parts.items():
        (folder / name).write_bytes(b"".join(lines))
    (folder / "appstatus_app").touch()
    return folder


def test_rolled_files_are_one_log_in_the_order_of_their_numbers(tmp_path):
    """2 comes before 10, whatever their names sort like."""
    lines = YARN.read_bytes().splitlines(keepends=True)
    numbers = range(1, 12)
    parts = {f"events_{n}_app": lines[6 * (n - 1) : 6 * n if n < 11 else None] for n in numbers}
    folder = rolled(tmp_path / "eventlog_v2_app", parts)

    log, whole = read_log(folder), read_log(YARN)
    assert (log.format, log.runs, log.notes) == ("spark", whole.runs, ())


def test_a_compacted_file_stands_for_all_before_it(tmp_path):
    """The files that it replaces may still be next to it; a missing file is reported."""
    lines = YARN.read_bytes().splitlines(keepends=True)
    parts = {
        "events_1_app": [b"old\n"], "events_2_app": [b"old\n"], "events_2_app.compact": lines[:20],
        "events_3_app": lines[20:],
    }  # fmt: skip
    folder = rolled(tmp_path / "eventlog_v2_app", parts)
    log = read_log(folder)

    assert (log.runs, log.skipped_count) == (read_log(YARN).runs, 0)
    assert log.notes[0].startswith("Spark has compacted the log")

    (folder / "events_3_app").rename(folder / "events_4_app")
    assert "missing" in read_log(folder).notes[1]


def test_skipped_lines_of_a_rolled_log_name_their_file(tmp_path):
    lines = YARN.read_bytes().splitlines(keepends=True)
    folder = rolled(
        tmp_path / "x", {"events_1_app": lines[:9], "events_2_app": [b"{\n", *lines[9:]]}
    )

    assert read_log(folder).skipped[0].why.startswith("events_2_app: no JSON")


def test_a_log_in_progress_is_shown_as_such(tmp_path):
    """The run did not succeed as far as anybody knows, and no stage is made up."""
    lines = YARN.read_bytes().splitlines(keepends=True)
    log = tmp_path / "application_1.inprogress"
    log.write_bytes(b"".join(lines[:-30]))
    run = only_run(log)

    assert not run.succeeded
    assert "ends before the application" in run.notes[0]
    assert "did not complete" in run.notes[1]


def test_a_log_without_its_head_is_named_after_its_file(tmp_path):
    """Instants then count from the first task, and stages are numbered only."""
    log = written(tmp_path / "app-7.lz4", task(3, 0, 5, 8), task(3, 1, 6, 7))
    run = only_run(log)

    assert (run.run_id, run.profile, run.phases[0].name) == ("app-7", "app-7", "stage 3")
    assert [one.started_at_s for one in run.phases[0].timeline] == [0, 1]


def test_logs_that_were_joined_are_several_runs(tmp_path):
    """The next begins after the end of the one before; the same one twice is one."""
    log = written(
        tmp_path / "log", began("a"), task(0), ended(), began("b"), task(0), ended(),
        began("a"), task(0), ended(),
    )  # fmt: skip
    report = Report()
    runs = spark.read(log, report, NoOptions(), Limits()).runs

    assert [run.run_id for run in runs] == ["a", "b"]
    assert report.skipped[0].why == "a is given twice; the first counts"


def test_a_second_attempt_of_an_application_is_another_run(tmp_path):
    log = written(tmp_path / "log", began(**{"App Attempt ID": "2"}), task(0))

    assert only_run(log).run_id == "app-1_2"


# --- bounds and damage ----------------------------------------------------------------------------


def test_beyond_the_bound_tasks_are_shown_by_average_and_maximum(tmp_path):
    """Memory does not grow with the log; sums are as true as before."""
    few, all_of_them = only_run(YARN, timeline_tasks_max=19), only_run(YARN)

    assert {phase.timeline for phase in few.phases} == {()}
    assert "averages and maxima" in few.notes[-1]
    assert [phase.avg_s for phase in few.phases] == [phase.avg_s for phase in all_of_them.phases]


@pytest.mark.parametrize(
    "odd",
    [
        task(0, 0, 5, 4),
        task(-1),
        task(0, metrics={"Input Metrics": {"Bytes Read": -5}}),
        task(0, metrics={"Input Metrics": {"Bytes Read": 2**60}}),
        task(0, metrics={"Input Metrics": [1]}),
        {"Event": "SparkListenerTaskEnd"},
        {"Event": ["SparkListenerTaskEnd"]},
        {"Event": "SparkListenerJobStart", "Stage Infos": 5},
        {"Event": "SparkListenerStageCompleted", "Stage Info": {"Stage ID": True}},
    ],
)
def test_an_event_that_shows_nonsense_is_left_out_whole(odd, tmp_path):
    """Nothing of it counts, and the report says which line it was."""
    log = written(tmp_path / "log", began(), task(0), odd, ended())
    report = Report()
    (run,) = spark.read(log, report, NoOptions(), Limits()).runs

    assert (run.phases[0].tasks, run.phases[0].input_bytes) == (1, 0)
    assert [one.line for one in report.skipped] == [3]


def test_spaces_between_tokens_change_nothing(tmp_path):
    """Event names are read off the line's beginning only where it is as Spark writes it."""
    log = tmp_path / "log"
    events = (began(), task(0), ended())
    log.write_text("".join(f" {json.dumps(one)} \n" for one in events))

    assert only_run(log).succeeded


def test_sparks_own_lz4_is_read(tmp_path):
    log = tmp_path / "application_1516285256255_0012.lz4"
    log.write_bytes(lz4_block_stream(YARN.read_bytes(), block_bytes=32 * 1024))

    assert read_log(log).runs == read_log(YARN).runs


def test_a_log_without_a_task_that_ended_well_is_refused(tmp_path):
    log = written(tmp_path / "log", began(), task(0, reason="ExceptionFailure"), ended())
    with pytest.raises(InvalidInput, match="no Spark stage"):
        read_log(log)
