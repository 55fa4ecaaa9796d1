"""Accounts of Slurm: rows, steps, arrays, states and times; and the same log in two formats."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import sluice
from sluice.ingest.logs.formats import read_log
from sluice.model.errors import InvalidInput
from sluice.model.slot_kind import SlotKind

LOGS = Path(__file__).resolve().parents[1] / "data" / "logs"
WEEK = LOGS / "sacct" / "week.txt"


def jobs_of(path, **options):
    return {str(job.job_id): job for job in read_log(path, options=options or None).workload.jobs}


def test_each_job_that_ran_is_one_rigid_job():
    jobs = jobs_of(WEEK)

    assert list(jobs) == ["1001", "1002_1", "1002_2", "1003+0", "1003+1", "1005"]
    assert [(job.tasks, job.gang, job.limit_s) for job in jobs.values()] == [
        (64, 64, 7200), (8, 8, 86400), (8, 8, 86400), (32, 32, None), (4, 4, None), (96, 96, 3600),
    ]  # fmt: skip
    lengths = [job.phases[0].lengths.avg_s(1) for job in jobs.values()]
    assert lengths == [3600, 1200, 2400, 630, 630, 3600]
    assert [job.submitted_at_s for job in jobs.values()] == [0, 300, 300, 3600, 3600, 7200]
    assert [str(job.pool) for job in jobs.values()] == ["ann", "bob", "bob", "ann", "ann", "cat"]


def test_what_is_left_out_is_said_with_its_line():
    log = read_log(WEEK)

    assert (log.format, log.skipped_count) == ("sacct", 3)
    assert {(one.line, one.why) for one in log.skipped} == {
        (7, "job 1002_[3-9] is pending"),
        (10, "job 1004 never started"),
        (12, "job 1006 is running"),
    }
    assert any("processors = 96: the most in use at once" in note for note in log.notes)


def test_runs_have_the_memory_of_their_steps_and_the_wait():
    runs = {run.run_id.partition("@")[0]: run for run in read_log(WEEK).runs}

    assert runs["sacct/1001"].phases[0].rss_bytes_max == 2 * 2**30
    assert runs["sacct/1001"].elapsed_s == 3610
    assert (runs["sacct/1001"].queue, runs["sacct/1001"].profile) == ("main", "cfd")
    assert not runs["sacct/1005"].succeeded


def test_slurm_prints_whole_thousands_with_a_letter(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobID|Submit|Start|Elapsed|AllocCPUS|State\n"
        "1|2026-01-05T08:00:00|2026-01-05T08:01:00|00:10:00|2K|COMPLETED\n"
    )

    assert jobs_of(path)["1"].tasks == 2048


def test_other_columns_a_last_bar_and_options(tmp_path):
    path = tmp_path / "dump"
    path.write_text(
        "JobID|State|Submit|Start|ElapsedRaw|TimelimitRaw|AllocTRES|\n"
        "7|COMPLETED|1767600000|1767600060|30|2|billing=8,cpu=12,mem=4G,node=1|\n"
        "8|NODE_FAIL|1767600000|1767600060|0|2|cpu=3|\n"
    )

    first, second = jobs_of(path).values()
    assert (first.tasks, first.limit_s, second.tasks) == (12, 120, 3)
    assert second.phases[0].lengths.avg_s(1) == 0.25
    assert list(jobs_of(path, failed="skip")) == ["7"]
    cluster = read_log(path, options={"processors": 99}).workload.cluster
    assert cluster.slots(SlotKind.MAP) == 99


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("7|COMPLETED|x|1767600060|30|2|cpu=1", "Submit is 'x'"),
        ("7|COMPLETED|1767600000|1767600060|30|2|", "has no number of processors"),
        ("7|COMPLETED|1767600000|1767600060||2|cpu=1", "has no length"),
        ("7|COMPLETED|1767600000", "3 cells, not 7"),
        ("|COMPLETED|1767600000|1767600060|30|2|cpu=1", "id"),
    ],
)
def test_a_row_that_is_wrong_is_named(tmp_path, row, why):
    path = tmp_path / "dump"
    path.write_text(f"JobID|State|Submit|Start|ElapsedRaw|TimelimitRaw|AllocTRES\n{row}\n")

    with pytest.raises(InvalidInput, match=why):
        read_log(path, "sacct")


def instant(seconds):
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def clock(seconds):
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days}-{hours:02}:{minutes:02}:{seconds:02}" if days else (
        f"{hours:02}:{minutes:02}:{seconds:02}"
    )  # fmt: skip


@pytest.mark.parametrize("part", range(5))
def test_a_log_in_both_formats_gives_the_same_jobs(tmp_path, part):
    """The second reader is that of the Standard Workload Format."""
    lines = (LOGS / "swf" / "hpc2n.swf").read_text("latin-1").splitlines()
    records = [line for line in lines if not line.startswith(";")][part * 60 : part * 60 + 60]
    swf, sacct = tmp_path / "log.swf", tmp_path / "log.txt"
    swf.write_text("; MaxProcs: 240\n" + "\n".join(records) + "\n")
    rows = ["JobID|User|Submit|Start|Elapsed|Timelimit|NCPUS|State"]
    for record in records:
        cells = record.split()
        at_s, wait_s, run_s, limit_s = (float(cells[column]) for column in (1, 2, 3, 8))
        if run_s < 0:
            continue  # it has no length in either format
        processors = cells[4] if int(cells[4]) > 0 else cells[7]
        state = "FAILED" if cells[10] in {"0", "4", "5"} else "COMPLETED"
        limit = clock(limit_s) if limit_s > 0 else "UNLIMITED"
        rows.append(
            f"{cells[0]}|user {cells[11]}|{instant(at_s)}|{instant(at_s + max(0, wait_s))}"
            f"|{clock(run_s)}|{limit}|{processors}|{state}"
        )
    sacct.write_text("\n".join(rows) + "\n")

    one, other = read_log(swf).workload.jobs, read_log(sacct).workload.jobs

    assert len(one) == len(other) > 50
    first_s = min(job.submitted_at_s for job in one)
    for job, same in zip(one, other, strict=True):
        assert (job.job_id, job.tasks, job.gang, job.limit_s) == (
            same.job_id, same.tasks, same.gang, same.limit_s,
        )  # fmt: skip
        assert job.submitted_at_s - first_s == same.submitted_at_s
        assert job.phases[0].lengths == same.phases[0].lengths


def test_from_a_dump_to_a_sentence():
    """The journey: what would backfilling have done for this week?"""
    from tests.cli.terminal import sluice as command

    answer = command(
        "compare", "--from-log", WEEK, "--schedulers", "fcfs,easy,conservative", "--seeds", "1"
    )
    assert answer.code == 0
    assert "easy" in answer.out
    asked = command("why", "1005", "--from-log", WEEK, "--tasks", "easy", "--at-s", "7300")
    assert asked.code == 0
    assert command("import", WEEK, "--json").code == 0


def test_simulating_a_dump_keeps_within_the_processors():
    workload = sluice.workload_from_logs([str(WEEK)])
    result = sluice.simulate(workload, tasks="easy")

    assert {job.state for job in result.jobs} == {"done"}
