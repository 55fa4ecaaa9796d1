"""Task instances of Airflow: runs and stages, JSON and CSV, states, and what is left out."""

import csv
import json
import random
from datetime import UTC, datetime

import pytest
from tests.cli.terminal import sluice as command

import sluice
from sluice.ingest.logs.formats import read_log
from sluice.model.errors import InvalidInput

T0 = 1_767_600_000


def at(seconds):
    return datetime.fromtimestamp(T0 + seconds, UTC).isoformat()


def instance(task, start, end, *, run="r1", state="success", **more):
    return {
        "dag_id": "etl", "dag_run_id": run, "task_id": task, "state": state, "try_number": 1,
        "start_date": None if start is None else at(start),
        "end_date": None if end is None else at(end), "pool": "default_pool", **more,
    }  # fmt: skip


DIAMOND = [
    instance("extract", 10, 70, queued_when=at(0)),
    instance("left", 75, 135),
    instance("right", 75, 105),
    instance("load", 140, 200),
    instance("note", None, None, state="skipped"),
]


@pytest.fixture
def file(tmp_path):
    def of(instances, name="history.json"):
        path = tmp_path / name
        path.write_text(json.dumps({"task_instances": instances}))
        return path

    return of


def test_a_dag_run_is_a_job_whose_stages_follow_each_other(file):
    log = read_log(file(DIAMOND))
    (run,) = log.runs
    (job,) = sluice.workload_from_logs([str(file(DIAMOND))]).jobs

    assert (log.format, log.skipped_count, run.profile) == ("airflow", 0, "etl")
    assert run.elapsed_s == 200
    assert [(one.name, one.tasks, one.avg_s) for one in run.phases] == [
        ("extract", 1, 60), ("left", 1, 60), ("right", 1, 30), ("load", 1, 60),
    ]  # fmt: skip
    assert [phase.after for phase in job.phases] == [(), (0,), (0,), (1, 2)]


def test_a_replay_takes_as_long_as_the_run_did(file):
    answer = command("simulate", "--from-log", file(DIAMOND), "--json")

    assert json.loads(answer.out)["makespan_s"] == 200


def test_mapped_tasks_are_tasks_of_one_stage(file):
    mapped = [instance("part", 0, 10 + n, map_index=n) for n in range(4)]
    (run,) = read_log(file(mapped)).runs

    assert [(one.tasks, one.avg_s, one.max_s) for one in run.phases] == [(4, 11.5, 13)]


def test_a_run_without_a_name_is_named_by_its_date(file):
    listed = [{**one, "execution_date": at(0)} for one in DIAMOND]
    for one in listed:
        del one["dag_run_id"]
    (run,) = read_log(file(listed)).runs

    assert (run.run_id, len(run.phases)) == (f"etl/{at(0)}", 4)


def test_a_log_of_failed_runs_alone_says_so(file):
    failed = [instance("a", 0, 5, run=run, state="failed") for run in ("r1", "r2")]
    answer = command("simulate", "--from-log", file(failed))

    assert answer.code == 2
    assert "no job in it can be run again (2 runs failed)" in answer.err


def test_a_failed_task_makes_the_run_a_failed_one(file):
    runs = read_log(file([*DIAMOND, instance("extract", 0, 5, run="r2", state="failed")])).runs

    assert [(run.succeeded, len(run.phases)) for run in runs] == [(True, 4), (False, 0)]


def test_the_only_run_is_read_as_far_as_it_is_over(file):
    log = read_log(file([instance("x", 0, 9), instance("y", 9, None, state="running")]))

    assert [(run.elapsed_s, [one.name for one in run.phases]) for run in log.runs] == [(9, ["x"])]
    assert [one.why for one in log.skipped] == [
        "task y of etl is running",
        "run r1 of etl is not over: its tasks that ended are the run",
    ]


def test_a_run_that_is_not_over_or_lacks_times_is_skipped_as_a_whole(file):
    others = [
        instance("w", 0, 9, run="r2"),
        instance("x", 0, None, run="r2", state="running"),
        instance("y", 9, 3, run="r3"),
        {},
        7,
    ]
    log = read_log(file([*DIAMOND, *others]))

    assert [run.run_id for run in log.runs] == ["etl/r1"]
    assert [one.why for one in log.skipped] == [
        "task x of etl is running",
        "task y of etl has no start or end",
        "it has no dag_id, run or task_id",
        "it has no dag_id, run or task_id",
        "run r2 of etl is left out, for a part of it is missing",
        "run r3 of etl is left out, for a part of it is missing",
    ]


@pytest.mark.parametrize("seed", range(5))
def test_json_and_csv_hold_the_same_counts(tmp_path, file, seed):
    """The second reader is the csv module of the standard library."""
    draw = random.Random(seed)
    rows = [
        instance(f"t{draw.randint(1, 6)}", start, start + draw.randint(1, 50), run=f"r{n % 3}")
        for n in range(draw.randint(5, 40))
        for start in [draw.randint(0, 300)]
    ]
    table = tmp_path / "task_instance.csv"
    with table.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    with table.open(newline="") as stream:
        counted = list(csv.DictReader(stream))

    one, other = read_log(file(rows)).runs, read_log(table).runs

    assert len({row["dag_run_id"] for row in counted}) == len(one) == len(other)
    assert sum(phase.tasks for run in other for phase in run.phases) == len(counted)
    assert [run.phases for run in one] == [run.phases for run in other]


@pytest.mark.parametrize(
    "content", ['{"dag_id" "task_id" "start_date"', '["dag_id", "task_id", "start_date"]', "[]"]
)
def test_what_holds_nothing_is_refused(tmp_path, content):
    path = tmp_path / "history.json"
    path.write_text(content)

    with pytest.raises(InvalidInput):
        read_log(path, "airflow")


def test_from_a_history_to_a_sentence(file):
    path = file(DIAMOND)

    assert command("import", path).code == 0
    assert "etl" in command("explain", path).out
    assert command("compare", "--from-log", path, "--schedulers", "fifo,fair").code == 0


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_a_table_may_have_other_delimiters_and_quotes(file, tmp_path, delimiter, quoting):
    path = tmp_path / "task_instance.csv"
    keys = sorted(DIAMOND[1])
    with path.open("w", newline="", encoding="utf-8-sig") as stream:
        table = csv.DictWriter(
            stream, keys, delimiter=delimiter, quoting=quoting, extrasaction="ignore"
        )
        table.writeheader()
        table.writerows(DIAMOND)
    (found,), (same,) = read_log(path).runs, read_log(file(DIAMOND)).runs

    assert [(one.name, one.tasks, one.avg_s) for one in found.phases] == [
        (one.name, one.tasks, one.avg_s) for one in same.phases
    ]
