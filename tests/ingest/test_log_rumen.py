"""Rumen's traces: what is shown of a job equals a count with `json`."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.ingest.damaged_logs import damaged_reads

from sluice.ingest.logs import rumen
from sluice.ingest.logs.limits import MIB, Limits
from sluice.ingest.logs.replay import workload_from_logs
from sluice.ingest.logs.report import Contents, Report
from sluice.ingest.logs.rumen import Options
from sluice.model.errors import InvalidInput

DATA = Path(__file__).resolve().parents[1] / "data" / "logs" / "rumen"
TERAGEN = DATA / "2jobs2min-rumen-jh.json"
WORDCOUNT = DATA / "wordcount.json"
LIMITS = Limits(ratio_free_bytes=MIB, ratio_max=40, skipped_max=1000)


def read(path: Path) -> tuple[Contents, Report]:
    report = Report()
    return rumen.read(path, report, Options(), LIMITS), report


def read_jobs(folder: Path, *jobs: object) -> tuple[Contents, Report]:
    path = folder / "trace.json"
    path.write_text("".join(json.dumps(job, indent=2) for job in jobs), encoding="utf-8")
    return read(path)


def objects(path: Path) -> list[dict[str, Any]]:
    """The jobs of a trace, by the plain decoder."""
    text, at, found = path.read_text("utf-8"), 0, []
    while at < len(text.rstrip()):
        job, at = json.JSONDecoder().raw_decode(text, at)
        at += len(text[at:]) - len(text[at:].lstrip())
        found.append(job)
    return found


def job(number: int = 1, **members: object) -> dict[str, object]:
    attempts = [{"result": "SUCCESS", "startTime": 2000, "finishTime": 5000}]
    return {
        "jobID": f"job_1_{number:04}",
        "jobName": "wc",
        "submitTime": 1000,
        "finishTime": 9000,
        "outcome": "SUCCESS",
        "mapTasks": [{"attempts": attempts}],
        **members,
    }


def summed(attempts: list[dict[str, Any]], name: str) -> int:
    return sum(attempt[name] for attempt in attempts if attempt[name] > 0)


@pytest.mark.parametrize("path", [TERAGEN, WORDCOUNT], ids=lambda path: path.name)
def test_phases_are_what_json_counts(path):
    """No attempt, millisecond or byte is lost on the way."""
    contents, report = read(path)
    jobs = objects(path)

    assert report.skipped == ()
    assert [run.run_id for run in contents.runs] == [job["jobID"] for job in jobs]
    for run, said in zip(contents.runs, jobs, strict=True):
        tasks = {"map": said["mapTasks"], "reduce": said["reduceTasks"]}
        phases = {kind: inner for kind, inner in tasks.items() if inner}
        assert [phase.kind for phase in run.phases] == [*phases]
        assert run.submitted_at_s == said["submitTime"] / 1000
        for phase in run.phases:
            good = [
                attempt
                for task in phases[phase.kind]
                for attempt in task["attempts"]
                if attempt["result"] == "SUCCESS"
            ]
            lengths = [one["finishTime"] - one["startTime"] for one in good]
            assert phase.tasks == len(lengths) == len(phase.timeline)
            assert (phase.avg_s, phase.max_s) == (
                sum(lengths) / len(lengths) / 1000,
                max(lengths) / 1000,
            )
            assert phase.input_bytes == summed(good, "hdfsBytesRead")
            assert phase.output_bytes == summed(good, "hdfsBytesWritten")
            assert phase.shuffle_read_bytes == summed(good, "reduceShuffleBytes")
            assert phase.shuffle_write_bytes == summed(good, "mapOutputBytes")
            assert phase.input_records == summed(good, f"{phase.kind}InputRecords")
            assert phase.output_records == summed(good, f"{phase.kind}OutputRecords")


def test_a_job_is_shown_in_full():
    contents, _ = read(WORDCOUNT)
    (run,) = contents.runs

    assert (run.profile, run.queue, run.succeeded) == ("WordCount", "default", True)
    assert (run.elapsed_s, run.notes) == (30.689, ())
    assert run.phases[1].timeline[0].fetched_at_s == 22.814
    assert run.phases[1].after == (0,)
    assert "shuffle_write_bytes" in contents.notes[0]


def test_settings_are_kept_where_rumen_kept_them():
    contents, _ = read(TERAGEN)
    settings = contents.runs[0].configuration

    assert settings["mapreduce.job.maps"] == "96"
    assert all(name.startswith(("mapreduce.", "dfs.")) for name in settings)
    assert contents.runs[0].phases[0].cpu_s == pytest.approx(1309.97)


def test_failed_attempts_are_counted_and_killed_ones_are_not(tmp_path):
    attempts = [
        {"result": "FAILED", "startTime": 1500, "finishTime": 9000},
        {"result": "KILLED", "startTime": 1500, "finishTime": 9000},
        {"result": "SUCCEEDED", "startTime": 2000, "finishTime": 4000},
    ]
    contents, _ = read_jobs(tmp_path, job(mapTasks=[{"attempts": attempts}]))
    (phase,) = contents.runs[0].phases

    assert (phase.tasks, phase.failed, phase.max_s) == (1, 1, 2.0)


def test_what_cannot_be_used_is_skipped_with_its_line_and_reason(tmp_path):
    backwards = {"result": "SUCCESS", "startTime": 4000, "finishTime": 2000, "attemptID": "x"}
    contents, report = read_jobs(
        tmp_path,
        job(1, mapTasks=[{"attempts": [backwards, *job()["mapTasks"][0]["attempts"]]}, None, 7]),
        job(1),
        {"name": "<root>", "children": []},
        job(2, outcome="FAILED"),
    )
    first, second = contents.runs

    assert [(run.run_id, run.phases[0].tasks) for run in (first, second)] == [
        ("job_1_0001", 1),
        ("job_1_0002", 1),
    ]
    assert (first.succeeded, second.succeeded) == (True, False)
    assert [one.why for one in report.skipped] == [
        "job job_1_0001, attempt x: it has no start, or no end after it",
        "job job_1_0001 is given twice",
        "an object that is not a job: it has no jobID, or no list of tasks",
    ]


def test_one_number_that_is_none_does_not_cost_the_job(tmp_path):
    """Python and others write NaN; a job holds thousands of numbers."""
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(job(heap=float("nan"), size=10**400)), encoding="utf-8")
    contents, report = read(path)

    assert (contents.runs[0].phases[0].tasks, report.skipped) == (1, ())


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"hello", b"{" * 1000, b'{"a":1}' * 9])
def test_a_file_without_jobs_is_refused(content, tmp_path):
    path = tmp_path / "trace.json"
    path.write_bytes(content)

    with pytest.raises(InvalidInput, match="holds no Rumen job"):
        read(path)


@pytest.mark.slow
def test_damaged_traces_are_read_or_refused(tmp_path):
    """Nothing else comes out, and what comes out is sound; `PastPhase` checks lengths itself."""
    one = WORDCOUNT.read_bytes()
    content = b"".join(one.replace(b"_0001", b"_000%d" % number) for number in (1, 2, 3))
    seen = set()
    for outcome, contents in damaged_reads(content, tmp_path / "trace.json", read):
        seen.add(outcome)
        for run in contents.runs:
            assert (run.run_id + run.profile).isprintable()
            assert all(phase.input_bytes < 2**63 for phase in run.phases)

    assert seen == {"refused", "skipped", "whole"}


def test_a_repeated_id_in_a_folded_trace_is_another_job():
    path = DATA.parent / "rumen_made" / "folded.json"

    contents, report = read(path)

    assert report.skipped == ()
    assert [run.run_id for run in contents.runs] == [
        "job_200001010000_0001",
        "job_200001010000_0001#2",
    ]
    assert [run.submitted_at_s for run in contents.runs] == [1000, 1600]
    assert [job.submitted_at_s for job in workload_from_logs([path]).jobs] == [0, 600]
