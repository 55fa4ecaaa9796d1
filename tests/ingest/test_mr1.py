"""Job histories of Hadoop 1, which are text: what a second reader finds in them."""

import re

import pytest

import sluice
from sluice.ingest.logs.formats import read_log
from sluice.ingest.logs.replay import workload_from_logs
from sluice.model.errors import InvalidInput

JOB = "200904211745_0001"
META = 'Meta VERSION="1" .\n'


def job_line(**values):
    return line("Job", JOBID=f"job_{JOB}", **values)


def line(kind, **values):
    return " ".join([kind, *(f'{key}="{value}"' for key, value in values.items())]) + " .\n"


def attempt(kind, task, number=0, *, at_s, takes_s, status="SUCCESS", **more):
    """Two records, as the JobTracker wrote them: one at the start and one at the end."""
    letter = "m" if kind == "MAP" else "r"
    ids = {
        "TASK_TYPE": kind,
        "TASKID": f"task_{JOB}_{letter}_{task:06}",
        "TASK_ATTEMPT_ID": f"attempt_{JOB}_{letter}_{task:06}_{number}",
    }
    record = "ReduceAttempt" if kind == "REDUCE" else "MapAttempt"
    start_ms = 1240335960000 + 1000 * at_s
    tracker = r"tracker_host:localhost/127\.0\.0\.1:40541"
    return line(record, **ids, START_TIME=start_ms, TRACKER_NAME=tracker) + line(
        record, **ids, TASK_STATUS=status, FINISH_TIME=start_ms + 1000 * takes_s,
        HOSTNAME=r"/rack/host\.example", **more,
    )  # fmt: skip


HISTORY = (
    META
    + job_line(JOBNAME=r"word\.count \"x\"", USER="ann", SUBMIT_TIME=1240335960000)
    + job_line(LAUNCH_TIME=1240335961000, TOTAL_MAPS=2, TOTAL_REDUCES=1, JOB_STATUS="PREP")
    + line("MapAttempt", TASK_TYPE="SETUP", TASKID="x", TASK_ATTEMPT_ID="y", START_TIME=1)
    + line("Task", TASKID=f"task_{JOB}_m_000000", TASK_TYPE="MAP", SPLITS=r"/rack/host\.example")
    + line("Task", TASKID=f"task_{JOB}_m_000001", TASK_TYPE="MAP", SPLITS="/rack/other")
    + attempt(
        "MAP", 0, at_s=2, takes_s=10,
        COUNTERS=r"{(FileSystemCounters)(FileSystemCounters)[(HDFS_BYTES_READ)(HDFS_BYTES_READ)(500)]}"
        r"{(org\.apache\.hadoop\.mapred\.Task$Counter)(Map-Reduce Framework)"
        r"[(MAP_OUTPUT_BYTES)(Map output bytes)(70)][(SPILLED_RECORDS)(Spilled \\(ms\\))(12)]}",
    )
    + attempt("MAP", 1, at_s=2, takes_s=4, status="FAILED", ERROR="java.io.IOException:\n\tat x\n")
    + attempt("MAP", 1, 1, at_s=7, takes_s=20)
    + attempt("REDUCE", 0, at_s=28, takes_s=9, SHUFFLE_FINISHED=1240335991000)
    + job_line(FINISH_TIME=1240335998000, JOB_STATUS="SUCCESS", FINISHED_MAPS=2)
)  # fmt: skip


@pytest.fixture
def read(tmp_path):
    def of(text):
        path = tmp_path / "history"
        path.write_text(text)
        return read_log(path)

    return of


def test_a_history_has_its_phases_lengths_bytes_and_places(read):
    log = read(HISTORY)
    (run,) = log.runs

    assert ("mr1", 0) == (log.format, log.skipped_count)
    assert (f"job_{JOB}", 'word.count "x"', True) == (run.run_id, run.profile, run.succeeded)
    assert (1240335960.0, 38.0) == (run.submitted_at_s, run.elapsed_s)
    maps, reduces = run.phases
    assert (2, 15.0, 20.0, 1) == (maps.tasks, maps.avg_s, maps.max_s, maps.failed)
    assert (500, 70) == (maps.input_bytes, maps.shuffle_write_bytes)
    assert (12, 1) == (maps.costs.spilled_records, maps.costs.remote_tasks)
    assert (1, 9.0, (0,)) == (reduces.tasks, reduces.avg_s, reduces.after)
    assert [(28.0, 31.0, 37.0, "host.example")] == [
        (task.started_at_s, task.fetched_at_s, task.finished_at_s, task.node)
        for task in reduces.timeline
    ]


def test_lines_of_versions_without_ends_are_records(read):
    bare = re.sub(r" \.$", " ", HISTORY.removeprefix(META), flags=re.MULTILINE)

    assert read(HISTORY).runs[0].phases == read(bare).runs[0].phases


@pytest.mark.parametrize(
    ("cut", "why"),
    [
        (lambda text: text.replace('TASK_STATUS="FAILED"', 'TASK_STATUS="?"'), "ends with '?'"),
        (lambda text: text.replace(' HOSTNAME="/rack', " HOSTNAME=/rack", 1), "other than KEY"),
        (lambda text: text.replace('JOB_STATUS="SUCCESS" FINISHED_MAPS="2" .\n', ""), "its end"),
    ],
)
def test_a_damaged_record_is_skipped_with_its_line(read, cut, why):
    log = read(cut(HISTORY))

    assert why in " ".join(one.why for one in log.skipped)
    assert 1 == len(log.runs)


def test_a_job_that_failed_is_no_success_and_one_without_an_end_neither(read):
    assert (
        not read(HISTORY.replace('JOB_STATUS="SUCCESS"', 'JOB_STATUS="KILLED"')).runs[0].succeeded
    )
    (unended,) = read(HISTORY[: HISTORY.index('FINISH_TIME="1240335998000"')] + ".\n").runs
    assert not unended.succeeded
    assert any("ends before the job does" in note for note in unended.notes)


def test_a_file_without_a_job_is_refused(read):
    with pytest.raises(InvalidInput, match="no record of a MapReduce job"):
        read(META)


def test_time_without_tasks_is_part_of_a_replay(tmp_path):
    path = tmp_path / "job.log"
    path.write_text(
        META
        + job_line(JOBNAME="a", USER="u", SUBMIT_TIME=1240335960000)
        + attempt("MAP", 0, at_s=4, takes_s=10)
        + attempt("REDUCE", 0, at_s=15, takes_s=6, SHUFFLE_FINISHED=1240335977000)
        + job_line(FINISH_TIME=1240335984000, JOB_STATUS="SUCCESS")
    )
    replay = workload_from_logs([path])
    assert replay.jobs[0].driver_s == 8  # 4 before the map, 1 between, 3 after the reduce
    assert sluice.simulate(replay).makespan_s == 24
