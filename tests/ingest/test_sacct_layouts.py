"""Accounts of Slurm in each layout that `sacct` has: bars, commas, fixed columns, JSON."""

import contextlib
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.ingest.logs.formats import read_log
from sluice.model.errors import InvalidInput

NAMES = ("JobID", "JobName", "User", "Partition", "Submit", "Start", "ElapsedRaw", "TimelimitRaw",
         "AllocCPUS", "State")  # fmt: skip
ROWS = [
    ("600", "sim run", "ann", "batch", "1709287200", "1709287205", "600", "60", "8", "COMPLETED"),
    ("600.batch", "batch", "", "", "1709287205", "1709287205", "600", "", "8", "COMPLETED"),
    ("601_3", "arr", "bob", "batch", "1709287201", "1709287805", "60", "1", "2", "TIMEOUT"),
    ("601_[4-9]", "arr", "bob", "batch", "1709287201", "Unknown", "0", "1", "2", "PENDING"),
    ("602", "c", "bob", "batch", "1709287201", "1709287300", "0", "1", "0", "CANCELLED by 7"),
    ("603+0", "het", "bob", "batch", "1709287205", "1709287805", "30", "1", "4", "NODE_FAIL"),
]
EXPECTED = [("600", 8, 600.0, 3600.0, 0.0), ("601_3", 2, 60.0, 60.0, 1.0),
            ("603+0", 4, 30.0, 60.0, 5.0)]  # fmt: skip


def separated(by, rows=ROWS, names=NAMES):
    return "\n".join(by.join(row) for row in (names, *rows))


def fixed(rows=ROWS):
    lines = [" ".join(f"{cell[:14]:>14}" for cell in row) for row in (NAMES, *rows)]
    return "\n".join([lines[0], " ".join(["-" * 14] * len(NAMES)), *lines[1:]])


def numbered(value):
    return {"set": value is not None, "infinite": False, "number": value or 0}


def as_json(number, state):
    """The rows as Slurm's JSON. number: how it writes one.  state: how it writes a state."""
    jobs = []
    for job_id, name, user, partition, submit, start, run, limit, cpus, words in ROWS:
        if "." in job_id:
            continue
        array, _, task = job_id.partition("_")
        whole, _, part = job_id.partition("+")
        is_listed = task.startswith("[")
        allocated = [{"type": "cpu", "count": int(cpus)}] if cpus != "0" else []
        jobs.append({
            "job_id": int("".join(filter(str.isdecimal, job_id))),
            "array": {"job_id": int(array) if task else 0,
                      "task_id": number(int(task) if task and not is_listed else None)},
            "het": {"job_id": int(whole) if part else 0,
                    "job_offset": number(int(part) if part else None)},
            "name": name, "user": user, "partition": partition,
            "state": {"current": state(words.split()[0]), "reason": "None"},
            "time": {"elapsed": int(run), "eligible": int(submit), "limit": number(int(limit)),
                     "start": 0 if start == "Unknown" else int(start), "submission": int(submit)},
            "tres": {"allocated": allocated},
            "steps": [{"tres": {"requested": {"max": [{"type": "mem", "count": 2**30}]}}}],
        })  # fmt: skip
    return json.dumps({"meta": {}, "jobs": jobs, "errors": []}, indent=1)


@pytest.mark.parametrize(
    "text",
    [
        separated("|"), separated(","), separated(";"), separated("\t"), "\ufeff" + separated("|"),
        separated("|").replace("\n", "\r\n"), fixed(),
        separated("|").replace("JobID|", "JobIDRaw|"), "\n" + separated("|"),
        as_json(lambda value: value, str), as_json(numbered, lambda word: [word]),
    ],
    ids=["bars", "commas", "semicolons", "tabs", "byte order mark", "crlf",
          "fixed", "raw ids", "blank line", "json 21.08", "json 23.02"],
)  # fmt: skip
def test_each_layout_gives_the_same_jobs(tmp_path, text):
    path = tmp_path / "dump"
    path.write_text(text)

    log = read_log(path)

    assert log.format == "sacct"
    assert EXPECTED == [
        (
            str(job.job_id),
            job.tasks,
            job.phases[0].lengths.avg_s(1),
            job.limit_s,
            job.submitted_at_s,
        )
        for job in log.workload.jobs
    ]
    assert [str(job.pool) for job in log.workload.jobs] == ["ann", "bob", "bob"]
    assert any("602 never started" in one.why for one in log.skipped)


def test_the_memory_of_steps_is_that_of_json_too(tmp_path):
    path = tmp_path / "dump.json"
    path.write_text(as_json(numbered, str))
    assert read_log(path).runs[0].phases[0].rss_bytes_max == 2**30


def test_a_length_is_the_time_between_start_and_end(tmp_path):
    path = tmp_path / "dump"
    path.write_text(
        "JobID|State|Submit|Start|End|NCPUS\n"
        "7|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:00:05|2024-03-01T10:01:05|4\n"
        "8|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:00:05|2024-03-01T09:01:05|4\n"
    )
    log = read_log(path)
    assert [job.phases[0].lengths.avg_s(1) for job in log.workload.jobs] == [60]
    assert log.skipped[0].why == "job 8 has no length"


@pytest.mark.parametrize("text", [fixed()[:400], fixed([])[:60], as_json(numbered, str)[:900],
                                  '{"jobs": [1], "submission": 0, "tres": 0, "state": 0}',
                                  fixed().replace("-", "=", 1)])  # fmt: skip
def test_a_damaged_layout_is_refused(tmp_path, text):
    path = tmp_path / "dump"
    path.write_text(text)
    with pytest.raises(InvalidInput):
        read_log(path, format="sacct")


@given(st.data())
def test_no_cut_or_flipped_byte_gives_a_traceback(data):
    text = data.draw(st.sampled_from([as_json(numbered, str), fixed(), separated(",")]))
    content = bytearray(text.encode())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=4)):
        content[place] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(InvalidInput):
        path = Path(folder, "dump")
        path.write_bytes(content)
        read_log(path, format="sacct")
